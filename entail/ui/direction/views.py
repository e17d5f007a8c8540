"""Direction page: the encoder, the verdict on two sentences, and search by direction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import streamlit as st

from entail.data.text import is_blank
from entail.encoders.catalogue import resolve
from entail.encoders.gaussian.distributions import Gaussians
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.encoders.gaussian.form import GaussianForm
from entail.gausscse.example_pair import EXAMPLE, find_gaussians
from entail.gausscse.projection import Projection, ellipse, project
from entail.gausscse.verdict import Verdict, judge, judge_gaussians, threshold_of
from entail.index.gaussian import GaussianIndex
from entail.judge.judges import list_judges
from entail.progress import ProgressCallback
from entail.registry.models import active_name
from entail.registry.roles import list_usable
from entail.runtime.models import judge_stamp, load_judge, model_cache
from entail.runtime.tasks import Task, TaskGroup
from entail.ui.components.elements import pick_view
from entail.ui.shared.active import draw_notice, pick_model
from entail.ui.shared.chart_marks import BLUE, VERMILION
from entail.ui.shared.link import init_value
from entail.ui.shared.model_names import model_label, model_name
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import certainty, label, marked, words_of
from entail.ui.shared.waiting import await_value, draw_progress

if TYPE_CHECKING:
    import altair as alt

_ENCODERS = TaskGroup("Gaussian encoders", failure="the Gaussian encoder could not be loaded")
_READINGS = TaskGroup("joint readings", failure="the sentences could not be judged")

_ENCODER, _FIRST, _SECOND = "direction_encoder", "direction_first", "direction_second"
_LONGEST = 200_000
"""Most characters of a sentence."""

_SOON = 0.3
"""Seconds that the page waits for the judge before it draws the rest."""

_NAMES = ["first", "second"]
_WORDS = {
    "entails": ":material/arrow_forward: The first sentence entails the second",
    "is entailed by": ":material/arrow_back: The second sentence entails the first",
    "both ways": ":material/sync_alt: Each entails the other",
    "neither": ":material/block: Neither entails the other",
}

Direction = Literal["entailing", "entailed"]
_DIRECTIONS: dict[Direction, str] = {"entailing": "Entails the query", "entailed": "Entailed by the query"}
_HITS = 10


class ChosenEncoder(NamedTuple):
    """A Gaussian encoder that is loaded where it is needed."""

    name: str
    revision: str | None

    def take(self, *, wait: float = 2.5) -> Task[GaussianEncoder]:
        """Return the task that loads it, once a process and revision."""

        def make(_: ProgressCallback) -> GaussianEncoder:
            encoder = GaussianEncoder(model_cache().encoder(self.name))
            encoder.load()
            return encoder

        return _ENCODERS.get_or_start(tuple(self), make, wait=wait)

    def load(self) -> GaussianEncoder | None:
        """Return the loaded encoder; draw the progress and return None while it is loaded."""
        return await_value(self.take(), waiting="Loading the encoder …")


class _Judged(NamedTuple):
    """Verdict on two sentences, with the settings of the encoder and both Gaussians."""

    verdict: Verdict
    form: GaussianForm
    gaussians: Gaussians


def gaussian_names() -> dict[str, str | None]:
    """Return the available Gaussian encoders with their revisions, the active one first."""
    revisions = list_usable("direction")
    usual = active_name("direction", revisions)
    return {name: revisions[name] for name in sorted(revisions, key=lambda name: (name != usual, name))}


def draw_direction(shared: Workspace) -> None:
    """Draw the fields, and the view that is selected."""
    names = gaussian_names()
    if not names:
        st.info(
            "No Gaussian encoder yet. Train one with the method GaussCSE or `entail train gausscse`, or "
            "download one on the Models page.",
            icon=":material/model_training:",
        )
        st.page_link("pages/Models.py", label="Models", icon=":material/model_training:")
        return
    draw_notice("direction")
    pick_model("direction", _ENCODER, names)
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        view = pick_view("Mode", list(_VIEWS), default=next(iter(_VIEWS)), key="direction_mode")
    name = right.selectbox(
        "Encoder",
        list(names),
        format_func=model_label,
        key=_ENCODER,
        help="Gaussian encoders only: others have no direction.",
    )
    _VIEWS[view](shared, ChosenEncoder(name, names[name]))


def _draw_pair(_: Workspace, choice: ChosenEncoder) -> None:
    """Draw the fields for two sentences, and the verdict."""
    for key, text in zip((_FIRST, _SECOND), EXAMPLE, strict=True):
        init_value(key, text)
    left, right = st.columns(2)
    first = left.text_area("First sentence", key=_FIRST, max_chars=_LONGEST, height=90)
    second = right.text_area("Second sentence", key=_SECOND, max_chars=_LONGEST, height=90)
    st.button("Swap", icon=":material/swap_horiz:", key="direction_swap", on_click=_swap)
    if is_blank(first) or is_blank(second):
        st.info("Enter two sentences.", icon=":material/edit:")
        example = dict(zip((_FIRST, _SECOND), EXAMPLE, strict=True))
        st.button(
            "Try an example", key="direction_example", on_click=st.session_state.update, args=(example,)
        )
        return
    judged = _judge_pair(choice, first, second)
    if judged is None:
        return
    verdict, form = judged.verdict, judged.form
    sure = f", {certainty(verdict.sure)} confidence" if verdict.sure is not None else ""
    st.markdown(f"#### {_WORDS[verdict.says]}{sure}")
    if verdict.direction is not None and verdict.margin != 0:
        which = "first" if verdict.margin > 0 else "second"
        share = max(verdict.direction, 1 - verdict.direction)
        st.caption(f"If only one entails the other: the {which}, {certainty(share)} confidence.")
    for which in judged.verdict.truncated:
        st.warning(
            f"The {which} sentence exceeds the encoder's input and was truncated.",
            icon=":material/content_cut:",
        )
    with st.expander("Figures", icon=":material/query_stats:"):
        _draw_figures(verdict, form)
        _draw_joint_reading(first, second)
    plane = project(judged.gaussians)
    st.altair_chart(
        draw_ellipses(plane), width="stretch", alt="Gaussians of the two sentences as ellipses on a plane"
    )
    st.caption(
        "The sentence that entails becomes the wider one. One standard deviation around each mean, on the "
        f"plane of largest difference ({plane.share:.1%} of all variance in {judged.gaussians.dimension} "
        "dimensions)."
    )
    choice.take(wait=0)  # for what is asked next


def _judge_pair(choice: ChosenEncoder, first: str, second: str) -> _Judged | None:
    """Judge two sentences; return None while the encoder is loaded. The example needs none."""
    form = resolve(choice.name).gaussian
    stored = find_gaussians(choice.revision, (first, second))
    if stored is not None and form is not None:
        (verdict,) = judge_gaussians(form, [first], [second], stored[0], stored[1], truncated=())
        return _Judged(verdict, form, stored)
    encoder = choice.load()
    if encoder is None:
        return None
    with st.spinner("Encoding …", show_time=True):
        (verdict,) = judge(encoder, [first], [second])
        return _Judged(verdict, encoder.form, encoder.encode([first, second]))


def _swap() -> None:
    state = st.session_state
    if _FIRST in state and _SECOND in state:  # neither is set when the first run was interrupted
        state[_FIRST], state[_SECOND] = state[_SECOND], state[_FIRST]


def _draw_figures(verdict: Verdict, form: GaussianForm) -> None:
    fitted = (
        "Calibrated on dev." if form.threshold is not None else "Default: the encoder was not calibrated."
    )
    figures = (
        (
            "First → second",
            f"{verdict.forward:.3f}",
            "Similarity of the second given the first, high if it follows.",
        ),
        (
            "Second → first",
            f"{verdict.backward:.3f}",
            "Similarity of the first given the second, high if it follows.",
        ),
        (
            "Margin",
            f"{verdict.margin:+.2f}",
            "Difference of their log-odds; above 0 the first entails.",
        ),
        ("Threshold", f"{threshold_of(form):.3f}", f"Similarities above it are entailments. {fitted}"),
    )
    for cell, (name, value, explanation) in zip(st.columns(4), figures, strict=True):
        cell.metric(name, value, help=explanation)


def _draw_joint_reading(first: str, second: str) -> None:
    """Draw the probability of each entailment by the judge, which reads both sentences together."""
    names = list_judges()
    if not names:
        return
    name = active_name("judge", names) or names[0]

    def read(_: ProgressCallback) -> list[float]:
        return cast("list[float]", load_judge(name).entailment([first, second], [second, first]).tolist())

    key = (name, judge_stamp(name), first, second)
    values = await_value(_READINGS.get_or_start(key, read, wait=_SOON), waiting="Reading both together …")
    if values is not None:
        forward, backward = map(certainty, values)
        st.caption(
            f"Read together by {label(model_label(name))}: "
            f"first → second {forward}, second → first {backward}.",
            help="Probability of entailment by a judge, which cannot search. It tells better whether a "
            "sentence entails the other at all; on SNLI and MultiNLI the encoder tells better "
            "which one does.",
        )


def draw_ellipses(plane: Projection) -> alt.LayerChart:
    """Return two Gaussians on a plane of equal axes, one standard deviation around their means."""
    import altair as alt
    import pandas as pd

    outlines = pd.DataFrame(
        [
            {"sentence": name, "x": x, "y": y, "order": order}
            for name, mean, covariance in zip(_NAMES, plane.means, plane.covariances, strict=True)
            for order, (x, y) in enumerate(ellipse(mean, covariance))
        ]
    )
    means = pd.DataFrame({"sentence": _NAMES, "x": plane.means[:, 0], "y": plane.means[:, 1]})
    extents = {"width": outlines["x"].abs().max(), "height": outlines["y"].abs().max()}
    unit = f"1.05 * max({', '.join(f'{extent} / {side}' for side, extent in extents.items())})"
    x, y = (
        channel(
            f"{name}:Q",
            title=f"Axis {number} of the projection",
            axis=alt.Axis(tickCount=5),
            scale=alt.Scale(
                domainMin=alt.ExprRef(f"-{side} * {unit}"),
                domainMax=alt.ExprRef(f"{side} * {unit}"),
                nice=False,
            ),
        )
        for number, (channel, name, side) in enumerate(
            ((alt.X, "x", "width"), (alt.Y, "y", "height")), start=1
        )
    )
    legend = alt.Legend(title=None, orient="top")
    colour = alt.Color("sentence:N", scale=alt.Scale(domain=_NAMES, range=[BLUE, VERMILION]), legend=legend)
    dash = alt.StrokeDash("sentence:N", scale=alt.Scale(domain=_NAMES, range=[[1, 0], [6, 3]]), legend=legend)
    line = alt.Chart(outlines).mark_line(strokeWidth=2)
    line = line.encode(x=x, y=y, order="order:Q", color=colour, strokeDash=dash)
    dots = alt.Chart(means).mark_point(filled=True, size=60).encode(x=x, y=y, color=colour)
    chart: alt.LayerChart = (line + dots).properties(height=380, title="Gaussians of the two sentences")
    return chart


def _draw_search(shared: Workspace, choice: ChosenEncoder) -> None:
    """Draw the fields and the results of search by direction and by cosine."""
    encoder = choice.load()
    if encoder is None:
        return
    infos = {info.id: info for info in shared.corpora.corpora()}
    if not infos:
        st.info("No corpus yet. Upload one on the Corpora page.", icon=":material/library_add:")
        return
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    query = left.text_input(
        "Query", key="direction_query", max_chars=_LONGEST, value="the moon reflects sunlight"
    )
    corpus_id = right.selectbox(
        "Corpus", list(infos), format_func=lambda id_: infos[id_].name, key="direction_corpus"
    )
    direction = pick_view(
        "Direction",
        list(_DIRECTIONS),
        default="entailing",
        format_func=_DIRECTIONS.get,
        key="direction_way",
    )
    if is_blank(query):
        st.info("Enter a query.", icon=":material/edit:")
        return
    corpus = shared.corpora.corpus(corpus_id, version=infos[corpus_id].version)
    by_direction = cast("Task[GaussianIndex]", model_cache().get_or_start(encoder.name, corpus))
    by_cosine = model_cache().get_or_start("minilm", corpus)
    if by_direction.value is None or by_cosine.value is None:
        draw_progress(by_direction if by_direction.value is None else by_cosine)
        return
    if encoder.cut([query])[0]:
        st.warning("The query exceeds the encoder's input and was truncated.", icon=":material/content_cut:")
    title = f"{_DIRECTIONS[direction]} ({model_name(encoder.name)})"
    sides = (
        (title, by_direction.value.search([query], k=_HITS, direction=direction)),
        ("Plain cosine (MiniLM)", by_cosine.value.search([query], k=_HITS)),
    )
    threshold, words = threshold_of(encoder.form), words_of(query)
    above = int((sides[0][1].scores[0] > threshold).sum())
    fitted = "" if encoder.form.threshold is not None else " (default: the encoder was not calibrated)"
    line = "No entailment below this line" if above else "No hit is an entailment"
    hit_sets = [frozenset(hits.positions[0].tolist()) for _, hits in sides]
    for number, (column, (title, hits)) in enumerate(zip(st.columns(2), sides, strict=True)):
        with column:
            st.markdown(f"**{label(title)}**")
            rows = zip(hits.positions[0].tolist(), hits.scores[0].tolist(), strict=True)
            for rank, (position, score) in enumerate(rows, start=1):
                if number == 0 and rank == above + 1:
                    st.caption(f":material/horizontal_rule: **{line}**: threshold {threshold:.3f}{fitted}.")
                also = " · in both" if position in hit_sets[1 - number] else ""
                st.html(
                    f'<div class="entail-sentence">{rank}. {marked(corpus.texts[position], words)} '
                    f'<span class="entail-quiet">{score:.3f}{also}</span></div>'
                )


_VIEWS: Mapping[str, Callable[[Workspace, ChosenEncoder], None]] = {
    "Two sentences": _draw_pair,
    "Search": _draw_search,
}
