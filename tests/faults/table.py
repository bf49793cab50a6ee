"""The table of faults: a line of the product, and a wrong one in its place.

Each is one that was, or might be, written by mistake: a term of a certificate left out, a rounding
to the unsafe side, a count, an order of neighbours or a direction mistaken for another. The tests
of the folder that mirrors the package have to notice it by themselves.
"""

from __future__ import annotations

from privcalc.record import record


@record
class Fault:
    """A wrong line.

    Attributes:
        name: of the fault, for the command line.
        file: in the package.
        line: a text that stands there once.
        wrong: what takes its place.
        folder: the tests that have to fail.
    """

    name: str
    file: str
    line: str
    wrong: str
    folder: str


# Left out, as no test can tell: P(D), by which `engine/inversion/tail_split.py` lowers lower ends.
# As (1 - v)_+ >= 1 - v, the closed form says at most what paths with an outcome in D contribute,
# and what both sides lack of them only takes away: the sum exceeds delta by nothing of D. And the
# order of the two data sets of the lower pair of `wrappers/shuffle.py`: both are replace-one.
FAULTS = (
    # Groups and relations: what one record is taken for another.
    Fault(
        "shuffle-group",
        "wrappers/shuffle.py",
        "chained_term(term.above, records)",
        "chained_term(term.above, records - 1)",
        "wrappers",
    ),
    Fault(
        "shuffle-lower-epsilon",
        "wrappers/shuffle.py",
        "below = law_below(self.users, min(low, LARGEST_EPSILON), report.categories)",
        "below = law_below(self.users, min(high, LARGEST_EPSILON), report.categories)",
        "wrappers",
    ),
    Fault(
        "shuffle-upper-epsilon",
        "wrappers/shuffle.py",
        "above = law_above(self.users, high, report.categories)",
        "above = law_above(self.users, low, report.categories)",
        "wrappers",
    ),
    Fault(
        "screened-group-either-order",
        "losses/thresholds/screening.py",
        "    if adjacency is Adjacency.REPLACE:\n        return Term(upper, lower, members=tests)",
        "    if adjacency:\n        return Term(upper, lower, members=tests)",
        "losses",
    ),
    Fault(
        "directed-tests-turned",
        "losses/members.py",
        "return law if remove is self.of_removal else reverse_of(law)",
        "return law",
        "losses",
    ),
    Fault(
        "curve-of-a-lattice",
        "engine/composition.py",
        "and not (alone and law.properties.rdp_implied_by_pld)",
        "and not law.properties.rdp_implied_by_pld",
        "engine",
    ),
    Fault(
        "poisson-everything-replaced",
        "wrappers/poisson.py",
        "walk.terms(event, adjacency, 2 * records)",
        "walk.terms(event, adjacency, records)",
        "wrappers",
    ),
    Fault(
        "cap-twice",
        "wrappers/poisson.py",
        "high.enclosure * 2)",
        "high.enclosure * 1)",
        "wrappers",
    ),
    Fault(
        "replaced-curve",
        "wrappers/without_replacement.py",
        "return WithoutReplacementCurve(event, q, attained)",
        "return PoissonCurve(event, q, symmetric)",
        "wrappers",
    ),
    Fault(
        "group-threshold",
        "mechanisms/adaptive/above_threshold.py",
        "other.threshold = self.threshold / records",
        "other.threshold = self.threshold",
        "mechanisms",
    ),
    Fault(
        "group-threshold-noise",
        "mechanisms/adaptive/above_threshold.py",
        "self._checked(threshold * records, queries * records)",
        "self._checked(threshold, queries * records)",
        "mechanisms",
    ),
    # Directions.
    Fault(
        "shuffled-lower-direction",
        "wrappers/batches.py",
        "lower = law_below(self.slots, low, remove=remove)",
        "lower = law_below(self.slots, low, remove=not remove)",
        "wrappers",
    ),
    Fault(
        "shuffled-replaced",
        "wrappers/batches.py",
        "law = GaussianLaw.of(law.enclosure * 2)",
        "law = GaussianLaw.of(law.enclosure * 3)",
        "wrappers",
    ),
    Fault(
        "allocation-lower-distance",
        "wrappers/allocation.py",
        "lower = allocated_laws(steps, low, lower=True, size=size)",
        "lower = allocated_laws(steps, low, lower=False, size=size)",
        "wrappers",
    ),
    Fault(
        "second-direction",
        "accounting/directions.py",
        "bound = reduce(Bound.maximum, bounds)",
        "bound = bounds[0]",
        "accounting",
    ),
    Fault(
        "second-direction-of-profiles",
        "accounting/directions.py",
        "return [reduce(Bound.maximum, each) for each in zip(*columns, strict=True)]",
        "return [each[0] for each in zip(*columns, strict=True)]",
        "accounting",
    ),
    Fault(
        "second-direction-of-limits",
        "accounting/directions.py",
        "return reduce(Bound.maximum, found)",
        "return found[0]",
        "accounting",
    ),
    Fault(
        "written-epsilon",
        "accounting/directions.py",
        "moved = 2.0 * above * (high - low)",
        "moved = 0.0 * above * (high - low)",
        "accounting",
    ),
    # Terms of certificates of the inversion.
    Fault(
        "split-above",
        "engine/inversion/tail_split.py",
        "above = [*below, *_truncated(frame)]",
        "above = [*_truncated(frame)]",
        "engine/inversion",
    ),
    Fault(
        "split-beyond",
        "engine/inversion/tail_split.py",
        "above += [Exponential(log_q, 1.0) for each in rare for log_q in each]",
        "above += []",
        "engine/inversion",
    ),
    Fault(
        "contour-truncation",
        "engine/inversion/certificate.py",
        "return exp_bound(log_cut(log_decay - 0.5 * (tau * end) ** 2, end) + SLACK)",
        "return exp_bound(log_cut(log_decay - 0.5 * (tau * end) ** 2, end) - 3.0)",
        "engine/inversion",
    ),
    Fault(
        "dropped-mass",
        "engine/inversion/line_sum.py",
        "value + above, value - 0.5 * gap, terms)",
        "value + above - truncated, value - 0.5 * gap, terms)",
        "engine/inversion",
    ),
    # The lattice.
    Fault(
        "transform-error",
        "engine/fft/transform.py",
        "error = float((twice * (each + eta * np.abs(product))).sum()) / size * MARGIN",
        "error = 0.0 * float((twice * (each + eta * np.abs(product))).sum())",
        "engine",
    ),
    Fault(
        "lattice-lost-mass",
        "engine/fft/transform.py",
        "lost += window.lost(end, float(origin + first.step * end), first.c, log_scale)",
        "lost += 0.0",
        "engine",
    ),
    Fault(
        "inherited-lost-mass",
        "engine/fft/transform.py",
        "lost = sum(count * law.lost for law, count in parts)",
        "lost = 0.0",
        "engine",
    ),
    # Renyi.
    Fault(
        "renyi-dropped-delta",
        "engine/renyi.py",
        "left = delta * (1.0 - 2.0 * DROPPED)",
        "left = delta",
        "engine",
    ),
    Fault(
        "renyi-dropped-mass",
        "engine/renyi.py",
        "upper += exp_bound(rough.log_truncated_mass())",
        "upper += 0.0",
        "engine",
    ),
    Fault(
        "infinity-mass-sum",
        "engine/composition.py",
        "min(1.0, math.nextafter(mass + slack, math.inf))",
        "min(1.0, mass)",
        "engine",
    ),
    Fault(
        "largest-loss-sum",
        "engine/composition.py",
        "math.nextafter(nearest + error, math.inf), math",
        "nearest, math",
        "engine",
    ),
    # Allocation.
    Fault(
        "allocation-beyond",
        "losses/allocated.py",
        "return LevelSums(tuple(measures), outside * MARGIN + TINY, beyond * MARGIN + TINY)",
        "return LevelSums(tuple(measures), outside * MARGIN + TINY, TINY)",
        "losses",
    ),
    Fault(
        "allocation-outside",
        "losses/allocated.py",
        "return LevelSums(tuple(measures), outside * MARGIN + TINY, beyond * MARGIN + TINY)",
        "return LevelSums(tuple(measures), TINY, beyond * MARGIN + TINY)",
        "losses",
    ),
    Fault(
        "allocation-chords",
        "losses/allocated_measures.py",
        "(1.0 + RAISED) * np.minimum(excess, right))",
        "0.0 * np.minimum(excess, right))",
        "losses",
    ),
    # Chords.
    Fault(
        "chain-chord",
        "accounting/chain.py",
        "share = np.clip(share, 0.0, 1.0)",
        "share = np.clip(2.0 * share, 0.0, 1.0)",
        "accounting",
    ),
    Fault(
        "chain-chord-room",
        "accounting/chain.py",
        "return np.minimum(self.deltas[left], chord + room)",
        "return np.minimum(self.deltas[left], chord - room)",
        "accounting",
    ),
    Fault(
        "game-chords",
        "losses/fixed_size/game.py",
        "self._spread(bends * near),",
        "self._spread(0.0 * bends * near),",
        "losses",
    ),
    Fault(
        "strategies-chords",
        "losses/fixed_size/strategies.py",
        "around = np.maximum(np.append(gap, 0.0), np.append(0.0, gap))",
        "around = 0.0 * np.maximum(np.append(gap, 0.0), np.append(0.0, gap))",
        "losses",
    ),
    Fault(
        "large-loss-lines",
        "engine/large_loss.py",
        "lower[1:] - smooth[1:]) - sag - bent",
        "lower[1:] - smooth[1:])",
        "engine",
    ),
    # Selection.
    Fault(
        "binomial-constant-rounded-down",
        "selection/constants.py",
        "return (trials - 1.0) * log_root * (1.0 + 4.0 * UNIT), log_root",
        "return (trials - 1.0) * log_root * (1.0 - 4.0 * UNIT), log_root",
        "selection",
    ),
    Fault(
        "negative-binomial-constant-rounded-down",
        "selection/constants.py",
        "odds_root(backward, odds) * (1.0 + 4.0 * UNIT)",
        "odds_root(backward, odds) * (1.0 - 4.0 * UNIT)",
        "selection",
    ),
    Fault(
        "poisson-constant-rounded-down",
        "selection/constants.py",
        "float(forward.upper(np.zeros(1))[0]) * (1.0 + 2.0 * UNIT)",
        "float(forward.upper(np.zeros(1))[0]) * (1.0 - 2.0 * UNIT)",
        "selection",
    ),
    Fault(
        "paper-constant-rounded-down",
        "selection/constants.py",
        "return (shape + 1.0) * best * (1.0 + 24.0 * UNIT), place",
        "return (shape + 1.0) * best * (1.0 - 24.0 * UNIT), place",
        "selection",
    ),
    Fault(
        "least-mean-of-deltas",
        "selection/methods.py",
        "min(1.0, runs.mean.upper * h * (1.0 + 2.0 * UNIT))",
        "min(1.0, (runs.mean.lower or 0.0) * h)",
        "selection",
    ),
    Fault(
        "least-mean-of-shares",
        "selection/methods.py",
        "mean = runs.mean.upper",
        "mean = runs.mean.lower or 0.0",
        "selection",
    ),
    Fault(
        "least-mean-of-nodes",
        "selection/node.py",
        "(self.runs.mean.upper * h + none) * (1.0 + 16.0 * UNIT)",
        "((self.runs.mean.lower or 0.0) * h + none)",
        "selection",
    ),
    Fault(
        "least-mean-of-mixtures",
        "selection/mixture.py",
        "self.mean = runs.mean.upper",
        "self.mean = runs.mean.lower or 0.0",
        "selection",
    ),
    Fault(
        "least-mean-of-orders",
        "selection/renyi.py",
        "    mean = runs.mean.upper",
        "    mean = runs.mean.lower or 0.0",
        "selection",
    ),
    # Sampling rates.
    Fault(
        "nested-rates",
        "wrappers/sampling.py",
        "low, high = product.doubles()",
        "high, low = product.doubles()",
        "wrappers",
    ),
    Fault(
        "rate-of-a-curve",
        "wrappers/sampling.py",
        "q = asked.q if asked.exact else math.nextafter(asked.q, 1.0)",
        "q = asked.q if asked.exact else math.nextafter(asked.q, 0.0)",
        "wrappers",
    ),
    Fault(
        "capped-sampling-rate",
        "wrappers/poisson.py",
        "low, self.q = exact.doubles()",
        "self.q, low = exact.doubles()",
        "wrappers",
    ),
    Fault(
        "capped-other-rate",
        "wrappers/poisson.py",
        "rate = min(rate, share * over_high[1] / self.binds[0] * (1.0 + slack))",
        "rate = min(rate, share * over_high[0] / self.binds[1] * (1.0 - slack))",
        "wrappers",
    ),
    Fault(
        "capped-largest-rate",
        "wrappers/poisson.py",
        "rate = self.q * most / (most + 1.0) * (1.0 + slack)",
        "rate = self.q * most / (most + 1.0) * (1.0 - slack)",
        "wrappers",
    ),
    Fault(
        "capped-least-rate",
        "wrappers/poisson.py",
        "self.least_rate = min(max(least * (1.0 - slack), 0.0), low)",
        "self.least_rate = min(max(least * (1.0 + slack), 0.0), self.q)",
        "wrappers",
    ),
    Fault(
        "sampled-curve-rate",
        "losses/sampled/law.py",
        "q if exact else math.nextafter(q, 1.0), remove=remove",
        "q, remove=remove",
        "losses",
    ),
    # Numbers.
    Fault(
        "complement-not-rounded",
        "numerics/binomials.py",
        "min(1.0, (1.0 - low) * (1.0 + 2.0 * UNIT))",
        "min(1.0, (1.0 - low) * (1.0 + UNIT))",
        "numerics",
    ),
    Fault(
        "tail-not-rounded",
        "numerics/binomials.py",
        "min(1.0, scale * (total + rest) * (1.0 + units))",
        "min(1.0, scale * (total + rest))",
        "numerics",
    ),
    Fault(
        "enclosure-sum",
        "numerics/enclosure.py",
        "return Enclosure(value.sum(axis=0), error + UNIT * count * np.abs(value).sum(axis=0))",
        "return Enclosure(value.sum(axis=0), error)",
        "numerics",
    ),
    Fault(
        "enclosure-upper",
        "numerics/enclosure.py",
        "end = self.value + (self.error + 2.0 * UNIT * np.abs(self.value)) * MARGIN",
        "end = self.value + self.error",
        "numerics",
    ),
    Fault(
        "doubles-above",
        "exact.py",
        "return math.nextafter(nearest, -math.inf), nearest\n",
        "return nearest, nearest\n",
        "numerics",
    ),
    Fault(
        "doubles-below",
        "exact.py",
        "return nearest, math.nextafter(nearest, math.inf)\n",
        "return nearest, nearest\n",
        "numerics",
    ),
)
