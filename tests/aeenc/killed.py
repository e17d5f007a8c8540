"""Train the grove in child processes that kill themselves, until one finishes; run by test_resume.

    python killed.py TREES FACTS OUT MOMENT...

Children are forked, since importing what trains takes longer than training. A moment is `step:3`, `sample:1`,
`checkpoint:1` or `save:1`: the child kills itself after the n-th call. After the last moment it finishes.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

SETTINGS: dict[str, Any] = {
    **{"base": "tiny", "towers": "dual", "rank": 4, "epochs": 2, "rounds": 2, "batch_size": 8, "k": 8},
    **{"premises_per_step": 12, "learning_rate": 0.02, "precision": "fp32", "gold": True, "live_k": 0},
}


def train(trees: str, facts: str, out: Path, watch: Callable[[Any], None] | None = None) -> dict[str, Any]:
    """Train for two rounds of two epochs of two steps; the dual encoder also draws premises."""
    from entail.aeenc import training
    from entail.aeenc.config import AeencConfig
    from entail.data.entailment_bank.trees import read_trees
    from entail.data.records import Corpus
    from entail.training.method import Run

    gold = tuple(read_trees(trees))
    corpus = Corpus.of("facts", Path(facts).read_text(encoding="utf-8").splitlines())
    done = training.train_aeenc(
        corpus,
        AeencConfig(**SETTINGS),
        trees=gold,
        dev=gold,
        run=Run(out=out, checkpoint_seconds=0.0, watch=watch),
    )
    return {
        "samples": len(done.further["samples"]),
        "resumed": done.fitted.resumed,
        "steps": done.fitted.steps,
        "evaluations": [[e.epoch, e.score] for e in done.fitted.evaluations],
        "counts": dict(done.counts),
    }


def killing(count: int, work: Callable[..., Any]) -> Callable[..., Any]:
    """Return work that kills the process after its n-th call."""
    calls = 0

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        done = work(*args, **kwargs)
        if calls == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    return counted


def run(files: list[str], moment: str) -> None:
    from entail.aeenc import training
    from entail.training.loop import fit

    name, _, count = moment.partition(":")
    watch = killing(int(count), lambda event: None) if name == "step" else None
    if name == "sample":
        training.sample = killing(int(count), training.sample)
    if name == "save":  # the weights are written, entail.json is not
        training.write_training_queries = killing(int(count), training.write_training_queries)
    if name == "checkpoint":  # written, not yet moved
        fit.os.fsync = killing(int(count), os.fsync)  # type: ignore[attr-defined]  # patched
    done = train(files[0], files[1], Path(files[2]), watch)
    sys.stdout.write(json.dumps(done) + "\n")
    sys.stdout.flush()


def main() -> int:
    import peft  # noqa: F401 - once, not in every child
    import sentence_transformers  # noqa: F401 - once, not in every child

    import entail.aeenc.training  # noqa: F401 - once, not in every child

    for moment in [*sys.argv[4:], ""]:
        child = os.fork()
        if not child:
            run(sys.argv[1:4], moment)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if not moment:
            return os.waitstatus_to_exitcode(status)
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            sys.stderr.write(f"{moment}: finished before it was killed\n")
            return 70
    return 0


if __name__ == "__main__":
    sys.exit(main())
