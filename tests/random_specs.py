"""Random specifications for the honesty tests: every law of the language, alone and mixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    """Return a number whose log is uniform, with few digits."""
    return float(f"{low * (high / low) ** rng.random():.3g}")


def random_leaf(rng: random.Random) -> str:
    """Return one mechanism, sampled or not, with its count."""
    count = int(log_uniform(rng, 1, 1e6))
    kind = rng.choice(["gaussian", "gaussian", "sampled", "sampled", "sampled", "laplace", "slap"])
    if kind == "gaussian":
        sigma = log_uniform(rng, 0.5, 100)
        return f"gaussian:sigma={sigma!r}@{count}"
    if kind == "sampled":
        sigma = log_uniform(rng, 0.6, 20)
        q = log_uniform(rng, 1e-6, 0.9)
        return f"gaussian:sigma={sigma!r}@poisson:q={q!r}@{max(count, 30)}"
    scale = log_uniform(rng, 2, 200)
    if kind == "laplace":
        return f"laplace:scale={scale!r}@{max(count % 5000, 20)}"
    q = log_uniform(rng, 1e-4, 0.5)
    return f"laplace:scale={scale!r}@poisson:q={q!r}@{max(count, 50)}"


def random_discrete(rng: random.Random) -> str:
    """Return a mechanism with finitely many losses and its count."""
    count = int(log_uniform(rng, 1, 400))
    kind = rng.choice(["pure", "rr", "approx", "spure"])
    epsilon = log_uniform(rng, 0.01, 2)
    if kind == "pure":
        return f"pure:epsilon={epsilon!r}@{count}"
    if kind == "rr":
        return f"rr:p={0.5 + 0.49 * rng.random():.3f}@{count}"
    if kind == "approx":
        return f"approx:epsilon={epsilon!r},delta=1e-40@{count}"
    return f"pure:epsilon={epsilon!r}@poisson:q={log_uniform(rng, 0.01, 0.9)!r}@{count}"


def random_spec(rng: random.Random) -> tuple[str, float]:
    """Return a specification and a delta."""
    shape = rng.random()
    if shape < 0.15:
        text = random_discrete(rng)
    elif shape < 0.7:
        text = random_leaf(rng)
    else:
        parts = [random_leaf(rng) for _ in range(rng.randint(2, 3))]
        if rng.random() < 0.3:
            parts.append(random_discrete(rng))
        text = "+".join(parts)
    return text, log_uniform(rng, 1e-30, 0.3)
