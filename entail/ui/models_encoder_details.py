"""One encoder: what it is, its figures, its card."""

from __future__ import annotations

import re

import pandas as pd
import streamlit as st

from entail.cards.measured_pairs import MeasuredPairs
from entail.cards.model_card import model_card
from entail.encoders.catalogue import EncoderEntry
from entail.errors import EncoderError
from entail.ui.models_encoder_figures import PROTOCOL_NAMES, Known
from entail.ui.models_encoder_list import Row, card_text, megabytes
from entail.ui.words import label

_MEASURES = ("MAP", "NDCG", "NDCG@10", "Hit@10", "Hit@50")
_LONGEST = 60_000
_HEADING = re.compile(r"#{1,3} ")
_TOWERS = {
    "siamese": "claims and premises by the same weights",
    "single": "claims by the trained tower, premises by the base: it searches the base's index",
    "dual": "claims and premises by a trained tower each",
}
_KINDS = {
    "packaged": "comes with entail",
    "folder": "a folder under models/",
    "hub": "from the Hugging Face Hub",
}
_QUESTIONS = {"nli": "does it entail?", "direction": "which entails which?"}
_COUNTS = {"queries": "claims", "positives": "premises that explain one", "negatives": "that do not"}


def draw_about(row: Row) -> None:
    """Draw what an encoder is."""
    entry, facts = row.entry, row.facts
    told = {
        "Where it is": _KINDS[entry.kind]
        + (f", {megabytes(row.size)} on disk" if row.size is not None else ""),
        "Method": row.method,
        "Base": f"{entry.base.name} ({entry.base.revision})" if entry.base else "none: it is a whole model",
        "Encodes": _TOWERS[entry.towers] if entry.base else "claims and premises by one model",
        "A sentence becomes": _sentence(entry),
        "Learnt from": _learnt_from(row),
        "Licence": row.licence,
        "Ranks for": ", ".join(row.ranks) or "nobody as the active encoder",
        "Revision": entry.revision or "known once it is here",
    }
    st.markdown(
        f"| {label(row.name)} | |\n|---|---|\n"
        + "\n".join(f"| **{name}** | {label(value)} |" for name, value in told.items())
    )
    if facts is not None and facts.entry.base is not None:
        st.caption("An adapter: the base is in memory once, for every encoder on it.")


def _sentence(entry: EncoderEntry) -> str:
    what = "a vector" if entry.gaussian is None else "a Gaussian"
    d = entry.space_dimension
    if d is None:
        return f"{what} of as many dimensions as the model says once loaded"
    made = f"{what} of {d:,} dimensions"
    return made if entry.gaussian is None else f"{made}: {d:,} means and {d:,} log variances"


def _learnt_from(row: Row) -> str:
    if row.learnt_from is None:
        return "nobody said"
    named = row.learnt_from[:4]
    words = ", ".join(named) + (f" and {len(row.learnt_from) - 4} more" if len(row.learnt_from) > 4 else "")
    counts = row.facts.told["trained_on"] if row.facts is not None else {}
    parts = [
        f"{counts[name]:,} {what}" for name, what in _COUNTS.items() if isinstance(counts.get(name), int)
    ]
    return words + (f" ({', '.join(parts)})" if parts else "")


def draw_figures(row: Row) -> None:
    """Draw all figures that are known of an encoder: by both protocols, or on pairs of sentences."""
    pairs = row.facts.measured_pairs if row.facts is not None else ()
    for place, measured in enumerate(pairs):
        _draw_pairs(measured, key=f"pairs-{row.entry.revision}-{place}")
    if not row.known and not pairs and row.entry.gaussian is not None:
        st.info(
            "Nobody has measured this encoder of Gaussians yet: `entail evaluate direction` and "
            "`entail evaluate nli` do, and `entail card --results` puts the figures on its card.",
            icon=":material/query_stats:",
        )
        return
    if not row.known and not pairs:
        st.info(
            "Nobody has measured this encoder yet. Compare it with the active one under “Promote”, or on "
            "the Compare page.",
            icon=":material/query_stats:",
        )
        return
    for place, one in enumerate(row.known):
        _draw_known(one, key=f"known-{row.entry.revision}-{place}")


def _draw_pairs(measured: MeasuredPairs, *, key: str) -> None:
    st.markdown(f"**{label(measured.source)}**, pairs of sentences")
    table = pd.DataFrame(
        {
            "pairs": one.data,
            "asked": _QUESTIONS[one.question],
            "count": one.n,
            "accuracy": one.accuracy,
            "AUPRC": one.auprc,
            "without it": one.baseline,
            "longer entailed": one.longer[0] if one.longer else None,
        }
        for one in measured.sets
    )
    shares = ("accuracy", "AUPRC", "without it", "longer entailed")
    helps = {
        "without it": "The majority class; of a direction, the longer sentence",
        "longer entailed": "Accuracy where the longer sentence is the entailed one: length is wrong there",
    }
    st.dataframe(
        table,
        hide_index=True,
        height="content",
        placeholder="",
        column_config={
            "count": st.column_config.NumberColumn(format="localized"),
            **{name: st.column_config.NumberColumn(format="%.3f", help=helps.get(name)) for name in shares},
        },
        key=key,
    )
    st.caption("Told by its card.")


def _draw_known(one: Known, *, key: str) -> None:
    asked = f", {one.queries:,} claims" if one.queries else ""
    st.markdown(f"**{label(one.split)}**{asked}{f', {label(one.about)}' if one.about else ''}")
    columns = {
        f"{called}{of}": figures.get(protocol, {})
        for protocol, called in PROTOCOL_NAMES.items()
        for of, figures in (("", one.figures), (", unseen claims", one.figures_unseen))
        if figures.get(protocol)
    }
    there = [name for name in _MEASURES if any(name in values for values in columns.values())]
    table = pd.DataFrame(
        {
            "measure": there,
            **{title: [values.get(name) for name in there] for title, values in columns.items()},
        }
    )
    st.dataframe(
        table,
        hide_index=True,
        height="content",
        column_config={
            "measure": st.column_config.TextColumn(""),
            **{title: st.column_config.NumberColumn(format="%.3f") for title in columns},
        },
        key=key,
    )
    st.caption(f"Told by {label(one.told_by)}.")
    if one.unseen is not None and one.queries:
        st.caption(
            f":material/school: It was trained on {one.queries - one.unseen:,} of these claims and knows "
            f"them by heart; the columns of unseen claims are of the other {one.unseen:,}."
        )


def draw_card(row: Row) -> None:
    """Draw an encoder's card; pictures in it stay links, since the page asks nothing of the network."""
    folder = row.entry.path
    text = card_text(folder) if folder is not None else ""
    if not text and folder is not None and row.facts is not None:
        try:
            text = model_card(folder)
        except EncoderError as error:
            st.warning(label(str(error)))
    if not text:
        st.info("It came without a card.", icon=":material/description:")
        return
    with st.container(border=True, height=560):
        st.markdown(readable(text))


def readable(card: str) -> str:
    r"""Return a card as it is drawn: no header, no comments, small headings, no picture fetched, not endless.

    >>> readable("---\nlicense: mit\n---\n<!-- made -->\n# A ![b](https://c)")
    '#### A [b](https://c)'
    """
    body = re.sub(r"\A---\n.*?\n---\n", "", card, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL).replace("![", "[").strip()
    body = body if len(body) <= _LONGEST else f"{body[:_LONGEST]} …"
    lines, in_code = [], False
    for line in body.splitlines():
        in_code ^= line.startswith("```")
        lines.append(f"###{line}" if _HEADING.match(line) and not in_code else line)
    return "\n".join(lines)
