"""Whether a passage holds an answer, as DPR counts it: word by word, case and accents' encoding aside."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

Tokens = tuple[str, ...]


def answer_tokens(text: str) -> Tokens:
    """Return the tokens of DPR's `SimpleTokenizer`, in lower case.

    They are runs of letters, digits and marks, and other characters one by one, white space left out.

    >>> answer_tokens("Levi's Stadium, 2016")
    ('levi', "'", 's', 'stadium', ',', '2016')
    """
    found: list[str] = []
    run: list[str] = []
    for character in unicodedata.normalize("NFD", text):
        kind = unicodedata.category(character)[0]
        if kind in "LNM":
            run.append(character)
            continue
        if run:
            found.append("".join(run).lower())
            run = []
        if kind not in "ZC":
            found.append(character)
    if run:
        found.append("".join(run).lower())
    return tuple(found)


def has_answer(passage: Tokens, answers: Sequence[Tokens]) -> bool:
    """Whether the tokens of any answer stand in the passage, side by side and in order.

    >>> has_answer(answer_tokens("He was born in New York City."), [answer_tokens("new york")])
    True
    >>> has_answer(answer_tokens("the Yorkers"), [answer_tokens("York")])
    False
    """
    for answer in answers:
        size = len(answer)
        if size and any(passage[at : at + size] == answer for at in range(len(passage) - size + 1)):
            return True
    return False
