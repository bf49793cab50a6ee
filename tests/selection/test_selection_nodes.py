"""A selection as a part of a specification: no worse than the command, alone and in sums."""

from __future__ import annotations

import math

import pytest

from privcalc.accounting.compose import compose
from privcalc.accounting.convert import ConversionQuery, convert
from privcalc.accounting.realize import realize
from privcalc.accounting.select import Selected, select
from privcalc.bounds import Bound
from privcalc.commands.select import read_runs
from privcalc.engine.planner import certified_epsilon
from privcalc.errors import DisagreementError
from privcalc.relation import Relation
from privcalc.selection.worst_order import WorstOrder
from privcalc.spec.parse import parse

# Specification, delta, and what another method or an earlier version of ours proves of it.
KNOWN = (
    ("rdp:order=8,epsilon=0.2", "poisson,mean=5", 1e-6, 2.3606),
    ("laplace:scale=10", "poisson,mean=100", 1e-3, 0.74),
    ("gaussian:sigma=4", "poisson,mean=30", 1e-6, 3.5142),
    ("gaussian:sigma=4", "geometric,mean=30", 1e-6, 1.7887),
    ("zcdp:rho=0.1", "geometric,mean=10", 1e-6, 3.2297),
    ("pure:epsilon=0.5", "geometric,mean=10", 0.0, 1.312548),
    ("rr:p=0.4", "binomial,n=5,mean=2", 0.01, 3.0),
)
# Deltas far from those at which the bound is prepared, with prices and without, and what the law is
# above the method there.
BETWEEN = (
    ("rr:p=0.465", "binomial,n=39,p=0.94", 6.4e-9, 0.09),
    ("gaussian:sigma=0.99", "geometric,mean=1.017", 0.02, 2e-3),
    ("gaussian:sigma=2", "poisson,mean=100", 0.0456, 0.02),
    ("gaussian:sigma=0.41", "logarithmic,mean=1.21", 0.004, 2e-3),
)
# What a law of points may be above the methods, relatively and absolutely.
ROOM, LITTLE = 1e-3, 1e-4


def node(base: str, runs: str) -> str:
    """Write a selection."""
    return f"{base}@select:runs={runs}" if "+" not in base else f"({base})@select:runs={runs}"


def asked(base: str, runs: str, delta: float) -> Selected:
    """Return what the command answers."""
    family, _, rest = runs.partition(",")
    [answer] = select(parse(base).tree, read_runs(f"{family}:{rest}"), deltas=[delta]).answers
    return answer


def composed(text: str, delta: float) -> Bound:
    """Return the bracket of epsilon."""
    [answer] = compose(parse(text).tree, deltas=[delta]).answers
    assert answer.bound is not None
    return answer.bound


class TestAlone:
    @pytest.mark.slow
    @pytest.mark.few(2)
    @pytest.mark.parametrize(
        ("base", "runs", "delta", "proved"),
        # Of bases that are known by a curve, of those with few outcomes and of Gaussians, one.
        [
            pytest.param(*row, marks=[pytest.mark.slow] * (i in (2, 4, 6)))
            for i, row in enumerate(KNOWN)
        ],
    )
    def test_it_is_the_command(self, base: str, runs: str, delta: float, proved: float) -> None:
        """Both ends, in compose and convert, of epsilon and delta; and no worse than known."""
        command = asked(base, runs, delta).bound
        assert command.upper <= proved
        tree = parse(node(base, runs)).tree
        assert composed(node(base, runs), delta) == command
        [converted] = convert(tree, ConversionQuery(to="dp", deltas=(delta,))).answers
        assert converted.result["epsilon"] == command
        family, _, rest = runs.partition(",")
        [back] = select(
            parse(base).tree, read_runs(f"{family}:{rest}"), epsilons=[command.upper]
        ).answers
        [again] = compose(tree, epsilons=[command.upper]).answers
        assert again.bound == back.bound
        assert again.bound is not None
        assert (again.bound.lower or 0.0) <= max(delta, again.bound.upper)

    def test_there_is_a_lower_end(self) -> None:
        """Of Poisson numbers of runs, too."""
        bound = composed(node("gaussian:sigma=4", "poisson,mean=30"), 1e-6)
        assert bound.lower is not None
        assert 3.46 < bound.lower <= bound.upper

    @pytest.mark.slow
    def test_spellings(self) -> None:
        """A count of 1 and parentheses change nothing; a group of results is a result of groups."""
        text = node("gaussian:sigma=4", "geometric,mean=30")
        assert composed(f"({text})@1", 1e-6) == composed(text, 1e-6)
        # Two records are one of a Gaussian with half of the noise.
        assert composed(f"{text}@group:k=2", 1e-6) == composed(
            node("gaussian:sigma=2", "geometric,mean=30"), 1e-6
        )

    def test_ends_that_exclude_each_other(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A lower end above an upper one is an error, and is not hidden."""
        monkeypatch.setattr(WorstOrder, "delta_lower", lambda *_: 0.999)
        with pytest.raises(DisagreementError, match="an order of results costs"):
            compose(parse(node("gaussian:sigma=4", "geometric,mean=3")).tree, epsilons=[1.0])


class TestInSums:
    @pytest.mark.few(1)
    @pytest.mark.parametrize(
        ("base", "runs", "delta", "proved"),
        # What takes a second and more, beside the others.
        [
            pytest.param(*row, marks=[pytest.mark.slow] * (i in (0, 1, 2, 4, 5)))
            for i, row in enumerate(KNOWN)
        ],
    )
    def test_the_law_is_no_worse(self, base: str, runs: str, delta: float, proved: float) -> None:
        """The law that sums are made of is about as good as the best method."""
        delta = delta or 1e-9
        del proved
        best = min(asked(base, runs, delta).methods.values())
        assert law_alone(node(base, runs), delta) <= best * (1.0 + ROOM) + LITTLE

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("base", "runs", "delta", "room"),
        [pytest.param(*row, marks=[pytest.mark.slow] * (i != 3)) for i, row in enumerate(BETWEEN)],
    )
    def test_between_prepared_deltas(self, base: str, runs: str, delta: float, room: float) -> None:
        """The bound is about as good as where it was prepared."""
        best = min(asked(base, runs, delta).methods.values())
        assert law_alone(node(base, runs), delta) <= best * (1.0 + room)

    @pytest.mark.few(1)
    @pytest.mark.parametrize("row", [pytest.param(2, marks=pytest.mark.slow), 3])
    def test_next_to_nothing_costs_nothing(self, row: int) -> None:
        """Another release can only add."""
        base, runs, delta, _ = KNOWN[row]
        alone = composed(node(base, runs), delta)
        both = composed(f"{node(base, runs)}+laplace:scale=1e4", delta).upper
        assert (alone.lower or 0.0) <= both <= (alone.upper + 1e-4) * (1.0 + ROOM) + LITTLE

    @pytest.mark.slow
    def test_laplace_in_renyi_divergences(self) -> None:
        """With a mean of 1, at the order where e = 1 + 1/c, it costs what one run does."""
        order = 1.0 + 1.0 / (math.e - 1.0)
        [answer] = convert(
            parse(node("laplace:scale=1", "poisson,mean=1")).tree,
            ConversionQuery(to="rdp", orders=(order,)),
        ).answers
        # Mironov 2017, Proposition 6.
        c = order - 1.0
        one = (
            math.log(
                order / (2.0 * order - 1.0) * math.exp(c)
                + c / (2.0 * order - 1.0) * math.exp(-order)
            )
            / c
        )
        assert one == pytest.approx(0.53285, abs=1e-5)
        found = answer.result["renyi_epsilon"]
        assert isinstance(found, tuple)
        assert isinstance(found[0], Bound)
        assert found[0].upper == pytest.approx(one, rel=1e-6)


def law_alone(text: str, delta: float) -> float:
    """Return epsilon by the law that sums are made of."""
    directions = realize(parse(text).tree, Relation.ADD_OR_REMOVE_ONE)
    return max(
        certified_epsilon(part.upper, delta, 1e-6).bound.upper for part in directions.values()
    )
