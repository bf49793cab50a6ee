"""Budget checks: three verdicts, their words and their exit statuses."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from privcalc.bounds import Bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome
    from tests.fake_accounting import FakeAccounting

CHECK = ("compose", "gaussian:sigma=2", "--delta", "1e-5", "--max-epsilon")


@pytest.mark.parametrize(
    ("budget", "status", "verdict", "sentence"),
    [
        ("2.5", 0, "within", "within budget: epsilon <= 2.5 at delta 1e-5, budget 2.5"),
        ("2", 1, "exceeded", "over budget: epsilon >= 2.25 at delta 1e-5, budget 2"),
        (
            "2.4",
            1,
            "undecided",
            (
                "undecided: epsilon is in [2.25, 2.5] at delta 1e-5, budget 2.4; "
                "a narrower bracket would settle it: --tolerance 1e-4"
            ),
        ),
    ],
)
def test_verdict(
    budget: str,
    status: int,
    verdict: str,
    sentence: str,
    *,
    run: Callable[..., Outcome],
    accounting: FakeAccounting,
) -> None:
    """The verdict is the last line of the table, a key of JSON, and the exit status."""
    assert accounting.calls == []
    table = run(*CHECK, budget)
    assert table.status == status
    assert table.stdout.splitlines()[-1] == sentence
    assert table.stderr == ""
    printed = run(*CHECK, budget, "--json")
    assert printed.status == status
    assert json.loads(printed.stdout)["check"] == {
        "max_epsilon": float(budget),
        "verdict": verdict,
    }
    assert printed.stderr == ("" if status == 0 else f"privcalc: {sentence}\n")
    assert run(*CHECK, budget, "-q").status == status


def test_one_failure_among_several_answers_fails(
    run: Callable[..., Outcome], accounting: FakeAccounting
) -> None:
    """Both budgets are checked, each against its own quantity."""
    accounting.bound = Bound(0.5, 0.25)
    arguments = ("compose", "gaussian:sigma=2", "--delta", "1e-5", "--epsilon", "1")
    assert run(*arguments, "--max-epsilon", "1").status == 0
    outcome = run(*arguments, "--max-epsilon", "1", "--max-delta", "0.1")
    assert outcome.status == 1
    assert outcome.stdout.splitlines()[-2:] == [
        "within budget: epsilon <= 0.5 at delta 1e-5, budget 1",
        "over budget: delta >= 0.25 at epsilon 1, budget 0.1",
    ]


def test_where_no_narrower_bracket_is_to_be_had_it_names_the_budget(
    run: Callable[..., Outcome], accounting: FakeAccounting
) -> None:
    """A narrower tolerance does not help where the present one is not met."""
    accounting.tolerance_met = False
    line = run(*CHECK, "2.4").stdout.splitlines()[-1]
    assert line.endswith("no engine proves a narrower bracket; a budget of 2.5 would be satisfied")


@pytest.mark.parametrize(
    ("bound", "budget", "sign"),
    [
        (Bound(2.00000000019, 2.00000000018), 2.0000000001, ">="),
        (Bound(2.00000000011, 2.0000000001), 2.00000000012, "<="),
        (Bound(0.0036327152450009387), 0.003632715245000939, "<="),
    ],
)
def test_printed_end_proves_the_verdict(
    bound: Bound, budget: float, sign: str, run: Callable[..., Outcome], accounting: FakeAccounting
) -> None:
    """Where ten digits would hide the difference, the end is printed in full, as it is read."""
    accounting.bound = bound
    said = run(*CHECK, repr(budget)).stdout.splitlines()[-1].split(f"epsilon {sign} ")[1]
    end = Fraction(said.split()[0])
    if sign == "<=":
        assert Fraction(bound.upper) <= end <= Fraction(repr(budget))
    else:
        assert Fraction(repr(budget)) < end <= Fraction(bound.lower or 0)
