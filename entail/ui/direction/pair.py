"""Verdict on two sentences, with their Gaussians as ellipses and by variance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from entail.data.text import is_blank
from entail.ui.shared.text import certainty

if TYPE_CHECKING:
    import altair as alt

    from entail.encoders.gaussian.distributions import Gaussians
    from entail.encoders.gaussian.encoder import GaussianEncoder
    from entail.encoders.gaussian.form import GaussianForm
    from entail.gausscse.verdict import Verdict

FIRST, SECOND = "direction_first", "direction_second"
EXAMPLE = ("A girl in a yellow dress is jumping into a swimming pool.", "A girl is jumping into water.")
COLOURS = ("#0072b2", "#d55e00")
LONGEST = 200_000
"""Most characters of a sentence."""

_ICONS = {
    "entails": ":material/arrow_forward:",
    "is entailed by": ":material/arrow_back:",
    "both ways": ":material/sync_alt:",
    "neither": ":material/block:",
}


def swap() -> None:
    """Swap the two sentences; called before a run."""
    state = st.session_state
    if FIRST in state and SECOND in state:  # neither is set when the first run was interrupted
        state[FIRST], state[SECOND] = state[SECOND], state[FIRST]


def draw_pair(encoder: GaussianEncoder) -> None:
    """Draw the fields for two sentences, and the verdict."""
    from entail.gausscse.verdict import judge

    for key, text in zip((FIRST, SECOND), EXAMPLE, strict=True):
        st.session_state.setdefault(key, text)
    left, right = st.columns(2)
    first = left.text_area("First sentence", key=FIRST, max_chars=LONGEST, height=90)
    second = right.text_area("Second sentence", key=SECOND, max_chars=LONGEST, height=90)
    st.button("Swap", icon=":material/swap_horiz:", key="direction_swap", on_click=swap)
    if is_blank(first) or is_blank(second):
        st.info("Enter two sentences.", icon=":material/edit:")
        return
    with st.spinner("Encoding …", show_time=True):
        (verdict,) = judge(encoder, [first], [second])
        one, two = encoder.encode_pairs([first], [second])
    draw_verdict(verdict, encoder.form)
    for which in verdict.truncated:
        st.warning(
            f"The {which} sentence exceeds the encoder's input and was truncated.",
            icon=":material/content_cut:",
        )
    draw_gaussians(one, two)


def draw_verdict(verdict: Verdict, form: GaussianForm) -> None:
    """Draw a verdict with its figures."""
    from entail.gausscse.verdict import threshold_of

    sure = f", {certainty(verdict.sure)} confidence" if verdict.sure is not None else ""
    words = {
        "entails": "The first sentence entails the second",
        "is entailed by": "The second sentence entails the first",
        "both ways": "Each entails the other",
        "neither": "Neither entails the other",
    }[verdict.says]
    st.markdown(f"#### {_ICONS[verdict.says]} {words}{sure}")
    figures = st.columns(4)
    figures[0].metric(
        "First → second",
        f"{verdict.forward:.3f}",
        help="sim(second || first), higher if the first entails the second",
    )
    figures[1].metric(
        "Second → first",
        f"{verdict.backward:.3f}",
        help="sim(first || second), higher if the second entails the first",
    )
    figures[2].metric("Margin", f"{verdict.margin:+.2f}", help="Difference of both in logits")
    figures[3].metric(
        "Threshold",
        f"{threshold_of(form):.3f}",
        help="Similarities above it are entailments. "
        + (
            "Calibrated on dev." if form.threshold is not None else "Default: the encoder was not calibrated."
        ),
    )
    if verdict.direction is not None and verdict.margin != 0:
        first = verdict.margin > 0
        share = max(verdict.direction, 1 - verdict.direction)
        st.caption(
            f"If only one entails the other: the {'first' if first else 'second'}, {certainty(share)} "
            "confidence."
        )


def draw_gaussians(one: Gaussians, two: Gaussians) -> None:
    """Draw two Gaussians as ellipses, and their log variances by dimension."""
    import numpy as np

    from entail.encoders.gaussian.distributions import Gaussians
    from entail.gausscse.projection import project

    pair = Gaussians(
        np.concatenate([one.mean, two.mean]), np.concatenate([one.log_variance, two.log_variance])
    )
    seen = project(pair)
    left, right = st.columns(2)
    with left:
        st.altair_chart(ellipses(seen.means, seen.covariances), width="stretch")
        st.caption(
            f"One standard deviation around each mean, projected to the plane of largest difference "
            f"({seen.kept:.1%} of all variance in {pair.dimension} dimensions)."
        )
    with right:
        st.altair_chart(variances(pair), width="stretch")
        wider = int((pair.log_variance[0] > pair.log_variance[1]).sum())
        st.caption(
            f"Sorted by difference. The first sentence has the larger variance in {wider} of "
            f"{pair.dimension} dimensions; sums {pair.log_variance[0].sum():+.1f} and "
            f"{pair.log_variance[1].sum():+.1f}."
        )


def ellipses(means: object, covariances: object) -> alt.LayerChart:
    """Return two Gaussians on a plane, one standard deviation around their means."""
    import altair as alt
    import numpy as np
    import pandas as pd

    from entail.gausscse.projection import ellipse

    centres, around = np.asarray(means), np.asarray(covariances)
    names = ["first", "second"]
    lines = [
        {"sentence": name, "x": x, "y": y, "order": order}
        for name, mean, covariance in zip(names, centres, around, strict=True)
        for order, (x, y) in enumerate(ellipse(mean, covariance))
    ]
    colour = alt.Color(
        "sentence:N",
        scale=alt.Scale(domain=names, range=list(COLOURS)),
        legend=alt.Legend(title=None, orient="top"),
    )
    axis = alt.Axis(title=None, tickCount=5)
    line = (
        alt.Chart(pd.DataFrame(lines))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("x:Q", axis=axis),
            y=alt.Y("y:Q", axis=axis),
            order="order:Q",
            color=colour,
            strokeDash=alt.StrokeDash(
                "sentence:N", scale=alt.Scale(domain=names, range=[[1, 0], [6, 3]]), legend=None
            ),
        )
    )
    points = pd.DataFrame({"sentence": names, "x": centres[:, 0], "y": centres[:, 1]})
    dots = alt.Chart(points).mark_point(filled=True, size=60).encode(x="x:Q", y="y:Q", color=colour)
    chart: alt.LayerChart = (line + dots).properties(height=300, title="The two Gaussians")
    return chart


def variances(pair: Gaussians) -> alt.Chart:
    """Return the log variances of two Gaussians, dimensions sorted by their difference."""
    import altair as alt
    import numpy as np
    import pandas as pd

    order = np.argsort(pair.log_variance[0] - pair.log_variance[1], kind="stable")
    table = pd.DataFrame(
        {
            "place": np.tile(np.arange(pair.dimension), 2),
            "log variance": np.concatenate([pair.log_variance[0][order], pair.log_variance[1][order]]),
            "sentence": np.repeat(["first", "second"], pair.dimension),
        }
    )
    chart: alt.Chart = (
        alt.Chart(table)
        .mark_line(strokeWidth=1.5)
        .encode(
            x=alt.X("place:Q", title=None, axis=alt.Axis(tickCount=5)),
            y=alt.Y("log variance:Q", title=None, axis=alt.Axis(tickCount=5)),
            color=alt.Color(
                "sentence:N",
                scale=alt.Scale(domain=["first", "second"], range=list(COLOURS)),
                legend=alt.Legend(title=None, orient="top"),
            ),
            tooltip=["sentence:N", "log variance:Q"],
        )
        .properties(height=300, title="Log variance by dimension")
    )
    return chart
