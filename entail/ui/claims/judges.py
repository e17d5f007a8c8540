"""Judges of whether a passage entails a claim: NLI cross-encoders and Gaussian encoders."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from entail.evaluation.passages.wordings import PassageScore
from entail.gausscse.verdict import judge
from entail.judge.judges import THRESHOLD, list_judges
from entail.progress import ProgressCallback
from entail.runtime.models import judge_stamp, load_judge
from entail.runtime.tasks import Task, TaskGroup, finish
from entail.ui.claims.fields import LINK
from entail.ui.direction.encoder import gaussian_names, take_encoder
from entail.ui.shared.model_names import model_label
from entail.ui.shared.text import certainty

_KEY = "claims_judges"
_BETWEEN = "|"
"""Separator of several names in the link."""

_NOBODY = "nobody"
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
    cross = list_judges()
    names = list(dict.fromkeys([*cross, *gaussian_names()]))
    if _KEY not in st.session_state:
        requested = LINK.requested("by")
        st.session_state[_KEY] = names[:1] if requested is None else requested.split(_BETWEEN)
    st.session_state[_KEY] = [name for name in dict.fromkeys(st.session_state[_KEY]) if name in names]
    selection = st.multiselect(
        "Judges",
        names,
        key=_KEY,
        format_func=model_label,
        placeholder="None",
        help="Cross-encoders give P(passage entails claim), Gaussian encoders the direction.",
    )
    if not cross:
        st.caption(
            ":material/info: No NLI cross-encoder yet. Train one with `entail train judge`, or pull one on "
            "the Models page."
        )
    return list(selection)


def to_address(names: Sequence[str]) -> dict[str, str]:
    """Return the selection as a part of a link."""
    return {"by": _BETWEEN.join(names) or _NOBODY}


def take_scores(name: str, passages: Sequence[str], claim: str) -> Task[list[PassageScore]]:
    """Return the task that judges each passage and the claim."""
    gaussians = gaussian_names()
    texts = [passage[:_READ] for passage in passages]

    def make(report: ProgressCallback) -> list[PassageScore]:
        if name in gaussians:
            return _score_by_gaussians(name, gaussians[name], texts, claim)
        values = load_judge(name).entailment(texts, [claim] * len(texts), progress=report).tolist()
        return [
            PassageScore(value, True, f"entails, P = {certainty(value)}")
            if value >= THRESHOLD
            else PassageScore(value, False, f"does not entail, P = {certainty(value)}")
            for value in values
        ]

    key = (name, gaussians.get(name) or judge_stamp(name), claim, tuple(texts))
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
