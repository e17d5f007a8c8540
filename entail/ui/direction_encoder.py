"""The encoders of Gaussians that are here, each in memory once for all sessions, and their indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from entail.ui.works import Work, Works

if TYPE_CHECKING:
    from entail.data.records import Corpus
    from entail.encoders.gaussian import GaussianEncoder
    from entail.index.gaussian import GaussianIndex
    from entail.progress import ProgressCallback


def gaussian_names() -> dict[str, str | None]:
    """Return the encoders of Gaussians that can be loaded, with their revisions, the one in use first."""
    from entail.roles import first_in_use, usable

    found = usable("direction")
    usual = first_in_use("direction", found)
    return {name: found[name] for name in sorted(found, key=lambda name: (name != usual, name))}


@st.cache_resource(show_spinner=False)
def loaded() -> Works:
    """Return the process's encoders of Gaussians, and what rests on one of them alone."""
    return Works(6, failure="the encoder of Gaussians could not be loaded")


@st.cache_resource(show_spinner=False)
def _indexes() -> Works:
    return Works(3, failure="the index could not be built")


def take_encoder(
    name: str, revision: str | None, *, wait: float = 2.5, works: Works | None = None
) -> Work[GaussianEncoder]:
    """Return the one copy of an encoder in this process; another one where other weights have its name.

    Args:
        name: Of the encoder.
        revision: Its revision, as `gaussian_names` says it.
        wait: Seconds that it is waited for.
        works: What `loaded` returned, for a thread that runs no page.
    """

    def make(report: ProgressCallback) -> GaussianEncoder:
        from entail.encoders.gaussian import GaussianEncoder

        encoder = GaussianEncoder(name)
        encoder.load()
        return encoder

    return (works or loaded()).take(("encoder", name, revision), make, wait=wait)


def take_index(encoder: GaussianEncoder, corpus: Corpus) -> Work[GaussianIndex]:
    """Return the index of a corpus, in the making where it is not there yet."""

    def make(report: ProgressCallback) -> GaussianIndex:
        from entail.index.gaussian import GaussianIndex, premise_gaussians
        from entail.settings import load_settings

        known = premise_gaussians(corpus, encoder, cache_dir=load_settings().vectors_dir, progress=report)
        return GaussianIndex(encoder, corpus, known)

    return _indexes().take((encoder.revision, corpus.hash), make)
