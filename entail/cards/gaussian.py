"""What the card of an encoder of Gaussians says: what it makes, and programs that use it."""

from __future__ import annotations

from entail.encoders.gaussian_form import HEAD, GaussianForm

_TEXTS = """premise = "two dogs are running through the snow"
hypothesis = "animals are outside"
"""
_SIMILARITY = {
    "kl": "1 / (1 + kl.sum())",
    "kl_mean": "1 / (1 + kl.mean())",
    "kl_per_dim": "(1 / (1 + kl)).mean()",
}


def about_gaussians(form: GaussianForm, *, dimension: int | None) -> str:
    """Return what an encoder makes of a sentence, a Gaussian of that dimension, and how two are compared."""
    d = f"{dimension}" if dimension else "d"
    formula = {
        "kl": "1 / (1 + KL(a || b))",
        "kl_mean": f"1 / (1 + KL(a || b) / {d})",
        "kl_per_dim": f"the mean over the {d} dimensions of 1 / (1 + KL(a || b))",
    }[form.similarity]
    squashed = " (the means go through tanh first)" if form.tanh else ""
    threshold = f", fitted on dev: {form.threshold:.4f}" if form.threshold is not None else ""
    return (
        f"A sentence becomes a Gaussian of {d} dimensions: {d} means, then {d} log variances{squashed}. Two "
        f"are compared by `sim(a || b)` = {formula}. A premise p entails a hypothesis h if `sim(h || p)` is "
        f"above a threshold{threshold}; of two sentences of which one entails the other, it is p if "
        "`sim(h || p)` is greater than `sim(p || h)`. The entailing sentence has the larger variance."
    )


def entail_usage(place: str) -> str:
    """Return a program that tells a direction with `entail`."""
    return f"""import entail

encoder = entail.GaussianEncoder("{place}")
{_TEXTS}forward = encoder.similarities([hypothesis], [premise])
backward = encoder.similarities([premise], [hypothesis])
print(forward, backward)  # the premise entails: the first is the greater
"""


def plain_usage(place: str, form: GaussianForm, *, base: str | None, on_hub: bool) -> str:
    """Return the same program without `entail`.

    Args:
        place: A folder or a Hub id.
        form: How its sentences become Gaussians.
        base: What leads to the base of an adapter; None for a whole model.
        on_hub: Whether `place` is a Hub id.
    """
    if base is None:
        load = f'model = SentenceTransformer("{place}")\n'
        imports = "from sentence_transformers import SentenceTransformer\n"
    else:
        imports = (
            "from sentence_transformers import SentenceTransformer\n"
            "from sentence_transformers.sentence_transformer.modules import Dense, Pooling\n"
        )
        head = f'"{place}", subfolder="{HEAD}"' if on_hub else f'"{place}/{HEAD}"'
        load = (
            f'base = SentenceTransformer("{base}")\n'
            f'base.load_adapter("{place}")\n'
            f'pooling = Pooling(base[0].get_embedding_dimension(), "{form.pooling}")\n'
            f"model = SentenceTransformer(modules=[base[0], pooling, Dense.load({head})])\n"
        )
    squash = "mean = np.tanh(mean)\n" if form.tanh else ""
    return f"""import numpy as np
{imports}
{load}{_TEXTS}mean, log_variance = np.split(model.encode([premise, hypothesis]), 2, axis=1)
log_variance = log_variance.clip(-10, 10)
{squash}

def similarity(a: int, b: int) -> float:
    x = log_variance[a] - log_variance[b]
    kl = (np.exp(x) - x - 1 + (mean[a] - mean[b]) ** 2 / np.exp(log_variance[b])) / 2
    return {_SIMILARITY[form.similarity]}


print(similarity(1, 0), similarity(0, 1))  # the premise entails: the first is the greater
"""
