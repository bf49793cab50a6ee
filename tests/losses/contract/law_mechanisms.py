"""What the privacy-loss laws of mechanisms are, from definitions: one function for each."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mpmath import mp, mpf

from privcalc.exact import exact
from privcalc.mechanisms.files import read_rows
from privcalc.relation import Adjacency
from privcalc.spec.tree import Leaf, Node, Repeated, Wrapped
from tests.losses.contract.law_densities import (
    DIGITS,
    LARGEST_TILT,
    MOST_OUTCOMES,
    Exponential,
    Mixture,
    Normal,
    Quadratic,
)
from tests.losses.contract.law_truth import (
    Truth,
    bounded_range,
    chained,
    glued,
    laplace,
    mixed_chain,
    normal,
    of_outcomes,
    of_profile,
    opposite,
    sampled,
)
from tests.truths import screened

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.losses.contract.law_densities import Masses, Number

# Quadrature of what is further out takes minutes.
LARGEST_CENTRE = 12


def _gaussian(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth:
    """Noise multiplier, sensitivity over sigma, or the rho that this has."""
    del adjacency
    if "noise_multiplier" in given:
        return normal(records / read(given["noise_multiplier"]))
    if "rho" in given:
        return normal(records * mp.sqrt(2 * read(given["rho"])))
    squared = "variance" in given
    noise = mp.sqrt(read(given["variance"])) if squared else read(given["standard_deviation"])
    return normal(records * read(given.get("sensitivity", 1)) / noise)


def _matrix_gaussian(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    """One participation in a named strategy: the norm of the first column."""
    del adjacency
    if "strategy" not in given or int(given.get("participations", 1)) > 1:
        return None
    steps = int(given["steps"])
    if given["strategy"] == "banded":
        bands = min(steps, int(given.get("bands", steps)))
        square = mp.fsum((mp.binomial(2 * j, j) / mpf(4) ** j) ** 2 for j in range(bands))
    elif given["strategy"] == "tree" and given.get("completion"):
        square = mpf((steps - 1).bit_length() + 1)
    else:
        square = mpf(steps.bit_length() if given["strategy"] == "tree" else 1)
    unit = read(given.get("sensitivity", 1)) / read(given["standard_deviation"])
    return normal(records * mp.sqrt(square) * unit)


def _laplace(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth:
    del adjacency
    if "noise_multiplier" in given:
        return laplace(records / read(given["noise_multiplier"]))
    if "epsilon" in given:
        return laplace(records * read(given["epsilon"]))
    return laplace(records * read(given.get("sensitivity", 1)) / read(given["scale"]))


def _truncated_laplace(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    """Integrate e^{-|x|} over where both densities are positive, and where one is."""
    del adjacency
    scale = read(given["scale"])
    e = records * read(given.get("sensitivity", 1)) / scale
    end = read(given["bound"]) / scale
    if e >= end:
        return None

    def below(x: Number) -> Number:
        return mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2

    whole = below(end) - below(-end)
    left, right, gone = (
        (below(b) - below(a)) / whole for a, b in ((e - end, 0), (e, end), (-end, e - end))
    )
    atoms = ((e, left, right), (-e, right, left))
    return Truth(atoms, Exponential(e, 1 / (2 * whole)), gone, gone)


def _thresholded_counts(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    """Outcomes of discrete noise, the largest losses of which are one where H(a) is p."""
    noise = given.get("noise", "laplace")
    if records > 1 or noise not in ("discrete_laplace", "discrete_gaussian"):
        return None
    needed = int(mp.ceil(read(given["threshold"]))) - 1
    if noise == "discrete_laplace":
        a = mp.exp(-1 / read(given["scale"]))
        base, mass = _discrete_laplace(given, read, adjacency, 1), a**needed / (1 + a)
    else:
        base, sigma = (
            _discrete_gaussian(given, read, adjacency, 1),
            read(given["standard_deviation"]),
        )
        last = needed + int(38 * sigma) + 4
        weights = [mp.exp(-((x / sigma) ** 2) / 2) for x in range(last)]
        mass = mp.fsum(weights[needed:]) / (2 * mp.fsum(weights) - 1)
    if base is None:
        return None
    rows = sorted(base.atoms)
    p = q = mpf(0)
    while rows and not (p - mp.exp(rows[-1][0]) * q >= mass > 0 and q):
        _, more_p, more_q = rows.pop()
        p, q = p + more_p, q + more_q
    rows.append((mp.log((p - mass) / q), p - mass, q))
    if adjacency is Adjacency.ADD:
        rows = [(-loss, other, one) for loss, one, other in rows]
        return Truth(tuple(rows), lower_infinity_mass=mass, unbounded=base.unbounded)
    return Truth(tuple(rows), infinity_mass=mass)


def _noisy_screening(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth:
    """All tests of a count and the next, in both orders, and the edges of their hull."""
    del adjacency
    sigma, threshold, k = (
        read(given["standard_deviation"]),
        read(given["threshold"]),
        int(given["votes"]),
    )
    step = min(records, k)
    # Far from the threshold probabilities are next to 0 and 1.
    with mp.workdps(400):
        yes, no = screened(sigma, threshold, k), screened(-sigma, threshold, k)
        corners = {(mpf(0), mpf(0)), (mpf(1), mpf(1))}
        for t in range(k + 1 - step):
            corners |= {(yes[t], yes[t + step]), (no[t + step], no[t])}
        ordered = sorted(corners)
        return of_outcomes([(b[1] - a[1], b[0] - a[0]) for a, b in pairwise(ordered)])


def _partition_selection(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    """Corners of all tests by the recursion, and the edges of their hull."""
    if records > 1:
        return None
    eps, delta = read(given["epsilon"]), read(given["delta"])
    growth, corners = mp.exp(eps), [(mpf(0), mpf(0))]
    kept = mpf(0)
    while kept < 1:
        more = min(growth * kept + delta, 1 - (1 - kept - delta) / growth, mpf(1))
        corners.append((kept, more))
        kept = more
        if len(corners) > MOST_OUTCOMES:
            return None
    corners.append((mpf(1), mpf(1)))
    hull: list[Masses] = []
    for x, y in corners:
        while len(hull) > 1:
            (x0, y0), (x1, y1) = hull[-2:]
            before, after = (y1 - y0) * (x - x1), (y - y1) * (x1 - x0)
            if before > after * (1 + mpf(10) ** (20 - DIGITS)):
                break
            hull.pop()
        hull.append((x, y))
    edges = [(b[1] - a[1], b[0] - a[0]) for a, b in pairwise(hull)]
    if adjacency is Adjacency.ADD:
        edges = [(q, p) for p, q in edges]
    return of_outcomes(edges)


def _gnmax(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth:
    del adjacency
    return normal(records * mp.sqrt(2) / read(given["standard_deviation"]))


def _gdp(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    del adjacency
    return normal(read(given["mu"])) if records == 1 else None


def _discrete_gaussian(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    del adjacency
    shift = int(given.get("sensitivity", 1))
    if "variance" in given:
        sigma = mp.sqrt(read(given["variance"]))
    elif "rho" in given:
        sigma = shift / mp.sqrt(2 * read(given["rho"]))
    else:
        sigma = read(given["standard_deviation"])
    shift *= records
    if int(given.get("clients", 1)) > 1:
        return _sum_of_gaussians(sigma, int(given["clients"]), shift)
    reach = int(38 * sigma) + 4 + LARGEST_TILT * shift
    if reach > MOST_OUTCOMES:
        return None
    weights = {x: mp.exp(-((x / sigma) ** 2) / 2) for x in range(-reach - shift, reach + 1)}
    total = mp.fsum(weights.values())
    step = shift / sigma**2
    return Truth(
        tuple(
            (step * (mpf(shift) / 2 - x), weights[x] / total, weights[x - shift] / total)
            for x in range(-reach, reach + 1)
        ),
        unbounded=True,
    )


def _sum_of_gaussians(sigma: Number, clients: int, shift: int) -> Truth | None:
    """Add them one by one."""
    reach = int(38 * sigma * mp.sqrt(clients)) + 4 + LARGEST_TILT * shift
    if clients > FEW or reach > MOST_OUTCOMES // 3:
        return None
    one = {x: mp.exp(-((x / sigma) ** 2) / 2) for x in range(-reach, reach + 1)}
    masses = one
    for _ in range(clients - 1):
        masses = {
            k: mp.fsum(mass * one[k - x] for x, mass in masses.items() if k - x in one)
            for k in range(-reach, reach + 1)
        }
    total = mp.fsum(masses.values())
    return _moved({k: mass / total for k, mass in masses.items()}, shift, bounded=False)


def _discrete_laplace(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    del adjacency
    shift = int(given.get("sensitivity", 1))
    step = read(given["epsilon"]) / shift if "epsilon" in given else 1 / read(given["scale"])
    shift *= records
    if shift > MOST_OUTCOMES:
        return None
    a = mp.exp(-step)
    if "bound" in given:
        inside = {k: a ** abs(k) for k in range(-int(given["bound"]), int(given["bound"]) + 1)}
        total = mp.fsum(inside.values())
        return _moved({k: mass / total for k, mass in inside.items()}, shift, bounded=True)
    # Outputs up to 0 and from the shift on have one loss each; 1 / (1 + a) is the sum of the tail.
    tail, share = 1 / (1 + a), -mp.expm1(-step) / (1 + a)
    rows = [(shift * step, tail, a**shift * tail), (-shift * step, a**shift * tail, tail)]
    rows += [
        ((shift - 2 * x) * step, share * a**x, share * a ** (shift - x)) for x in range(1, shift)
    ]
    return Truth(tuple(rows))


def _moved(masses: dict[int, Number], shift: int, *, bounded: bool) -> Truth:
    """Noise against the same noise moved; without bounds, outcomes with both masses alone."""
    places = [k for k in masses if k - shift in masses]
    if bounded:
        places = [*range(min(masses), max(masses) + shift + 1)]
    found = of_outcomes([(masses.get(k, mpf(0)), masses.get(k - shift, mpf(0))) for k in places])
    return replace(found, unbounded=not bounded)


def _skellam(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    """e^-V I_k(V), by the series of mpmath."""
    del adjacency
    v = read(given["variance"]) if "variance" in given else read(given["standard_deviation"]) ** 2
    shift = int(given.get("sensitivity", 1)) * records
    reach = int(38 * mp.sqrt(v)) + 20 + LARGEST_TILT * shift
    if reach > MOST_OUTCOMES // 2:
        return None
    half = [mp.exp(-v) * mp.besseli(k, v) for k in range(reach + shift + 1)]
    return _moved({k: half[abs(k)] for k in range(-reach - shift, reach + 1)}, shift, bounded=False)


def _binomial(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    """A record raises the count; where it is removed P has it."""
    n, p = int(given["n"]), read(given.get("p", 0.5))
    shift = int(given.get("sensitivity", 1)) * records
    if n > MOST_OUTCOMES or (adjacency is Adjacency.REPLACE and p != mpf(1) / 2):
        return None
    masses = {k: mp.binomial(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)}
    if adjacency is Adjacency.REMOVE:
        masses = {-k: mass for k, mass in masses.items()}
    return _moved(masses, shift, bounded=True)


def _staircase(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    """Density A e^{-eps n}, n = 0 for |x| < gamma, 1 for 1 + gamma, ...: cells of [0, 1)."""
    del adjacency
    if records > 1:
        return None
    eps = read(given["epsilon"])
    b = mp.exp(-eps)
    gamma = read(given["gamma"]) if "gamma" in given else 1 / (1 + mp.exp(eps / 2))
    height = -mp.expm1(-eps) / (2 * (gamma + b * (1 - gamma)))
    short = min(gamma, 1 - gamma)
    middle = height * (b * (1 - 2 * gamma) if 2 * gamma < 1 else 2 * gamma - 1)
    # Negative outputs have loss eps, those beyond 1 loss -eps.
    up = mpf(1) / 2 + height * short
    rows = [(eps, up, b * up), (-eps, b * up, up)]
    return Truth(tuple(rows + ([(mpf(0), middle, middle)] if middle else [])))


def _randomized_response(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth:
    del adjacency, records
    others = int(given.get("categories", 2)) - 1
    if "epsilon" in given:
        weight = mp.exp(read(given["epsilon"]))
        p = weight / (weight + others)
        q = 1 / (weight + others)
    elif "random" in given:
        q = read(given["random"]) / (others + 1)
        p = 1 - read(given["random"]) + q
    else:
        p = read(given["probability"])
        q = (1 - p) / others
    return of_outcomes([(p, q), (q, p), *([((others - 1) * q, (others - 1) * q)] * (others > 1))])


def _exponential(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    if records > 1:
        return None
    halved = given.get("monotone", False) and adjacency is not Adjacency.REPLACE
    return bounded_range(read(given["epsilon"]) / (2 if halved else 1))


def _noisy_max(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    candidates = int(given["candidates"])
    if candidates == 1:
        return Truth(((mpf(0), mpf(1), mpf(1)),))
    noise = given.get("noise", "gaussian")
    moved = 1 if given.get("monotone", False) and adjacency is not Adjacency.REPLACE else 2
    spread = read(given["standard_deviation" if noise == "gaussian" else "scale"])
    step = moved * records * read(given.get("sensitivity", 1)) / spread
    if noise == "gumbel":
        return bounded_range(step)
    if noise == "exponential":
        return laplace(step)
    if noise == "gaussian" and candidates == 2:
        return normal(step / mp.sqrt(2))
    return None


def _approx(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    del adjacency
    if records > 1:
        return None
    eps, delta = read(given["epsilon"]), read(given.get("delta", 0))
    high, low = 1 / (1 + mp.exp(-eps)), 1 / (1 + mp.exp(eps))
    rest = 1 - delta
    if not rest:
        return Truth(infinity_mass=mpf(1), lower_infinity_mass=mpf(1))
    rows = [(eps, rest * high, rest * low), (-eps, rest * low, rest * high)]
    if not eps:
        rows = [(eps, rest, rest)]
    return Truth(tuple(rows), infinity_mass=delta, lower_infinity_mass=delta)


def _gaussian_mixture(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    if records > 1:
        return None
    sigma, terms = read(given["standard_deviation"]), dict[Any, Any]()
    for s, p in zip(given["sensitivities"], given["probabilities"], strict=True):
        terms[read(s) / sigma] = terms.get(read(s) / sigma, mpf(0)) + read(p)
    terms = {mu: p for mu, p in terms.items() if p}
    if not any(terms):
        return Truth(((mpf(0), mpf(1), mpf(1)),))
    if len(terms) == 1:
        return normal(max(terms))
    if max(terms) > LARGEST_CENTRE:
        return None
    centres = tuple(sorted(terms))
    weights = tuple(terms[mu] for mu in centres)
    return Truth(density=Mixture(centres, weights, adjacency is Adjacency.REMOVE))


def _gaussian_pair(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    if records > 1:
        return None
    first = read(given["mean"]), read(given["deviation"])
    other = read(given["other_mean"]), read(given["other_deviation"])
    if adjacency is Adjacency.REMOVE:
        first, other = other, first
    (m, s), (n, r) = first, other
    if s == r:
        return normal(abs(m - n) / s) if m != n else Truth(((mpf(0), mpf(1), mpf(1)),))

    def moment(z: Number) -> Number:
        """Integrate a Gaussian: p^{z+1} q^{-z}."""
        a, b = (z + 1) / s**2 - z / r**2, (z + 1) * m / s**2 - z * n / r**2
        rest = (z + 1) * (m / s) ** 2 - z * (n / r) ** 2
        return mp.exp(z * mp.log(r / s) + (b * b / a - rest) / 2) / (s * mp.sqrt(a))

    return Truth(density=Quadratic(first, other), closed=moment)


def _both_orders(outcomes: list[Masses]) -> Truth:
    """Return the pair of the larger of the profiles of the two orders."""

    def one(rows: list[Masses], a: Number) -> Number:
        return mp.fsum(p - a * q for p, q in rows if p > a * q)

    turned = [(q, p) for p, q in outcomes]
    ratios = sorted({p / q for p, q in outcomes + turned if p and q})
    corners = [mpf(0), *ratios]
    points = []
    for k, a in enumerate(corners):
        points.append((a, max(one(outcomes, a), one(turned, a))))
        if k + 1 < len(corners):
            b = corners[k + 1]
            gaps = [one(outcomes, x) - one(turned, x) for x in (a, b)]
            # A gap of nothing but rounding is none: the two cross at the corner itself.
            if gaps[0] * gaps[1] < 0 and min(map(abs, gaps)) > mpf(10) ** (8 - DIGITS):
                x = a + (b - a) * gaps[0] / (gaps[0] - gaps[1])
                # Both orders have one total variation: what is next to 1 is 1.
                x = mpf(1) if abs(x - 1) < mpf(10) ** (8 - DIGITS) else x
                points.append((x, one(outcomes, x)))
    return of_profile(points)


def _table(outcomes: list[Masses], adjacency: Adjacency) -> Truth:
    if adjacency is Adjacency.REPLACE:
        return _both_orders(outcomes)
    if adjacency is Adjacency.REMOVE:
        outcomes = [(q, p) for p, q in outcomes]
    return of_outcomes(outcomes)


def _bernoulli_pair(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    if records > 1:
        return None
    p, q = read(given["p"]), read(given["other_p"])
    return _table([(p, q), (1 - p, 1 - q)], adjacency)


def _rows(given: Any, names: tuple[str, str]) -> list[tuple[str, str]]:
    return [words for _, words in read_rows(given["file"], names)]


def _pmf(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    del read
    if records > 1:
        return None
    rows = [[_ratio(word) for word in row] for row in _rows(given, ("first", "other"))]
    sums = [mp.fsum(row[k] for row in rows) for k in range(2)]
    return _table([(p / sums[0], q / sums[1]) for p, q in rows], adjacency)


def _profile(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    """Return the pair of the lower convex hull of the points and of their mirror images."""
    del adjacency
    if records > 1:
        return None
    rows = [(w, d) for w, d in _rows(given, ("epsilon", "delta")) if "inf" not in w.lower()]
    points, losses = {mpf(0): mpf(1)}, dict[Any, Any]()
    for word, other in rows:
        eps, delta = read(float(Fraction(word))), _ratio(other)
        a = mp.exp(eps)
        losses[a], losses[1 / a] = eps, -eps
        for x, h in ((a, delta), (1 / a, 1 - 1 / a + delta / a)):
            points[x] = min(h, points.get(x, h))
    hull: list[Masses] = []
    for a, h in sorted(points.items()):
        if hull and h >= hull[-1][1]:
            continue
        while len(hull) > 1:
            (a0, h0), (a1, h1) = hull[-2:]
            if (h1 - h0) * (a - a1) < (h - h1) * (a1 - a0):
                break
            hull.pop()
        hull.append((a, h))
    return of_profile(hull, losses)


def _ratio(word: str) -> Number:
    found = Fraction(word)
    return mpf(found.numerator) / found.denominator


TRUTHS: dict[str, Callable[[Any, Any, Adjacency, int], Truth | None]] = {
    "gaussian": _gaussian,
    "laplace": _laplace,
    "truncated_laplace": _truncated_laplace,
    "thresholded_counts": _thresholded_counts,
    "partition_selection": _partition_selection,
    "noisy_screening": _noisy_screening,
    "gnmax": _gnmax,
    "discrete_gaussian": _discrete_gaussian,
    "discrete_laplace": _discrete_laplace,
    "skellam": _skellam,
    "binomial": _binomial,
    "staircase": _staircase,
    "randomized_response": _randomized_response,
    "exponential": _exponential,
    "noisy_max": _noisy_max,
    "pure": _approx,
    "approx": _approx,
    "gdp": _gdp,
    "matrix_gaussian": _matrix_gaussian,
    "gaussian_mixture": _gaussian_mixture,
    "gaussian_pair": _gaussian_pair,
    "bernoulli_pair": _bernoulli_pair,
    "pmf": _pmf,
    "profile": _profile,
}
# Mechanisms without such a function, and why.
NO_TRUTHS = {
    "zcdp": "known by its Renyi curve only (test_mechanisms_curves.py)",
    "rdp": "known by its Renyi curve only (test_mechanisms_curves.py)",
    "gnss": "a Renyi curve beside a law (test_mechanisms_pate.py)",
    "above_threshold": "known by bounds only (test_mechanisms_above_threshold.py)",
    "posterior_regression": "known by bounds only (test_mechanisms_posterior_regression.py)",
    "ptr": "a hull of points above the profile (test_mechanisms_ptr.py)",
    "stability": "a hull of points above the profile (test_mechanisms_ptr.py)",
}


# A chain of neighbours is iterated for so many records and atoms.
FEW = 6


def written(value: Any) -> Number | None:
    """Return the number that a value of a specification stands for."""
    found = exact(value)
    return None if found is None else mpf(found.numerator) / found.denominator


def truth_of(
    tree: Node,
    adjacency: Adjacency,
    records: int = 1,
    read: Callable[[Any], Number | None] = written,
) -> Truth | None:
    """Return the law of one use of a tree in one direction; None where no closed form is known."""
    with mp.workdps(DIGITS):
        return _truth_of(tree, adjacency, records, read)


def _truth_of(tree: Node, adjacency: Adjacency, records: int, read: Any) -> Truth | None:
    if isinstance(tree, Repeated) and tree.count == 1:
        return _truth_of(tree.event, adjacency, records, read)
    if isinstance(tree, Leaf):
        make = TRUTHS.get(tree.name)
        if make is None:
            return None
        found = make(dict(tree.parameters), read, adjacency, records)
        if found is not None or records == 1:
            return found
        return _chain(make(dict(tree.parameters), read, adjacency, 1), records)
    if not isinstance(tree, Wrapped):
        return None
    given = dict(tree.parameters)
    if tree.name == "group":
        return _truth_of(tree.event, adjacency, records * int(str(given["records"])), read)
    if tree.name not in {"poisson_sampled", "sampled_without_replacement"}:
        return None
    if "truncated_batch_size" in given:
        # Known by bounds; their truths are those of `tests/wrappers`.
        return None
    q, event = _rate(tree, read)
    if isinstance(event, Leaf) and event.name == "matrix_gaussian":
        # Its steps are sampled, in one or two kinds of rounds.
        return None
    poisson, removing = tree.name == "poisson_sampled", adjacency is Adjacency.REMOVE
    base = _truth_of(event, Adjacency.ADD if poisson else Adjacency.REPLACE, 1, read)
    if base is None:
        return None
    if not q:
        return Truth(((mpf(0), mpf(1), mpf(1)),))
    replaced = poisson and adjacency is Adjacency.REPLACE
    if q == 1:
        # A record replaced is one removed and one added.
        return _truth_of(event, adjacency, records * (2 if replaced else 1), read)
    if records > 1:
        group = None
        if poisson and not replaced:
            steps = [_truth_of(event, Adjacency.REMOVE, j, read) for j in range(1, records + 1)]
            group = _sampled_group(base, steps, q, removing=removing)
        return group or _chain(_truth_of(tree, adjacency, 1, read), records)
    if replaced and not _categories(event):
        return opposite(base, q)
    return glued(base, q) if adjacency is Adjacency.REPLACE else sampled(base, q, removing=removing)


def _rate(tree: Wrapped, read: Any) -> tuple[Number, Node]:
    """Return the probability of a sample of samples, and what is sampled."""
    rate = mpf(1)
    event: Node = tree
    while isinstance(event, Wrapped) and event.name == tree.name:
        given = dict(event.parameters)
        if "sampling_probability" in given:
            rate *= read(given["sampling_probability"])
        else:
            rate *= mpf(int(str(given["sample_size"]))) / int(str(given["source_dataset_size"]))
        event = event.event
    return rate, event


def _categories(event: Node) -> bool:
    """Say whether an event tells categories apart: three of them are one pair glued of halves.

    With p for the true category and r for each other, of a sample for one category against
    another and against neither, the largest profile is that of the pair for removing.
    """
    return isinstance(event, Leaf) and event.name == "randomized_response"


def _chain(base: Truth | None, records: int) -> Truth | None:
    """Return the bound of a chain of neighbours, where the losses are few."""
    if base is None or base.density is not None or len(base.atoms) > FEW or records > FEW:
        return None
    return chained(base, records)


def _sampled_group(
    base: Truth, steps: list[Truth | None], q: Number, *, removing: bool
) -> Truth | None:
    """Return the pair of a group under Poisson sampling: of Gaussian noise, or few losses.

    `steps` are the pairs of 1, 2, ... records that are removed.
    """
    records = len(steps)
    known = [step for step in steps if step is not None and not step.unbounded]
    if all(step.density is None and len(step.atoms) <= FEW**2 for step in known):
        return mixed_chain(known, q, removing=removing) if len(known) == records else None
    if not isinstance(base.density, Normal) or q == 1:
        return None
    centres = tuple(j * base.density.mu for j in range(records + 1))
    weights = tuple(
        mp.binomial(records, j) * q**j * (1 - q) ** (records - j) for j in range(records + 1)
    )
    return Truth(density=Mixture(centres, weights, removing))
