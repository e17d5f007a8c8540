"""The prompt of retrieval-augmented generation: passages and question, cut to what a model reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from entail.data.passages import Passage
from entail.errors import SettingsError

TEMPLATE = (
    "Answer the question from the passages. Give the answer alone.\n\n{passages}\n\n"
    "Question: {question}\nAnswer:"
)
"""Where passages and question go; words of it must not hold either name in braces."""

LEAST = 16
"""Tokens of a passage that are worth being read; a shorter rest of one is left out."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt, and what of the passages is in it.

    Attributes:
        text: What the model reads.
        read: Passages that are in it, at least in part.
        cut: Whether a passage or the question is not in it whole.
    """

    text: str
    read: int
    cut: bool


def read_template(file: Path) -> str:
    """Return the template of a file, see `TEMPLATE`.

    Raises:
        SettingsError: If it lacks a place for passages or question, or is no text.
    """
    try:
        return require_template(file.read_text(encoding="utf-8").rstrip("\n"))
    except UnicodeError as error:
        raise SettingsError(f"{file.name}: expected a prompt as UTF-8 text, found something else") from error


def require_template(template: str) -> str:
    """Return a template that has a place for both.

    Raises:
        SettingsError: If it lacks one.
    """
    for name in ("{passages}", "{question}"):
        if template.count(name) != 1:
            raise SettingsError(
                f"expected {name} once in the prompt's template, found it {template.count(name)} times; "
                "write it where it belongs"
            )
    return template


def passage_lines(texts: Sequence[Passage]) -> str:
    r"""Return passages as the prompt has them.

    >>> passage_lines([Passage("p1", "Ice melts.", "Ice"), Passage("p2", "It rains.")])
    'Passage 1 (Ice): Ice melts.\nPassage 2: It rains.'
    """
    return "\n".join(
        f"Passage {number}{f' ({one.title})' if one.title else ''}: {' '.join(one.text.split())}"
        for number, one in enumerate(texts, 1)
    )


def rag_prompt(
    question: str,
    passages: Sequence[Passage],
    *,
    room: int,
    tokens: Callable[[str], int],
    template: str = TEMPLATE,
) -> Prompt:
    """Put a prompt together that has no more tokens than fit: the last passages go first, then words of one.

    A question that takes more than half of the room loses its end.

    Args:
        question: Its text.
        passages: The best first.
        room: Tokens of the prompt.
        tokens: Counts those of a text, with all that is put around a prompt.
        template: See `TEMPLATE`.
    """
    asked = " ".join(question.split())
    bare = tokens(_filled(template, "", ""))
    short = _longest_start(asked, lambda text: tokens(_filled(template, "", text)) <= bare + room // 2)
    kept: list[Passage] = []
    for passage in passages:
        if tokens(_filled(template, passage_lines([*kept, passage]), short)) <= room:
            kept.append(passage)
            continue
        before = tuple(kept)

        def fits(text: str, before: tuple[Passage, ...] = before, passage: Passage = passage) -> bool:
            tried = passage_lines([*before, Passage(passage.id, text, passage.title)])
            return tokens(_filled(template, tried, short)) <= room

        part = _longest_start(" ".join(passage.text.split()), fits)
        if tokens(part) >= LEAST:
            kept.append(Passage(passage.id, part, passage.title))
        return Prompt(_filled(template, passage_lines(kept), short), len(kept), True)
    return Prompt(_filled(template, passage_lines(kept), short), len(kept), short != asked)


def _filled(template: str, passages: str, question: str) -> str:
    """Put both in their places; braces that they hold themselves stay what they are."""
    before, _, after = template.partition("{passages}")
    if "{question}" in before:
        start, _, middle = before.partition("{question}")
        return f"{start}{question}{middle}{passages}{after}"
    middle, _, end = after.partition("{question}")
    return f"{before}{passages}{middle}{question}{end}"


def _longest_start(text: str, fits: Callable[[str], bool]) -> str:
    """Return as many first words of a text as fit, by halving."""
    if fits(text):
        return text
    words = text.split(" ")
    low, high = 0, len(words) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(" ".join(words[:middle])) else (low, middle - 1)
    return " ".join(words[:low])
