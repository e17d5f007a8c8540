"""Saving, as every training does it."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from entail.training.adapters.saving import save_encoder


@pytest.fixture(params=[0o022, 0o027], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_weights_are_for_whoever_the_other_files_are_for(tmp_path: Path, umask: int) -> None:
    def write(folder: Path) -> None:
        (folder / "head").mkdir(parents=True)
        for file in (folder / "adapter_model.safetensors", folder / "head" / "model.safetensors"):
            save_file({"weight": torch.zeros(2)}, file)

    save_encoder(tmp_path / "mine", method="some", write=write, about={"method": "some"})
    files = [path for path in (tmp_path / "mine").rglob("*") if path.is_file()]
    assert len(files) >= 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o666 & ~umask}
