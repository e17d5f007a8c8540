"""Methods of other packages, by entry point."""

import re
from pathlib import Path

import pytest

from entail.errors import JobError
from entail.training import method
from entail.training.method import broken_methods, methods


def another(package: Path, name: str, code: str) -> None:
    about = package / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(f"[entail.methods]\n{name} = {name}:M\n", encoding="utf-8")
    (package / f"{name}.py").write_text(code, encoding="utf-8")
    method.methods.cache_clear()
    method._load_methods.cache_clear()


def test_entry_point(package: Path) -> None:
    assert list(methods()) == ["aeenc", "gausscse", "tuning", "dpr", "arcf", "judge", "reranker", "fifth"]
    fifth = methods()["fifth"]
    assert [field.name for field in fifth.fields] == ["steps", "pace", "trouble"]
    assert [field.name for field in fifth.source_fields] == ["seed"]
    assert fifth.make_config({"steps": 2}).steps == 2


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise RuntimeError('no such library')", "RuntimeError: no such library"),
        ("M = 3", "TypeError: expected a Method, found int"),
    ],
)
def test_broken_entry_point(package: Path, code: str, why: str) -> None:
    name = f"sixth{len(code)}"
    another(package, name, code)
    assert list(methods()) == ["aeenc", "gausscse", "tuning", "dpr", "arcf", "judge", "reranker", "fifth"]
    assert broken_methods() == {name: why}
    with pytest.raises(JobError, match=re.escape(f"{name} cannot be loaded: {why}")):
        method.method(name)
