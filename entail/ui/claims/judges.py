"""Judges of whether a passage entails a claim: NLI cross-encoders and Gaussian encoders."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from entail.evaluation.passages.wordings import PassageScore
from entail.gausscse.verdict import judge
from entail.judge.judges import THRESHOLD, list_judges
from entail.progress import ProgressCallback
from entail.runtime.models import judge_stamp, load_judge
from entail.runtime.tasks import Task, TaskGroup, finish
from entail.settings import is_demo
from entail.ui.claims.fields import BETWEEN, LINK, LONGEST, pick_several
from entail.ui.direction.encoder import gaussian_names, take_encoder
from entail.ui.frame.author import lacks_name
from entail.ui.shared.form import is_path
from entail.ui.shared.model_names import model_label
from entail.ui.shared.text import certainty

BY_KEY, ONE_KEY, OTHER_KEY = "claims_judges", "claims_judge", "claims_other"
"""Keys of the fields."""

NOBODY = "nobody"
_WORDS = {
    "entails": "entails it",
    "is entailed by": "follows from it",
    "both ways": "says the same",
    "neither": "no entailment",
}
_WAIT = 0.3
"""Seconds that the page waits for verdicts before it draws the lists without them."""

_READ = 2000
"""Characters of a passage that are judged."""

_SCORES = TaskGroup("claim scores", failure="the passages could not be judged")


def pick_judges() -> list[str]:
    """Draw the field for judges and return the selected ones."""
    cross, gaussians = list_judges(), list(gaussian_names())
    names = list(dict.fromkeys([*cross, *gaussians, *_other()]))
    selection = pick_several(
        "Judges",
        names,
        names[:1],
        key=BY_KEY,
        part="by",
        format_func=model_label,
        placeholder="None",
        help_="Cross-encoders give P(passage entails claim), Gaussian encoders the direction.",
    )
    _draw_other(missing=not cross, take=_add_other)
    return selection


def pick_judge() -> str | None:
    """Draw the field for a cross-encoder, which alone gives P(entailment); return None if there is none."""
    cross = list_judges()
    names = list(dict.fromkeys([*cross, *_other()]))
    judge_name = None
    if names:
        help_ = "NLI cross-encoders only: Gaussian encoders give no probability."
        judge_name = LINK.pick(
            "judge", "Judges", {name: model_label(name) for name in names}, names[0], help=help_
        )
    _draw_other(missing=not cross, take=_select_other)
    return judge_name


def to_address(names: Sequence[str]) -> dict[str, str]:
    """Return the selection as a part of a link."""
    return {"by": BETWEEN.join(names) or NOBODY}


def _other() -> list[str]:
    """Return the judge that the user entered, if any; a path on the server is none."""
    name = "" if is_demo() else str(st.session_state.get(OTHER_KEY, "")).strip()
    return [name] if name and not is_path(name) else []


def _draw_other(*, missing: bool, take: Callable[[], None]) -> None:
    """Draw the field for a judge that is not listed; if none is listed, also how to get one."""
    if missing:
        st.caption(
            ":material/info: No NLI cross-encoder yet. Train one with `entail train judge`, or enter one."
        )
    if not is_demo():  # visitors load no models
        with st.expander("Another cross-encoder"):
            if lacks_name("judge"):  # it may be downloaded
                return
            st.text_input(
                "Name or Hub id",
                key=OTHER_KEY,
                max_chars=300,
                placeholder="cross-encoder/nli-MiniLM2-L6-H768",
                on_change=take,
                help="Downloaded from the Hub at its first use if it is not installed.",
            )


def _add_other() -> None:
    """Add the entered judge to the selection; called before a run."""
    selection = st.session_state.get(BY_KEY, [])
    st.session_state[BY_KEY] = list(dict.fromkeys([*selection, *_other()]))


def _select_other() -> None:
    """Select the entered judge; called before a run."""
    for name in _other():
        st.session_state[ONE_KEY] = name


def take_scores(name: str, passages: Sequence[str], claim: str) -> Task[list[PassageScore]]:
    """Return the task that judges each passage and the claim."""
    gaussians = gaussian_names()
    texts = [passage[:_READ] for passage in passages]

    def make(report: ProgressCallback) -> list[PassageScore]:
        if name in gaussians:
            return _score_by_gaussians(name, gaussians[name], texts, claim)
        return _score_by_cross_encoder(name, texts, claim, report)

    key = (name, gaussians.get(name) or judge_stamp(name), claim[:LONGEST], tuple(texts))
    return _SCORES.get_or_start(key, make, wait=_WAIT)


def _score_by_gaussians(
    name: str, revision: str | None, texts: Sequence[str], claim: str
) -> list[PassageScore]:
    encoder = finish(take_encoder(name, revision, wait=0))
    scores = []
    for verdict in judge(encoder, texts, [claim] * len(texts)):
        sure = f", {certainty(verdict.sure)} confidence" if verdict.sure is not None else ""
        entails = verdict.says in {"entails", "both ways"}
        scores.append(PassageScore(verdict.forward, entails, f"{_WORDS[verdict.says]}{sure}"))
    return scores


def _score_by_cross_encoder(
    name: str, texts: Sequence[str], claim: str, report: ProgressCallback
) -> list[PassageScore]:
    scores = []
    for value in load_judge(name).entailment(texts, [claim] * len(texts), progress=report).tolist():
        entails = value >= THRESHOLD
        words = "entails" if entails else "does not entail"
        scores.append(PassageScore(value, entails, f"{words}, P = {certainty(value)}"))
    return scores
