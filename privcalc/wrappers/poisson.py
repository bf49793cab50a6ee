"""Poisson sampling, also of samples of which only so many records are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.errors import DomainError, UnsupportedError
from privcalc.exact import Enclosed
from privcalc.record import replace
from privcalc.relation import Adjacency, Relation
from privcalc.spec.entry import share, whole
from privcalc.spec.registry import wrapper
from privcalc.spec.tree import Composed, Leaf, Repeated, Wrapped, calls
from privcalc.wrappers.base import gaussian_step, spelled
from privcalc.wrappers.sampling import Sampling

if TYPE_CHECKING:
    from privcalc.engine.terms import Terms
    from privcalc.losses.law import LossLaw, Term
    from privcalc.spec.tree import Node
    from privcalc.wrappers.base import Walk
    from privcalc.wrappers.sampling import SampledEvent

# Binomial probabilities are known to here, and sums of those of so large a variance.
MOST_RECORDS, LARGEST_VARIANCE = 10**15, 10**9
# Samples that are too large more rarely than this count as if they told everything.
RAREST = 1e-60


def capped(
    tree: Wrapped,
    exact: Enclosed,
    cap: tuple[int, int],
    question: tuple[Adjacency, int],
    walk: Walk,
) -> Terms:
    """Return the laws above and below of a Poisson sample with a cap, in one direction.

    Of the n records of the larger data set each is drawn with probability q, and where more than B
    are drawn, a uniformly random B of them are kept. Let s ~ Binomial(n - 1, q) of the other
    records be drawn. Where s < B, which has probability 1 - w, the record is in with probability q,
    and the cap does nothing. Where s >= B, the batch T without the record is a uniformly random set
    of B others, also given s; with it, the record takes the place of a uniformly random member of T
    with probability q B / (s + 1), the mean of which over s >= B is

        q' = (B / n) P(Binomial(n, q) > B) / w.

    Let the event be mu-GDP for one record. One for another is two records, 2 mu-GDP, so that given
    T an event of probability y without the record has at most (1 - q') y + q' G_{2 mu}(y) with it,
    and given s < B and the sample at most (1 - q) y + q G_mu(y). By joint convexity the sampled
    events of mu at q and of 2 mu at q', one of them by a public coin with weights 1 - w and w, are
    a pair that dominates, in either order (Chua and others 2024, arXiv 2411.04205; Ganesh 2025,
    arXiv 2508.15089). Below is the record among others that add nothing, in a batch with
    probability (1 - w) q + w q'; or among others that pull the other way, which is about the law
    above where w is near 1 (`losses/sampled/replaced.py`).

    Raises:
        UnsupportedError: a group, another sampling inside, or noise that is not Gaussian.
    """
    from privcalc.losses.atoms import AtomicLaw, nothing
    from privcalc.losses.cells import listed, mixed
    from privcalc.losses.gaussian import GaussianLaw
    from privcalc.losses.law import Term
    from privcalc.losses.sampled.law import sampled
    from privcalc.losses.sampled.replaced import opposite_law

    adjacency, _ = question
    rate = exact.doubles()[1]
    if rate * (1.0 - rate) * cap[1] > LARGEST_VARIANCE:
        raise UnsupportedError(
            f"{spelled(tree)} with max is known where n q (1 - q) is at most 1e9: sums over all"
            " sizes of a sample would take too long"
        )
    law = gaussian_step(tree, question, walk, f"{spelled(tree)} with max")
    remove = adjacency is Adjacency.REMOVE
    odds = Odds(exact, *cap)
    low, high = law.ends
    double = GaussianLaw.of(high.enclosure * 2).ends[1]
    below = sampled(low, odds.least_rate, remove=remove)
    below = opposite_law(low.mu, (exact.doubles()[0], *cap), below, remove=remove) or below
    once = sampled(high, odds.q, remove=remove)
    twice = sampled(double, odds.other_rate, remove=remove)
    if odds.binds[1] < RAREST:
        lost = AtomicLaw((0.0,), (1.0,), RAREST, lower_masses=(1.0,))
        return [(Term(once, below), 1), (Term(lost, nothing()), 1)]
    sides = (once, odds.free[1]), (twice, odds.binds[1])
    chosen = mixed([(listed(law, above=True), weight) for law, weight in sides])
    return [(Term(chosen, below), 1)]


class Odds:
    """How likely the cap binds, and the record is in, with q between two doubles.

    Attributes:
        q: the probability with which a record is drawn, or a little more.
        binds: bounds on w.
        free: bounds on 1 - w.
        other_rate: q', or a little more; at most q B / (B + 1).
        least_rate: (1 - w) q + w q', or a little less.
    """

    def __init__(self, exact: Enclosed, most: int, size: int) -> None:
        """Take q > 0, B and n > B."""
        from privcalc.numerics.binomials import binomial_tails

        low, self.q = exact.doubles()
        ends = []
        for q in (low, self.q):
            if q == 1.0:
                ends.append((((1.0, 1.0), (0.0, 0.0)), (1.0, 1.0)))
            else:
                over = binomial_tails(size, most + 1, q)[0]
                ends.append((binomial_tails(size - 1, most, q), over))
        (first, over), (last, over_high) = ends
        # Both probabilities increase with q.
        self.binds = first[0][0], last[0][1]
        self.free = last[1][0], first[1][1]
        share, slack = most / size, 1e-15
        rate = self.q * most / (most + 1.0) * (1.0 + slack)
        if self.binds[0] > 0.0:
            rate = min(rate, share * over_high[1] / self.binds[0] * (1.0 + slack))
        self.other_rate = min(rate, 1.0)
        least = low * self.free[0] + share * over[0]
        self.least_rate = min(max(least * (1.0 - slack), 0.0), low)


@wrapper(
    name="poisson_sampled",
    place=10,
    short="poisson",
    parameters=(
        # A sample at a lower rate is a mixture of one at the higher rate and of none.
        share(
            "sampling_probability", "increases", short="q", cost_unless=("truncated_batch_size",)
        ),
        # Another record takes the place of one that is zeroed out.
        whole(
            "truncated_batch_size",
            short="max",
            default_text="no cap",
            relations=frozenset({Relation.ADD_OR_REMOVE_ONE}),
        ),
        whole("source_dataset_size", most=MOST_RECORDS, short="n", default_text="any number"),
    ),
    inner_relation=Relation.ADD_OR_REMOVE_ONE,
    example="gaussian:sigma=1.1@poisson:q=256/60000@14063",
)
class PoissonSampled(Sampling):
    """Poisson sampling: each record is in the sample independently, with the same probability.

    What is wrapped sees the sample only, and the size of the sample is not published. This is not
    shuffling, nor batches of a fixed size. Let (P, Q) dominate the event for adding a record, P
    without it and Q with it. Then the sampled event is dominated by (P, (1 - q) P + q Q) for
    adding and by ((1 - q) P + q Q, P) for removing (Zhu, Dong, Wang 2022, Theorem 11; with these
    roles of P and Q it holds for every pair). Each direction is composed by itself.

    The event is read under add-or-remove-one, whatever relation the result is asked for: its
    sensitivity is that of one record added. Where a record is replaced and its place is in the
    sample, the outputs of both values may lie on opposite sides of the output without them, twice
    as far apart. That is the worst, for every mechanism: with R and W for the event without and
    with the record, the sampled event is dominated by (1 - q) R + q W against (1 - q) R + q W',
    W' the mirror image of W (proved in `losses/cells.py`). Gaussian, Laplace and other noise, and
    bare guarantees, attain it.

    A composition on one sample, or a sample of what is composed of samples, is sampled as a whole:
    by lists of outcomes above and below its pair (`losses/composed.py`). Each record then has a
    coin of its own at each level. Clients that are sampled with all their records cost more. An
    event that is known by its Renyi curve only is answered from above by that: a tight sum where
    adding and removing have the same loss, and the bound of Zhu, Wang 2019 with smaller constants
    otherwise.

    With `max` a sample that is larger is cut to that size by chance, as static shapes need it, and
    `n` is the number of records that samples are drawn from. Then the record may push another one
    out, which counts as two records: an upper bound for Gaussian noise, and the cost among records
    that add nothing as the lower end. Below a few deviations over the mean batch q n such a cap is
    not for free. It is defined for adding or removing a record.

    A group of records has a pair of its own for Gaussian noise: how many of them are in the sample
    is binomial, and the pair a mixture of normal laws.
    """

    sampling = "Poisson"
    inside = (Adjacency.ADD, Adjacency.REMOVE)

    @classmethod
    def sampled_how(cls, tree: Wrapped) -> str:
        """Name a cap too, as records of a batch that is cut are not independent; and levels."""
        if any(name == "truncated_batch_size" for name, _ in tree.parameters):
            return "Poisson with a cap"
        event = tree.event
        while isinstance(event, Wrapped) and event.name == tree.name:
            event = event.event
        inside = any(isinstance(each, Wrapped) and each.name == tree.name for each in calls(event))
        return "Poisson on each level" if inside else cls.sampling

    def __init__(
        self,
        *,
        sampling_probability: float,
        truncated_batch_size: int | None = None,
        source_dataset_size: int | None = None,
    ) -> None:
        """Take the sampling probability, and the cap with the size of the data set."""
        self.exact = Enclosed.of(sampling_probability)
        if (truncated_batch_size is None) != (source_dataset_size is None):
            raise DomainError(
                "@poisson takes max and n together: the cap, and how many records samples are"
                " drawn from",
                hint="write q=RATE,max=CAP,n=RECORDS",
            )
        # Without a cap each record is in the sample independently.
        self.splits = truncated_batch_size is None
        if truncated_batch_size is not None and source_dataset_size is not None:
            self.cap = truncated_batch_size, source_dataset_size

    def terms(self, tree: Wrapped, adjacency: Adjacency, records: int, walk: Walk) -> Terms:
        """Return the laws of a sample with a cap; one that cannot bind is none."""
        if self.cap is None or self.cap[0] >= self.cap[1] or self.exact.high == 0:
            return super().terms(tree, adjacency, records, walk)
        return capped(tree, self.exact, self.cap, (adjacency, records), walk)

    def unsampled(
        self, tree: Wrapped, event: Node, adjacency: Adjacency, records: int, walk: Walk
    ) -> Terms:
        """Return the event itself, at q = 1.

        Inside, the sensitivity is that of one record added: replacing is twice that.

        Raises:
            UnsupportedError: what is inside says nothing of replacing a record.
        """
        if adjacency is not Adjacency.REPLACE:
            return walk.terms(event, adjacency, records)
        if not _opposite(event, walk, known=True):
            raise UnsupportedError(
                f"{spelled(tree)}:q=1 samples everything, but what is inside is stated for"
                " adding a record, and not for replacing one; leave out the sampling"
            )
        return walk.terms(event, adjacency, 2 * records)

    def at_rate(self, asked: SampledEvent) -> Term:
        """Return the term of an event that is sampled, as its mechanism knows it if it does."""
        found = None
        if isinstance(asked.event, Leaf) and asked.q > 0.0:
            mechanism = asked.walk.mechanism(asked.event)
            # What a sample makes of a record that comes or goes says nothing of a replaced one.
            if asked.adjacency is not Adjacency.REPLACE or mechanism.knows_replaced:
                found = mechanism.in_sample((asked.q, asked.exact), asked.adjacency, asked.records)
        if found is not None and found.upper is not None:
            return found
        term = super().at_rate(asked)
        return term if found is None else replace(found, upper=term.above)

    def replaced(self, law: LossLaw, reverse: LossLaw, asked: SampledEvent, *, own: bool) -> Term:
        """Return what is known of one record that is replaced.

        Of an envelope the lower end is that of a record without influence.
        """
        from privcalc.losses.atoms import AtomicLaw
        from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw
        from privcalc.losses.gaussian import GaussianLaw
        from privcalc.losses.law import Term
        from privcalc.losses.sampled.replaced import ReplacedNoise, replaced
        from privcalc.renyi.curve import LawCurve

        q, opposite = asked.q, own and _opposite(asked.event, asked.walk)
        found = Term.of(replaced(law, reverse, q, exact=asked.exact, opposite_records=opposite))
        if not isinstance(law, GaussianLaw | DiscreteGaussianLaw):
            return found
        bounds = ReplacedNoise(law, q)
        upper, lower = (
            replace(each, mechanism_rdp_curve=LawCurve(bounds), mu=bounds.gaussian_range)
            if isinstance(each, AtomicLaw)
            else each
            for each in (found.upper, found.lower)
        )
        return replace(found, upper=upper, lower=lower)

    def of_group(self, law: LossLaw, reverse: LossLaw, single: Term, asked: SampledEvent) -> Term:
        """Return the sampled event for a group of records, given its term for one; see `known`."""
        from privcalc.losses.gaussian import GaussianLaw
        from privcalc.losses.law import Term
        from privcalc.losses.sampled.mixture import GaussianMixtureLaw

        if asked.adjacency is Adjacency.REPLACE:
            return super().of_group(law, reverse, single, asked)
        if not isinstance(law, GaussianLaw):
            found = _of_sampled_records(reverse if asked.remove else law, asked)
            return found or super().of_group(law, reverse, single, asked)
        return Term.of(GaussianMixtureLaw(law.mu, asked.q, asked.records, asked.remove))


def _of_sampled_records(law: LossLaw, asked: SampledEvent) -> Term | None:
    """Return the laws of a group each of whose records is sampled.

    Noise on a number moves by as many steps as records are sampled, a response is that of any of
    them, and of any program with a pair the worst one may follow the chain: there is a lower end.

    Args:
        law: the event's for one record, in the direction that is asked for.
        asked: the question.

    Returns:
        The laws above and below; None where there is too much to add up.
    """
    from privcalc.engine.terms import sampled_term
    from privcalc.losses.composed import LARGEST_MIXTURE
    from privcalc.losses.law import Term
    from privcalc.wrappers.group import scaled_term

    k = asked.records
    if k > LARGEST_MIXTURE:
        return None
    if max(law.max_loss, law.infinity_mass) <= 0.0:
        # Nothing is said of any record.
        return Term(law, law)
    mechanism = asked.walk.mechanism(asked.event) if isinstance(asked.event, Leaf) else None
    scaled = (
        [scaled_term(mechanism, asked.adjacency, j) for j in range(1, k + 1)] if mechanism else []
    )
    terms = [each for each in scaled if each is not None]
    laws = [term.upper for term in terms if term.upper is not None]
    whole = len(laws) == k
    attained = whole and all(term.law is not None for term in terms)
    attained = attained or (mechanism is not None and mechanism.any_program)
    rate = asked.q, asked.exact
    return sampled_term(laws if whole else [law], k, rate, remove=asked.remove, attained=attained)


def _opposite(event: Node, walk: Walk, *, known: bool = False) -> bool:
    """Say whether two records may pull all parts of an event in opposite directions.

    Args:
        event: below a Poisson sampling.
        walk: knows its mechanisms.
        known: whether a mechanism that knows what replacing costs counts as well.
    """
    if isinstance(event, Leaf):
        mechanism = walk.mechanism(event)
        return mechanism.opposite_records or (known and mechanism.knows_replaced)
    if isinstance(event, Composed):
        return all(_opposite(each, walk, known=known) for each in event.events)
    return isinstance(event, Repeated) and _opposite(event.event, walk, known=known)
