"""Page of `scripts/replay_aeenc_dual.py`, and the tables of the card of what it makes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from make_aeenc_dual import BEFORE, LISTS, ONE_TOWER, REPLAY, ROOT, SHOWN, cells, one_tower
from make_aeenc_dual import RESULT as FIRST
from page_text import paragraph, spread, table
from replay_aeenc import BASE, REPLAYED

RESULT = FIRST.with_name("aeenc_dual_replay.json")
SHIPPED = ROOT / "models" / "aeenc-dual-minilm"
SHARES = (0.5, 0.6)
"""Shares of what was trained further with replay in a mean."""
SHARE = 0.6
"""The one that keeps most of the R@1 of the held-out articles."""
WAYS = {
    "softmax": "before replay",
    "from-start": "with replay from the start, weight 30",
    "further": "further by a round of three epochs with replay, weight 60",
    **{f"mean-{share:g}": f"mean of before and further, {share:g} of further" for share in SHARES},
}
"""Encoder measured on held-out trees -> its name on the page."""
ROWS = {"mixed": "mean of before and after replay, a seed", "mean": f"**{SHIPPED.name}**, mean of all"}
"""First part of an encoder's name -> its row."""


def for_card(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tables of the card: dev queries that are in no training tree, then all."""
    tables = []
    dev = figures["dev"]["mean"]
    for part, words in (("unseen", "unseen queries"), ("all", "queries")):
        kind = "that no training tree has" if part == "unseen" else "in all, training queries among them"
        tables.append(
            {
                "caption": f"{dev[''][words]} queries of EntailmentBank dev {kind}; a query is no "
                "candidate of its own:",
                "head": ["list", *SHOWN],
                "rows": [
                    [f"{SHIPPED.name}{of}", *(dev[of][part]["query_excluded"][name] for name in SHOWN)]
                    for of in LISTS
                ],
            }
        )
    return tables


def _of_row(runs: Mapping[str, Any], row: str) -> list[Any]:
    return [run for name, run in runs.items() if name.split("-")[0] == row]


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    figures, hardware = result["figures"], result["hardware"]
    first: dict[str, Any] = json.loads(FIRST.read_text(encoding="utf-8"))["figures"]
    trainings = figures["trained"]
    seeds = [training for name, training in trainings.items() if name.startswith("further-")]
    yield "<!-- Made from aeenc_dual_replay.json by"
    yield "`python scripts/replay_aeenc_dual.py --table`; do not edit. -->"
    yield from ("# AE-Enc with a tower for premises, without harm to another domain", "")
    yield from paragraph(
        "[Two towers](aeenc_dual.md) that learnt what explains elementary science search other passages "
        "much worse than their base. Here both were trained further for a round of three epochs and held to "
        f"the base (replay): that of queries on {REPLAYED:,} questions of SQuAD train, that of premises on "
        f"parts of its paragraphs. What ships is the mean of before and after, {SHARE:g} of after, over "
        f"{len(seeds)} seeds, as adapters of rank {result['figures']['rank']} "
        f"({figures['bytes'] / 1e6:.1f} MB)."
    )
    yield ""
    yield from paragraph(
        "The way was chosen on the queries of held-out training trees and on every tenth article of SQuAD "
        f"train. A trial set the share to {SHARE:g}: in it an exact mean, of rank 32, with {min(SHARES):g} "
        "lost 1.1 points of R@1 on the articles; here means are of rank 16. The weights of replay were set "
        "without a comparison. Dev was read once for each row and seed. The re-ranker learnt from lists of "
        "`aeenc-minilm`. The base lists SQuAD 2.0 and AllNLI among its own training data, so that its "
        "figures on SQuAD and MultiNLI are optimistic."
    )
    yield ""
    commits = ", ".join(sorted({f"`{training['run']['commit'][:12]}`" for training in trainings.values()}))
    cpu = f"{hardware['cpu']}, {hardware['cores']} cores"
    yield from paragraph(f"Trained at commit {commits}, measured at `{result['commit'][:12]}`; {cpu}:")
    yield from ("", f"    {result['command']}", "")
    held_out = figures["held out"]
    yield f"## {held_out['softmax']['']['unseen queries']} queries of held-out training trees"
    yield ""
    articles = figures["held-out articles"]
    yield from paragraph(f"R@1 of the held-out articles: the base has {articles[BASE]:.4f}.")
    yield ""
    yield from table(
        ("", *SHOWN, "read per accepted", "never found", "R@1, held-out articles", "training, s"),
        (
            (
                WAYS[name] + (", keyword match" if of else ""),
                *cells([run[of]], "unseen"),
                "" if of else f"{articles[name]:.4f}",
                f"{trainings[name]['seconds']:,.0f}" if name in trainings and not of else "",
            )
            for name, run in held_out.items()
            for of in LISTS[:2]
        ),
    )
    single = one_tower()
    for part, words in (("unseen", "dev queries that no training tree has"), ("all", "dev queries in all")):
        count = single[""]["unseen queries" if part == "unseen" else "queries"]
        yield from ("", f"## {count} {words}, query excluded", "")
        rows = (
            (f"{title}{of}", *cells([run[of] for run in runs], part))
            for of in LISTS
            for title, runs in (
                (ONE_TOWER, [single]),
                (BEFORE, list(first["dev"].values())),
                *((words, _of_row(figures["dev"], key)) for key, words in ROWS.items()),
            )
        )
        yield from table(("", *SHOWN, "read per accepted (all)", "never found (all)"), rows)
    yield from ("", "By the paper's protocol (query among the candidates), all queries, MAP:", "")
    yield f"- {ONE_TOWER}: {single['']['all']['paper']['MAP']:.3f}"
    for key, words in ROWS.items():
        papers = [run[""]["all"]["paper"]["MAP"] for run in _of_row(figures["dev"], key)]
        yield f"- {words}: {spread(papers)}"
    replay = json.loads(REPLAY.read_text(encoding="utf-8"))["figures"]["squad_dev"]
    nli = figures["nli dev"]
    yield from ("", "## Other domains, R@1", "")
    yield from paragraph(
        "SQuAD dev: its questions among its paragraphs. MultiNLI dev (matched): "
        f"{nli[BASE]['hypotheses']:,} hypotheses among the {nli[BASE]['premises']:,} premises that entail "
        "them, a domain of which nothing was replayed."
    )
    yield ""
    yield from table(
        ("", "SQuAD dev", "MultiNLI dev"),
        (
            ("MiniLM", f"{replay['base']['R@1']:.4f}", f"{nli[BASE]['R@1']:.4f}"),
            (ONE_TOWER, f"{replay['mean']['R@1']:.4f}", f"{nli[ONE_TOWER]['R@1']:.4f}"),
            (BEFORE, spread([run["R@1"] for run in first["squad dev"].values()], 4), ""),
            *(
                (
                    words,
                    spread(_of_row(figures["squad dev"], key), 4),
                    spread([run["R@1"] for run in _of_row(nli, key)], 4),
                )
                for key, words in ROWS.items()
            ),
        ),
    )
