"""What says whether a passage entails a claim: cross-encoders of NLI, encoders of Gaussians."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from entail.errors import EncoderError
from entail.settings import is_demo
from entail.ui.claims_link import LONGEST, wanted
from entail.ui.direction_encoder import gaussian_names, loaded, take_encoder
from entail.ui.words import certainty
from entail.ui.works import Work, Works

if TYPE_CHECKING:
    from entail.progress import ProgressCallback

BY_KEY, OTHER_KEY = "claims_judges", "claims_other"
"""Keys of the fields, and so of the choices in the session."""

NOBODY = "nobody"
_BETWEEN = "|"
_SAID = {
    "entails": "entails it",
    "is entailed by": "follows from it",
    "both ways": "says the same",
    "neither": "neither entails the other",
}
_READ = 2000
"""Characters of a passage that are judged."""


@dataclass(frozen=True)
class Score:
    """What a judge says of a passage and the claim.

    Attributes:
        value: P(passage entails claim), or the similarity by which an encoder of Gaussians decides.
        entails: Whether that is an entailment.
        words: The same for a person.
    """

    value: float
    entails: bool
    words: str


def pick_judges() -> list[str]:
    """Draw the choice of judges and return it; where no cross-encoder is here, say how to get one."""
    from entail.tuning.judge import list_judges

    cross, gaussians = list_judges(), list(gaussian_names())
    other = "" if is_demo() else str(st.session_state.get(OTHER_KEY, "")).strip()
    names = list(dict.fromkeys([*cross, *gaussians, *([other] if other else [])]))
    if BY_KEY not in st.session_state:
        told = wanted("by")
        begun = told.split(_BETWEEN) if told is not None else names[:1]
        st.session_state[BY_KEY] = [name for name in begun if name in names]
    st.session_state[BY_KEY] = [name for name in st.session_state[BY_KEY] if name in names]
    chosen = st.multiselect(
        "Entailment judged by",
        names,
        key=BY_KEY,
        format_func=lambda name: f"{name} (direction)" if name in gaussians else name,
        placeholder="Nobody",
        help="A cross-encoder of natural language inference says how probable a passage makes the claim; "
        "an encoder of Gaussians says which of the two entails the other.",
    )
    if not cross:
        st.caption(
            ":material/info: No cross-encoder of natural language inference is here: train one by "
            "`entail train judge`, or name one below."
        )
    if not is_demo():  # a visitor loads nothing
        with st.expander("Another cross-encoder"):
            st.text_input(
                "Folder or Hub id",
                key=OTHER_KEY,
                max_chars=300,
                placeholder="cross-encoder/nli-MiniLM2-L6-H768",
                on_change=_take_other,
                help="It is loaded when it is first asked, from the Hub if it is not here.",
            )
    return list(chosen)


def _take_other() -> None:
    """Choose the judge that was typed in; called before a run."""
    name = str(st.session_state.get(OTHER_KEY, "")).strip()
    chosen = st.session_state.get(BY_KEY, [])
    if name and name not in chosen:
        st.session_state[BY_KEY] = [*chosen, name]


def to_address(chosen: Sequence[str]) -> dict[str, str]:
    """Return the choice as a part of an address."""
    return {"by": _BETWEEN.join(chosen) or NOBODY}


@st.cache_resource(show_spinner=False)
def _judges() -> Works:
    return Works(3, failure="the judge could not be loaded")


@st.cache_resource(show_spinner=False)
def _scores() -> Works:
    return Works(64, failure="the passages could not be judged")


def take_scores(name: str, passages: Sequence[str], claim: str) -> Work[list[Score]]:
    """Return what a judge says of each passage and the claim, in the making where it is not known."""
    judges, encoders, gaussians = _judges(), loaded(), gaussian_names()
    texts = [passage[:_READ] for passage in passages]

    def make(report: ProgressCallback) -> list[Score]:
        if name in gaussians:
            return _by_gaussians(name, gaussians[name], encoders, texts, claim)
        return _by_cross_encoder(name, judges, texts, claim, report)

    place = (name, gaussians.get(name) or _stamp(name), claim[:LONGEST], tuple(texts))
    return _scores().take(place, make)


def _by_gaussians(
    name: str, revision: str | None, works: Works, texts: Sequence[str], claim: str
) -> list[Score]:
    from entail.gausscse.verdict import judge

    work = take_encoder(name, revision, wait=0, works=works)
    work.done.wait()
    if work.value is None:
        raise work.error or EncoderError(f"{name} could not be loaded")
    verdicts = judge(work.value, texts, [claim] * len(texts))
    found = []
    for verdict in verdicts:
        entails = verdict.says in {"entails", "both ways"}
        sure = f", {certainty(verdict.sure)} sure" if verdict.sure is not None else ""
        found.append(Score(verdict.forward, entails, f"{_SAID[verdict.says]}{sure}"))
    return found


def _by_cross_encoder(
    name: str, works: Works, texts: Sequence[str], claim: str, report: ProgressCallback
) -> list[Score]:
    from entail.tuning.judge import NliJudge

    work = works.take((name, _stamp(name)), lambda _: NliJudge(name), wait=0)
    work.done.wait()
    if work.value is None:
        raise work.error or EncoderError(f"{name} could not be loaded")
    values = work.value.entailment(texts, [claim] * len(texts), progress=report)
    return [
        Score(float(value), bool(value >= 0.5), f"{'entails' if value >= 0.5 else 'does not entail'}, "
              f"P = {certainty(float(value))}")
        for value in values
    ]  # fmt: skip


def _stamp(name: str) -> int:
    """Return what changes when a judge under `models/` is replaced; 0 for one that is elsewhere."""
    from entail.settings import load_settings

    try:
        return (load_settings().models_dir / name / "entail.json").stat().st_mtime_ns
    except (OSError, ValueError):
        return 0
