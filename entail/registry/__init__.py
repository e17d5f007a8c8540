"""Registry of active models: the retriever of each corpus, the direction model, the chain scorer.

A pointer names the active model of a role and its revision. Retrievers have a default pointer, and one per
corpus where somebody promoted a model for it; the other roles have one pointer each. Without a pointer the
packaged model is active. The roles other than the retriever also fall back to it when the promoted model is
gone or its weights changed.

`active.json` in the data folder holds every move of every pointer and is replaced whole. Readers keep what
they read until the file's stamp changes: every session of every process follows for the cost of one `stat`.
"""

from entail.registry.models import (
    DESCRIPTIONS,
    PACKAGED_MODELS,
    Active,
    active,
    active_name,
    card_figures,
    fallback_notice,
    list_usable,
    promote,
    require_no_worse,
    role_of,
    roll_back,
)
from entail.registry.pointers import (
    Pointer,
    current_pointer,
    history,
    list_moves,
    list_pointers,
    rollback_target,
)

__all__ = [
    "DESCRIPTIONS",
    "PACKAGED_MODELS",
    "Active",
    "Pointer",
    "active",
    "active_name",
    "card_figures",
    "current_pointer",
    "fallback_notice",
    "history",
    "list_moves",
    "list_pointers",
    "list_usable",
    "promote",
    "require_no_worse",
    "role_of",
    "roll_back",
    "rollback_target",
]
