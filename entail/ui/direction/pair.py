"""Verdict on two sentences, with their Gaussians as ellipses and by variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

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
from entail.ui.direction.encoder import ChosenEncoder
from entail.ui.shared.chart_marks import BLUE, VERMILION
from entail.ui.shared.link import init_value
from entail.ui.shared.model_names import model_label
from entail.ui.shared.text import certainty, label
from entail.ui.shared.waiting import await_value

if TYPE_CHECKING:
    import altair as alt

FIRST, SECOND = "direction_first", "direction_second"
LONGEST = 200_000
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


@dataclass(frozen=True)
class JudgedPair:
    """Verdict on two sentences, with their Gaussians and the settings of the encoder."""

    verdict: Verdict
    form: GaussianForm
    gaussians: tuple[Gaussians, Gaussians]


def _judge_pair(choice: ChosenEncoder, first: str, second: str) -> JudgedPair | None:
    """Judge two sentences; return None while the encoder is loaded. The example needs none."""
    form = resolve(choice.name).gaussian
    gaussians = find_gaussians(choice.revision, (first, second))
    if gaussians is not None and form is not None:
        first_gaussians, second_gaussians = gaussians[0], gaussians[1]
        (verdict,) = judge_gaussians(form, [first], [second], first_gaussians, second_gaussians, truncated=())
        return JudgedPair(verdict, form, (first_gaussians, second_gaussians))
    encoder = choice.load()
    if encoder is None:
        return None
    with st.spinner("Encoding …", show_time=True):
        (verdict,) = judge(encoder, [first], [second])
        return JudgedPair(verdict, encoder.form, encoder.encode_pairs([first], [second]))


def draw_pair(choice: ChosenEncoder) -> None:
    """Draw the fields for two sentences, and the verdict."""
    for key, text in zip((FIRST, SECOND), EXAMPLE, strict=True):
        init_value(key, text)
    left, right = st.columns(2)
    first = left.text_area("First sentence", key=FIRST, max_chars=LONGEST, height=90)
    second = right.text_area("Second sentence", key=SECOND, max_chars=LONGEST, height=90)
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
    _draw_gaussians(*judged.gaussians)


def _swap() -> None:
    state = st.session_state
    if FIRST in state and SECOND in state:  # neither is set when the first run was interrupted
        state[FIRST], state[SECOND] = state[SECOND], state[FIRST]


def _draw_verdict(verdict: Verdict, form: GaussianForm) -> None:
    sure = f", {certainty(verdict.sure)} confidence" if verdict.sure is not None else ""
    st.markdown(f"#### {_WORDS[verdict.says]}{sure}")
    fitted = (
        "Calibrated on dev." if form.threshold is not None else "Default: the encoder was not calibrated."
    )
    figures = (
        (
            "First → second",
            f"{verdict.forward:.3f}",
            "sim(second || first), higher if the first entails the second",
        ),
        (
            "Second → first",
            f"{verdict.backward:.3f}",
            "sim(first || second), higher if the second entails the first",
        ),
        ("Margin", f"{verdict.margin:+.2f}", "Difference of both in logits"),
        ("Threshold", f"{threshold_of(form):.3f}", f"Similarities above it are entailments. {fitted}"),
    )
    for column, (name, value, help_) in zip(st.columns(len(figures)), figures, strict=True):
        column.metric(name, value, help=help_)
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


def _draw_gaussians(first_gaussians: Gaussians, second_gaussians: Gaussians) -> None:
    import numpy as np

    pair = Gaussians(
        np.concatenate([first_gaussians.mean, second_gaussians.mean]),
        np.concatenate([first_gaussians.log_variance, second_gaussians.log_variance]),
    )
    plane = project(pair)
    left, right = st.columns(2)
    with left:
        st.altair_chart(
            draw_ellipses(plane),
            width="stretch",
            alt="Gaussians of the two sentences as ellipses on a plane",
        )
        st.caption(
            "One standard deviation around each mean, projected to the plane of largest difference "
            f"({plane.share:.1%} of all variance in {pair.dimension} dimensions)."
        )
    with right:
        st.altair_chart(
            draw_variances(pair), width="stretch", alt="Log variance of both sentences by dimension"
        )
        wider = int((pair.log_variance[0] > pair.log_variance[1]).sum())
        st.caption(
            f"Sorted by difference. The first sentence has the larger variance in {wider} of "
            f"{pair.dimension} dimensions; sums {pair.log_variance[0].sum():+.1f} and "
            f"{pair.log_variance[1].sum():+.1f}."
        )


def _legend() -> alt.Legend:
    import altair as alt

    return alt.Legend(title=None, orient="top")


def _colour() -> alt.Color:
    import altair as alt

    scale = alt.Scale(domain=_NAMES, range=[BLUE, VERMILION])
    return alt.Color("sentence:N", scale=scale, legend=_legend())


def draw_ellipses(plane: Projection) -> alt.LayerChart:
    """Return two Gaussians on a plane, one standard deviation around their means."""
    import altair as alt
    import pandas as pd

    outlines = [
        {"sentence": name, "x": x, "y": y, "order": order}
        for name, mean, covariance in zip(_NAMES, plane.means, plane.covariances, strict=True)
        for order, (x, y) in enumerate(ellipse(mean, covariance))
    ]
    axes = [alt.Axis(title=f"Axis {number} of the projection", tickCount=5) for number in (1, 2)]
    dash = alt.Scale(domain=_NAMES, range=[[1, 0], [6, 3]])
    line = alt.Chart(pd.DataFrame(outlines)).mark_line(strokeWidth=2)
    line = line.encode(
        x=alt.X("x:Q", axis=axes[0]),
        y=alt.Y("y:Q", axis=axes[1]),
        order="order:Q",
        color=_colour(),
        strokeDash=alt.StrokeDash("sentence:N", scale=dash, legend=_legend()),
    )
    points = pd.DataFrame({"sentence": _NAMES, "x": plane.means[:, 0], "y": plane.means[:, 1]})
    dots = (
        alt.Chart(points)
        .mark_point(filled=True, size=60)
        .encode(x=alt.X("x:Q", axis=axes[0]), y=alt.Y("y:Q", axis=axes[1]), color=_colour())
    )
    chart: alt.LayerChart = (line + dots).properties(height=380, title="Gaussians of the two sentences")
    return chart


def draw_variances(pair: Gaussians) -> alt.Chart:
    """Return the log variances of two Gaussians, dimensions sorted by their difference."""
    import altair as alt
    import numpy as np
    import pandas as pd

    order = np.argsort(pair.log_variance[0] - pair.log_variance[1], kind="stable")
    table = pd.DataFrame(
        {
            "place": np.tile(np.arange(pair.dimension), 2),
            "log variance": np.concatenate([pair.log_variance[0][order], pair.log_variance[1][order]]),
            "sentence": np.repeat(_NAMES, pair.dimension),
        }
    )
    axis = alt.Axis(tickCount=5)
    line = alt.Chart(table).mark_line(strokeWidth=1.5)
    chart: alt.Chart = line.encode(
        x=alt.X("place:Q", title="Dimension, by difference", axis=axis),
        y=alt.Y("log variance:Q", title="Log variance", axis=axis),
        color=_colour(),
        tooltip=[
            alt.Tooltip("sentence:N", title="Sentence"),
            alt.Tooltip("log variance:Q", title="Log variance", format=".2f"),
        ],
    ).properties(height=380, title="Log variance by dimension")
    return chart
