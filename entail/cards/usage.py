"""How to use an encoder, as Python that runs: with `entail`, and without it."""

from __future__ import annotations

from typing import Literal

from entail.encoders.card import TowerKind
from entail.encoders.catalogue import PREMISE_TOWER

Form = Literal["adapter", "whole"]
"""How the weights stand at the top of a folder: on a base, or with all they need."""

_CLAIM = "a rubber ball falls to the ground"
_FACTS = 'facts = ["gravity pulls objects towards the ground", "a rubber ball is made of rubber"]'


def entail_usage(place: str) -> str:
    """Return a program that ranks two premises with `entail`.

    Args:
        place: What leads to the encoder: a name under `models/`, a folder, a Hub id.
    """
    return f"""import entail

encoder = entail.load("{place}")
claim = encoder.encode_queries(["{_CLAIM}"])
{_FACTS}
premises = encoder.encode_premises(facts)
print(claim @ premises.T)  # cosines: the vectors have length 1
"""


def plain_usage(place: str, *, form: Form, towers: TowerKind, base: str | None, on_hub: bool) -> str:
    """Return the same program with sentence-transformers (and PEFT for an adapter) and without `entail`.

    Args:
        place: A folder or a Hub id.
        form: What is there.
        towers: Which towers an adapter is on.
        base: What leads to the base of an adapter.
        on_hub: Whether `place` is a Hub id.
    """
    lines = ["from sentence_transformers import SentenceTransformer", ""]
    if form == "whole":
        lines += [f'model = SentenceTransformer("{place}")']
        queries = premises = "model"
    else:
        if towers == "dual" and on_hub:
            lines[:1] = ["from huggingface_hub import snapshot_download", lines[0]]
            lines += [f'folder = snapshot_download("{place}")']
            adapters = ["folder", f'folder + "/{PREMISE_TOWER}"']
        else:
            adapters = [f'"{place}"', f'"{place}/{PREMISE_TOWER}"']
        queries = premises = "model"
        if towers != "siamese":
            queries, premises = "query_tower", "premise_tower"
        lines += [f'{queries} = SentenceTransformer("{base}")', f"{queries}.load_adapter({adapters[0]})"]
        if towers != "siamese":
            lines += [f'{premises} = SentenceTransformer("{base}")']
        if towers == "dual":
            lines += [f"{premises}.load_adapter({adapters[1]})"]
    lines += [
        f'claim = {queries}.encode_query(["{_CLAIM}"])',
        _FACTS,
        f"premises = {premises}.encode_document(facts)",
        f"print({queries}.similarity(claim, premises))",
    ]
    return "\n".join(lines) + "\n"
