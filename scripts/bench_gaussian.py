"""Measure searching by direction, and write the figures to a result file.

    python scripts/bench_gaussian.py [--premises 16472] [--large 1000000] [--out FILE]

The Gaussians are drawn, of MiniLM's dimension: the time of a search does not depend on what they say, only
on how far their variances lie apart. One search is set beside the loop over torch's `kl_divergence` that one
would write without an index, and beside one call of it for all premises at once. A million premises take
3.1 GB as Gaussians, and as much again for the one direction that is in memory at a time.
"""

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: else two threads spin against each other

import numpy as np

from entail.encoders.gaussian.distributions import Gaussians, divergence
from entail.index.lifted import Direction, LiftedGaussians, Nearest
from entail.results import write_result

SIZE = 16_472
LARGE = 1_000_000
DIMENSION = 384
BATCHES = (1, 16, 64)
SEED = 0
K = 20
DIRECTIONS: tuple[Direction, ...] = ("entailing", "entailed")
ROOT = Path(__file__).resolve().parent.parent


def drawn(draw: np.random.Generator, count: int) -> Gaussians:
    """Draw Gaussians whose standard deviations differ by a half, in place: a million are 3 GB."""
    mean = draw.standard_normal((count, DIMENSION), dtype=np.float32)
    log_variance = draw.standard_normal((count, DIMENSION), dtype=np.float32)
    log_variance *= 0.8
    np.clip(log_variance, -10, 10, out=log_variance)
    return Gaussians(mean, log_variance)


def by_loop(query: Gaussians, premises: Gaussians) -> list[int]:
    """Compare one by one, as one would without an index; whatever can be made before is made before."""
    import torch
    from torch.distributions import Normal, kl_divergence

    means, deviations = torch.from_numpy(premises.mean), torch.from_numpy(premises.log_variance).div(2).exp()
    normal = Normal(torch.from_numpy(query.mean[0]), torch.from_numpy(query.log_variance[0]).div(2).exp())
    divergences = [
        kl_divergence(normal, Normal(mean, deviation)).sum().item()
        for mean, deviation in zip(means, deviations, strict=True)
    ]
    return sorted(range(len(divergences)), key=divergences.__getitem__)[:K]


def at_once(query: Gaussians, premises: Gaussians) -> list[int]:
    """Compare by one call for all premises."""
    import torch
    from torch.distributions import Normal, kl_divergence

    many = Normal(torch.from_numpy(premises.mean), torch.from_numpy(premises.log_variance).div(2).exp())
    normal = Normal(torch.from_numpy(query.mean), torch.from_numpy(query.log_variance).div(2).exp())
    positions: list[int] = kl_divergence(normal, many).sum(1).topk(K, largest=False).indices.tolist()
    return positions


def seconds(work: Callable[[], object], *, times: int, warm: int = 1) -> list[float]:
    """Run work and return how long each run took."""
    durations = []
    for run in range(-warm, times):
        start = time.perf_counter()
        work()
        if run >= 0:
            durations.append(time.perf_counter() - start)
    return durations


def milliseconds(taken: list[float], *, queries: int = 1) -> float:
    """Return the median run as milliseconds a query."""
    return round(float(np.median(taken)) * 1000 / queries, 3)


def searches(lifted: LiftedGaussians, queries: Gaussians, *, times: int) -> dict[str, Any]:
    """Time searches of some queries at once, for each number of them."""
    figures: dict[str, Any] = {}
    for batch in BATCHES:
        durations = seconds(lambda batch=batch: lifted.nearest(queries[:batch], k=K), times=times)
        figures[f"batch_{batch}_ms_a_query"] = milliseconds(durations, queries=batch)
    return figures


def is_exact(nearest: Nearest, lifted: LiftedGaussians, queries: Gaussians, rows: int) -> bool:
    """Say whether the first queries' hits are those of comparing every pair in double precision."""
    pairs: dict[str, Callable[[Gaussians], Any]] = {
        "entailing": lambda query: divergence(query, lifted.premises),
        "entailed": lambda query: divergence(lifted.premises, query),
    }
    whole = [np.argsort(pairs[lifted.direction](queries[row]), kind="stable")[:K] for row in range(rows)]
    return bool((nearest.positions[:rows] == np.stack(whole)).all())


def beside_torch(premises: Gaussians, queries: Gaussians, *, loops: int) -> dict[str, Any]:
    """Time one query by index, by loop and at once, in turns."""
    lifted = LiftedGaussians(premises, "entailing")
    ways: dict[str, Callable[[Gaussians], Any]] = {
        "search": lambda query: lifted.nearest(query, k=K).positions[0].tolist(),
        "loop": lambda query: by_loop(query, premises),
        "at_once": lambda query: at_once(query, premises),
    }
    for way in ways.values():
        way(queries[0] if way is not ways["loop"] else premises[:1])
    durations: dict[str, list[float]] = {name: [] for name in ways}
    agree = 0
    for row in range(loops):
        answers = {}
        for name, way in ways.items():
            start = time.perf_counter()
            answers[name] = way(queries[row])
            durations[name].append(time.perf_counter() - start)
        agree += answers["search"] == answers["loop"]
    figures: dict[str, Any] = {f"{name}_ms": milliseconds(times) for name, times in durations.items()}
    for name in ("loop", "at_once"):
        figures[f"{name}_to_search"] = round(
            float(np.median(durations[name]) / np.median(durations["search"])), 1
        )
    return figures | {"queries": loops, "same_ranking_as_loop": agree}


def both_directions(premises: Gaussians, queries: Gaussians, *, times: int, checked: int) -> dict[str, Any]:
    """Build and search each direction, one in memory at a time."""
    figures: dict[str, Any] = {}
    for direction in DIRECTIONS:
        start = time.perf_counter()
        lifted = LiftedGaussians(premises, direction)
        built = time.perf_counter() - start
        nearest = lifted.nearest(queries, k=K)
        figures[direction] = {
            "build_s": round(built, 2),
            **searches(lifted, queries, times=times),
            "queries_widened": int(nearest.widened.sum()),
            "queries": len(queries),
            "exact": is_exact(nearest, lifted, queries, checked),
            "checked": checked,
        }
        del lifted
    return figures


def main() -> None:
    """Measure and write."""
    started = datetime.now(UTC)
    parser = argparse.ArgumentParser(description="Measure searching by direction.")
    parser.add_argument("--premises", type=int, default=SIZE, help="premises beside torch's loop")
    parser.add_argument("--large", type=int, default=LARGE, help="premises of the large index, 0 for none")
    parser.add_argument("--loops", type=int, default=5, help="queries by torch's loop")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "gaussian_search.json")
    options = parser.parse_args()

    figures: dict[str, Any] = {
        "dimension": DIMENSION,
        "k": K,
        "search_threads": 1,
        "load_average_before": round(os.getloadavg()[0], 2),
    }
    draw = np.random.default_rng(SEED)
    premises, queries = drawn(draw, options.premises), drawn(draw, max(BATCHES))
    import torch

    figures["torch_threads"] = torch.get_num_threads()
    figures["premises"] = {
        "count": len(premises),
        **beside_torch(premises, queries, loops=options.loops),
        **both_directions(premises, queries, times=10, checked=8),
    }
    del premises
    if options.large:
        print(f"{options.large:,} premises ...", file=sys.stderr)
        premises = drawn(draw, options.large)
        figures["large"] = {
            "count": len(premises),
            **both_directions(premises, queries, times=3, checked=2),
        }
    # Linux tells it in KiB, macOS in bytes.
    unit = 2**30 if sys.platform == "darwin" else 2**20
    figures["peak_memory_gib"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 2)
    record = write_result(options.out, figures=figures, seed=SEED, started=started)
    for name, value in record["figures"].items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
