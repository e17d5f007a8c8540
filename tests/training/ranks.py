"""Trains the grove in each of several processes, whole and stopped; run by test_distributed, by torchrun.

    torchrun --nproc-per-node 2 ranks.py TREES FACTS FOLDER

Every process writes what it came to into FOLDER/rank-N.json.
"""

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    import entail.aeenc.training as training
    from entail.aeenc.config import AeencConfig
    from entail.data.entailment_bank.trees import read_trees
    from entail.data.records import Corpus
    from entail.errors import TrainingError

    trees, facts, folder = read_trees(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    corpus = Corpus.of("facts", facts.read_text(encoding="utf-8").splitlines())
    rank = os.environ["RANK"]
    evaluated = 0
    evaluate, towers = training.evaluate_premises, training._towers

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal evaluated
        evaluated += 1
        return evaluate(*args, **kwargs)

    def kept(*args: Any) -> Any:
        made.update(towers(*args))
        return made

    made: dict[str, Any] = {}
    training.evaluate_premises, training._towers = counted, kept
    config = AeencConfig(
        base="tiny", towers="siamese", rank=4, epochs=2, rounds=2, batch_size=8, k=8, precision="fp32"
    )

    def train(name: str, **options: Any) -> dict[str, Any]:
        steps: list[int] = []
        done = training.train_aeenc(
            corpus,
            config,
            trees=trees,
            dev=trees,
            out=folder / name,
            watch=lambda event: steps.append(event.step),
            **options,
        )
        digest = hashlib.sha256()
        for tensor in made["queries"].parameters.values():
            digest.update(tensor.detach().numpy().tobytes())
        return {
            "weights": digest.hexdigest(),
            "evaluations": [[e.epoch, e.score] for e in done.fitted.evaluations],
            "samples": [report.to_json() for report in done.samples],
            "counts": dict(done.counts),
            "steps": done.fitted.steps,
            "told": len(steps),
            "resumed": done.fitted.resumed,
            "there": (folder / name / "entail.json").is_file(),
        }

    whole = train("whole")
    asked = 0

    def stop() -> bool:
        """Stop in the second round, and let the first process alone say so."""
        nonlocal asked
        asked += 1
        return asked == 5 and rank == "0"

    try:
        train("stopped", stop=stop)
        said = ""
    except TrainingError as error:
        said = str(error)
    resumed = train("stopped")
    told = {"whole": whole, "said": said, "resumed": resumed, "evaluated": evaluated}
    (folder / f"rank-{rank}.json").write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main()
