"""Train the grove in each of several processes: whole, stopped and resumed, by the command line.

    torchrun --nproc-per-node 2 ranks.py TREES FACTS FOLDER

Every process writes its results into FOLDER/rank-N.json, and exits with 3 if threads of gloo are left when
the interpreter begins to shut down, since they may abort it.
"""

import atexit
import contextlib
import hashlib
import io
import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def check_threads() -> None:
    if any("gloo" in (task / "comm").read_text("utf-8") for task in Path("/proc/self/task").glob("*")):
        os._exit(3)


def main() -> None:
    atexit.register(check_threads)  # the first registered is the last called
    import entail.aeenc.training as training
    import entail.training.loop.fit as loop
    from entail.aeenc.config import AeencConfig
    from entail.cli import main as command
    from entail.data.entailment_bank.trees import read_trees
    from entail.data.records import Corpus
    from entail.errors import TrainingError
    from entail.training.method import Run

    trees, facts, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    corpus = Corpus.of("facts", facts.read_text(encoding="utf-8").splitlines())
    gold = read_trees(trees)
    rank = os.environ["RANK"]
    evaluated, towers = 0, []
    evaluate, tower, write = training.evaluate_premises, training.Tower, loop.write_checkpoint

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal evaluated
        evaluated += 1
        return evaluate(*args, **kwargs)

    def recorded(*args: Any, **kwargs: Any) -> Any:
        towers.append(tower(*args, **kwargs))
        return towers[-1]

    def slow(*args: Any) -> None:
        """Write late, so that the others look for the checkpoint first."""
        time.sleep(0.5)
        write(*args)

    training.evaluate_premises, training.Tower = counted, recorded  # type: ignore[misc]  # patched
    loop.write_checkpoint = slow
    small: dict[str, Any] = {"base": "tiny", "rank": 4, "epochs": 1, "rounds": 2, "batch_size": 8, "k": 8}
    config = AeencConfig(towers="siamese", gold=True, live_k=0, precision="fp32", **small)

    def train(name: str, **options: Any) -> dict[str, Any]:
        steps: list[int] = []
        done = training.train_aeenc(
            corpus,
            config,
            trees=gold,
            dev=gold,
            run=Run(out=folder / name, watch=lambda event: steps.append(event.step), **options),
        )
        digest = hashlib.sha256()
        for tensor in towers[-1].parameters.values():
            digest.update(tensor.detach().numpy().tobytes())
        return {
            "weights": digest.hexdigest(),
            "evaluations": [[e.epoch, e.score] for e in done.fitted.evaluations],
            "samples": done.further["samples"],
            "counts": dict(done.counts),
            "steps": done.fitted.steps,
            "events": len(steps),
            "resumed": done.fitted.resumed,
            "saved": (folder / name / "entail.json").is_file(),
        }

    results: dict[str, Any] = {"whole": train("whole")}
    calls = 0

    def stop() -> bool:
        """Stop in the second round, on request of the first process only."""
        nonlocal calls
        calls += 1
        return calls == 3 and rank == "0"

    try:
        train("stopped", stop=stop)
    except TrainingError as error:
        results["error"] = str(error)
    results |= {"resumed": train("stopped"), "evaluated": evaluated}
    out, err = io.StringIO(), io.StringIO()
    options = {"corpus": facts, "trees": trees, "out": folder / "mine", **small}
    arguments = ["train", "aeenc", "--json", "--progress"]
    for name, value in options.items():
        is_setting = name in small and name not in ("base", "epochs", "seed")
        arguments += ["--set", f"{name}={value}"] if is_setting else [f"--{name}", str(value)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        results["code"] = command(arguments)
    results |= {"out": out.getvalue(), "bars": err.getvalue().count("training:   0%")}
    (folder / f"rank-{rank}.json").write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    main()
