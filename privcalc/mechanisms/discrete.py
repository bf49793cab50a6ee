"""Noise on whole numbers: discrete Gaussian and discrete Laplace."""

from __future__ import annotations

import math
from decimal import Context, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.errors import DomainError, UnsupportedError
from privcalc.exact import doubles, exact
from privcalc.mechanisms.base import Mechanism, Noise, decimal_of, given
from privcalc.relation import Adjacency
from privcalc.spec.entry import QUERY, deviation, positive, share, whole
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.engine.terms import Terms
    from privcalc.losses.law import LossLaw

# Below, nearly all mass is on one integer; above, tables of all outcomes get too long.
SMALLEST_SIGMA, LARGEST_SIGMA = 0.05, 20_000.0
LARGEST_SHIFT = 10_000
LARGEST_COINS = 10**9
NOTE = (
    "the cost of discrete Gaussian noise is not quite monotone in {} where delta is below about"
    " exp(-2 sigma^2): both values are proved, and no others"
)


@mechanism(
    name="discrete_gaussian",
    place=30,
    parameters=(
        # Not quite: with p the noise at sensitivity 1 and v its variance, p(k) - e^epsilon p(k
        # + 1) has the slope (p(k) (k^2 - v) - e^epsilon p(k + 1) ((k + 1)^2 - v)) / sigma^3,
        # which at a large enough epsilon between two losses is positive from about k = 2
        # sigma^2 on.
        Parameter(
            "standard_deviation",
            short="sigma",
            minimum=SMALLEST_SIGMA,
            maximum=LARGEST_SIGMA,
            unit=QUERY,
            cost_note=NOTE.format("sigma"),
            cost="decreases",
        ),
        positive(
            "variance",
            "decreases",
            unit="square of the unit of the query",
            cost_note=NOTE.format("its variance"),
        ),
        positive("rho", "increases", cost_note=NOTE.format("rho")),
        # See the class: P(X < y) - a P(X < y - d) grows with d. With rho written, the noise
        # grows with it.
        whole(
            "sensitivity",
            "increases",
            most=LARGEST_SHIFT,
            default=1,
            contribution=True,
            unit=QUERY,
            cost_needs=("standard_deviation", "variance"),
        ),
        # One more is independent noise.
        whole("clients", "decreases", most=LARGEST_COINS, default=1),
    ),
    one_of=(("standard_deviation",), ("variance",), ("rho",)),
    excludes=(("rho", "clients"),),
    example="discrete-gaussian:sigma=7.5@100",
)
class DiscreteGaussian(Noise):
    """Discrete Gaussian noise added to a whole number (Canonne, Kamath, Steinke 2020).

    The output is f(x) + N_Z(0, sigma^2), where N_Z gives the whole number k with probability
    proportional to exp(-k^2 / (2 sigma^2)), and `sensitivity` bounds |f(x) - f(x')| over
    neighbouring x, x', whatever the relation in force. The pair P = N_Z(0, sigma^2),
    Q = N_Z(sensitivity, sigma^2) dominates the mechanism in every direction: for a smaller shift d
    the likelihood ratio is still monotone, the best test is {X < y}, and
    P(X < y) - a P(X < y - d) grows with d. It is attained where two neighbours differ by the
    sensitivity. The privacy loss lies on a lattice of step sensitivity / sigma^2. The formula of
    the continuous Gaussian is no bound for it. The noise is one-dimensional: a query with several
    counts is a composition.

    With `clients` each of so many adds such noise to its part of the sum. The sum of the noises
    is log-concave, too, and the same holds of it; it is no discrete Gaussian. Count those that are
    sure to add theirs: clients that may drop out, or that collude, do not count.

    sigma, its square or rho is read as the number that was written: 0.1 is one tenth.
    """

    def __init__(
        self,
        *,
        standard_deviation: float | None = None,
        variance: float | None = None,
        rho: float | None = None,
        sensitivity: int = 1,
        clients: int = 1,
    ) -> None:
        """Take sigma, its square or rho, and a whole sensitivity."""
        self.sensitivity, self.clients = sensitivity, clients
        number = exact(given(standard_deviation, variance, rho))
        if variance is not None:
            self.variance = number
        elif rho is not None:
            self.variance = sensitivity**2 / (2 * number)
        else:
            self.variance = number**2
        if not exact(SMALLEST_SIGMA) ** 2 <= self.variance <= exact(LARGEST_SIGMA) ** 2:
            raise DomainError(
                f"sigma must be in [{SMALLEST_SIGMA:g}, {LARGEST_SIGMA:g}], got"
                f" {float(self.variance) ** 0.5:.6g}"
            )

    def law(self) -> LossLaw:
        """Return the privacy-loss law, the same in each direction."""
        from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw

        if self.clients > 1:
            from privcalc.losses.whole_noise import GaussianSumNoise, WholeNoiseLaw

            return WholeNoiseLaw(GaussianSumNoise(self.variance, self.clients), self.sensitivity)
        return DiscreteGaussianLaw(self.variance, self.sensitivity)

    def grouped(self, records: int) -> DiscreteGaussian:
        """Return the mechanism for a group of records: its sensitivity adds up."""
        return self.changed(sensitivity=self.sensitivity * records)


# The law has one loss for each unit of sensitivity, and one more.
LARGEST_SENSITIVITY = 10_000
# Beyond 700 the probabilities of the pair underflow.
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-100, 700.0
# Digits: 1 - a loses 104 of them at the smallest epsilon and the largest sensitivity.
DIGITS = 150


@mechanism(
    name="discrete_laplace",
    place=40,
    parameters=(
        # With a' > a the noise is that of a plus independent noise: the ratio of both
        # characteristic functions is a positive constant plus a positive multiple of that of
        # a'.
        positive("scale", "decreases", unit=QUERY, cost_unless=("bound",)),
        positive("epsilon", "increases"),
        # One more step of the chain of neighbours. With epsilon written, the noise grows with
        # it.
        whole(
            "sensitivity",
            "increases",
            default=1,
            contribution=True,
            unit=QUERY,
            cost_needs=("scale",),
        ),
        whole("bound", default_text="none", unit=QUERY),
    ),
    one_of=(("scale",), ("epsilon",)),
    excludes=(("epsilon", "bound"),),
    example="discrete-laplace:scale=2@10",
)
class DiscreteLaplace(Noise):
    """Two-sided geometric noise added to a query with integer values.

    The output is f(x) plus independent noise on each coordinate that is k with probability
    (1 - a) / (1 + a) a^|k|, a = exp(-1/scale), and `sensitivity` S bounds |f(x) - f(x')| in the L1
    norm over neighbouring x, x', whatever the relation in force (Ghosh, Roughgarden,
    Sundararajan 2012). The pair P = noise, Q = noise + S in one dimension dominates in every
    direction, and it is attained where one coordinate changes by S: go from f(x) to f(x') by at
    most S unit steps. A step changes each probability by a factor in [a, 1/a], so the probability
    g of any test goes up to at most min(g / a, 1 - a (1 - g)), which is increasing in g. On the
    half-lines {k < t} of the pair, with randomisation in between, every step attains this maximum.

    Under P the loss is (S - 2k) / scale with the probability that the noise, clipped to [0, S], is
    k: 1 / (1 + a) for k = 0, (1 - a) a^k / (1 + a) in between, a^S / (1 + a) for k = S.

    With `bound` the noise is drawn again until it is within the bound, k in [-bound, bound]: its
    masses stay log-concave, so that the same pair dominates a number; the query is one number then.

    Attributes:
        step: 1 / scale.
        sensitivity: S.
        bound: the largest noise, or None.
    """

    def __init__(
        self,
        *,
        scale: float | None = None,
        epsilon: float | None = None,
        sensitivity: int = 1,
        bound: int | None = None,
    ) -> None:
        """Take the noise either as a scale or as an epsilon, and its largest value, if any."""
        self.bound, self.sensitivity = bound, _checked(sensitivity, bound)
        number = exact(given(scale, epsilon))
        self.step = 1 / number if epsilon is None else number / sensitivity
        size = doubles(self.step * sensitivity)[1]
        if not SMALLEST_EPSILON <= size <= LARGEST_EPSILON:
            raise DomainError(
                f"sensitivity / scale must be in [{SMALLEST_EPSILON:g}, {LARGEST_EPSILON:g}], got"
                f" {size:.6g}"
            )

    def grouped(self, records: int) -> DiscreteLaplace:
        """Return the mechanism for a group of records: its sensitivity adds up."""
        found = self.changed(sensitivity=_checked(self.sensitivity * records, self.bound))
        if self.step * found.sensitivity > LARGEST_EPSILON:
            raise DomainError(f"a group of {records} has a privacy loss beyond {LARGEST_EPSILON:g}")
        return found

    def law(self) -> LossLaw:
        """Return the privacy-loss law, the same in each direction."""
        if self.bound is not None:
            from privcalc.losses.whole_noise import TruncatedNoise, WholeNoiseLaw

            return WholeNoiseLaw(TruncatedNoise(self.step, self.bound), self.sensitivity)
        return law_of_steps(self.step, self.sensitivity)


def _checked(sensitivity: int, bound: int | None) -> int:
    if bound is not None and sensitivity > 2 * bound:
        raise DomainError(
            f"bound must be at least half of the sensitivity, got {bound} and {sensitivity}: the"
            " outputs would have nothing in common"
        )
    if sensitivity > LARGEST_SENSITIVITY:
        raise DomainError(
            f"sensitivity must be at most {LARGEST_SENSITIVITY}, got {sensitivity}: where the"
            " query is that coarse, laplace costs nearly the same"
        )
    return sensitivity


def law_of_steps(step: Fraction, size: int) -> LossLaw:
    """Return the law of a number that moves by so many units, each of which costs a step."""
    from privcalc.losses.atoms import AtomicLaw

    known = [(size - 2 * k) * step for k in range(size + 1)]
    losses = tuple(map(float, known))
    rounded = any(Fraction(a) != b for a, b in zip(losses, known, strict=True))
    masses = _masses(step, size)
    return AtomicLaw(
        losses=losses,
        masses=masses,
        loss_units=1.0 if rounded else 0.0,
        lower_masses=masses[::-1],
        known_loss=step * size if rounded else None,
    )


def _masses(step: Fraction, size: int) -> tuple[float, ...]:
    """Return the P-masses, rounded once: a^k has an error of k units of 10^-DIGITS."""
    with localcontext(Context(prec=DIGITS)):
        a = decimal_of(-step).exp()
        powers = [1 / (1 + a)]
        for _ in range(size):
            powers.append(powers[-1] * a)
        inner = [(1 - a) * power for power in powers[1:-1]]
        return tuple(map(float, (powers[0], *inner, powers[-1])))


# Wider noise has too many outcomes to add up; narrower noise than the least is none.
LEAST_VARIANCE, LARGEST_VARIANCE = exact(1e-3), exact(1e8)


@mechanism(
    name="skellam",
    place=42,
    parameters=(
        # Skellam noise of a larger variance is that of the smaller one plus independent noise.
        positive(
            "variance",
            "decreases",
            maximum=float(LARGEST_VARIANCE),
            unit="square of the unit of the query",
        ),
        deviation(maximum=float(LARGEST_VARIANCE) ** 0.5),
        whole(
            "sensitivity",
            "increases",
            most=LARGEST_SHIFT,
            default=1,
            contribution=True,
            unit=QUERY,
        ),
        whole("l1", "increases", default_text="from l2", contribution=True, unit=QUERY),
        positive("l2", "increases", default_text="l1", contribution=True, unit=QUERY),
    ),
    one_of=(("variance",), ("standard_deviation",)),
    excludes=(("sensitivity", "l1"), ("sensitivity", "l2")),
    example="skellam:variance=100,sensitivity=10",
)
class Skellam(Noise):
    """Skellam noise added to a whole number (Agarwal, Kairouz, Liu 2021).

    The output is f(x) + X - Y with independent Poisson variables X and Y of mean variance / 2, and
    `sensitivity` bounds |f(x) - f(x')| over neighbouring x, x', whatever the relation in force. The
    noise of several clients adds up: its variance is the sum of theirs, of those that are sure to
    send it. The masses e^-V I_k(V) are log-concave, so that the pair of the noise and the noise
    moved by the sensitivity dominates in every direction; two neighbours attain it.

    Of several whole numbers, each with noise of its own, `l1` and `l2` bound the L1 and the L2 norm
    of the change: above at each Renyi order by a linear programme (`renyi/whole_vectors.py`), below
    by equal entries. Entries of 0 and 1 are a composition, and exact: `@k` for up to k of them.
    """

    def __init__(
        self,
        *,
        variance: float | None = None,
        standard_deviation: float | None = None,
        sensitivity: int = 1,
        l1: int | None = None,
        l2: float | None = None,
    ) -> None:
        """Take the variance or its root, and a whole sensitivity, or norms."""
        self.sensitivity = sensitivity
        self.norms = _whole_norms(l1, l2)
        number = exact(given(variance, standard_deviation))
        self.variance = number if standard_deviation is None else number**2
        if self.variance < LEAST_VARIANCE:
            raise DomainError(
                f"the variance must be at least {float(LEAST_VARIANCE):g}, got"
                f" {float(self.variance):.6g}"
            )

    def law(self) -> LossLaw:
        """Return the privacy-loss law, the same in each direction."""
        from privcalc.losses.whole_noise import SkellamNoise, WholeNoiseLaw

        return WholeNoiseLaw(SkellamNoise(self.variance), self.sensitivity)

    def grouped(self, records: int) -> Skellam:
        """Return the mechanism for a group of records: its sensitivity adds up."""
        if self.norms:
            raise UnsupportedError("@group of l1 and l2 is not available; state those of the group")
        return self.changed(sensitivity=self.sensitivity * records)

    def terms(self, adjacency: Adjacency) -> Terms:
        """Return the law of one number, or what is known of several."""
        if self.norms is None:
            return super().terms(adjacency)
        from privcalc.losses.whole_noise import SkellamNoise
        from privcalc.renyi.whole_vectors import vector_terms

        return vector_terms(SkellamNoise(self.variance), *self.norms)


def _whole_norms(l1: int | None, l2: float | None) -> tuple[int | None, int] | None:
    """Return the largest sum of sizes, or None, and of squares of whole ones; None without."""
    if l1 is None and l2 is None:
        return None
    square = (l1 or 0) ** 2 if l2 is None else math.floor(exact(l2) ** 2)
    if square == 0:
        raise DomainError("l2 must be at least 1: whole numbers change by no less")
    return l1, square


@mechanism(
    name="binomial",
    place=44,
    parameters=(
        # More coins are fewer coins and independent noise.
        whole("n", "decreases", most=LARGEST_COINS),
        share("p", default=0.5, open_minimum=True, open_maximum=True),
        whole(
            "sensitivity",
            "increases",
            most=LARGEST_SHIFT,
            default=1,
            contribution=True,
            unit=QUERY,
        ),
    ),
    example="binomial:n=2000,sensitivity=8",
)
class Binomial(Mechanism):
    """The number of heads of n coins added to a count (Dwork et al. 2006).

    Each coin shows heads with probability p, and the sum f(x) + heads is published. A record adds
    to f(x) between 0 and `sensitivity`. Binomial masses are log-concave, so that the pair of the
    noise and the noise moved by the sensitivity dominates, and two neighbours attain it. Unless
    p = 1/2 the two directions differ. The least outputs cannot come with the record, and the
    largest ones not without it: that is delta at every epsilon. The noise is one-dimensional: a
    query with several counts is a composition.
    """

    def __init__(self, *, n: int, p: float = 0.5, sensitivity: int = 1) -> None:
        """Take the number of coins, their probability of heads, and a whole sensitivity."""
        self.coins, self.heads = n, exact(p)
        self.sensitivity = self._checked(sensitivity)

    def _checked(self, sensitivity: int) -> int:
        if sensitivity > self.coins:
            raise DomainError(
                f"sensitivity must be at most n, the number of coins, got {sensitivity} and"
                f" {self.coins}: the outputs would have nothing in common"
            )
        return sensitivity

    def laws(self, adjacency: Adjacency) -> LossLaw:
        """Return the privacy-loss law of one direction: the record raises the count.

        Raises:
            UnsupportedError: a record is replaced, and the directions differ.
        """
        from privcalc.losses.whole_noise import CoinNoise, WholeNoiseLaw

        noise = CoinNoise(self.coins, self.heads)
        if adjacency is Adjacency.REPLACE and noise.mirrored != noise:
            raise UnsupportedError(
                "binomial noise under replace-one is supported for p=1/2: else a record that raises"
                " the count costs something else than one that lowers it"
            )
        noise = noise.mirrored if adjacency is Adjacency.REMOVE else noise
        return WholeNoiseLaw(noise, self.sensitivity)

    def grouped(self, records: int) -> Binomial:
        """Return the mechanism for a group of records: its sensitivity adds up."""
        return self.changed(sensitivity=self._checked(self.sensitivity * records))
