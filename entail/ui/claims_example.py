"""What the Claims page begins with: questions of our own over the bundled facts, and which of them answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A question with what is known of it.

    Attributes:
        question: The question.
        answer: Its answer.
        gold: Bundled facts that answer it.
    """

    question: str
    answer: str
    gold: tuple[str, ...]


EXAMPLES = (
    Example(
        "How can sound travel through air?",
        "by vibrating it",
        ("sound can travel through air by vibrating air",),
    ),
    Example(
        "What causes the tides in the oceans of the Earth?",
        "the gravitational pull of the Moon",
        ("the gravitational pull of the moon on earth's oceans causes the tides",),
    ),
    Example(
        "What causes seasons on Earth?",
        "the tilt of the Earth on its axis",
        (
            "the earth being tilted on its rotating axis causes seasons",
            "earth's tilt on its rotating axis causes seasons to change / to occur",
            "earth's tilt on its rotating axis causes seasons to occur",
        ),
    ),
    Example(
        "How were most canyons formed?",
        "by rivers that flowed for a long time",
        ("most canyons are formed by flowing rivers through erosion over long periods of time",),
    ),
    Example(
        "Who discovered the theory of gravity?",
        "Isaac Newton",
        ("isaac newton discovered the theory of gravity",),
    ),
    Example("Why do green sea turtles migrate?", "to reproduce", ("green sea turtles migrate to reproduce",)),
    Example("What holds a galaxy together?", "gravity", ("a galaxy is held together by gravity",)),
    Example(
        "Where does the moon reflect sunlight?",
        "towards the Earth",
        ("the moon reflects sunlight towards the earth",),
    ),
)
"""Written for this page. It begins with the first: what the packaged judge says there can be followed."""
