r"""Measures of answers: exact match, F1, ROUGE-L, each the best over the accepted answers.

=============  ==========================================================================================
exact match    the same text after SQuAD's normalisation: lower case, no punctuation, no a, an, the
F1             of the words of both after it: P and R over the words they share, each as often as in both
ROUGE-L        2 P R / (P + R) with P = LCS / words answered and R = LCS / words accepted (Lin 2004)
=============  ==========================================================================================

They are those of the `evaluate` library's `squad`, which gives per cent where this gives shares, and of its
`rouge` without stemming, whose `rougeL` is the middle of a bootstrap where this gives the mean itself.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ROUGE_WORD = re.compile(r"[a-z0-9]+")


def normalised(text: str) -> str:
    """Return a text as SQuAD compares it.

    >>> normalised("The  Cat, an animal!")
    'cat animal'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, accepted: Sequence[str]) -> float:
    """Return 1 if the answer is one that is accepted, else 0.

    >>> exact_match("the Cat.", ["dog", "cat"]), exact_match("cats", ["cat"])
    (1.0, 0.0)
    """
    return _best(lambda one: float(normalised(answer) == normalised(one)), accepted)


def f1(answer: str, accepted: Sequence[str]) -> float:
    """Return the F1 of the words of the answer, 0 where none is shared.

    >>> round(f1("the big black cat", ["a black cat"]), 3)  # P = 2/3, R = 1
    0.8
    """
    return _best(lambda one: _f1(normalised(answer).split(), normalised(one).split()), accepted)


def rouge_l(answer: str, accepted: Sequence[str]) -> float:
    """Return ROUGE-L's F-measure; words are runs of a to z and digits in lower case.

    >>> rouge_l("police killed the gunman", ["police kill the gunman"])  # LCS = 3 of 4 and 4
    0.75
    """
    words = _ROUGE_WORD.findall(answer.lower())
    return _best(lambda one: _rouge_l(words, _ROUGE_WORD.findall(one.lower())), accepted)


def longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many words the longest common subsequence of two texts has.

    >>> longest_common("a b c d".split(), "b x d a".split())
    2
    """
    row = [0] * (len(second) + 1)
    for word in first:
        before = 0
        for at, other in enumerate(second, 1):
            above = row[at]
            row[at] = before + 1 if word == other else max(above, row[at - 1])
            before = above
    return row[-1]


def _best(measure: Callable[[str], float], accepted: Sequence[str]) -> float:
    return max(map(measure, accepted), default=0.0)


def _f1(words: Sequence[str], other: Sequence[str]) -> float:
    shared = sum((Counter(words) & Counter(other)).values())
    return _harmonic(shared, len(words), len(other))


def _rouge_l(words: Sequence[str], other: Sequence[str]) -> float:
    return _harmonic(longest_common(words, other), len(words), len(other))


def _harmonic(shared: int, words: int, other: int) -> float:
    """Return 2 P R / (P + R) with P = shared / words and R = shared / other."""
    return 2 * shared / (words + other) if shared else 0.0
