r"""Measures of answers: exact match, F1, ROUGE-L, each the best over the accepted answers.

=============  ==========================================================================================
exact match    the same text after SQuAD's normalisation: lower case, no punctuation, no a, an, the
F1             of the words of both after it: P and R over the words they share, each as often as in both
ROUGE-L        2 P R / (P + R) with P = LCS / words answered and R = LCS / words accepted (Lin 2004)
=============  ==========================================================================================

They equal `squad` of the `evaluate` library, as shares instead of per cent, and its `rouge` without stemming,
as a mean instead of the middle of a bootstrap.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ROUGE_WORD = re.compile(r"[a-z0-9]+")


def normalise(text: str) -> str:
    """Return a text normalised as in SQuAD.

    >>> normalise("The  Cat, an animal!")
    'cat animal'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, accepted: Sequence[str]) -> float:
    """Return 1 if the answer is an accepted one, else 0.

    >>> exact_match("the Cat.", ["dog", "cat"]), exact_match("cats", ["cat"])
    (1.0, 0.0)
    """
    return _best(lambda reference: float(normalise(answer) == normalise(reference)), accepted)


def f1(answer: str, accepted: Sequence[str]) -> float:
    """Return the F1 of the words of the answer, 0 where none is shared.

    >>> round(f1("the big black cat", ["a black cat"]), 3)  # P = 2/3, R = 1
    0.8
    """
    words = normalise(answer).split()

    def measure(reference: str) -> float:
        other = normalise(reference).split()
        return _harmonic((Counter(words) & Counter(other)).total(), len(words), len(other))

    return _best(measure, accepted)


def rouge_l(answer: str, accepted: Sequence[str]) -> float:
    """Return ROUGE-L's F-measure; words are runs of a to z and digits in lower case.

    >>> rouge_l("police killed the gunman", ["police kill the gunman"])  # LCS = 3 of 4 and 4
    0.75
    """
    words = _ROUGE_WORD.findall(answer.lower())

    def measure(reference: str) -> float:
        other = _ROUGE_WORD.findall(reference.lower())
        return _harmonic(longest_common(words, other), len(words), len(other))

    return _best(measure, accepted)


def longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

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


def _harmonic(shared: int, words: int, other: int) -> float:
    """Return 2 P R / (P + R) with P = shared / words and R = shared / other."""
    return 2 * shared / (words + other) if shared else 0.0
