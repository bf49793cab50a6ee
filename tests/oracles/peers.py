"""What dp-accounting and prv-accountant say about 50 compositions: second opinions, not oracles.

Each specification is written twice: in privcalc's language, and as calls of the two libraries with
the very same doubles. Nothing here touches the product.

dp-accounting 0.6.0 discretises each privacy loss pessimistically on a grid of step h and composes
by FFT. Rounding every loss up to the grid would cost at most h per step; connecting the dots costs
no more (Doroshenko et al. 2022). Were the FFT exact, its answer would lie between epsilon(delta)
and epsilon(delta - cut) + count h, where cut is the probability that it moves to infinity.

prv-accountant 0.2.0 states an interval (Gopi, Lee and Wutschitz 2021, Theorem 5.5), for the
direction in which the record is removed.
"""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

__all__ = [
    "DELTAS",
    "FILE",
    "INTERVAL",
    "SPECS",
    "Part",
    "Row",
    "Spec",
    "ask_dp_accounting",
    "ask_prv",
    "cut",
    "load",
]

FILE = Path(__file__).parent / "peers.json"
DELTAS = (1e-5, 1e-8, 1e-12)
# The default grid of dp-accounting.
INTERVAL = 1e-4


class Row(TypedDict, total=False):
    """The answers to one specification at one delta; a library that cannot answer is left out."""

    text: str
    delta: float
    dp_accounting: float
    prv: list[float]  # lower end, estimate, upper end


@dataclass(frozen=True)
class Part:
    """One mechanism: its kind, its one number, how it is sampled, how often it is used.

    The number is sigma, a scale, an epsilon (pure, approx, discrete-laplace), or for rr the
    probability with which the answer is drawn uniformly from the categories.
    """

    kind: str
    value: float
    count: int = 1
    q: float = 1.0
    group: int = 1
    categories: int = 2
    delta: float = 0.0

    @property
    def text(self) -> str:
        """The part in privcalc's language."""
        name = {"gaussian": "sigma", "laplace": "scale", "discrete-gaussian": "sigma"}
        written = f"{self.kind}:{name.get(self.kind, 'epsilon')}={self.value!r}"
        if self.kind == "rr":
            truth = 1.0 - self.value + self.value / self.categories
            written = f"rr:p={truth!r},categories={self.categories}"
        if self.kind == "approx":
            written += f",delta={self.delta!r}"
        if self.q < 1.0:
            written += f"@poisson:q={self.q!r}"
        if self.group > 1:
            written += f"@group:k={self.group}"
        return written + (f"@{self.count}" if self.count > 1 else "")


@dataclass(frozen=True)
class Spec:
    """A composition, and the error that prv-accountant is asked for (0: it is not asked)."""

    parts: tuple[Part, ...]
    prv_error: float = 0.0
    deltas: tuple[float, ...] = DELTAS

    @property
    def text(self) -> str:
        """The composition in privcalc's language."""
        return "+".join(part.text for part in self.parts)

    @property
    def count(self) -> int:
        """The number of steps."""
        return sum(part.count for part in self.parts)


def _gaussian(sigma: float, count: int, q: float = 1.0) -> Part:
    return Part("gaussian", sigma, count, q)


def _laplace(scale: float, count: int, q: float = 1.0) -> Part:
    return Part("laplace", scale, count, q)


SPECS = (
    # Gaussian noise.
    Spec((_gaussian(1.0, 1),), 0.01),
    Spec((_gaussian(3.0, 10),), 0.01),
    Spec((_gaussian(10.0, 100),), 0.01),
    Spec((_gaussian(50.0, 2500),), 0.01),
    Spec((_gaussian(20.0, 4000),), 0.01),
    Spec((_gaussian(200.0, 10_000),), 0.1),
    # DP-SGD.
    Spec((_gaussian(1.0, 1000, 0.01),), 0.01),
    Spec((_gaussian(0.8, 100_000, 0.001),), 0.1),
    Spec((_gaussian(1.1, 14_063, 256 / 60_000),), 0.1),
    Spec((_gaussian(2.0, 1_000_000, 1e-4),), 0.1),
    Spec((_gaussian(0.6, 5000, 0.02),), 0.1),
    Spec((_gaussian(1.5, 300, 0.1),), 0.01),
    Spec((_gaussian(4.0, 2000, 0.05),), 0.01),
    Spec((_gaussian(0.7, 50, 0.001),), 0.01),
    Spec((_gaussian(5.0, 100, 0.5),), 0.01),
    Spec((_gaussian(1.0, 10_000, 1e-4),), 0.1),
    Spec((_gaussian(10.0, 50_000, 0.01),), 0.1),
    Spec((_gaussian(2.5, 500, 0.25),), 0.01),
    # Laplace noise.
    Spec((_laplace(1.0, 1),), 0.01),
    Spec((_laplace(1.0, 10),), 0.01),
    Spec((_laplace(5.0, 100),), 0.01),
    Spec((_laplace(20.0, 1000),), 0.01),
    Spec((_laplace(100.0, 5000),), 0.1),
    # Laplace noise on a sample.
    Spec((_laplace(1.0, 100, 0.05),)),
    Spec((_laplace(2.0, 1000, 0.01),)),
    Spec((_laplace(5.0, 500, 0.2),)),
    Spec((_laplace(10.0, 10_000, 0.02),)),
    # Discrete Laplace noise.
    Spec((Part("discrete-laplace", 0.5, 10),)),
    Spec((Part("discrete-laplace", 0.1, 300),)),
    Spec((Part("discrete-laplace", 1.0, 25),)),
    Spec((Part("discrete-laplace", 0.2, 200, 0.1),)),
    # Discrete Gaussian noise.
    Spec((Part("discrete-gaussian", 1.0, 1),)),
    Spec((Part("discrete-gaussian", 3.0, 20),)),
    Spec((Part("discrete-gaussian", 10.0, 100),)),
    Spec((Part("discrete-gaussian", 25.0, 400),)),
    Spec((Part("discrete-gaussian", 2.0, 200, 0.02),)),
    # Guarantees and answers.
    Spec((Part("pure", 0.1, 500),), 0.01),
    Spec((Part("pure", 1.0, 20),), 0.01),
    Spec((Part("pure", 0.01, 5000),), 0.01),
    Spec((Part("approx", 0.2, 100, delta=2.0**-50),), 0.01, (1e-5, 1e-8)),
    Spec((Part("rr", 0.5, 30),)),
    Spec((Part("rr", 0.75, 100, categories=4),)),
    # Mixtures.
    Spec((_gaussian(10.0, 20), _laplace(10.0, 30), _gaussian(1.0, 500, 0.01)), 0.01),
    Spec((_gaussian(50.0, 500), _gaussian(1.0, 2000, 0.005)), 0.01),
    Spec((_gaussian(8.0, 10), Part("pure", 0.1, 40)), 0.01),
    Spec((_laplace(20.0, 100), Part("rr", 0.9375, 50))),
    Spec((Part("discrete-gaussian", 8.0, 30), Part("discrete-laplace", 0.125, 30))),
    Spec((_gaussian(2.0, 1000, 0.01), _laplace(4.0, 200, 0.05))),
    Spec((_gaussian(1.2, 3000, 0.01), _gaussian(0.9, 100, 0.02), _gaussian(30.0, 50)), 0.01),
    # Two records, each sampled: a mixture of Gaussians.
    Spec((Part("gaussian", 2.0, 200, 0.05, group=2),)),
)


def cut(spec: Spec) -> float:
    """Bound the probability that dp-accounting moves to infinity at its default settings.

    Each mechanism is truncated at e^-50 on either side (the discrete Gaussian at less than 1e-30),
    each composition with itself or with another at 1e-15, doubled here for both sides.
    """
    return 2.0 * spec.count * math.exp(-50.0) + 4e-15 * len(spec.parts)


def load() -> list[Row]:
    """Read the stored answers."""
    rows: list[Row] = json.loads(FILE.read_text())["rows"]
    return rows


def _loss_distribution(part: Part) -> Any:
    """Return dp-accounting's distribution of the loss of a part, at its default settings."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    sampled = {"sampling_prob": part.q} if part.q < 1.0 else {}
    match part.kind:
        case "gaussian" if part.group > 1:
            chances = [
                math.comb(part.group, j) * part.q**j * (1.0 - part.q) ** (part.group - j)
                for j in range(part.group + 1)
            ]
            one = pld.from_mixture_gaussian_mechanism(part.value, range(part.group + 1), chances)
        case "gaussian":
            one = pld.from_gaussian_mechanism(part.value, **sampled)
        case "laplace":
            one = pld.from_laplace_mechanism(part.value, **sampled)
        case "discrete-laplace":
            one = pld.from_discrete_laplace_mechanism(part.value, **sampled)
        case "discrete-gaussian":
            one = pld.from_discrete_gaussian_mechanism(part.value, **sampled)
        case "rr":
            one = pld.from_randomized_response(part.value, part.categories)
        case _:
            given = common.DifferentialPrivacyParameters(part.value, part.delta)
            one = pld.from_privacy_parameters(given)
    return one.self_compose(part.count) if part.count > 1 else one


def ask_dp_accounting(spec: Spec) -> dict[float, float]:
    """Return dp-accounting's epsilon at each delta, at its default settings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = None
        for part in spec.parts:
            one = _loss_distribution(part)
            whole = one if whole is None else whole.compose(one)
        assert whole is not None
        return {delta: float(whole.get_epsilon_for_delta(delta)) for delta in spec.deltas}


def ask_prv(spec: Spec) -> dict[float, list[float]]:
    """Return prv-accountant's lower end, estimate and upper end at each delta, if it is asked."""
    if not spec.prv_error:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import prv_accountant as prv

        losses: list[Any] = []
        for part in spec.parts:
            match part.kind:
                case "gaussian" if part.q < 1.0:
                    losses.append(prv.PoissonSubsampledGaussianMechanism(part.q, part.value))
                case "gaussian":
                    losses.append(prv.GaussianMechanism(part.value))
                case "laplace":
                    losses.append(prv.LaplaceMechanism(mu=1.0 / part.value))
                case "pure":
                    losses.append(prv.PureDPMechanism(part.value))
                case _:
                    losses.append(prv.ApproximateDPMechanism(part.value, part.delta))
        counts = [part.count for part in spec.parts]
        found = {}
        for delta in spec.deltas:
            accountant = prv.PRVAccountant(
                prvs=losses,
                max_self_compositions=counts,
                eps_error=spec.prv_error,
                delta_error=delta / 1000.0,
            )
            found[delta] = [float(end) for end in accountant.compute_epsilon(delta, counts)]
        return found
