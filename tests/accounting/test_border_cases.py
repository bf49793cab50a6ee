"""Questions at the borders of ranges: each has an answer, or one line that says why not."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from privcalc import convert
from privcalc.accounting.subsample import Subsampled, subsample
from privcalc.errors import DomainError, NotCertifiedError, PrivcalcError, UsageError
from privcalc.exact import doubles
from privcalc.spec.parse import parse
from privcalc.spec.tree import Wrapped
from tests import asked
from tests.asked import epsilon
from tests.truths import hockey_stick

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome


delta = partial(asked.delta, tolerance=1e-9)


@pytest.mark.slow
@pytest.mark.dear("1e-08]", "0.0002]")
@pytest.mark.parametrize("mu", [1e-3, 1e-8, 2e-4])
def test_little_risk_is_written_in_every_format(mu: float, run: Callable[..., Outcome]) -> None:
    """Also where the series for little noise answers."""
    for words in (("--json",), ("--format", "csv"), ()):
        done = run("convert", f"gdp:mu={mu!r}", "--to", "risk", *words)
        assert done.status == 0, done.stderr
    assert convert(f"gdp:mu={mu!r}", to="risk").to_json()


def test_numbers_beyond_the_doubles_are_enclosed() -> None:
    """The largest double is below, and infinity above."""
    huge = Fraction(10) ** 400
    largest = math.nextafter(math.inf, 0.0)
    assert doubles(huge) == (largest, math.inf)
    assert doubles(-huge) == (-math.inf, -largest)


@pytest.mark.parametrize(
    "text",
    [
        "approx:epsilon=1,delta=1+rr:p=0.8962866548033449,categories=3@poisson:q=0.5",
        "bernoulli-pair:p=0,other_p=1@select:runs=geometric,mean=3",
    ],
)
def test_what_reveals_everything_has_delta_1(text: str) -> None:
    """Beside a Renyi curve, and selected from."""
    assert delta(text, 1.0).upper == 1.0


def test_a_poisson_number_of_runs_may_be_none() -> None:
    """Everything is revealed where there is a run: 1 - e^{-0.3}."""
    found = delta("bernoulli-pair:p=0,other_p=1@select:runs=poisson,mean=0.3", 0.5)
    assert (found.lower or 0.0) <= -math.expm1(-0.3) <= found.upper


@pytest.mark.parametrize(
    "text",
    [
        "ptr:test=(approx:epsilon=1,delta=1),mechanism=(pure:epsilon=1),false_positive=0.1,mode=bit",
        "ptr:test=(approx:epsilon=1,delta=1),mechanism=(pure:epsilon=1),false_positive=0.1,mode=max",
        "bernoulli-pair:p=0,other_p=1@select:runs=geometric,mean=3",
    ],
)
def test_what_reveals_everything_has_no_epsilon(text: str) -> None:
    """In one line."""
    with pytest.raises(NotCertifiedError):
        epsilon(text, 0.5)


@pytest.mark.parametrize(
    "text",
    [
        "stability:scale=1e-3,threshold=1e308",
        "stability:sigma=1e-10,threshold=1e300",
        "ptr:test=(laplace:scale=1e-300),mechanism=(gaussian:sigma=1),threshold=1e100",
    ],
)
def test_noise_out_of_range_is_refused(text: str) -> None:
    """And not what it is compared with."""
    with pytest.raises(PrivcalcError, match=r"must be in .*got"):
        delta(text, 1.0)


def test_a_threshold_may_be_any_number() -> None:
    """It is then never exceeded."""
    assert delta("stability:scale=3,threshold=1e308", 1.0).upper < 1e-15


def test_all_digits_of_a_probability_count() -> None:
    """What a program prints is the number: one of two outcomes is impossible with the record."""
    text, q, uses = "0.04280308266353985", Fraction(1, 100), 3
    found = epsilon(f"bernoulli-pair:p={text},other_p=1@poisson:q=0.01@{uses}", 1e-6)
    p = Fraction(text)
    # Probabilities without the record and with it, which a use sees with probability q.
    yes, no = (p, p + q * (1 - p)), (1 - p, (1 - p) * (1 - q))
    pairs = [
        [math.comb(uses, k) * yes[side] ** k * no[side] ** (uses - k) for k in range(uses + 1)]
        for side in range(2)
    ]

    def truth(at: float) -> Any:
        a = Fraction(math.exp(at))
        return max(hockey_stick(zip(*each, strict=True), a) for each in (pairs, pairs[::-1]))

    assert found.lower is not None
    assert found.upper - found.lower < 1e-7
    assert truth(found.upper + 1e-12) <= Fraction(1, 10**6) <= truth(found.lower - 1e-12)


def sampled(text: str, **options: Any) -> Subsampled:
    """Return the amplified curve at order 2 and others, and what comes of it."""
    tree = parse(text).tree
    assert isinstance(tree, Wrapped)
    return subsample(tree, options.pop("orders", (2.0,)), **options)


def test_epsilon_of_a_sample_at_the_ends_of_delta() -> None:
    """At 1 none; at 0 the largest loss, log(1 + q (e - 1)); infinite where all may be revealed."""
    (none, _), (most, _) = sampled("laplace:scale=1@poisson:q=0.1", deltas=(1.0, 0.0)).accounted
    assert none == {"rdp_classic": 0.0, "rdp_best": 0.0}
    truth = math.log1p(0.1 * math.expm1(1.0))
    assert truth <= most["rdp_best"] <= most["rdp_classic"] <= truth * (1.0 + 1e-12)
    [(infinite, answer)] = sampled(
        "approx:epsilon=1,delta=0.1@poisson:q=0.1", deltas=(0.1,)
    ).accounted
    assert infinite["rdp_best"] == math.inf
    # All the same the loss itself has an epsilon there: 0.01 is lost to infinity.
    assert answer.proved.upper < 0.2


def test_a_sample_of_all_records_is_the_mechanism() -> None:
    """Gaussian noise has order / (2 sigma^2), between whole orders, too."""
    orders = (1.5, 2.0, 2.5)
    curve = sampled("gaussian:sigma=2@wor:n=10,m=10", orders=orders).curve
    assert curve.lower is not None
    for order, lower, upper in zip(orders, curve.lower, curve.upper, strict=True):
        assert lower <= order / 8.0 <= upper <= lower * (1.0 + 1e-9)


@pytest.mark.parametrize(
    ("text", "options", "error", "words"),
    [
        ("gaussian:sigma=_@poisson:q=0.1", {}, UsageError, "needs every value"),
        ("gaussian:sigma=1@poisson:q=0.1", {"orders": (1.0,)}, DomainError, "must be > 1"),
        ("gaussian:sigma=1@poisson:q=0.1", {"count": 0}, DomainError, "at least 1, got 0"),
    ],
)
def test_samples_that_are_refused(
    text: str,
    options: dict[str, Any],
    error: type[PrivcalcError],
    words: str,
) -> None:
    """Each by what is missing, or out of range."""
    with pytest.raises(error, match=words):
        sampled(text, **options)
