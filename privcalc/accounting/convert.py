"""One guarantee in another language: the entry function of the command `convert`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache, partial, reduce
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, cast

from privcalc.accounting.chain import NeighbourChain, chain_for
from privcalc.accounting.compose import compose
from privcalc.accounting.directions import (
    Answer,
    Direction,
    Directions,
    Method,
    error_rates,
    profile_points,
)
from privcalc.accounting.realize import default_relation, realize
from privcalc.bounds import TOLERANCE, Bound, Proof
from privcalc.engine.terms import Realized
from privcalc.errors import DomainError, NotCertifiedError, UnsupportedError, UsageError
from privcalc.exact import shown
from privcalc.numerics.work import QUESTION, allowance
from privcalc.record import record, replace
from privcalc.spec import registry
from privcalc.spec.registry import holes
from privcalc.spec.tree import Composed, Leaf, calls
from privcalc.wrappers.base import lone_selection
from privcalc.wrappers.group import grouped, ungrouped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from privcalc.accounting.directions import Row, Value
    from privcalc.mechanisms.base import Mechanism
    from privcalc.relation import Relation
    from privcalc.spec.tree import Node

Target = Literal["dp", "profile", "rdp", "zcdp", "tcdp", "gdp", "tradeoff", "risk"]
TARGETS: tuple[Target, ...] = (
    "dp", "profile", "rdp", "zcdp", "tcdp", "gdp", "tradeoff", "risk"
)  # fmt: skip
# Conversions of a Renyi curve that are compared.
CONVERSIONS = ("classic", "balle", "trade_off")
LARGEST_ORDER, MOST_POINTS = 1e6, 10_000
ABOVE_ONE, BELOW_ONE = math.nextafter(1.0, 2.0), math.nextafter(1.0, 0.0)
TINY, LARGEST = 5e-324, 1.7976931348623157e308
# A width relative to less than this counts as none.
LEAST = 1e-300
# Rates of false positives, and chances that the record is there, unless others are asked for.
DEFAULT_RATES, DEFAULT_PRIORS = (1e-6, 1e-4, 0.001, 0.01, 0.1), (0.01, 0.5)
# Targets that every part of a trade-off curve matters to.
CURVES = ("tradeoff", "risk")
LOSSLESS = "lossless: the same pair in another language, both ends proved"
ABOVE = "lossless: the same pair in another language, proved from above"
UPPER = "lossy: only an upper bound on the privacy loss is known"
APART = "lossy: no one pair is known to prove both ends"
KEPT = "lossless: it is a guarantee of this kind itself"
SUMMARY = "lossy: one number for a whole curve; the smallest that is true of it"


@record
class ConversionQuery:
    """What is asked of a specification.

    Attributes:
        to: the language of the answer.
        deltas: for dp, and for gdp the deltas at which a mu is matched.
        epsilons: for dp and profile.
        orders: for rdp, above 1.
        omega: for tcdp, the largest order, above 1.
        points: number of points of a profile or of a trade-off curve.
        false_positive_rates: for tradeoff and risk: type I errors; without them `points` are
            chosen for tradeoff.
        priors: for risk: probabilities that the record is there, before the attack.
        records: size of the group, 1 for none.
    """

    to: Target = "dp"
    deltas: tuple[float, ...] = ()
    epsilons: tuple[float, ...] = ()
    orders: tuple[float, ...] = ()
    omega: float = math.inf
    points: int = 21
    false_positive_rates: tuple[float, ...] = ()
    priors: tuple[float, ...] = ()
    records: int = 1


@record
class ConvertedAnswer:
    """One answer.

    Attributes:
        query: where it was asked: a delta, an epsilon, or {} for a curve or a summary.
        result: by the names of the output contract.
        method: how it was obtained.
        directions: the same for each direction, where there are such.
    """

    query: dict[str, float]
    result: dict[str, Value]
    method: Method
    directions: tuple[Direction, ...] = ()


@record
class Conversion:
    """All answers to one question, and what they assume.

    Attributes:
        tree: the specification, with its group.
        relation: the neighbouring relation in force.
        kind: whether the conversion loses anything, in words.
        answers: in the order of the question.
    """

    tree: Node
    relation: Relation
    kind: str
    answers: tuple[ConvertedAnswer, ...]


@allowance(QUESTION)
def convert(
    tree: Node,
    question: ConversionQuery,
    *,
    relation: Relation | None = None,
    tolerance: float = TOLERANCE,
    engine: str = "auto",
) -> Conversion:
    """State a guarantee in another language.

    Args:
        tree: the specification, without holes.
        question: what is asked.
        relation: the neighbouring relation; None for the default of the specification.
        tolerance: target relative width.
        engine: auto, contour, fft or rdp.

    Raises:
        DomainError: a number is out of range.
        UnsupportedError: the relation, or a part of the tree.
        UsageError: the tree has a hole, or the question lacks what its target needs.
        NotCertifiedError: no finite upper end could be proved.
    """
    check_question(tree, question, tolerance)
    whole = grouped(tree, question.records)
    relation = relation or default_relation(tree)
    # A selection alone is answered from its base, and needs no law.
    lone = lone_selection(whole) if question.to == "dp" else None
    try:
        parts = realize(whole if lone is None else lone.event, relation)
    except UnsupportedError as error:
        chain = chain_for(*ungrouped(whole), relation, engine=engine)
        if chain is None:
            raise
        if question.to not in ("dp", "profile"):
            raise UnsupportedError(
                f"{error}; --to dp and --to profile answer it from above, along a chain"
            ) from None
        answers = _along(chain, question)
        kind = f"lossy: {chain.words}"
        return Conversion(whole, relation, kind, answers)
    if question.to in CURVES:
        parts = {name: part.for_curves for name, part in parts.items()}
    directions = Directions(parts, tolerance, engine)
    known = lone is None and directions.known
    if question.to in CURVES and any(part.envelope for part in parts.values()):
        # No one pair has all of the curve.
        known = False
    answers = getattr(_State(whole, relation, directions, question), question.to)()
    kind = lossless(answers) if known else APART if directions.bracketed else UPPER
    if question.to in ("zcdp", "tcdp", "gdp") and (known or _is_one(whole, question.to)):
        kind = KEPT if _is_one(whole, question.to) else SUMMARY
    return Conversion(whole, relation, kind, tuple(answers))


def _is_one(tree: Node, to: str) -> bool:
    """Return whether a tree is one guarantee of a kind: squares of mu, and rhos, add up.

    Gaussian noise is mu-GDP exactly (Dong, Roth, Su 2022, Corollary 3.3), and k records have k mu.
    """
    kinds = {each.name for each in calls(tree)}
    if to == "gdp":
        return kinds <= {"gdp", "gaussian", "group"}
    return kinds == {"zcdp"} and not any(dict(each.parameters).get("xi") for each in calls(tree))


def lossless(answers: Iterable[ConvertedAnswer]) -> str:
    """Say that the pair is the same, and whether each number has both ends."""
    whole = all(bound.lower is not None for each in answers for bound in _bounds(each.result))
    return LOSSLESS if whole else ABOVE


def _bounds(value: object) -> list[Bound]:
    """Return all brackets in a result."""
    if isinstance(value, Bound):
        return [value]
    inner = tuple(value.values()) if isinstance(value, Mapping) else value
    return [bound for each in inner for bound in _bounds(each)] if isinstance(inner, tuple) else []


@record
class _State:
    """One question about realized directions; each target is a method."""

    tree: Node
    relation: Relation
    directions: Directions
    question: ConversionQuery

    def _composed(self, epsilons: Sequence[float] = ()) -> tuple[Answer, ...]:
        """Answer epsilon at each delta and delta at each epsilon, as `compose` does."""
        found = compose(
            self.tree,
            relation=self.relation,
            deltas=self.question.deltas,
            epsilons=epsilons,
            tolerance=self.directions.tolerance,
            engine=self.directions.engine,
        )
        return found.answers

    def _curve(
        self, result: dict[str, Value], proof: Proof, notes: tuple[str, ...] = ()
    ) -> ConvertedAnswer:
        """Return an answer that stands by itself."""
        tolerance = self.directions.tolerance
        met = all(bound.within_tolerance(tolerance, LEAST) for bound in _bounds(result))
        return ConvertedAnswer({}, result, Method(proof, met, notes=notes))

    def dp(self) -> list[ConvertedAnswer]:
        """Answer as `compose` does, with what conversions of a curve say that is all there is."""
        alone = lone_selection(self.tree) is not None
        curves = any(part.upper.curves for part in self.directions.parts.values())
        found = []
        for answer in self._composed(self.question.epsilons):
            result: dict[str, Value] = {answer.quantity: answer.proved}
            if curves and not alone:
                result["methods"] = {
                    name: self.directions.largest(partial(_renyi, answer=answer, conversion=name))
                    for name in CONVERSIONS
                }
            found.append(ConvertedAnswer(answer.query, result, answer.method, answer.directions))
        return found

    def profile(self) -> list[ConvertedAnswer]:
        """Answer delta at the epsilons, or at points that are spread over where it matters."""
        points = self.question.points
        epsilons = self.question.epsilons or profile_points(self.directions, points)
        bounds, method = self.directions.profile(epsilons)
        return [ConvertedAnswer({}, {"epsilon": tuple(epsilons), "delta": tuple(bounds)}, method)]

    def rdp(self) -> list[ConvertedAnswer]:
        """Answer the Renyi divergence at each order."""
        orders = self.question.orders
        bounds = tuple(self.directions.renyi(orders))
        return [self._curve({"orders": orders, "renyi_epsilon": bounds}, Proof.RENYI)]

    def zcdp(self) -> list[ConvertedAnswer]:
        """Answer the smallest rho, and where that is infinite a rho up to some order."""
        from privcalc.renyi.concentrated import smallest_rho

        parts = {name: part.for_divergences for name, part in self.directions.parts.items()}
        found = smallest_rho(parts, self.directions.tolerance)
        answer = self._curve({"rho": found.rho}, Proof.RENYI)
        if found.truncated is None:
            _refuse_unknown(found.rho, "rho")
            return [answer]
        rho, omega = found.truncated
        more: dict[str, Value] = {"truncated_rho": Bound(rho), "omega": omega}
        return [replace(answer, result=answer.result | more)]

    def tcdp(self) -> list[ConvertedAnswer]:
        """Answer the smallest rho up to an order."""
        from privcalc.renyi.concentrated import smallest_rho_up_to

        parts = {name: part.for_divergences for name, part in self.directions.parts.items()}
        found = smallest_rho_up_to(parts, self.question.omega, self.directions.tolerance)
        _refuse_unknown(found.rho, "rho")
        answer = self._curve({"rho": found.rho}, Proof.RENYI)
        return [replace(answer, result={**answer.result, "omega": self.question.omega})]

    def gdp(self) -> list[ConvertedAnswer]:
        """Answer the smallest mu that holds everywhere, and the mu matched at each delta."""
        from privcalc.tradeoff.mu import mu_at, smallest_mu

        parts = {name: part.for_divergences for name, part in self.directions.parts.items()}
        smallest = smallest_mu(parts, self.directions.tolerance, self.directions.engine)
        _refuse_unknown(smallest.mu, "mu")
        found = [self._curve({"mu": smallest.mu}, smallest.proof)]
        for answer in self._composed() if self.question.deltas else ():
            bound, delta = answer.proved, answer.query["delta"]
            if math.isinf(bound.upper):
                raise NotCertifiedError(f"epsilon at delta {delta!r} is infinite: no mu matches it")
            if bound.upper == 0.0 or delta == 0.0:
                raise NotCertifiedError(
                    f"no single mu has epsilon {bound.upper!r} at delta {delta!r}; ask"
                    " for a smaller delta above 0"
                )
            upper = mu_at(bound.upper, Bound(delta, delta)).upper
            lower = None if bound.lower is None else mu_at(bound.lower, Bound(delta, delta)).lower
            matched: dict[str, Value] = {"matched_mu": Bound(upper, lower), "epsilon": bound}
            found.append(ConvertedAnswer(answer.query, matched, answer.method))
        return found

    def tradeoff(self) -> list[ConvertedAnswer]:
        """Answer the smallest type II error at each type I error."""
        from privcalc.tradeoff.function import trade_off

        alphas = self.question.false_positive_rates or error_rates(self.question.points)
        asked = self.directions
        found = trade_off(asked.parts, alphas, asked.tolerance, engine=asked.engine)
        result: dict[str, Value] = {"alpha": tuple(alphas), "beta": tuple(found.worst.beta)}
        return [self._curve(result, found.worst.proof, found.worst.notes)]

    def risk(self) -> list[ConvertedAnswer]:
        """Bracket what attacks achieve at most; see `tradeoff/function.py` for the numbers.

        A reconstruction succeeds as often as a test whose false positives are as frequent as a
        guess without the output is right.
        """
        from privcalc.tradeoff.function import bayes_success, trade_off

        asked = self.directions
        tolerance, engine = asked.tolerance, asked.engine
        deltas = {id(part): delta_of(part, tolerance, engine) for part in asked.parts.values()}
        pairs = [(deltas[id(present)], deltas[id(absent)]) for present, absent in asked.pairs]
        rates = self.question.false_positive_rates or DEFAULT_RATES
        priors = self.question.priors or DEFAULT_PRIORS
        # The total variation (Yeom et al. 2018, Definition 4).
        advantage = reduce(Bound.maximum, [present(0.0) for present, _ in pairs])
        curve = trade_off(asked.parts, rates, tolerance, engine=engine)
        # Rare records are asked last: there delta is far below what it adds to the chance, and may
        # take all work that is left.
        found = {
            prior: reduce(Bound.maximum, [bayes_success(*pair, prior) for pair in pairs])
            for prior in sorted(priors, key=lambda each: abs(each - 0.5))
        }
        guesses = [found[prior] for prior in priors]
        result: dict[str, Value] = {
            "advantage": advantage,
            "tpr_at_fpr": _table("fpr", rates, "tpr", curve.worst.power),
            "bayes_success": _table("prior", priors, "success", guesses),
            "reconstruction": _table("baseline", rates, "success", curve.worst.power),
        }
        return [self._curve(result, curve.worst.proof, curve.worst.notes)]


def _table(
    given: str, places: Sequence[float], name: str, bounds: Sequence[Bound]
) -> tuple[Row, ...]:
    return tuple({given: at, name: bound} for at, bound in zip(places, bounds, strict=True))


def delta_of(part: Realized, tolerance: float, engine: str) -> Callable[[float], Bound]:
    """Return what brackets delta of one direction at one epsilon after another."""
    from privcalc.engine.profile import PrivacyProfile

    part = part.for_values
    above, lower = PrivacyProfile(part.upper, tolerance, engine=engine), part.lower
    below = None if lower is None else above
    if lower is not None and lower is not part.upper:
        below = PrivacyProfile(lower, tolerance, engine=engine)

    @cache
    def solved(epsilon: float) -> Bound:
        (found,) = above.brackets([epsilon])
        if below is above:
            return found.bound
        lower = None if below is None else below.brackets([epsilon])[0].bound.lower
        return Bound(found.bound.upper, lower)

    return solved


def _refuse_unknown(bound: Bound, name: str) -> None:
    """Refuse an infinite upper end where it is the bound that is infinite, and not the number."""
    if math.isinf(bound.upper) and bound.lower is None:
        refusal = NotCertifiedError(f"no finite {name} is proved: only an upper bound is known")
        if name == "mu":
            refusal.hint = "a Renyi curve proves no mu here; --to dp --delta D asks for epsilon"
        raise refusal


def _renyi(part: Realized, answer: Answer, conversion: str) -> float:
    """Return what one conversion proves from the curve; infinity, or 1, where that is nothing."""
    from privcalc.numerics.rounding import exp_bound
    from privcalc.renyi.best_order import curve_epsilon, curve_log_delta

    composition = part.upper
    curve, mass = composition.renyi_curve(), composition.infinity_mass().upper
    try:
        if answer.quantity == "epsilon":
            delta = answer.query["delta"] - mass
            if not 0.0 < delta < 1.0:
                return math.inf if delta <= 0.0 else 0.0
            return curve_epsilon(curve, delta, conversion, infinite_mass=mass).value
        epsilon = answer.query["epsilon"]
        found = curve_log_delta(curve, epsilon, conversion, infinite_mass=mass)
    except NotCertifiedError:
        return math.inf if answer.quantity == "epsilon" else 1.0
    # exp_bound is never 0, however small delta is.
    return min(1.0, (exp_bound(found.value) + mass) * (1.0 + 1e-14))


def _along(chain: NeighbourChain, question: ConversionQuery) -> tuple[ConvertedAnswer, ...]:
    """Answer from a chain of neighbours: upper ends only."""
    method = Method(Proof.CLOSED_FORM, tolerance_met=False, notes=(f"chain: {chain.words}",))
    if question.to == "profile":
        epsilons = question.epsilons or tuple(0.5 * i for i in range(question.points))
        deltas = {epsilon: chain.delta(epsilon) for epsilon in sorted(epsilons)}
        least = dict(zip(deltas, accumulate(deltas.values(), min), strict=True))
        bounds = tuple(Bound(least[epsilon]) for epsilon in epsilons)
        return (ConvertedAnswer({}, {"epsilon": epsilons, "delta": bounds}, method),)
    found = []
    for delta in question.deltas:
        epsilon = chain.epsilon(delta)
        if math.isinf(epsilon):
            raise NotCertifiedError(f"the chain of neighbours proves no epsilon at delta {delta!r}")
        found.append(ConvertedAnswer({"delta": delta}, {"epsilon": Bound(epsilon)}, method))
    for epsilon in question.epsilons:
        bound = Bound(chain.delta(epsilon))
        found.append(ConvertedAnswer({"epsilon": epsilon}, {"delta": bound}, method))
    return tuple(found)


def check_question(tree: Node, question: ConversionQuery, tolerance: float) -> None:
    """Refuse a question that lacks what its target needs, or a number out of range."""
    if holes(tree):
        raise UsageError("convert needs every value; calibrate finds a free parameter")
    if question.to not in TARGETS:
        raise UsageError(f"a target is one of {', '.join(TARGETS)}, got {question.to}")
    if question.to == "dp" and not (question.deltas or question.epsilons):
        raise UsageError("dp needs the delta or the epsilon at which it is asked")
    rates = (*question.deltas, *question.false_positive_rates)
    probability = (0.0, 1.0, "between 0 and 1")
    ranges: tuple[tuple[str, tuple[float, ...], tuple[float, float, str]], ...] = (
        ("an order", question.orders, (ABOVE_ONE, LARGEST_ORDER, "> 1 and at most 1000000")),
        ("a delta or error rate", rates, probability),
        ("a prior", question.priors, probability),
        ("an epsilon", question.epsilons, (0.0, LARGEST, ">= 0 and finite")),
        ("the number of points", (question.points,), (2, MOST_POINTS, f"2 to {MOST_POINTS}")),
        ("the size of a group", (question.records,), (1, LARGEST, "at least 1")),
        ("a tolerance", (tolerance,), (TINY, BELOW_ONE, "> 0 and < 1")),
    )
    for name, values, (low, high, words) in ranges:
        for value in values:
            if not low <= value <= high:
                raise DomainError(f"{name} must be {words}, got {shown(value)}")


@allowance(QUESTION)
def on_data(
    tree: Node,
    files: str | Sequence[str],
    question: ConversionQuery,
    *,
    relation: Relation | None = None,
    tolerance: float = TOLERANCE,
) -> Conversion:
    """State what the uses of mechanisms cost on the data that files describe: no guarantee.

    What one data set and its neighbours cost depends on the data: publishing it, or choosing by it
    what to publish, reveals something. So it stands by itself, and is part of no total.

    Each use costs no more than it does for the neighbours that are worst for it, whichever these
    are for others, so that the curves of all uses add up, of all mechanisms.

    Args:
        tree: one mechanism or a sum, without count or wrapper: a file has a line for each use.
        files: one for all mechanisms, such as the same votes, or one for each in their order.
        question: to dp or rdp.
        relation: the neighbouring relation; None for the default.
        tolerance: target relative width.

    Raises:
        DomainError: a file is none of its kind.
        UnsupportedError: a part is no mechanism alone, or its cost is not known.
        UsageError: the question is another, or there are too few files or too many.
        NotCertifiedError: no finite upper end could be proved.
    """
    check_question(tree, question, tolerance)
    if question.to not in ("dp", "rdp") or question.records != 1:
        raise UsageError("--data-dependent goes with --to dp and --to rdp, and with no --group")
    mechanisms = [_leaf(each) for each in (tree.events if isinstance(tree, Composed) else (tree,))]
    relation = relation or default_relation(tree)
    registry.check_relation(tree, relation)
    read = (files,) if isinstance(files, str) else tuple(files)
    if len(read) not in (1, len(mechanisms)):
        raise UsageError(
            f"--data-dependent takes one file for all mechanisms, or one for each: {len(read)} for"
            f" {len(mechanisms)}"
        )
    read *= len(mechanisms) if len(read) == 1 else 1
    built = [cast("Mechanism", registry.build(each)) for each in mechanisms]
    parts = {
        adjacency.value: [
            term
            for each, file in zip(built, read, strict=True)
            for term in each.on_data(file, adjacency)
        ]
        for adjacency in relation.adjacencies
    }
    directions = Directions(Realized.directions(parts), tolerance)
    found: list[ConvertedAnswer] = []
    if question.to == "rdp":
        bounds = tuple(directions.renyi(question.orders))
        met = all(bound.within_tolerance(tolerance, 1e-300) for bound in bounds)
        values: dict[str, Value] = {"orders": question.orders, "renyi_epsilon": bounds}
        found.append(ConvertedAnswer({}, values, Method(Proof.RENYI, met)))
    else:
        answers = [directions.answer("epsilon", delta) for delta in question.deltas]
        answers += [directions.answer("delta", epsilon) for epsilon in question.epsilons]
        for answer in answers:
            result: dict[str, Value] = {answer.quantity: answer.proved}
            found.append(ConvertedAnswer(answer.query, result, answer.method, answer.directions))
    kind = lossless(found) if directions.known else UPPER
    return Conversion(tree, relation, kind, tuple(found))


def _leaf(tree: Node) -> Leaf:
    """Return a part as the mechanism that it is, of which it is known what it costs."""
    if not isinstance(tree, Leaf):
        raise UnsupportedError(
            "--data-dependent takes one mechanism or a sum of several, with no count and no"
            " sampling: the file has a line for each use"
        )
    known = {each.name: each for each in registry.mechanisms() if "on_data" in vars(each.factory)}
    if tree.name not in known:
        *others, last = [each.spelling for each in known.values()]
        raise UnsupportedError(
            f"what {registry.entry(tree.name).spelling} costs on the data at hand is not known;"
            f" --data-dependent takes {', '.join(others)} or {last}, and a file for it"
        )
    return tree
