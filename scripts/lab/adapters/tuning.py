"""Adapter of entailment tuning on a base that was trained by masking, with the controls that its gain needs.

The packaged base has seen contrastive training, which a first stage of masking spoils. So an arm `masked`
trains it by masking alone, and the others start from there. Keys of `extra`:

- `masked`: steps of masking all passages; the model is the base with a masked-LM head, for other arms.
- `questions`, evenly from `train`, for the contrastive stage.
- `first`: the first stage, `claim` (the paper), `question` in place of its claim, or `plain` masking of its
  passages; without it there is none. `labelled` of `train` are its questions, `passes` its epochs.

Every weight is trained; the settings are those of the contrastive stage.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from entail.data.passages.files import read_questions
from entail.encoders.stock import silent
from entail.encoders.weights import modules
from entail.evaluation.passages.retrieval import evaluate_passages, judged_questions
from entail.evaluation.passages.store import PassageStore, store_passages
from entail.training.fields import values_of
from entail.training.method import Run
from entail.training.run import digest, prepare
from entail.tuning.config import DprConfig, TuningConfig
from entail.tuning.examples import EntailedPair, Examples, entailed_pairs, examples_of, with_missing_negatives
from entail.tuning.masking import Prompt, Prompts
from entail.tuning.method import DPR
from entail.tuning.tower import MaskedTower
from entail.tuning.training import METHOD, MaskedTask, train_dpr
from lab.adapters import Measures, Work
from lab.adapters.dpr import take_evenly
from lab.data import DataFolder
from lab.errors import LabError

MASKED = 0.15
"""Share of tokens that plain masking hides."""

KINDS = ("claim", "question", "plain")


class PlainPrompts(Prompts):
    """Texts alone: the hypothesis of a pair is masked, and there is no premise."""

    def of(self, pairs: Sequence[EntailedPair]) -> list[Prompt]:
        """Return the prompts of the hypotheses, cut to the maximum length."""
        head, tail = self._frame.head, self._frame.tail
        room = self.max_length - len(head) - len(tail)
        texts = [tokens[:room] for tokens in self._tokenize([pair.hypothesis for pair in pairs])]
        return [
            Prompt(np.array([*head, *text, *tail], dtype=np.int64), len(head), len(head) + len(text))
            for text in texts
        ]


def train(work: Work) -> None:
    """Train the base, or an arm's two stages; the losses of the first one go into its folder."""
    extra = {"masked": 0, "questions": 0, "first": "", "labelled": 0, "passes": 1, **work.extra}
    if len(extra) > 5 or extra["first"] not in ("", *KINDS):
        raise LabError(f"expected masked, questions, first ({', '.join(KINDS)}), labelled, passes: {extra}")
    settings = {**values_of(DprConfig()), **work.settings, "seed": work.seed, "tuning": "full"}
    if extra["masked"]:
        texts = [passage.whole for passage in open_store(work.data, work.sets, "train", work.cache)]
        batch = settings["batch_size"]
        texts = [texts[at % len(texts)] for at in range(extra["masked"] * batch)]
        config = _first_config(settings, beta=MASKED, warmup_steps=200)
        config = replace(config, learning_rate=work.settings.get("learning_rate", config.learning_rate))
        _predict_masked([EntailedPair("", text) for text in texts], config, work.out, plain=True)
        return
    base = str(work.initial or settings["base"])
    questions = tuple(read_questions(work.data.path(work.sets["train"])))
    store = open_store(work.data, work.sets, "train", work.cache)
    if extra["first"]:
        first = work.out.with_name(f"{work.out.name}-first")
        labelled = examples_of(store, take_evenly(questions, extra["labelled"] or None))
        if not (first / "losses.json").is_file():
            plain = extra["first"] == "plain"
            config = _first_config(
                {**settings, "base": base, "epochs": extra["passes"]},
                beta=MASKED if plain else TuningConfig().beta,
            )
            pairs = _pairs(labelled, extra["first"], words=config.words)
            _predict_masked(pairs, config, first, plain=plain)
        base = str(first)
    config = DPR.make_config({**settings, "base": base})
    examples = examples_of(store, take_evenly(questions, extra["questions"] or None))
    examples = with_missing_negatives(examples, depth=config.depth)
    train_dpr(examples, config, run=Run(data=["squad"], out=work.out))
    if extra["first"]:
        shutil.copy(first / "losses.json", work.out / "losses.json")


def _first_config(settings: Mapping[str, Any], *, beta: float, warmup_steps: int = 20) -> TuningConfig:
    shared = {name: settings[name] for name in values_of(TuningConfig()) if name in settings}
    changes = {"beta": beta, "warmup_steps": warmup_steps, "learning_rate": 5e-5, "dev_pairs": 0}
    return replace(TuningConfig(), **{**shared, **changes})


def _pairs(examples: Examples, kind: str, *, words: int) -> list[EntailedPair]:
    pairs = entailed_pairs(examples, words=words)
    if kind == "question":
        rows = zip(pairs, examples.examples, strict=True)
        return [EntailedPair(pair.premise, example.question) for pair, example in rows]
    return [EntailedPair("", pair.premise) for pair in pairs] if kind == "plain" else list(pairs)


def _predict_masked(pairs: Sequence[EntailedPair], config: TuningConfig, out: Path, *, plain: bool) -> None:
    """Train on all pairs but some; write the model with its head, and the loss on those, before and after."""
    setup = prepare(config, Run(out=out), method=METHOD)
    tower = MaskedTower(setup.base, **setup.tower, max_length=config.max_length, seed=config.seed)
    form = (PlainPrompts if plain else Prompts)(
        tower.tokenizer, max_length=tower.max_length, name=setup.base.name
    )
    prompts = form.of(pairs)
    order = np.random.default_rng(0).permutation(len(prompts))
    dev, rest = np.split(order, [min(256, len(order) // 8)])
    tower.set_frequencies(form.frequencies(prompts))
    rows = [prompts[at] for at in rest]
    task = MaskedTask(config, form, rows, tower, dev=[prompts[at] for at in dev])
    before = task.evaluate()
    warmup = min(0.1, config.warmup_steps / task.steps(config.epochs))
    fitted = setup.fit(task, tower.parameters, warmup=warmup, bound_to={"data": digest(len(rows))})
    after = task.evaluate()
    assert before
    assert after
    setup.save(setup.result(fitted, {"pairs": len(rows)}, measure="loss"), tower.save, towers="siamese")
    _save_head(tower, out)
    losses = {"before": before[1]["loss"], "after": after[1]["loss"], "steps": fitted.steps}
    (out / "losses.json").write_text(json.dumps(losses), encoding="utf-8")


def _save_head(tower: MaskedTower, folder: Path) -> None:
    """Save the transformer with its masked-LM head, so that the next stage goes on with it."""
    from transformers import AutoModelForMaskedLM

    stage = folder / str((modules(folder) or [{}])[0].get("path", ""))
    with silent():
        model: Any = AutoModelForMaskedLM.from_pretrained(str(stage), local_files_only=True)
    inner = f"{model.base_model_prefix}."
    head = {name: weight for name, weight in tower.head.state_dict().items() if not name.startswith(inner)}
    model.load_state_dict(head, strict=False)
    model.save_pretrained(str(stage))


def open_store(data: DataFolder, sets: Mapping[str, str], role: str, cache: Path) -> PassageStore:
    """Return the paragraphs of a role."""
    path = data.path(sets[role])
    return store_passages([path], cache / f"pool-{data.digest(sets[role])}")


def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
    """Measure the questions of `passages` among its paragraphs (R@k, MRR), and the first stage's gain."""
    questions = judged_questions(data.path(sets["passages"]))
    evaluation = evaluate_passages(open_store(data, sets, "passages", cache), questions, encoder=model)
    measures = {name: (values, np.ones(len(values))) for name, values in evaluation.values.items()}
    losses = Path(model) / "losses.json"
    read = json.loads(losses.read_text(encoding="utf-8")) if losses.is_file() else {}
    gain = read.get("before", 0.0) - read.get("after", 0.0)
    return {**measures, "nats gained": (np.full(1, gain), np.ones(1))}
