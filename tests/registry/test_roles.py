"""Promotion, rollback and fallback of direction models and chain scorers."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from entail.encoders.catalogue import resolve
from entail.errors import EncoderError, PromotionError, UnknownEncoderError
from entail.evaluation.retrieval.paired import PairedComparison
from entail.registry.models import active, active_name, promote, require_no_worse, roll_back
from entail.registry.pointers import history
from entail.registry.roles import list_usable, role_of
from entail.statistics.paired import PairedDifference

Scorer = Callable[..., Path]


@pytest.fixture
def two(gaussian: str, tiny_home: Path) -> tuple[str, str]:
    """Two encoders of Gaussians, one of them as if it shipped."""
    shutil.copytree(tiny_home / gaussian, tiny_home / "gausscse-minilm")
    return "gausscse-minilm", gaussian


def write_figures(folder: Path, figures: Mapping[str, Any]) -> None:
    about = json.loads((folder / "entail.json").read_text(encoding="utf-8"))
    (folder / "entail.json").write_text(json.dumps(about | figures), encoding="utf-8")


def pairs(accuracy: float, *, data: str = "SNLI-dev", n: int = 100) -> dict[str, Any]:
    row = {"task": "direction", "data": f"{data}, {n} pairs", "measure": "accuracy", "value": accuracy}
    return {"measured": [row]}


def put(name: str) -> Any:
    return promote(name, by="Ann", anyway=True)


def test_role_of(two: tuple[str, str], scorer_folder: Scorer, tiny_home: Path) -> None:
    scorer_folder("chain")
    judge = scorer_folder("judge")
    (judge / "entail.json").write_text('{"method": "judge", "base": "tiny", "judge": {"a": 1}}', "utf-8")
    assert [role_of(name) for name in ("tiny", two[1], "chain", "models/chain")] == [
        *("retriever", "direction", "chains", "chains")
    ]
    assert role_of("judge") == "judge"
    (judge / "entail.json").write_text('{"method": "strange", "base": "tiny"}', "utf-8")
    with pytest.raises(PromotionError, match="'strange'"):
        role_of("judge")
    with pytest.raises(UnknownEncoderError):
        put("nobody")
    with pytest.raises(PromotionError, match="all corpora"):
        promote(two[1], by="Ann", corpus="sky", anyway=True)
    assert list(list_usable("chains")) == ["chain"]


def test_promote_and_roll_back_each_role(two: tuple[str, str], scorer_folder: Scorer) -> None:
    shipped, mine = two
    assert (active(role="direction").encoder, active(role="direction").number) == (shipped, 0)
    assert active(role="chains").encoder == ""
    scorer_folder("a-chain")
    scorer_folder("arcf-minilm")
    assert active(role="chains").encoder == "arcf-minilm"
    pointer = put(mine)
    now = active(role="direction")
    assert (now.encoder, now.revision, now.number, now.notice) == (mine, pointer.revision, 1, None)
    assert (pointer.role, pointer.by, pointer.premise_revision) == ("direction", "Ann", "")
    put("a-chain")
    promote("tiny", by="Ann", anyway=True)
    assert (active(role="chains").encoder, active(role="direction").encoder, active().encoder) == (
        "a-chain",
        mine,
        "tiny",
    )
    assert active_name("direction", [shipped, mine]) == mine
    assert active_name("direction", [shipped]) == shipped
    put(shipped)
    with pytest.raises(PromotionError, match="meanwhile"):
        roll_back(role="direction", by="Bob", number=7)
    assert roll_back(role="direction", by="Bob").encoder == mine
    assert roll_back(role="direction", by="Bob").encoder is None
    assert active(role="direction").encoder == shipped
    with pytest.raises(PromotionError, match="found none"):
        roll_back(role="direction", by="Bob")
    assert active(role="chains").encoder == "a-chain", "the other role stays"
    assert [move.rolled_back for move in history(role="direction")] == [5, 4, None, None]
    assert active().encoder == "tiny"


def test_fallback_where_the_promoted_model_is_unusable(
    two: tuple[str, str],
    scorer_folder: Scorer,
    tiny_home: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shipped, mine = two
    put(mine)
    weights = next((tiny_home / mine).glob("*.safetensors"))
    weights.write_bytes(weights.read_bytes() + b"x")
    now = active(role="direction")
    assert (now.encoder, now.number) == (shipped, 1)
    assert "mine@" in str(now.notice)
    assert "restore" in str(now.notice)
    with monkeypatch.context() as update:  # of the package, which changed the weights that ship
        update.setattr("entail.registry.models.is_shipped", lambda name: name == mine)
        now = active(role="direction")
        assert (now.encoder, now.notice) == (mine, None)
        assert now.revision == resolve(mine).revision
    (tiny_home / mine / "entail.json").write_text("{", encoding="utf-8")
    assert "expected JSON" in str(active(role="direction").notice)
    for _ in range(2):
        assert active_name("direction", [mine, shipped]) == shipped
    assert sum("cannot be used" in record.message for record in caplog.records) == 1, "said once, not always"
    shutil.rmtree(tiny_home / mine)
    assert "cannot be used: its folder is gone" in str(active(role="direction").notice)
    roll_back(role="direction", by="Bob")
    assert active(role="direction").notice is None

    scorer_folder("chain")
    put("chain")
    (tiny_home / "chain" / "head.safetensors").unlink()
    assert active(role="chains").encoder == ""
    assert "nothing is active" in str(active(role="chains").notice)
    scorer_folder("arcf-minilm")
    shutil.rmtree(tiny_home / "chain")
    scorer_folder("chain", base="nobody")
    now = active(role="chains")
    assert (now.encoder, "'nobody'" in str(now.notice)) == ("arcf-minilm", True)
    (tmp_path / "data" / "active.json").write_text("{", encoding="utf-8")
    now = active(role="chains")
    assert (now.encoder, "backup" in str(now.notice)) == ("arcf-minilm", True)
    assert active_name("chains", ["arcf-minilm"]) == "arcf-minilm"


def test_incomplete_or_foreign_folder_is_refused(
    two: tuple[str, str], scorer_folder: Scorer, tiny_home: Path, tmp_path: Path
) -> None:
    shutil.copytree(tiny_home / two[1], tmp_path / "elsewhere")
    with pytest.raises(PromotionError, match="expected the name of a folder under models/"):
        put(str(tmp_path / "elsewhere"))
    scorer_folder("chain", base="nobody")
    with pytest.raises(EncoderError, match="chain cannot be promoted: no encoder is called 'nobody'"):
        put("chain")
    assert put("models/mine").encoder == "mine"


def test_direction_models_are_compared_by_their_cards(
    two: tuple[str, str], tiny_home: Path, scorer_folder: Scorer
) -> None:
    shipped, mine = two
    write_figures(tiny_home / shipped, pairs(0.9))
    with pytest.raises(PromotionError, match="found none"):
        promote(mine, by="Ann")
    write_figures(tiny_home / mine, pairs(0.95, n=99))
    with pytest.raises(PromotionError, match="found none"):
        promote(mine, by="Ann")
    write_figures(tiny_home / mine, pairs(0.85))
    with pytest.raises(PromotionError, match=r"0\.850 against 0\.900"):
        promote(mine, by="Ann")
    assert active(role="direction").number == 0
    write_figures(tiny_home / mine, pairs(0.95))
    assert promote(mine, by="Ann").number == 1
    assert promote(mine, by="Ann").number == 2, "what is in use is no worse than itself"
    scorer_folder("only")
    assert promote("only", by="Ann").role == "chains"


def test_comparison_counts_before_the_cards(two: tuple[str, str], tiny_home: Path) -> None:
    shipped, mine = two
    write_figures(tiny_home / shipped, pairs(0.9))
    write_figures(tiny_home / mine, pairs(0.95))
    now, revision = active(role="direction"), str(list_usable("direction")[mine])
    worse = PairedDifference(0.9, 0.7, -0.3, -0.1, 0.01, 2, 9, 20)
    comparison = PairedComparison(
        revision, str(now.revision), "dev", "0" * 12, "Direction", {"Direction": worse}
    )
    with pytest.raises(PromotionError, match="worse"):
        promote(mine, by="Ann", evaluation=comparison)
    require_no_worse(mine, revision, now)
    of_others = PairedComparison(
        "other@1", str(now.revision), "dev", "0" * 12, "Direction", {"Direction": worse}
    )
    assert promote(mine, by="Ann", evaluation=of_others).number == 1
