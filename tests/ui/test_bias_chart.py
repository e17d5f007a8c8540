"""Figure 3 as what Vega is told to draw."""

from typing import Any

import numpy as np
import pytest

from entail.aeenc.bias import LEFT_OUT, SimilarityBias
from entail.data.records import Corpus
from entail.errors import RetrievalError
from entail.index.protocol import Manifest
from entail.ui.compare.bias import MOST, draw_bias, pairs_table

SIZES = (30, 20, 500)


@pytest.fixture
def found() -> SimilarityBias:
    corpus = Corpus.of("facts", [f"fact {i}" for i in range(50)])
    code = np.repeat(np.arange(3), SIZES).astype(np.int8)
    count, draw = len(code), np.random.default_rng(1)
    manifest = Manifest("one", 3, "inner_product", 50, corpus.hash)
    return SimilarityBias(
        corpus=corpus,
        k=20,
        queries=("a claim", "another claim"),
        retrievers=("one", "two"),
        manifests=(manifest, manifest),
        query=np.sort(draw.integers(0, 2, count)),
        premise=draw.integers(0, 50, count),
        group={"all": code, "outside_tree": np.where(np.arange(count) % 2, code, LEFT_OUT).astype(np.int8)},
        overlap=draw.random(count),
        cosine=draw.uniform(-0.2, 1, (2, count)),
        missing=(),
        missing_pairs=0,
    )


def test_small_groups_are_drawn_whole_and_large_ones_in_part(found: SimilarityBias) -> None:
    pairs = found.sample("all", most=100)
    assert np.bincount(found.group["all"][pairs]).tolist() == [30, 20, 100]
    assert pairs.tolist() == found.sample("all", most=100).tolist()
    assert len(set(pairs.tolist())) == len(pairs)


def test_what_a_rule_leaves_out_is_not_drawn(found: SimilarityBias) -> None:
    pairs = found.sample("outside_tree", most=MOST)
    assert LEFT_OUT not in found.group["outside_tree"][pairs]
    assert len(pairs) == sum(SIZES) // 2
    with pytest.raises(RetrievalError, match="all, outside_tree"):
        found.sample("nearby", most=MOST)


def test_each_row_is_a_pair_with_its_cosine_under_every_encoder(found: SimilarityBias) -> None:
    table = pairs_table(found, "all")
    assert len(table) == sum(SIZES)
    order = np.random.default_rng(0).permutation(found.sample("all", most=MOST))
    for i in (0, 7, 300):
        pair, row = order[i], table.iloc[i]
        assert row["premise"] == found.corpus.texts[found.premise[pair]]
        assert row["query"] == found.queries[found.query[pair]]
        assert row["cosine1"] == pytest.approx(found.cosine[1][pair], abs=1e-4)


def test_one_brush_links_all_panels(found: SimilarityBias) -> None:
    told: dict[str, Any] = draw_bias(pairs_table(found, "all"), ["one", "two"]).to_dict()
    views = told["vconcat"]
    assert [view["mark"]["type"] for view in views] == ["boxplot", "point", "boxplot", "point", "boxplot"]
    (brush,) = told["params"]
    assert brush["select"] == {"type": "interval", "resolve": "global"}
    points = {view["name"] for view in views if view["mark"]["type"] == "point"}
    assert set(brush["views"]) == points
    for view in views:
        if view["mark"]["type"] == "boxplot":
            assert view["transform"] == [{"filter": {"param": "brush"}}]
        else:
            assert view["encoding"]["opacity"]["condition"][0]["param"] == "brush"
            assert {"color", "shape"} <= set(view["encoding"])
