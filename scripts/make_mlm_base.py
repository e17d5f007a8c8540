"""Make a base as BERT is one: a body and a masked-LM head, both by plain masking, no sentence encoder.

::

    python scripts/make_mlm_base.py --passages train-v1.1.json --out build/mlm-minilm --steps 480
    python scripts/make_mlm_base.py ... --resume     # where it was broken off
    python scripts/measure_first_stage.py ... --base build/mlm-minilm --towers dual --pooling cls

Entailment tuning as published starts from BERT: no contrastive loss has shaped its vectors, and its
masked-LM head is learnt. MiniLM as it is packaged is neither. This gives its body BERT's own task over
passages (15 % of the tokens, of these 8 in 10 hidden, 1 another token, 1 as it was), every weight learning,
by the Trainer of transformers. Every twentieth passage is held out; the weights of the lowest loss there,
with the same masks at every evaluation, are written. The folder is of a masked-LM model: what is trained from
it has its head.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.data.passages.files import read_passages
from entail.encoders.catalogue import fetch, resolve
from entail.errors import EntailError
from entail.results import provenance

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

HELD_OUT = 20
"""Passages of which one is held out."""


def pieces(
    tokenizer: PreTrainedTokenizerBase, texts: Iterable[str], *, longest: int
) -> list[dict[str, list[int]]]:
    """Return every text as token ids, in pieces of at most `longest`, without ends below a quarter of it."""
    sequences = tokenizer(
        list(texts), truncation=True, max_length=longest, return_overflowing_tokens=True, stride=0
    )["input_ids"]
    return [{"input_ids": ids} for ids in sequences if len(ids) > longest // 4]


def train(options: argparse.Namespace) -> dict[str, Any]:
    """Train, write the folder, and return settings, pieces, mean losses of ten steps, losses held out."""
    import torch
    from transformers import (
        AutoModelForMaskedLM,
        AutoTokenizer,
        DataCollatorForLanguageModeling,
        Trainer,
        TrainingArguments,
    )

    base = fetch(resolve(options.base)).path
    tokenizer = AutoTokenizer.from_pretrained(base)
    torch.manual_seed(options.seed)
    # On a CPU the gradient of transformers' default attention takes half as long again.
    model = AutoModelForMaskedLM.from_pretrained(base, use_safetensors=True, attn_implementation="eager")
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = options.dropout
    texts = [passage.text for file in options.passages for passage in read_passages(file)]
    held_out = pieces(tokenizer, texts[::HELD_OUT], longest=options.longest)
    data = pieces(tokenizer, (text for i, text in enumerate(texts) if i % HELD_OUT), longest=options.longest)

    class OfHidden(Trainer):
        """Scores over the vocabulary are made of hidden tokens alone: a sixth of the work."""

        def compute_loss(
            self,
            model: torch.nn.Module,
            inputs: dict[str, torch.Tensor],
            return_outputs: bool = False,
            **_: object,
        ) -> torch.Tensor | tuple[torch.Tensor, dict[str, object]]:
            labels = inputs.pop("labels")
            mask = labels != -100
            body = getattr(model, model.base_model_prefix)
            # The Trainer casts within the model's own forward pass, which is not called here.
            with torch.autocast(labels.device.type, torch.bfloat16, enabled=options.precision == "bf16"):
                scores = model.cls(body(**inputs).last_hidden_state[mask]).float()
            loss = torch.nn.functional.cross_entropy(scores, labels[mask])
            return (loss, {}) if return_outputs else loss

        def evaluate(self, *arguments: Any, **keywords: Any) -> dict[str, float]:  # noqa: ANN401 - the Trainer's own
            with torch.random.fork_rng():
                torch.manual_seed(0)
                return super().evaluate(*arguments, **keywords)

    trainer = OfHidden(
        model=model,
        args=TrainingArguments(
            output_dir=str(options.out.with_name(f"{options.out.name}.training")),
            max_steps=options.steps,
            per_device_train_batch_size=options.batch_size,
            learning_rate=options.rate,
            warmup_steps=options.steps // 20,
            weight_decay=0.01,
            logging_steps=10,
            save_steps=options.evaluate_every,
            eval_strategy="steps",
            eval_steps=options.evaluate_every,
            prediction_loss_only=True,
            load_best_model_at_end=True,
            save_total_limit=1,
            train_sampling_strategy="group_by_length",
            report_to=[],
            seed=options.seed,
            bf16=options.precision == "bf16",
            use_cpu=not torch.cuda.is_available(),
            dataloader_num_workers=0,
            disable_tqdm=True,
        ),
        train_dataset=data,
        eval_dataset=held_out,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15),
    )
    trainer.train(resume_from_checkpoint=options.resume)
    model.save_pretrained(options.out)
    tokenizer.save_pretrained(options.out)
    return {
        **{
            name: getattr(options, name)
            for name in ("base", "steps", "batch_size", "longest", "rate", "dropout", "seed")
        },
        "pieces": len(data),
        "losses": [line["loss"] for line in trainer.state.log_history if "loss" in line],
        "held_out": {
            line["step"]: line["eval_loss"] for line in trainer.state.log_history if "eval_loss" in line
        },
        "run": provenance(),
    }


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, train, and write the folder with `made.json`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passages", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--base", default="minilm", help="whose body learns (minilm)")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--steps", type=int, default=480, help="(480)")
    parser.add_argument("--batch-size", type=int, default=64, help="(64)")
    parser.add_argument("--longest", type=int, default=128, help="tokens (128)")
    parser.add_argument("--rate", type=float, default=5e-4, help="highest learning rate (5e-4)")
    parser.add_argument("--dropout", type=float, default=0.1, help="(0.1)")
    parser.add_argument("--evaluate-every", type=int, default=240, metavar="STEPS", help="(240)")
    parser.add_argument("--seed", type=int, default=0, help="(0)")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="bf16", help="(bf16)")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    options = parser.parse_args(arguments)
    try:
        record = train(options)
    except EntailError as error:
        sys.exit(f"Error: {error}")
    (options.out / "made.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(
        f"{options.out}: loss {record['losses'][0]} to {record['losses'][-1]} over {record['pieces']} pieces"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
