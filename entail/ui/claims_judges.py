"""What says whether a passage entails a claim: cross-encoders of NLI, encoders of Gaussians."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from entail.errors import EncoderError
from entail.settings import is_demo
from entail.ui.claims_link import LONGEST, begin, wanted
from entail.ui.direction_encoder import gaussian_names, loaded, take_encoder
from entail.ui.words import certainty
from entail.ui.works import Work, Works

if TYPE_CHECKING:
    from entail.progress import ProgressCallback
    from entail.tuning.judge import NliJudge

BY_KEY, ONE_KEY, OTHER_KEY = "claims_judges", "claims_judge", "claims_other"
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
    names = list(dict.fromkeys([*cross, *gaussians, *_other()]))
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
    _draw_other(missing=not cross, take=_take_other)
    return list(chosen)


def pick_judge() -> str | None:
    """Draw the choice of one cross-encoder, which alone tells P(entailment); None where none is here."""
    from entail.tuning.judge import list_judges

    cross = list_judges()
    names = list(dict.fromkeys([*cross, *_other()]))
    chosen = None
    if names:
        chosen = st.selectbox(
            "Entailment judged by",
            names,
            key=begin("judge", names, names[0]),
            help="A cross-encoder of natural language inference: it says how probable a passage makes a "
            "claim. An encoder of Gaussians tells a direction and no probability, so none is listed.",
        )
    _draw_other(missing=not cross, take=_take_one)
    return chosen


def _other() -> list[str]:
    """Return the judge that was typed in, where one was."""
    name = "" if is_demo() else str(st.session_state.get(OTHER_KEY, "")).strip()
    return [name] if name else []


def _draw_other(*, missing: bool, take: Callable[[], None]) -> None:
    """Draw the field for a judge that is not listed, and where none is here, how to get one."""
    if missing:
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
                on_change=take,
                help="It is loaded when it is first asked, from the Hub if it is not here.",
            )


def _take_other() -> None:
    """Choose the judge that was typed in beside the others; called before a run."""
    chosen = st.session_state.get(BY_KEY, [])
    st.session_state[BY_KEY] = list(dict.fromkeys([*chosen, *_other()]))


def _take_one() -> None:
    """Choose the judge that was typed in; called before a run."""
    for name in _other():
        st.session_state[ONE_KEY] = name


def to_address(chosen: Sequence[str]) -> dict[str, str]:
    """Return the choice as a part of an address."""
    return {"by": _BETWEEN.join(chosen) or NOBODY}


@st.cache_resource(show_spinner=False)
def judges() -> Works:
    """Return the process's cross-encoders, each in memory once."""
    return Works(3, failure="the judge could not be loaded")


def held_judge(name: str, works: Works) -> NliJudge:
    """Return the one copy of a cross-encoder in this process, loaded at the first call.

    Args:
        name: A name under `models/`, a folder or a Hub id.
        works: What `judges` returned, since a thread that runs no page cannot ask.

    Raises:
        EncoderError: If it cannot be loaded.
    """
    from entail.tuning.judge import NliJudge

    work = works.take((name, judge_stamp(name)), lambda _: NliJudge(name), wait=0)
    work.done.wait()
    if work.value is None:
        raise work.error or EncoderError(f"{name} could not be loaded")
    return work.value


@st.cache_resource(show_spinner=False)
def _scores() -> Works:
    return Works(64, failure="the passages could not be judged")


def take_scores(name: str, passages: Sequence[str], claim: str) -> Work[list[Score]]:
    """Return what a judge says of each passage and the claim, in the making where it is not known."""
    works, encoders, gaussians = judges(), loaded(), gaussian_names()
    texts = [passage[:_READ] for passage in passages]

    def make(report: ProgressCallback) -> list[Score]:
        if name in gaussians:
            return _by_gaussians(name, gaussians[name], encoders, texts, claim)
        return _by_cross_encoder(name, works, texts, claim, report)

    place = (name, gaussians.get(name) or judge_stamp(name), claim[:LONGEST], tuple(texts))
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
    values = held_judge(name, works).entailment(texts, [claim] * len(texts), progress=report)
    return [
        Score(float(value), bool(value >= 0.5), f"{'entails' if value >= 0.5 else 'does not entail'}, "
              f"P = {certainty(float(value))}")
        for value in values
    ]  # fmt: skip


def judge_stamp(name: str) -> int:
    """Return what changes when a judge under `models/` is replaced; 0 for one that is elsewhere."""
    from entail.settings import load_settings

    try:
        return (load_settings().models_dir / name / "entail.json").stat().st_mtime_ns
    except (OSError, ValueError):
        return 0
