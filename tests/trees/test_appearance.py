"""Contrast, colours that stay apart for colour-blind readers, shapes that differ."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from entail.trees.layout.appearance import DARK, DOTS, KINDS, LIGHT, NAMES, SHAPES, Theme

# Machado, Oliveira and Fernandes (2009), severity 1, linear RGB.
SEEN_BY = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = TO_XYZ @ np.ones(3)

Colour = NDArray[np.float64]


def linear(colour: str) -> Colour:
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """WCAG 2: (lighter + 0.05) / (darker + 0.05)."""
    dark, light = sorted(float((TO_XYZ @ linear(colour))[1]) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


def lab(colour: Colour) -> Colour:
    ratio = TO_XYZ @ np.clip(colour, 0, 1) / WHITE
    x, y, z = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


@THEMES
@pytest.mark.parametrize("kind", KINDS)
def test_texts_and_borders_have_contrast(theme: Theme, kind: str) -> None:
    look = theme.looks[kind]  # type: ignore[index]  # one of the kinds, as a str
    assert contrast(theme.text, theme.background) >= 4.5
    assert contrast(theme.edge, theme.background) >= 3
    assert contrast(look.text, look.fill) >= 4.5
    assert contrast(look.border, theme.background) >= 3
    assert contrast(look.border, look.fill) >= 3


@THEMES
@pytest.mark.parametrize("reader", SEEN_BY)
@pytest.mark.parametrize(("part", "apart"), [("border", 10), ("fill", 9)])
def test_kinds_stay_apart_for_every_reader(theme: Theme, reader: str, part: str, apart: float) -> None:
    for first, second in combinations(KINDS, 2):
        points = [lab(SEEN_BY[reader] @ linear(getattr(theme.looks[kind], part))) for kind in (first, second)]
        assert np.linalg.norm(points[0] - points[1]) > apart, (first, second)


def test_every_kind_has_a_name_and_a_shape_of_its_own() -> None:
    assert set(KINDS) == set(NAMES) == set(SHAPES) == set(LIGHT.looks) == set(DARK.looks)
    assert len(set(SHAPES.values())) == len(set(NAMES.values())) == len(KINDS)
    assert len(DOTS) == 2
