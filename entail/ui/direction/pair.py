"""Verdict on two sentences, with their Gaussians as ellipses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import streamlit as st

from entail.data.text import is_blank
from entail.encoders.catalogue import resolve
from entail.encoders.gaussian.distributions import Gaussians
from entail.encoders.gaussian.form import GaussianForm
from entail.gausscse.example_pair import EXAMPLE, find_gaussians
from entail.gausscse.projection import Projection, ellipse, project
from entail.gausscse.verdict import Verdict, judge, judge_gaussians, threshold_of
from entail.judge.judges import list_judges
from entail.progress import ProgressCallback
from entail.runtime.models import judge_stamp, load_judge
from entail.runtime.tasks import TaskGroup
from entail.ui.direction.encoder import ChosenEncoder, take_encoder
from entail.ui.shared.chart_marks import BLUE, VERMILION
from entail.ui.shared.link import init_value
from entail.ui.shared.model_names import model_label
from entail.ui.shared.text import certainty, label
from entail.ui.shared.waiting import await_value

if TYPE_CHECKING:
    import altair as alt

_FIRST, _SECOND = "direction_first", "direction_second"
_LONGEST = 200_000
"""Most characters of a sentence."""

_SOON = 0.3
"""Seconds that the page waits for the judge before it draws the rest."""

_READINGS = TaskGroup("joint readings", failure="the sentences could not be judged")
_NAMES = ["first", "second"]
_WORDS = {
    "entails": ":material/arrow_forward: The first sentence entails the second",
    "is entailed by": ":material/arrow_back: The second sentence entails the first",
    "both ways": ":material/sync_alt: Each entails the other",
    "neither": ":material/block: Neither entails the other",
}


class _Judged(NamedTuple):
    """Verdict on two sentences, with the settings of the encoder and both Gaussians."""

    verdict: Verdict
    form: GaussianForm
    gaussians: Gaussians


def draw_pair(choice: ChosenEncoder) -> None:
    """Draw the fields for two sentences, and the verdict."""
    for key, text in zip((_FIRST, _SECOND), EXAMPLE, strict=True):
        init_value(key, text)
    left, right = st.columns(2)
    first = left.text_area("First sentence", key=_FIRST, max_chars=_LONGEST, height=90)
    second = right.text_area("Second sentence", key=_SECOND, max_chars=_LONGEST, height=90)
    st.button("Swap", icon=":material/swap_horiz:", key="direction_swap", on_click=_swap)
    if is_blank(first) or is_blank(second):
        st.info("Enter two sentences.", icon=":material/edit:")
        return
    judged = _judge_pair(choice, first, second)
    if judged is None:
        return
    _draw_verdict(judged.verdict, judged.form)
    for which in judged.verdict.truncated:
        st.warning(
            f"The {which} sentence exceeds the encoder's input and was truncated.",
            icon=":material/content_cut:",
        )
    _draw_joint_reading(first, second)
    plane = project(judged.gaussians)
    st.altair_chart(
        draw_ellipses(plane), width="stretch", alt="Gaussians of the two sentences as ellipses on a plane"
    )
    st.caption(
        "One standard deviation around each mean, projected to the plane of largest difference "
        f"({plane.share:.1%} of all variance in {judged.gaussians.dimension} dimensions)."
    )
    take_encoder(choice.name, choice.revision, wait=0)  # for what is asked next


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


def _draw_verdict(verdict: Verdict, form: GaussianForm) -> None:
    sure = f", {certainty(verdict.sure)} confidence" if verdict.sure is not None else ""
    st.markdown(f"#### {_WORDS[verdict.says]}{sure}")
    fitted = (
        "Calibrated on dev." if form.threshold is not None else "Default: the encoder was not calibrated."
    )
    first, second, margin, threshold = st.columns(4)
    first.metric(
        "First → second",
        f"{verdict.forward:.3f}",
        help="sim(second || first), higher if the first entails the second",
    )
    second.metric(
        "Second → first",
        f"{verdict.backward:.3f}",
        help="sim(first || second), higher if the second entails the first",
    )
    margin.metric("Margin", f"{verdict.margin:+.2f}", help="Difference of both in logits")
    threshold.metric(
        "Threshold", f"{threshold_of(form):.3f}", help=f"Similarities above it are entailments. {fitted}"
    )
    if verdict.direction is not None and verdict.margin != 0:
        which = "first" if verdict.margin > 0 else "second"
        share = max(verdict.direction, 1 - verdict.direction)
        st.caption(f"If only one entails the other: the {which}, {certainty(share)} confidence.")


def _draw_joint_reading(first: str, second: str) -> None:
    """Draw the probability of each entailment by the judge, which reads both sentences together."""
    names = list_judges()
    if not names:
        return
    name = names[0]

    def read(_: ProgressCallback) -> list[float]:
        return cast("list[float]", load_judge(name).entailment([first, second], [second, first]).tolist())

    key = (name, judge_stamp(name), first, second)
    values = await_value(_READINGS.get_or_start(key, read, wait=_SOON), waiting="Reading both together …")
    if values is not None:
        forward, backward = map(certainty, values)
        st.caption(
            f"Read together by {label(model_label(name))}: "
            f"first → second {forward}, second → first {backward}.",
            help="Probability of entailment. A judge is right more often than an encoder, but cannot search.",
        )


def draw_ellipses(plane: Projection) -> alt.LayerChart:
    """Return two Gaussians on a plane, one standard deviation around their means."""
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
    x, y = (
        channel(f"{name}:Q", title=f"Axis {number} of the projection", axis=alt.Axis(tickCount=5))
        for number, (channel, name) in enumerate(((alt.X, "x"), (alt.Y, "y")), start=1)
    )
    legend = alt.Legend(title=None, orient="top")
    colour = alt.Color("sentence:N", scale=alt.Scale(domain=_NAMES, range=[BLUE, VERMILION]), legend=legend)
    dash = alt.Scale(domain=_NAMES, range=[[1, 0], [6, 3]])
    line = alt.Chart(outlines).mark_line(strokeWidth=2)
    line = line.encode(
        x=x,
        y=y,
        order="order:Q",
        color=colour,
        strokeDash=alt.StrokeDash("sentence:N", scale=dash, legend=legend),
    )
    dots = alt.Chart(means).mark_point(filled=True, size=60).encode(x=x, y=y, color=colour)
    chart: alt.LayerChart = (line + dots).properties(height=380, title="Gaussians of the two sentences")
    return chart
