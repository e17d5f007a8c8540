"""``kill -9`` at ten random moments: no job is lost, no encoder is half there, all end the same."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

STRUCK = Path(__file__).with_name("struck.py")


def test_struck_at_ten_random_moments(tiny_home: Path, tmp_path: Path, grove: dict[str, Any]) -> None:
    (tmp_path / "trees.jsonl").write_text("\n".join(map(json.dumps, grove["rows"])), encoding="utf-8")
    (tmp_path / "facts.txt").write_text("\n".join(grove["facts"]), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(STRUCK), str(tmp_path / "trees.jsonl"), str(tmp_path / "facts.txt"), "1"],
        env={**os.environ, "OMP_NUM_THREADS": "1", "ENTAIL_WORKER": "none"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert len(told["told"]) == 10
    # Some were struck while they trained, or this would show nothing.
    assert sum(strike["state"] == "interrupted" for strike in told["told"]) >= 3
    assert told["left"] == []
