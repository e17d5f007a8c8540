"""Measures of answers: exact match, F1, ROUGE-L, each the best over the accepted answers.

Exact match and F1 compare texts after SQuAD's normalisation: lower case, no punctuation, no a, an, the. F1
counts shared words, each as often as in both. ROUGE-L is the F-measure of the longest common subsequence of
words, without stemming (Lin 2004).
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
    return float(normalise(answer) in map(normalise, accepted))


def f1(answer: str, accepted: Sequence[str]) -> float:
    """Return the F1 of the words of the answer, 0 where none is shared.

    >>> round(f1("the big black cat", ["a black cat"]), 3)  # P = 2/3, R = 1
    0.8
    """

    def shared(words: Sequence[str], other: Sequence[str]) -> int:
        return (Counter(words) & Counter(other)).total()

    return _best(answer, accepted, lambda text: normalise(text).split(), shared)


def rouge_l(answer: str, accepted: Sequence[str]) -> float:
    """Return ROUGE-L's F-measure; words are runs of a to z and digits in lower case.

    >>> rouge_l("police killed the gunman", ["police kill the gunman"])  # LCS = 3 of 4 and 4
    0.75
    """
    return _best(answer, accepted, lambda text: _ROUGE_WORD.findall(text.lower()), longest_common)


def longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

    >>> longest_common("a b c d".split(), "b x d a".split())
    2
    """
    row = [0] * (len(second) + 1)
    for word in first:
        before = 0
        for at, other in enumerate(second, 1):
            before, row[at] = row[at], before + 1 if word == other else max(row[at], row[at - 1])
    return row[-1]


def _best(
    answer: str,
    accepted: Sequence[str],
    split: Callable[[str], list[str]],
    shared: Callable[[Sequence[str], Sequence[str]], int],
) -> float:
    """Return the greatest 2 P R / (P + R), P and R by the number of shared words."""
    words = split(answer)
    pairs = [(shared(words, other), len(words) + len(other)) for other in map(split, accepted)]
    return max((2 * count / size for count, size in pairs if count), default=0.0)
