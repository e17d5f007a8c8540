"""Trains the grove in child processes that are killed, and goes on until it is done; run by test_resume.

    python killed.py TREES FACTS OUT TOWERS MOMENT...

Every run is a child of its own, since importing what trains takes longer than training. A moment is `step:3`,
`sample:2`, `evaluate:2`, `checkpoint:4` or `save:1`: the child kills itself there, the n-th time in this run;
`written:3` lets the parent kill it as soon as it has seen a third new checkpoint. After the last moment it is
left alone.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def at(count: int, work: Callable[..., Any]) -> Callable[..., Any]:
    """Return work that kills the process in the midst of its n-th call."""
    calls = 0

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        done = work(*args, **kwargs)
        if calls == count:
            die()
        return done

    return counted


def run(trees: str, facts: str, out: Path, towers: Any, moment: str | None) -> None:
    import entail.aeenc.result as saving
    import entail.aeenc.training as training
    import entail.training.loop.checkpoint as checkpoint
    from entail.aeenc.config import AeencConfig
    from entail.data.entailment_bank.trees import read_trees
    from entail.data.records import Corpus

    what, _, number = (moment or "").partition(":")
    count = int(number or 0)
    steps = 0

    def watch(event: Any) -> None:
        nonlocal steps
        steps += event.evaluated is None
        if what == "step" and steps == count:
            die()

    if what == "sample":
        training.sample = at(count, training.sample)
    if what == "evaluate":
        training.evaluate_premises = at(count, training.evaluate_premises)
    if what == "save":
        saving.asdict = at(count, saving.asdict)  # type: ignore[attr-defined]  # the weights are there, the card is not
    if what == "checkpoint":
        checkpoint.os.fsync = at(count, os.fsync)  # type: ignore[attr-defined]  # written, not yet in its place
    gold = tuple(read_trees(trees))
    config = AeencConfig(
        base="tiny",
        towers=towers,
        rank=4,
        epochs=2,
        rounds=2,
        batch_size=8,
        k=8,
        premises_per_step=12,
        learning_rate=0.02,
        precision="fp32",
    )
    corpus = Corpus.of("facts", Path(facts).read_text(encoding="utf-8").splitlines())
    done = training.train_aeenc(
        corpus, config, trees=gold, dev=gold, out=out, checkpoint_seconds=0.0, watch=watch
    )
    told = {
        "samples": len(done.samples),
        "resumed": done.fitted.resumed,
        "steps": done.fitted.steps,
        "evaluations": [[e.epoch, e.score] for e in done.fitted.evaluations],
        "counts": dict(done.counts),
    }
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def wait(child: int) -> int:
    return os.waitpid(child, 0)[1]


def strike(child: int, out: Path, moment: str) -> int:
    """Kill a child once its checkpoint has been replaced so many times."""
    checkpoint = out.with_name(f"{out.name}.training") / "checkpoint.safetensors"
    seen = {checkpoint.stat().st_mtime_ns} if checkpoint.exists() else set()
    wanted = len(seen) + int(moment.removeprefix("written:"))
    while len(seen) < wanted:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        if checkpoint.exists():
            seen.add(checkpoint.stat().st_mtime_ns)
        time.sleep(0.0005)
    os.kill(child, signal.SIGKILL)
    return wait(child)


def main() -> int:
    import peft  # noqa: F401 - here, not in every child
    import sentence_transformers  # noqa: F401 - as above

    import entail.aeenc.training  # noqa: F401 - as above

    trees, facts, out, towers, *moments = sys.argv[1:]
    for moment in [*moments, None]:
        child = os.fork()
        if not child:
            run(trees, facts, Path(out), towers, moment)
            os._exit(0)
        status = strike(child, Path(out), moment) if moment and moment.startswith("written:") else wait(child)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        if moment is None:
            return os.waitstatus_to_exitcode(status)
        if not killed:
            sys.stderr.write(f"{moment}: done before it could be killed\n")
            return 70
    return 0


if __name__ == "__main__":
    sys.exit(main())
