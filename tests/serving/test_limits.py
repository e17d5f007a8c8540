"""Limits of texts: their number, each, and all together."""

import pytest

from entail.errors import ServingError
from entail.serving.limits import Limits

LIMITS = Limits(texts=3, chars=10, chars_in_all=20)


@pytest.mark.parametrize(
    ("texts", "kind", "field"),
    [
        (["a"] * 4, "too_many", "texts"),
        (["a" * 11], "too_long", "texts.0"),
        (["a" * 7] * 3, "too_many", "texts"),
    ],
)
def test_texts_beyond_a_limit(texts: list[str], kind: str, field: str) -> None:
    with pytest.raises(ServingError) as caught:
        LIMITS.check_texts(texts, "texts")
    assert (caught.value.kind, caught.value.field) == (kind, field)


def test_texts_at_the_limits() -> None:
    LIMITS.check_texts(["a" * 10, "a" * 10, ""], "texts")
