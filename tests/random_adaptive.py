"""Random specifications with one of the data-adaptive mechanisms inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.relation import Relation
from tests.random_mechanisms import Generator, RandomSpec
from tests.random_specs import log_uniform

if TYPE_CHECKING:
    from collections.abc import Callable

# Those that have a meaning under one relation only, and that which has no pair to sample.
KEYS = ("thresholded_counts", "partition_selection", "posterior_regression")
CURVE = "gnss"
MOST_USES = {"thresholded_counts": 300, "noisy_screening": 1000, "gnmax": 1000, CURVE: 100}


class AdaptiveGenerator(Generator):
    """Draws compositions of one adaptive mechanism, wrapped or not, with up to two other parts."""

    @property
    def kinds(self) -> dict[str, Callable[[], str]]:
        """What draws one use of each of the mechanisms."""
        return {
            "above_threshold": self.above_threshold,
            "ptr": self.ptr,
            "stability": self.stability,
            "thresholded_counts": self.thresholded_counts,
            "partition_selection": self.partition_selection,
            "noisy_screening": self.noisy_screening,
            "gnmax": self.gnmax,
            CURVE: self.gnss,
            "posterior_regression": self.posterior_regression,
        }

    def around(self, kind: str) -> RandomSpec:
        """Return a composition with this mechanism inside."""
        rng = self.rng
        sampled = kind != CURVE and rng.random() < 0.3
        relation = None
        if kind not in KEYS and not sampled and rng.random() < 0.15:
            relation = Relation.REPLACE_ONE
        text = self.kinds[kind]()
        if sampled:
            text += f"@poisson:q={log_uniform(rng, 1e-3, 0.5)!r}"
        if kind in {"above_threshold", "noisy_screening", "gnmax"} and rng.random() < 0.15:
            text += f"@group:k={rng.randint(2, 3)}"
        parts = [text + self.uses(MOST_USES.get(kind, 30))]
        for _ in range(rng.choice((0, 1, 1, 2))):
            if rng.random() < 0.2 and relation is None:
                parts.append(self.kinds[rng.choice(list(self.kinds))]())
            elif relation is None:
                sampling = "poisson" if sampled or rng.random() < 0.4 else "none"
                parts.append(self.part(sampling, replaces=False)[0])
            else:
                parts.append(rng.choice((self.gaussian, self.laplace, self.guarantee))().text)
        rng.shuffle(parts)
        return RandomSpec("+".join(parts), log_uniform(rng, 1e-12, 0.1), relation, None)

    def uses(self, most: int) -> str:
        """Return a count, or none."""
        count = int(log_uniform(self.rng, 1, most))
        return f"@{count}" if count > 1 else ""

    def size(self, low: float, high: float) -> float:
        """Return a number whose log is uniform."""
        return log_uniform(self.rng, low, high)

    def above_threshold(self) -> str:
        """The sparse vector technique, with either noise, and streams of any length."""
        rng = self.rng
        noise, cutoff = self.size(2, 60), rng.choice((1, 1, 2, 5))
        tail = f",cutoff={cutoff}" if cutoff > 1 else ""
        if rng.random() < 0.2:
            tail += f",sensitivity={rng.choice((0.5, 2))}"
        queries = float(f"{noise * rng.choice((1, 2, 3)):.4g}")
        kind = rng.random()
        if kind < 0.5:
            if rng.random() < 0.3:
                tail += f",length={rng.randint(1, 500)}"
            return f"svt:threshold_noise={noise!r},query_noise={queries!r}{tail}"
        sizes = f"svt:noise=gaussian,threshold_noise={noise!r}"
        if kind < 0.8:
            return f"{sizes},query_noise={queries!r},length={int(self.size(1, 1e5))}{tail}"
        far = float(f"{3 * noise * cutoff:.4g}")
        return f"{sizes},query_noise={far!r},threshold={round(rng.uniform(0, 2 * noise), 1)}{tail}"

    def ptr(self) -> str:
        """A test and a mechanism, with a probability or a threshold, in each mode."""
        rng = self.rng
        tail = f"mode={rng.choice(('sum', 'uniform', 'max', 'bit'))}"
        inside = f"mechanism=({self.inside()})"
        if rng.random() < 0.5:
            failure = rng.choice((0.0, self.size(1e-20, 1e-4)))
            return f"ptr:test=({self.inside()}),{inside},false_positive={failure!r},{tail}"
        spread, far = self.size(1, 20), rng.random()
        test = f"gaussian:sigma={spread!r}" if far < 0.5 else f"laplace:scale={spread!r}"
        threshold = round(spread * (3 + far * (18 if far < 0.5 else 37)), 2)
        return f"ptr:test=({test}),{inside},threshold={threshold!r},{tail}"

    def inside(self) -> str:
        """Return what a test, or what it decides about, may be."""
        return self.rng.choice(
            (
                f"gaussian:sigma={self.size(2, 30)!r}",
                f"laplace:scale={self.size(2, 30)!r}",
                f"pure:epsilon={self.size(0.02, 1)!r}",
                f"rr:epsilon={self.size(0.1, 1)!r}",
                f"gaussian:sigma={self.size(1, 5)!r}@poisson:q=0.02@50",
                f"approx:epsilon={self.size(0.02, 1)!r},delta=1e-9",
                f"exponential:epsilon={self.size(0.1, 1)!r}",
            )
        )

    def stability(self) -> str:
        """Laplace or Gaussian noise on a distance."""
        spread = self.size(0.5, 30)
        name, most = self.rng.choice((("scale", 60), ("sigma", 15)))
        threshold = round(spread * self.rng.uniform(2, most), 2)
        return f"stability:{name}={spread!r},threshold={threshold!r}"

    def thresholded_counts(self) -> str:
        """Each law of the noise, with one key or with some."""
        rng = self.rng
        noise = rng.choice(("laplace", "gaussian", "discrete-laplace", "discrete-gaussian"))
        normal, spread = noise.endswith("gaussian"), self.size(0.7, 40)
        keys = rng.choice((1, 1, 2, 5)) if not noise.startswith("discrete") else 1
        threshold = 1 + round(spread * rng.uniform(3, 12 if normal else 40), 1)
        text = f"thresholded-counts:noise={noise},{'sigma' if normal else 'scale'}={spread!r}"
        return f"{text},threshold={threshold!r}" + (f",keys={keys}" if keys > 1 else "")

    def partition_selection(self) -> str:
        """The optimal one of a guarantee."""
        return (
            f"partition-selection:epsilon={self.size(0.02, 3)!r},delta={self.size(1e-20, 1e-4)!r}"
        )

    def noisy_screening(self) -> str:
        """Thresholds among the counts, or beyond them."""
        votes = self.rng.choice((1, 3, 20, 100, 300))
        sigma = self.size(max(0.3, votes / 40), max(2, votes))
        threshold = round(self.rng.uniform(0, 1.2 * votes), 1)
        return f"noisy-screening:sigma={sigma!r},threshold={threshold!r},votes={votes}"

    def gnmax(self) -> str:
        """Noisy votes."""
        return f"gnmax:sigma={self.size(2, 60)!r}"

    def posterior_regression(self) -> str:
        """A posterior that is narrow or wide."""
        gamma, ridge = self.size(0.1, 3), self.size(100, 3000)
        return f"ops:gamma={gamma!r},lambda={ridge!r},n={int(self.size(1, 1e4))}"

    def gnss(self) -> str:
        """The release of a smooth sensitivity, by the rule or not."""
        sigma = self.size(2, 60)
        if self.rng.random() < 0.5:
            return f"gnss:sigma={sigma!r},delta={self.size(1e-12, 1e-3)!r}"
        return f"gnss:sigma={sigma!r},beta={self.size(1e-4, 0.3)!r}"
