"""What `convert` asks of a specification, and its answers as reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import Bound, Proof, round_up
from privcalc.errors import UsageError
from privcalc.record import record, replace
from privcalc.render.words import proof_remarks
from privcalc.reporting import DEFAULT_ORDERS
from privcalc.reporting.questions import explained, relation_in_force
from privcalc.spec.registry import to_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from privcalc.accounting.convert import Conversion, ConversionQuery, ConvertedAnswer, Target
    from privcalc.accounting.directions import Value
    from privcalc.relation import Relation
    from privcalc.render.report import Quantity, Report
    from privcalc.reporting.budget import Budget
    from privcalc.spec.read import Question
    from privcalc.spec.tree import Node

POINTS = 21
FILTER = (
    "epsilon is that of {}, however steps are chosen; fixed_epsilon that of the admitted steps as"
    " a list that was fixed in advance; spent and left are {}"
)
# What adds up in a budget of each kind.
SPENT = {"gdp": "mu^2", "zcdp": "rho", "rdp": "epsilon at the order of the budget"}
NO_GUARANTEE = "data-dependent: no guarantee, and itself sensitive"
# What is said of one number for a whole curve where it is large for that reason.
LARGE = {
    "gdp": "mu holds at every delta, however small; at delta {delta} epsilon is at most {epsilon},"
    " which is that of mu = {other}",
    "zcdp": "rho holds at every Renyi order, however large; at delta {delta} epsilon is at most"
    " {epsilon}, where rho alone proves {other}",
}
YEOM, DONG = "Yeom et al. 2018", "Dong, Roth, Su 2022"
GUESSING = (
    "without the output, it is the baseline; Hayes, Mahloujifar, Balle 2023; Kulynych et al. 2025"
)
# What each column means, and where it is from, by the target.
COLUMNS: dict[str, tuple[tuple[str, str], ...]] = {
    "risk": (
        ("advantage", f"largest tpr less fpr of a membership attack ({YEOM})"),
        ("tpr", f"largest true positive rate of an attack with that false positive rate ({DONG})"),
        (
            "success by prior",
            "largest chance of a right guess if the record is there with this chance",
        ),
        ("success by baseline", f"largest chance of guessing a secret of a record ({GUESSING})"),
    ),
    "tradeoff": (
        ("alpha", "false positive rate of an attack that says whether a record is there"),
        ("beta", "least false negative rate of such attacks; a large one is private"),
    ),
    "rdp": (("renyi_epsilon", "Renyi divergence of that order between neighbouring data sets"),),
    "zcdp": (("rho", "the Renyi divergence of every order is at most rho times the order"),),
    "gdp": (("mu", "no attack does better than one that tells N(mu, 1) from N(0, 1)"),),
}
# The columns of a guarantee that is known by its Renyi curve only.
CONVERTED = (
    ("classic", "the same upper bound by Mironov 2017"),
    ("balle", "the same upper bound by Balle et al. 2020"),
    ("trade_off", "the same upper bound by the trade-off function of the best order"),
)
# Which options say something to which target.
USES: dict[str, set[str]] = {
    "dp": {"--delta", "--epsilon", "--max-epsilon", "--max-delta"},
    "profile": {"--epsilon", "--points"},
    "rdp": {"--orders"},
    "zcdp": {"--max-rho"},
    "gdp": {"--delta", "--max-mu"},
    "tradeoff": {"--fpr", "--points"},
    "risk": {"--fpr", "--prior", "--max-advantage"},
}
TABLES = {"risk": (("advantage",), ("tpr_at_fpr",), ("bayes_success",), ("reconstruction",))}


@record
class Converting:
    """What is asked of every specification of one invocation."""

    to: Target
    relation: Relation | None
    tolerance: float
    engine: str
    deltas: tuple[float, ...] = ()
    epsilons: tuple[float, ...] = ()
    orders: tuple[float, ...] = ()
    points: int | None = None
    rates: tuple[float, ...] = ()
    priors: tuple[float, ...] = ()
    records: int = 1
    data: tuple[str, ...] = ()
    budget: Node | None = None
    limits: Budget | None = None

    def __call__(self, question: Question) -> list[Report]:
        """Answer one question."""
        from privcalc.accounting import convert as accounting
        from privcalc.accounting.realize import explaining

        asked = accounting.ConversionQuery(
            to=self.to,
            deltas=self.deltas,
            epsilons=self.epsilons,
            orders=self.orders or DEFAULT_ORDERS,
            points=self.points or POINTS,
            alphas=self.rates if self.to == "tradeoff" else (),
            false_positive_rates=self.rates if self.to == "risk" else (),
            priors=self.priors,
            records=self.records,
        )
        with explaining() as seen:
            found = self._found(question, asked)
        # What a group of records costs is another specification.
        written = question.text if found.tree is question.tree else ""
        reports = [self._report(found, each, written) for each in found.answers]
        if self.to in LARGE and self.budget is None and not self.data:
            large = _why_large(found, self.to)
            reports[0] = replace(reports[0], remarks=(*reports[0].remarks, *large))
        return explained(reports, seen, self.engine)

    def _found(self, question: Question, asked: ConversionQuery) -> Conversion:
        """Return what accounting says: to a filter, on data, or of the guarantee."""
        from privcalc.accounting import convert as accounting

        relation = relation_in_force(self.relation, question.relation)
        if self.budget is not None:
            from privcalc.accounting.filters import filtered

            return filtered(
                question.tree, self.budget, asked, relation=relation, tolerance=self.tolerance
            )
        if self.data:
            from privcalc.accounting.convert import on_data

            return on_data(
                question.tree, self.data, asked, relation=relation, tolerance=self.tolerance
            )
        return accounting.convert(
            question.tree,
            asked,
            relation=relation,
            tolerance=self.tolerance,
            engine=self.engine,
        )

    def _report(self, found: Conversion, answer: ConvertedAnswer, written: str) -> Report:
        from privcalc.render.report import Report

        remarks = [("conversion", found.kind), *proof_remarks(answer.method, answer.query)]
        if self.budget is not None:
            budget = to_text(self.budget)
            remarks.append(("filter", FILTER.format(budget, SPENT[budget.partition(":")[0]])))
        if not self.data and self.budget is None:
            remarks += COLUMNS.get(self.to, ())
        methods = answer.result.get("methods")
        if isinstance(methods, dict):
            remarks += [(name, words) for name, words in CONVERTED if name in methods]
        checks = (
            self.limits.check(name, answer.query, value, narrowed=answer.method.tolerance_met)
            for name, value in answer.result.items()
            if self.limits is not None and isinstance(value, Bound)
        )
        return Report(
            command="convert",
            spec=found.tree,
            relation=found.relation,
            sampling=found.sampling,
            query=answer.query,
            result={name: _quantity(name, value) for name, value in answer.result.items()},
            method=replace(answer.method, kind=found.kind.partition(":")[0]),
            directions=answer.directions,
            check=next((check for check in checks if check is not None), None),
            tables=TABLES.get(self.to, ()),
            remarks=tuple(remarks),
            details=() if self.data else _textbook(found, answer),
            caution=NO_GUARANTEE if self.data else "",
            written=written,
        )


def _why_large(found: Conversion, to: str) -> Iterator[tuple[str, str]]:
    """Yield why a mu or rho is large, where a delta in use asks for less."""
    from privcalc.accounting.convert import at_one_delta
    from privcalc.render.words import written

    known = at_one_delta(found)
    if known is not None:
        epsilon, other = (round_up(value, 4) for value in (known.epsilon, known.other))
        yield (
            "why large",
            LARGE[to].format(delta=written(known.delta), epsilon=epsilon, other=other),
        )


def check_uses(to: str, given: Iterable[str], *, engine: str = "auto") -> None:
    """Refuse options that say nothing to a target, or to one another."""
    given = tuple(given)
    for option in given:
        if option not in USES.get(to, ()):
            takers = " and ".join(f"--to {each}" for each in USES if option in USES[each])
            raise UsageError(f"{option} says nothing to --to {to}; it is for {takers}")
    if "--points" in given and ("--epsilon" in given or "--fpr" in given):
        raise UsageError("--points chooses points; it contradicts a list of them")
    if engine != "auto" and to in ("rdp", "zcdp"):
        raise UsageError(f"--engine says nothing to --to {to}: the Renyi curve answers it")


def _quantity(name: str, value: Value) -> Quantity:
    """Put an answer into the form that reports have."""
    from privcalc.render.report import OneSided

    if name in ("omega", "left") and isinstance(value, float):
        return OneSided(value, is_upper=False)
    if name == "spent" and isinstance(value, float):
        return OneSided(value)
    if isinstance(value, dict):
        return {name: OneSided(number) for name, number in value.items()}
    return [*value] if isinstance(value, tuple) else value


def _textbook(found: Conversion, answer: ConvertedAnswer) -> tuple[str, ...]:
    """Return what textbook formulas say of the same question, for -v."""
    if "delta" not in answer.query or "epsilon" not in answer.result:
        return ()
    from privcalc.accounting.classical import comparisons
    from privcalc.render.words import number

    return tuple(
        f"{each.name}: {number(float(f'{each.epsilon:.12g}'))}, {each.condition}"
        for each in comparisons(found.tree, answer.query["delta"])
    )


@record
class Writing:
    """What is asked of every specification of one invocation."""

    relation: Relation | None

    def __call__(self, question: Question) -> list[Report]:
        """Answer one question."""
        from privcalc.accounting.directions import Method
        from privcalc.accounting.realize import default_relation, sampling_words
        from privcalc.render.report import Report
        from privcalc.spec.events.to_event import event_text
        from privcalc.spec.registry import check_relation

        tree = question.tree
        relation = relation_in_force(self.relation, question.relation) or default_relation(tree)
        check_relation(tree, relation)
        return [
            Report(
                command="convert",
                spec=tree,
                relation=relation,
                sampling=sampling_words(tree),
                query={},
                result={"dp_event": event_text(tree, relation)},
                method=Method(Proof.CLOSED_FORM, tolerance_met=True),
                written=question.text,
            )
        ]
