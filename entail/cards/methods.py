"""What cards say of each method of training; a method joins by one entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from entail.errors import SettingsError

Defaults = Mapping[str, Mapping[str, Mapping[str, float]]]


@dataclass(frozen=True, kw_only=True)
class MethodText:
    """A method in the words of its cards.

    Attributes:
        name: As `entail.json` has it (`method`).
        title: What it is called.
        idea: What it trains an encoder to do: a sentence that begins with a verb, "ranks ...".
        citation: BibTeX of its paper, empty where there is none.
        tags: Of the Hub, beside those that every encoder has.
        losses: Value of the setting `loss` -> what is minimised.
        judged_on: What its weights are chosen on.
        defaults: Setting -> another setting -> value of that -> what the first is where nobody said.
    """

    name: str
    title: str
    idea: str
    citation: str = ""
    tags: tuple[str, ...] = ()
    losses: Mapping[str, str] = field(default_factory=dict)
    judged_on: str = "trees"
    defaults: Defaults = field(default_factory=dict)

    def used(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings with the values that were used where nobody said one.

        >>> method_text("dpr").used({"tuning": "full", "learning_rate": None, "seed": 0})
        {'tuning': 'full', 'learning_rate': 1e-05, 'seed': 0}
        """
        found = dict(config)
        for name, by in self.defaults.items():
            if name in config and config[name] is None:
                values = (known.get(str(config.get(other))) for other, known in by.items())
                found[name] = next((value for value in values if value is not None), None)
        return found


_METHODS: dict[str, MethodText] = {}


def register_method(method: MethodText) -> None:
    """Let cards know a method; to say the same again does nothing.

    Raises:
        SettingsError: If another one has this name.
    """
    if _METHODS.setdefault(method.name, method) != method:
        raise SettingsError(f"expected one text a method, found a second one of {method.name!r}")


def method_text(name: str | None) -> MethodText:
    """Return the text of a method; of one that is not registered what can be said of any.

    >>> method_text("aeenc").title
    'Active entailment encoding (AE-Enc)'
    >>> method_text("mine").title
    'mine'
    """
    known = _METHODS.get(name or "")
    if known is not None:
        return known
    return MethodText(
        name=name or "unknown",
        title=name or "a method that its `entail.json` does not name",
        idea="encodes sentences as vectors by which they are compared",
    )


def _rates(*, lora: float, full: float) -> Defaults:
    return {"learning_rate": {"tuning": {"lora": lora, "full": full}}}


register_method(
    MethodText(
        name="gausscse",
        defaults=_rates(lora=5e-4, full=5e-5),
        title="Gaussian sentence embedding (GaussCSE)",
        idea="says which of two sentences entails the other",
        citation=r"""@misc{yoda2023sentence,
  title  = {Sentence Representations via {Gaussian} Embedding},
  author = {Yoda, Shohei and Tsukagoshi, Hayato and Sasano, Ryohei and Takeda, Koichi},
  year   = {2023},
  eprint = {2305.12990},
  archivePrefix = {arXiv}
}""",
        tags=("natural-language-inference", "gaussian-embedding"),
    )
)
register_method(
    MethodText(
        name="aeenc",
        defaults=_rates(lora=5e-4, full=1e-5),
        title="Active entailment encoding (AE-Enc)",
        idea="ranks the premises that *explain* a claim above those that merely resemble it",
        citation=r"""@misc{bogatu2022active,
  title  = {Active entailment encoding for explanation tree construction using parsimonious generation of
            hard negatives},
  author = {Bogatu, Alex and Zhou, Zili and Landers, D{\'o}nal and Freitas, Andr{\'e}},
  year   = {2022},
  eprint = {2208.01376},
  archivePrefix = {arXiv}
}""",
        tags=("hard-negatives",),
        losses={
            "triplet": "triplet margin, max(cos(h, p-) - cos(h, p+) + m, 0)",
            "contrastive": "contrastive, y D^2 / 2 + (1 - y) max(0, m - D)^2 / 2 with D = 1 - cos(h, p)",
            "softmax": "softmax over the premises of a query, cosines divided by the temperature",
        },
    )
)
register_method(
    MethodText(
        name="judge",
        defaults=_rates(lora=5e-4, full=5e-5),
        title="A judge of entailment (natural language inference)",
        idea="says whether a premise entails a hypothesis, contradicts it, or neither",
        judged_on="pairs",
    )
)
_DAI = r"""@inproceedings{dai2024improve,
  title     = {Improve Dense Passage Retrieval with Entailment Tuning},
  author    = {Dai, Lu and Liu, Hao and Xiong, Hui},
  booktitle = {Proceedings of EMNLP},
  year      = {2024}
}"""
_DPR = r"""@inproceedings{karpukhin2020dense,
  title     = {Dense Passage Retrieval for Open-Domain Question Answering},
  author    = {Karpukhin, Vladimir and Oguz, Barlas and Min, Sewon and Lewis, Patrick and Wu, Ledell and
               Edunov, Sergey and Chen, Danqi and Yih, Wen-tau},
  booktitle = {Proceedings of EMNLP},
  year      = {2020}
}"""
register_method(
    MethodText(
        name="tuning",
        defaults={
            **_rates(lora=5e-4, full=2e-5),
            "beta": {"prompt": {"hypothesis": 0.8, "full": 0.8, "question": 0.8, "plain": 0.15}},
        },
        title="Entailment tuning",
        idea="predicts what a passage entails, as a start for training a retriever of passages",
        citation=_DAI,
        tags=("entailment-tuning",),
        judged_on="pairs",
    )
)
register_method(
    MethodText(
        name="dpr",
        defaults=_rates(lora=2e-4, full=1e-5),
        title="Dense passage retrieval (DPR)",
        idea="ranks the passages that answer a question above the others",
        citation=f"{_DPR}\n\n{_DAI}",
        tags=("passage-retrieval", "hard-negatives"),
        judged_on="questions",
    )
)
register_method(
    MethodText(
        name="arcf",
        defaults=_rates(lora=5e-4, full=2e-5),
        title="Autoregressive reasoning over chains of facts (ARCF)",
        idea="chooses the facts that explain an answer one after another, each in the light of those before",
        citation=r"""@inproceedings{cartuyvels2020autoregressive,
  title     = {Autoregressive Reasoning over Chains of Facts with Transformers},
  author    = {Cartuyvels, Ruben and Spinks, Graham and Moens, Marie-Francine},
  booktitle = {Proceedings of COLING},
  year      = {2020}
}""",
        tags=("worldtree",),
        losses={
            "ranknet": "pairs of a positive and a negative after one prefix, -log sigma(s_p - s_n)",
            "bxent": "binary cross-entropy of each fact",
            "nce": "noise-contrastive: one positive among all negatives of a prefix",
        },
    )
)
