"""Published divergences under sampling, and where the sum that gives them is refused."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mpmath
import pytest

from privcalc.accounting.compose import compose
from privcalc.accounting.subsample import subsample
from privcalc.errors import NotCertifiedError
from privcalc.spec.parse import parse
from privcalc.spec.tree import Wrapped
from tests.asked import epsilon

if TYPE_CHECKING:
    from privcalc.accounting.amplification import Amplification
    from privcalc.spec.tree import Node

RATE = 0.001
# Tight and general bounds as published.
ROWS = (Path(__file__).parent / "curves.jsonl").read_text(encoding="utf-8").splitlines()
CURVES = [json.loads(row) for row in ROWS]


def tree_of(text: str) -> Node:
    """Read a specification."""
    return parse(text).tree


def digits(text: str) -> float:
    """Return half a unit of the last digit of a printed number."""
    mantissa, _, exponent = text.partition("e")
    return 0.5 * 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def sample_of(text: str, rate: float) -> Wrapped:
    """Return what sees a Poisson sample."""
    return Wrapped("poisson_sampled", (("sampling_probability", rate),), tree_of(text))


@cache
def columns(text: str, rate: float, orders: tuple[float, ...]) -> Amplification:
    """Return the columns of `subsample`."""
    return subsample(sample_of(text, rate), orders).curve


@pytest.mark.parametrize("text", sorted({row["spec"] for row in CURVES}))
def test_curves(text: str) -> None:
    """The tight sum to all digits; the general bound is never above the published one."""
    rows = [row for row in CURVES if row["spec"] == text]
    orders = tuple(float(row["order"]) for row in rows)
    found = columns(text, RATE, orders)
    assert found.tight is not None
    assert found.exact is not None
    for i, (tight, general) in enumerate((row["tight"], row["general"]) for row in rows):
        assert found.tight[i] == pytest.approx(float(tight), abs=digits(tight))
        assert found.tight[i] <= found.upper[i] <= float(general) + digits(general)
        assert (found.exact[i].lower or 0.0) <= found.tight[i]
        assert found.exact[i].upper == pytest.approx(found.tight[i], rel=2e-8)


def test_a_sample_of_a_curve_costs_as_much_as_noise_that_keeps_it() -> None:
    """The general bound of the curve of Gaussian noise is above its own epsilon, by a part."""
    noise, curve = (
        epsilon(f"{text}@poisson:q=0.01@100", 1e-6)
        for text in ("gaussian:sigma=3", "zcdp:rho=1/18")
    )
    assert noise.upper <= curve.upper <= 3.0 * noise.upper


def poisson_pair(tmp: Any) -> str:
    """Write counts with a Poisson law of mean 0.5 without the record and 0.1 with it."""
    mpmath.mp.dps = 40
    rows = []
    for mean in ("0.5", "0.1"):
        mu = mpmath.mpf(mean)
        row = [mpmath.exp(-mu) * mu**k / mpmath.factorial(k) for k in range(25)]
        rows.append([mpmath.nstr(p, 35, min_fixed=1, max_fixed=0) for p in row])
        total = sum(mpmath.mpf(p) for p in rows[-1])
        rows[-1].append(mpmath.nstr(1 - total, 20))
    file = tmp / "counts.csv"
    file.write_text("".join(f"{p} {q}\n" for p, q in zip(*rows, strict=True)))
    return str(file)


def test_counts_are_refused_the_tight_sum(tmp_path: Any) -> None:
    """Poisson laws of means 0.5 and 0.1: adding costs more than the tight sum says (1.0387)."""
    mpmath.mp.dps = 40
    found = subsample(sample_of(f"pmf:file={poisson_pair(tmp_path)}", 0.3), [2.0]).curve
    assert found.tight is None
    assert "differ" in found.reasons["tight"]
    assert found.exact is not None
    assert found.lower is not None
    rate = mpmath.mpf("0.3")
    moments = []
    for power in (2, -1):
        total = mpmath.mpf(0)
        for k in range(60):
            r = mpmath.exp(mpmath.mpf("0.4")) * mpmath.mpf("0.2") ** k
            weight = mpmath.exp(-mpmath.mpf("0.5")) * mpmath.mpf("0.5") ** k / mpmath.factorial(k)
            total += weight * (1 - rate + rate * r) ** power
        moments.append(float(total))
    assert moments == pytest.approx([1.0339, 1.0387], abs=5e-5)
    assert math.exp(found.exact[0].upper) == pytest.approx(moments[1], rel=1e-9)
    assert math.exp(found.lower[0]) == pytest.approx(moments[0], rel=1e-9)
    assert found.upper[0] >= found.exact[0].upper


def test_curves_alone_need_the_renyi_engine() -> None:
    """An engine that needs a privacy loss says so; auto answers."""
    tree = tree_of("zcdp:rho=0.1+laplace:scale=10@5")
    for engine in ("contour", "fft"):
        with pytest.raises(NotCertifiedError, match="use --engine rdp"):
            compose(tree, deltas=[1e-5], engine=engine)
    found = compose(tree, deltas=[1e-5]).answers[0]
    assert found.method.engine == "rdp"
    assert found.method.order is not None


@pytest.mark.parametrize("text", ["gaussian:sigma=2", "laplace:scale=1", "rr:p=0.7"])
def test_sampling_never_costs(text: str) -> None:
    """Epsilon with a sampling is at most epsilon without, and grows with the rate."""
    last = 0.0
    for rate in ("1e-4", "0.01", "0.9"):
        bound = compose(parse(f"{text}@poisson:q={rate}@50").tree, deltas=[1e-6]).answers[0].proved
        assert bound.lower is not None
        assert last <= bound.upper
        last = bound.lower
    whole = compose(parse(f"{text}@50").tree, deltas=[1e-6]).answers[0].proved
    assert last <= whole.upper
