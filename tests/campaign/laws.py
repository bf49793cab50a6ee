"""Laws that the numbers obey, whatever the numbers are; each is a function, and says why it holds.

A law takes a case and yields what it has found: pairs of brackets of which the first number is at
most the second. It asks of the specification itself or of others that are made of it, and yields
nothing where it says nothing. Write H_e(P, Q) for the sup over events S of P(S) - e^e Q(S): delta
at epsilon is the largest H of all pairs that the specification allows, and it is jointly convex.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import privcalc
from privcalc.accounting.compose import compose
from privcalc.accounting.realize import alternatives, has_parts
from privcalc.bounds import TOLERANCE
from privcalc.calibration.holes import unknown
from privcalc.commands.command import Asking
from privcalc.commands.questions import joined
from privcalc.engine.certified import DELTA_FLOOR, EPSILON_FLOOR
from privcalc.errors import PrivcalcError
from privcalc.exact import Written, exact
from privcalc.render.data import certificate
from privcalc.spec import registry
from privcalc.spec.json import to_json
from privcalc.spec.registry import to_text, value_text
from privcalc.spec.tree import (
    COUNT,
    HOLE,
    Composed,
    Leaf,
    Parallel,
    Repeated,
    Wrapped,
    filled,
    names,
    owner,
    value_at,
)
from privcalc.spec.tree import written as values_called
from tests.campaign.cases import (
    Case,
    ContradictionError,
    Ends,
    NoAnswerError,
    changed,
    events,
    leaves,
    nodes,
    total,
    wrapping,
    written,
)
from tests.checker.check import check
from tests.random_numbers import log_uniform
from tests.random_specs import STATED

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from privcalc.spec.tree import Node
    from privcalc.spec.tree import Path as Place

    Law = Callable[[Case], Iterator["Claim"]]

# Rounding of what is worked out here from printed ends, relative.
SLACK = 1e-12
# Those that `tests/checker` knows.
CHECKED = frozenset({
    "gaussian", "laplace", "gdp", "pure", "approx", "discrete_laplace", "discrete_gaussian",
    "randomized_response",
})  # fmt: skip
# Numbers of a mechanism whose outputs are the same when all of them are in another unit.
UNITS = {
    "gaussian": ("standard_deviation", "sensitivity"),
    "laplace": ("scale", "sensitivity"),
    "truncated_laplace": ("scale", "bound", "sensitivity"),
    "noisy_max": ("standard_deviation", "scale", "sensitivity"),
    "matrix_gaussian": ("standard_deviation", "sensitivity"),
    "above_threshold": ("threshold_noise", "query_noise", "threshold", "sensitivity"),
}


class Claim(NamedTuple):
    """The number in the first bracket is at most that in the second."""

    small: Ends
    large: Ends

    @property
    def margin(self) -> float:
        """How far the ends are from a contradiction, relative; below 0 there is one."""
        low, high = self.small.lower, self.large.upper
        if low == high:
            return 0.0
        if math.isinf(high) or math.isinf(low):
            return math.inf if high > low else -math.inf
        return (high - low) / max(abs(high), abs(low))

    @property
    def tells(self) -> bool:
        """Whether the margin tells something: not where an end is missing, or all are the same."""
        return self.small != self.large and 0.0 < self.small.lower < self.large.upper < math.inf


def same(one: Ends, other: Ends) -> Iterator[Claim]:
    """Claim that two brackets are of one number."""
    yield Claim(one, other)
    yield Claim(other, one)


def again(case: Case, spec: Node) -> Ends:
    """Ask about a specification that means the same: it must not be refused either."""
    try:
        return case.cost(spec)
    except NoAnswerError as error:
        if error.refused:
            raise ContradictionError(f"refused, but not when written otherwise: {error}") from error
        raise


# What a sum, a count and a group are.


def order_of_parts(case: Case) -> Iterator[Claim]:
    """A sum in another order, or with a sum in it, costs the same: its pair is a product.

    Products commute, and are associative.
    """

    def mixed(node: Node) -> Node:
        if not isinstance(node, Composed):
            return node
        parts = case.rng.sample(node.events, len(node.events))
        cut = case.rng.randrange(len(parts))
        return Composed((*parts[:cut], Repeated(1, total(tuple(parts[cut:]))))) if cut else node

    other = changed(case.tree, mixed)
    if other != case.tree:
        yield from same(case.cost(), again(case, other))


def several_uses(case: Case) -> Iterator[Claim]:
    """X@n is X + ... + X, each use with its own noise and sample.

    Not so with `max`, where a record is in the same part in all n uses of one split.
    """
    event, count = case.one_use(), case.rng.randint(2, 4)
    if not has_parts(event):
        copies = total(events(event) * count)
        yield from same(case.cost(Repeated(count, event)), again(case, copies))


def uses_of_uses(case: Case) -> Iterator[Claim]:
    """X@m@n is X@(m n), and (X + Y)@n is X@n + Y@n: both list the same uses."""
    event, first, then = case.one_use(), case.rng.randint(2, 5), case.rng.randint(2, 40)
    whole = case.cost(Repeated(first * then, event))
    yield from same(whole, again(case, Repeated(then, Repeated(first, event))))
    if isinstance(case.tree, Composed) and not has_parts(case.tree):
        apart = Composed(tuple(Repeated(first, each) for each in case.tree.events))
        yield from same(case.cost(Repeated(first, case.tree)), again(case, apart))


def one_more_use(case: Case) -> Iterator[Claim]:
    """X@n costs no more than X@(n + 1), of whose outputs the last may be left out."""
    event, count = case.one_use(), case.rng.choice((1, 2, 10, 100, 1000))
    yield Claim(case.cost(Repeated(count, event)), case.cost(Repeated(count + 1, event)))


def one_more_part(case: Case) -> Iterator[Claim]:
    """A sum costs no less than it does without a part, whose output may be left out."""
    parts = events(case.tree)
    if len(parts) > 1:
        gone = case.rng.randrange(len(parts))
        yield Claim(case.cost(total(parts[:gone] + parts[gone + 1 :])), case.cost())
    else:
        more = case.rng.choice(("gaussian:sigma=9", "pure:epsilon=0.04", "laplace:scale=30@2"))
        yield Claim(case.cost(), case.cost(f"{case.text}+{more}"))


def part_that_says_nothing(case: Case) -> Iterator[Claim]:
    """A mechanism with the same output whatever the data changes no number."""
    none = case.rng.choice(("pure:epsilon=0", "rr:p=0.5", "approx:epsilon=0,delta=0@7"))
    yield from same(case.cost(), case.cost(f"{case.text}+{none}"))


def disjoint_parts(case: Case) -> Iterator[Claim]:
    """`max` costs the largest of what a record may meet, and no more than the sum of all parts.

    A record that is added or removed is in one part; that meets one of the parts of the sum.
    """
    if not has_parts(case.tree):
        return
    trees = alternatives(case.tree, case.under)
    each = [case.cost(tree) for tree in trees]
    largest = Ends(max(one.lower for one in each), max(one.upper for one in each))
    yield from same(case.cost(), largest)

    def summed(node: Node) -> Node:
        if not isinstance(node, Parallel):
            return node
        return Composed(tuple(part for one in node.events for part in events(one)))

    yield Claim(case.cost(), case.cost(changed(case.tree, summed)))


def groups(case: Case) -> Iterator[Claim]:
    """A group of one is that record, two groups of two are four, and one of all uses is of each."""
    event, uses = case.one_use(), case.rng.randint(2, 5)
    yield from same(case.cost(), again(case, grouped(case.tree, 1)))
    twice = case.cost(grouped(grouped(event, 2), 2))
    yield from same(twice, again(case, grouped(event, 4)))
    whole = case.cost(grouped(Repeated(uses, event), 2))
    yield from same(whole, again(case, Repeated(uses, grouped(event, 2))))


def grouped(tree: Node, records: int) -> Node:
    """Return a specification for a group."""
    return Wrapped("group", (("records", records),), tree)


def group_along_a_chain(case: Case) -> Iterator[Claim]:
    """delta_k(k e) <= delta(e) (1 + E + ... + E^(k-1)), E = exp(e), along a chain of k neighbours.

    P_0(S) <= E P_1(S) + delta <= E^2 P_2(S) + E delta + delta, and so on.
    """
    records, epsilon = case.rng.randint(2, 3), case.middle
    once = case.delta_of(epsilon)
    many = case.delta_of(math.nextafter(records * epsilon, math.inf), grouped(case.tree, records))
    factor = sum(math.exp(power * epsilon) for power in range(records))
    yield Claim(many, Ends(0.0, min(1.0, once.upper * factor * (1.0 + SLACK))))


def relations(case: Case) -> Iterator[Claim]:
    """Zeroing out is removing; replacing costs no less than that, and no more than doing it twice.

    Sensitivities of `STATED` are those under the relation in force, so that unsampled parts have
    the same pair under each. A sample is one of records that come and go: (i) a record that is
    zeroed out adds what a missing one does; (ii) one may be replaced by one that adds nothing;
    (iii) with S for what samples put out on x, on no record and on x', and G for all else,
    (S_x, G) to (S_none, G') is a removal, (S_none, G') to (S_x', G') an addition, and
    P(A) <= E1 M(A) + d1 <= E1 (E2 P'(A) + d2) + d1.
    """
    if not leaves(case.tree) <= STATED or not wrapping(case.tree) <= {"poisson_sampled"}:
        return
    # Scores that one more record only raises may fall where a record takes the place of another.
    if {"truncated_batch_size", "monotone"} & set(names(case.tree)):
        return
    each = "add-or-remove-one", "replace-one", "replace-special"
    added, replaced, zeroed = (case.cost(relation=relation) for relation in each)
    yield from same(added, zeroed)
    yield Claim(added, replaced)
    if not wrapping(case.tree):
        yield from same(added, replaced)
    epsilon = case.middle
    once = case.delta_of(epsilon, relation=each[0]).upper
    both = case.delta_of(math.nextafter(2.0 * epsilon, math.inf), relation=each[1])
    yield Claim(both, Ends(0.0, once * (1.0 + math.exp(epsilon)) * (1.0 + SLACK)))


# Numbers, and what they are read as.


def declared_direction(case: Case) -> Iterator[Claim]:
    """With a number whose `cost` is declared the cost, or the bound on it, moves that way.

    Of a bound: lower(x) <= bound(x) <= bound(y) <= upper(y) for the cheaper x.
    """
    tree, places = case.tree, [*numbers(case.tree)]
    if not places:
        return
    place = case.rng.choice(places)
    known = registry.entry(cast("Leaf | Wrapped", owner(tree, place)).name)
    parameter = known.parameter(str(place[-1]))
    if parameter is None or parameter.cost_note or order_is_lost(tree, place):
        return
    try:
        [hole] = unknown(filled(tree, {place: cast("float", HOLE)}), ()).holes
    except PrivcalcError:
        return
    value = exact(cast("float", value_at(tree, place)))
    factor = Fraction(case.rng.choice(("1.0001", "1.01", "1.5", "4")))
    more = written(value * factor)
    if parameter.kind == "integer":
        more = max(int(value * factor), int(value) + 1)
    if hole.minimum <= more <= hole.maximum:
        pair = case.cost(), case.cost(filled(tree, {place: more}))
        yield Claim(*(pair if parameter.cost == "increases" else pair[::-1]))


def numbers(tree: Node) -> Iterator[Place]:
    """Yield the places of all numbers but counts."""
    for name in names(tree):
        for place in values_called(tree, name) if name != COUNT else ():
            if type(value_at(tree, place)) in (int, float, Written):
                yield place


def order_is_lost(tree: Node, place: Place) -> bool:
    """Say whether what stands around a number may turn the order of costs around."""
    for end in range(1, len(place)):
        around = owner(tree, place[:end])
        if isinstance(around, Wrapped) and place[end - 1] == "event":
            known = registry.entry(around.name)
            if not known.keeps_order_with(name for name, _ in around.parameters):
                return True
    return False


def other_units(case: Case) -> Iterator[Claim]:
    """Noise, sensitivity and thresholds in another unit are the same mechanism."""
    factor = Fraction(case.rng.choice(("2", "0.25", "1000", "1/3")))

    def scaled(node: Node) -> Node:
        if not isinstance(node, Leaf) or node.name not in UNITS:
            return node
        given = dict(node.parameters)
        inside = [name for name in UNITS[node.name] if name in given]
        if not inside or inside == ["sensitivity"] or "noise_multiplier" in given:
            return node
        given.setdefault("sensitivity", 1.0)
        for name in {*inside, "sensitivity"}:
            given[name] = written(exact(cast("float", given[name])) * factor)
        return Leaf(node.name, tuple(given.items()))

    other = changed(case.tree, scaled)
    if other != case.tree:
        yield from same(case.cost(), again(case, other))


def twin(case: Case) -> Iterator[Claim]:
    """The JSON form of a specification is that specification; several are their sum."""
    parts = [to_json(each) for each in events(case.tree)]
    answer = case.ask(privcalc.compose, *parts, relation=case.relation, **case.place)
    yield from same(case.cost(), case.read(answer))


def sample_of_all(case: Case) -> Iterator[Claim]:
    """A sample in which every record is for certain is no sample."""
    leaf = case.leaf_of(STATED)
    if leaf is None:
        return
    ways = {
        "add-or-remove-one": ["poisson:q=1", "allocation:t=1"],
        "replace-one": ["wor:q=1", "wor:n=9,m=9", "shuffle:n=1"],
    }.get(case.relation, [])
    for way in ways:
        if "allocation" in way and leaf.name not in ("gaussian", "gdp"):
            continue
        if "shuffle" in way and leaf.name not in ("randomized_response", "pure"):
            continue
        yield from same(case.cost(leaf), case.cost(f"{to_text(leaf)}@{way}"))


# Ways to the same number.


def nested_tolerances(case: Case) -> Iterator[Claim]:
    """Brackets of all tolerances hold the same number, and are as narrow as they say."""
    tolerance = case.rng.choice((0.3, 1e-2, 1e-4, 1e-9, 1e-12))
    answer = case.ask(
        privcalc.compose, case.text, relation=case.relation, tolerance=tolerance, **case.place
    )
    found = case.read(answer)
    yield from same(case.cost(), found)
    # Printed ends are a few units in the last place further apart than those that are proved.
    most = max(tolerance * (1.0 + 1e-3) * found.upper, 2.0 * max(EPSILON_FLOOR, DELTA_FLOOR))
    if answer.tolerance_met and found.lower < found.upper - most:
        raise ContradictionError(f"{found} is no bracket of relative width {tolerance}")


def largest_direction(case: Case) -> Iterator[Claim]:
    """The cost is the largest of those of all directions."""
    place = {f"{name}s": [value] for name, value in case.place.items()}
    relation = case.under
    answer = case.ask(compose, case.tree, relation=relation, **place).answers[0]
    found = [Ends.of(one.bound) for one in answer.directions if one.bound is not None]
    if len(found) == len(answer.directions):
        largest = Ends(max(one.lower for one in found), max(one.upper for one in found))
        yield from same(Ends.of(answer.bound), largest)
    for one in found:
        yield Claim(one, case.cost())


def delta_of_epsilon(case: Case) -> Iterator[Claim]:
    """Delta at the upper end of epsilon(d) is at most d; at the lower end it is at least d.

    delta is convex in exp(epsilon), and so continuous: at the least epsilon where it is at most
    d > 0 it is d, if that epsilon is not 0.
    """
    found, there = case.epsilon_of(), Ends(case.delta, case.delta)
    if found.upper < math.inf:
        yield Claim(case.delta_of(found.upper), there)
    if 0.0 < found.lower < math.inf:
        yield Claim(there, case.delta_of(found.lower))


def engines(case: Case) -> Iterator[Claim]:
    """What one engine proves, no other refutes."""
    engine = case.rng.choice(("contour", "fft", "rdp"))
    yield from same(case.cost(), case.cost(engine=engine))


def certificates(case: Case) -> Iterator[Claim]:
    """A program that shares nothing with the calculator finds no fault in the certificate."""
    if has_parts(case.tree) or not leaves(case.tree) <= CHECKED:
        return
    if not wrapping(case.tree) <= {"poisson_sampled"}:
        return
    deltas, epsilons = (
        [value for name, value in case.place.items() if name == asked_at]
        for asked_at in ("delta", "epsilon")
    )
    values = {"delta": tuple(deltas), "epsilon": tuple(epsilons), "relation": case.under}
    ask = Asking("compose", {**values, "tolerance": TOLERANCE})
    asked = joined([case.text], relation=case.under)
    [report] = case.ask(ask, asked)
    verdict = case.ask(check, certificate(report))
    if verdict.word == "refused":
        raise ContradictionError(f"the certificate is refused: {verdict.why}")
    if verdict.word == "accepted":
        yield Claim(case.cost(), case.cost())


# What costs more.


def guarantee(case: Case) -> Iterator[Claim]:
    """What is (e, d)-DP costs no more than `approx:epsilon=e,delta=d`, also when repeated.

    It is that mechanism, post-processed (Kairouz, Oh, Viswanath 2015, Theorem 3.1).
    """
    bound = case.epsilon_of().upper
    if bound < 500.0:
        approx = f"approx:epsilon={bound!r},delta={case.delta!r}"
        count = case.rng.choice((1, 2, 5))
        yield Claim(case.cost(Repeated(count, case.tree)), case.cost(f"{approx}@{count}"))


def wider_description(case: Case) -> Iterator[Claim]:
    """A mechanism costs no more than the guarantee that is known of it, whatever is around it.

    Losses of Laplace noise are at most sensitivity / scale; a zCDP of 1 / (2 sigma^2), and a GDP of
    1 / sigma, are those of Gaussian noise.
    """

    def widened(node: Node) -> Node:
        if not isinstance(node, Leaf):
            return node
        given = {name: exact(v) for name, v in node.parameters if isinstance(v, float | int)}
        size = given.get("sensitivity", Fraction(1))
        if node.name == "laplace" and "scale" in given:
            return Leaf("pure", (("epsilon", written(size / given["scale"])),))
        if node.name == "gaussian" and "standard_deviation" in given:
            mu = size / given["standard_deviation"]
            if wrapping(case.tree) or case.rng.random() < 0.5:
                return Leaf("gdp", (("mu", written(mu)),))
            return Leaf("zcdp", (("rho", written(mu * mu / 2)),))
        if node.name in ("randomized_response", "exponential", "staircase") and "epsilon" in given:
            return Leaf("pure", (("epsilon", written(given["epsilon"])),))
        return node

    kept = not {"shuffled_reports", "repeat_and_select"} & wrapping(case.tree)
    other = changed(case.tree, widened)
    if kept and other != case.tree:
        yield Claim(case.cost(), case.cost(other))


def unsampled(case: Case) -> Iterator[Claim]:
    """What sees a sample costs no more than what sees all.

    Given the sample, H is that of those of the records that are in it, all of them at most, and H
    of a mixture is at most the mean of H. Reports that are shuffled are those reports,
    post-processed. Each is read under the relation of the whole; an order of pairs survives
    composition, sampling and groups.
    """
    relation = case.relation
    gone = {
        "add-or-remove-one": {"poisson_sampled", "randomly_allocated"},
        "replace-one": {"sampled_without_replacement", "shuffled_reports"},
    }.get(relation, set())
    if not wrapping(case.tree) & gone or not wrapping(case.tree) <= {*gone, "group"}:
        return
    if {"participations", "truncated_batch_size"} & set(names(case.tree)):
        return

    def bare(node: Node) -> Node:
        return node.event if isinstance(node, Wrapped) and node.name in gone else node

    yield Claim(case.cost(), case.cost(changed(case.tree, bare)))


def amplification(case: Case) -> Iterator[Claim]:
    """delta_q(log(1 + q (E - 1))) <= q delta(log E) for a Poisson sample of one use.

    For removing there is equality (Balle, Barthe, Gaboardi 2018, Theorem 2). For adding, with a =
    1 + q (E - 1), Q - a ((1 - q) Q + q P) is q ((1 - E + a) Q - a P): on S with Q(S) >= P(S) this
    is at most q (Q - E P), as (E - a) (Q - P) >= 0, and elsewhere negative, as a >= 1 >= 1 - E + a.
    """
    leaf = case.leaf_of(STATED)
    if leaf is None or case.relation != "add-or-remove-one":
        return
    rate, epsilon = log_uniform(case.rng, 1e-4, 0.9), log_uniform(case.rng, 0.01, 3)
    there = math.log1p(rate * math.expm1(epsilon)) * (1.0 + SLACK)
    base = case.delta_of(epsilon, leaf)
    sampled = case.delta_of(there, f"{to_text(leaf)}@poisson:q={rate!r}")
    yield Claim(sampled, Ends(0.0, rate * base.upper * (1.0 + SLACK)))


def convex_in_the_rate(case: Case) -> Iterator[Claim]:
    """Delta of one use of a Poisson sample is convex in q.

    Its pair is affine in q, ((1 - q) Q + q P, Q) or the reverse, and H is jointly convex.
    """
    leaf = case.leaf_of(STATED)
    if leaf is None or case.relation != "add-or-remove-one":
        return
    low, high = sorted(Fraction(case.rng.randint(1, 999), 1000) for _ in range(2))
    text, epsilon = to_text(leaf), log_uniform(case.rng, 0.01, 2)
    ends = [case.delta_of(epsilon, f"{text}@poisson:q={q}") for q in (low, high, (low + high) / 2)]
    mean = 0.5 * (ends[0].upper + ends[1].upper) * (1.0 + SLACK)
    yield Claim(ends[2], Ends(0.0, mean))


def coin_of_two(case: Case) -> Iterator[Claim]:
    """Delta of a mixture of two pairs is at most the mean, and is the mean of both is public.

    So it is in each direction; with both, that of the public coin is between the means of the
    smaller and of the larger.
    """
    rng, size = case.rng, case.rng.randint(2, 4)
    pairs = [[random_column(rng, size) for _ in range(2)] for _ in range(2)]
    weight = Fraction(rng.randint(1, 9), 10)
    mixed = [
        [weight * a + (1 - weight) * b for a, b in zip(one, other, strict=True)]
        for one, other in zip(*pairs, strict=True)
    ]
    public = [
        [weight * a for a in one] + [(1 - weight) * b for b in other]
        for one, other in zip(*pairs, strict=True)
    ]
    epsilon = log_uniform(rng, 0.01, 1.5)
    written_down = enumerate([*pairs, mixed, public])
    first, other, both, told = (
        case.delta_of(epsilon, pmf(k, *columns)) for k, columns in written_down
    )
    mean = float(weight) * first.upper + float(1 - weight) * other.upper
    yield Claim(both, told)
    yield Claim(told, Ends(0.0, mean * (1.0 + SLACK)))


def random_column(rng: random.Random, size: int) -> list[Fraction]:
    """Return probabilities, at times one of them 0."""
    found = [rng.randint(0 if k else 1, 30) for k in range(size)]
    return [Fraction(each, sum(found)) for each in found]


def pmf(number: int, first: list[Fraction], other: list[Fraction]) -> str:
    """Write a pair into a file, and return its specification."""
    rows = [f"{a} {b}\n" for a, b in zip(first, other, strict=True) if a or b]
    Path(f"coin{number}.txt").write_text("".join(rows))
    return f"pmf:file=./coin{number}.txt"


# The other commands.


def selection(case: Case) -> Iterator[Claim]:
    """The best of K runs costs what `select` says, no less than one run, no more than n >= K runs.

    With a score that is the same for all outputs the best of K >= 1 runs is one of them, whichever:
    a mechanism that fits. The best of n is a function of n runs. One run of one is that run.
    """
    event, mean = case.one_use(), log_uniform(case.rng, 1.1, 50)
    if has_parts(event) or "repeat_and_select" in wrapping(event):
        return
    runs = case.rng.choice(
        (f"geometric:mean={mean}", f"logarithmic:mean={mean}", "fixed:n=3", "fixed:n=1",
         f"tnb:shape=0.5,mean={mean}", f"poisson:mean={mean}", "binomial:n=3,mean=1.5")
    )  # fmt: skip
    text = to_text(Repeated(1, event))
    node = case.cost(f"{text}@select:runs={runs.replace(':', ',', 1)}")
    answer = case.ask(privcalc.select, text, runs=runs, relation=case.relation, **case.place)
    name = "delta" if "epsilon" in case.place else "epsilon"
    alone = case.cost(text)
    yield from same(node, Ends.of(answer.bound(name)))
    yield from same(alone, Ends.of(answer.bound(f"base_{name}")))
    if not runs.startswith(("poisson", "binomial")):
        yield Claim(alone, node)
    if runs == "fixed:n=1":
        yield from same(alone, node)
    if runs.startswith(("fixed:n=3", "binomial:n=3")):
        yield Claim(node, case.cost(Repeated(3, event)))


def rounds_of_samples(case: Case) -> Iterator[Claim]:
    """`subsample` of rounds is the composition of samples, and of orders its Renyi divergences."""
    found = [each for each in nodes(case.tree) if isinstance(each, Wrapped)]
    leaf = case.leaf_of(STATED)
    sampled = [each for each in found if each.name == "poisson_sampled"]
    if leaf is None or case.relation != "add-or-remove-one":
        return
    rate = repr(log_uniform(case.rng, 1e-3, 0.5))
    text = to_text(leaf)
    if sampled and len(sampled[0].parameters) == 1:
        text, rate = to_text(sampled[0].event), value_text(sampled[0].parameters[0][1])
    count, orders = case.rng.choice((1, 3, 40)), [2, 7]
    answer = case.ask(privcalc.subsample, text, q=rate, delta=case.delta, count=count)
    whole = f"({text})@poisson:q={rate}"
    yield from same(Ends.of(answer.epsilon), case.epsilon_of(f"{whole}@{count}"))
    curve = case.ask(privcalc.subsample, text, q=rate, orders=orders).curve
    other = case.ask(privcalc.convert, whole, to="rdp", orders=orders).curve
    for (_, one), (_, two) in zip(curve, other, strict=True):
        yield from same(Ends.of(one), Ends.of(two))


def attack(case: Case) -> Iterator[Claim]:
    """A test with false positive rate a misses at least f(a), and delta(e) is the sup over all a.

    delta(e) = sup over a of 1 - f(a) - exp(e) a (Dong, Roth, Su 2022, Proposition 2.12), and the
    advantage of an attack is delta at 0.
    """
    alpha, epsilon = log_uniform(case.rng, 1e-4, 0.5), case.middle
    options = {"relation": case.relation, "fpr": [alpha]}
    [(_, missed)] = case.ask(privcalc.convert, case.text, to="tradeoff", **options).curve
    delta, least = case.delta_of(epsilon), 1.0 - math.exp(epsilon) * alpha
    yield Claim(Ends(least - delta.upper - SLACK, 1.0), Ends.of(missed))
    yield Claim(Ends(least - missed.upper - SLACK, 1.0), delta)
    risk = case.ask(privcalc.convert, case.text, to="risk", **options)
    yield from same(Ends.of(risk.advantage), case.delta_of(0.0))


def conversion(case: Case) -> Iterator[Claim]:
    """What is mu-GDP, rho-zCDP, or has a Renyi divergence, costs no more than all that has it.

    And what is asked of a group by `convert` is what `@group` costs.
    """
    to = case.rng.choice(("gdp", "zcdp", "rdp", "group"))
    options = {"relation": case.relation}
    if to == "group":
        answer = case.ask(privcalc.convert, case.text, group=2, **options, **case.place)
        yield from same(case.read(answer), case.cost(grouped(case.tree, 2)))
        return
    if to == "rdp":
        order = case.rng.choice((1.5, 2, 3, 8, 32))
        found = case.ask(privcalc.convert, case.text, to=to, orders=[order], **options)
        known = f"rdp:order={order},epsilon={found.curve[0][1].upper!r}"
    else:
        found = case.ask(privcalc.convert, case.text, to=to, **options)
        known = f"gdp:mu={found.mu.upper!r}" if to == "gdp" else f"zcdp:rho={found.rho.upper!r}"
    if "inf" not in known:
        yield Claim(case.cost(), case.cost(known))


def calibration(case: Case) -> Iterator[Claim]:
    """The value that `calibrate` prints meets the target, and the one beside it does not.

    What is proved of the value is that its cost is at most the target.
    """
    places = [each for each in numbers(case.tree) if not order_is_lost(case.tree, each)]
    if not places:
        return
    target = case.epsilon_of().upper * case.rng.choice((0.7, 0.95, 1.3))
    if not 1e-3 < target < 100.0:
        return
    target = float(f"{target:.3g}")
    hole = filled(case.tree, {case.rng.choice(places): cast("float", HOLE)})
    answer = case.ask(
        privcalc.calibrate, to_text(hole), epsilon=target, delta=case.delta, relation=case.relation
    )
    yield Claim(case.epsilon_of(answer.text), Ends(target, target))
    yield Claim(Ends.of(answer.epsilon), Ends(target, target))
    yield from same(case.epsilon_of(answer.text), Ends.of(answer.epsilon))


# Each with how often it is tried: what takes long is tried seldom.
LAWS: dict[Law, float] = {
    order_of_parts: 3, several_uses: 3, uses_of_uses: 3, one_more_use: 1,
    one_more_part: 2, part_that_says_nothing: 2, disjoint_parts: 9, groups: 2,
    group_along_a_chain: 2, relations: 3, declared_direction: 6,
    other_units: 3, twin: 1, sample_of_all: 2, nested_tolerances: 3, largest_direction: 3,
    delta_of_epsilon: 4, engines: 3, certificates: 3, guarantee: 2, wider_description: 3,
    unsampled: 3, amplification: 1, convex_in_the_rate: 1, coin_of_two: 0.5, selection: 1,
    rounds_of_samples: 1, attack: 0.4, conversion: 1, calibration: 1,
}  # fmt: skip


def in_turn(case: Case) -> list[Law]:
    """Return the laws in the order in which a case tries them."""
    return sorted(LAWS, key=lambda law: case.rng.random() ** (1.0 / LAWS[law]), reverse=True)
