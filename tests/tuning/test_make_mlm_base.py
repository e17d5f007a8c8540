"""The program that makes a base as BERT is one, in miniature."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from entail.tuning.config import TuningConfig
from entail.tuning.examples import EntailedPair
from entail.tuning.training import train_tuning


def test_a_base_learns_hidden_tokens_and_brings_its_head_into_entailment_tuning(
    tiny_home: Path,
    tmp_path: Path,
    squad: dict[str, Path],
    load_script: Callable[[str], ModuleType],
    pairs: Callable[..., list[EntailedPair]],
) -> None:
    program, out = load_script("make_mlm_base"), tmp_path / "mlm"
    arguments = ["--passages", str(squad["train"]), "--base", "tiny", "--out", str(out), "--steps", "60"]
    arguments += ["--batch-size", "8", "--longest", "16", "--rate", "5e-3", "--precision", "fp32"]
    arguments += ["--evaluate-every", "20"]
    assert program.main(arguments) == 0
    record = json.loads((out / "made.json").read_text(encoding="utf-8"))
    assert record["steps"] == 60
    assert float(record["losses"][-1]) < float(record["losses"][0])
    held_out = record["held_out"]
    assert list(held_out) == ["20", "40", "60"]
    assert held_out["60"] < held_out["20"]
    assert str(tmp_path) not in json.dumps(record)
    config = TuningConfig(base=str(out), tuning="full", epochs=1, batch_size=8, max_length=32)
    assert not train_tuning(pairs(16), config).new_head
    assert train_tuning(pairs(16), TuningConfig(base="tiny", epochs=1, batch_size=8, max_length=32)).new_head
