"""Digits as they are written: parameters, budgets and deltas of any length are those numbers."""

from __future__ import annotations

import csv
import io
import json
import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

SEED = 5
# Questions whose answer is a rational: the command without the budget, its option, and the answer.
RATIONAL = [
    ("compose pure:epsilon=1 --delta 0", "--max-epsilon", "1"),
    ("compose pure:epsilon=1/3@2 --delta 0", "--max-epsilon", "2/3"),
    ("compose pure:epsilon=0.12345678901234567890123@3 --delta 0", "--max-epsilon", None),
    ("compose laplace:scale=3@7 --delta 0", "--max-epsilon", "7/3"),
    ("compose laplace:scale=10@10+rr:epsilon=0.7 --delta 0", "--max-epsilon", "1.7"),
    ("compose approx:epsilon=1,delta=0.1@2 --epsilon 5", "--max-delta", "0.19"),
    ("convert gaussian:sigma=3 --to gdp", "--max-mu", "1/3"),
    ("convert gaussian:sigma=3@9+gdp:mu=0.75@9 --to gdp", "--max-mu", None),
    ("convert gaussian:sigma=4@3 --to zcdp", "--max-rho", "3/32"),
    ("convert zcdp:rho=0.1@3 --to zcdp", "--max-rho", "0.3"),
    ("convert discrete-gaussian:sigma=10@200 --to zcdp", "--max-rho", "1"),
    ("convert discrete-gaussian:variance=8/3,sensitivity=2@5 --to zcdp", "--max-rho", "15/4"),
    ("convert discrete-gaussian:rho=0.1257281@10 --to zcdp", "--max-rho", "1.257281"),
    ("convert discrete-gaussian:sigma=7@group:k=3 --to zcdp", "--max-rho", "9/98"),
    ("convert gnmax:sigma=10@5 --to zcdp", "--max-rho", "0.05"),
    ("convert gnmax:sigma=3+gaussian:sigma=1/7 --to zcdp", "--max-rho", None),
    ("convert matrix-gaussian:sigma=3,strategy=tree,steps=8 --to zcdp", "--max-rho", "2/9"),
    (
        (
            "convert discrete-gaussian:sigma=10@5+gaussian:sigma=3+zcdp:rho=1/7+gnmax:sigma=3"
            " --to zcdp"
        ),
        "--max-rho",
        None,
    ),
]
# Of those without one above, by hand.
BY_HAND = {
    RATIONAL[2][0]: 3 * Fraction("0.12345678901234567890123"),
    RATIONAL[7][0]: None,
    RATIONAL[15][0]: Fraction(1, 9) + Fraction(49, 2),
    RATIONAL[17][0]: Fraction(5, 200) + Fraction(1, 18) + Fraction(1, 7) + Fraction(1, 9),
}


def result(done: Outcome) -> Any:
    """Return the result of an answer in JSON."""
    return json.loads(done.stdout)["result"]


def budgets(number: Fraction, rng: random.Random) -> list[tuple[str, bool]]:
    """Return budgets of 16 to 40 digits, on both sides of a number, and whether they hold it."""
    found = []
    for _ in range(4):
        digits = rng.randint(16, 40)
        unit = Fraction(10) ** -digits
        steps = number // unit
        for each in (steps - 1, steps, steps + 1):
            value = each * unit
            whole, part = divmod(each, 10**digits)
            found.append((f"{whole}.{part:0{digits}d}", value >= number))
    return found


@pytest.mark.parametrize(("question", "option", "answer"), RATIONAL)
def test_budgets_of_many_digits_are_compared_exactly(
    run: Callable[..., Outcome], question: str, option: str, answer: str | None
) -> None:
    """None passes that is exceeded by any digit, and equality passes."""
    number = Fraction(answer) if answer is not None else BY_HAND[question]
    if number is None:
        # (9 / 9 + 9 * 0.5625)^{1/2}: no rational.
        square = 1 + 9 * Fraction("0.75") ** 2
        assert run(*question.split(), option, "2.4622").status == 1
        assert square > Fraction("2.4622") ** 2
        return
    rng = random.Random(f"{SEED}-{question}")
    assert run(*question.split(), option, str(number)).status == 0
    for budget, holds in rng.sample(budgets(number, rng), 4):
        assert run(*question.split(), option, budget).status == (0 if holds else 1), budget


def test_deltas_are_compared_exactly(run: Callable[..., Outcome]) -> None:
    """A delta next to 1, or to the mass of infinite losses, is on its own side."""
    near = "99.999999999999999999%"
    assert run("compose", "gaussian:sigma=0.05", "--delta", near, "--max-epsilon", "0").status == 1
    spec = "approx:epsilon=1,delta=0.1@2"
    assert run("compose", spec, "--delta", "0.19", "-t").stdout == "2\n"
    assert run("compose", spec, "--delta", f"0.18{'9' * 30}", "-t").stdout == "Infinity\n"


def test_budget_files_are_compared_exactly(run: Callable[..., Outcome], tmp_path: Path) -> None:
    """In TOML, too."""
    file = tmp_path / "privacy.toml"
    for budget, status in (
        ("0.29999999999999999999999", 1),
        ("0.3", 0),
        ("0.30000000000000000001", 0),
    ):
        file.write_text(
            f"[budget]\nepsilon = {budget}\ndelta = 0\n\n"
            '[[mechanism]]\nname = "a"\nspec = "pure:epsilon=0.1@3"\n'
        )
        assert run("compose", "--file", str(file)).status == status, budget


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("discrete-gaussian:sigma=34.854111110078115", "discrete-gaussian:sigma=34.8541111100781"),
        ("discrete-gaussian:variance=2.6666666666666666666667", "discrete-gaussian:variance=8/3"),
        ("staircase:epsilon=1,gamma=0.3333333333333333", "staircase:epsilon=1,gamma=1/3"),
        (
            "noisy-screening:sigma=5.555555555555556,threshold=20,votes=50",
            "noisy-screening:sigma=50/9,threshold=20,votes=50",
        ),
        (
            "thresholded-counts:noise=discrete-gaussian,sigma=2,threshold=8.123456789012345678",
            "thresholded-counts:noise=discrete-gaussian,sigma=2,threshold=9",
        ),
        (
            "gaussian-pair:mean=0,deviation=1.0000000000000001,other_mean=1,other_deviation=1",
            "gaussian:sigma=1",
        ),
        ("gnss:sigma=15.000000000000000001,delta=1e-5", "gnss:sigma=15,delta=1e-5"),
        ("rr:p=0.7500000000000000000001", "rr:p=3/4"),
    ],
)
def test_parameters_of_many_digits_are_read(
    run: Callable[..., Outcome], text: str, near: str
) -> None:
    """They cost what numbers next to them cost; in text and in JSON."""
    ends = []
    for each in (text, near):
        done = run("compose", each, "--delta", "1e-4", "--json")
        assert done.status == 0, done.stderr
        ends.append(result(done)["epsilon"])
        again = run("compose", done.stdout, "--delta", "1e-4", "--json")
        assert result(again)["epsilon"] == ends[-1]
    (first, second) = ends
    assert first["lower"] <= second["upper"] * (1 + 1e-9)
    assert second["lower"] <= first["upper"] * (1 + 1e-9)


def test_counts_that_just_fit(run: Callable[..., Outcome]) -> None:
    """200 uses of rho 0.005 are 1."""
    done = run("calibrate", "discrete-gaussian:sigma=10@_", "--rho", "1", "--json")
    assert result(done)["sufficient"] == 200
    assert result(done)["insufficient"] == 201
    done = run("calibrate", "discrete-gaussian:variance=_@10", "--rho", "1", "--json")
    assert result(done)["sufficient"] == 5


@pytest.mark.parametrize("order", ["2.1", "1.1", "8.3", "2", "7/3", "2.0000000000000000001"])
def test_renyi_at_the_order_that_was_stated(run: Callable[..., Outcome], order: str) -> None:
    """A point of a Renyi curve is known at its order as it was written, and at none beyond."""
    stated = Fraction(order)
    beyond, before = stated + Fraction(1, 10**20), stated - Fraction(1, 10**20)
    orders = f"{order},{before},{beyond}"
    for spec in (f"rdp:order={order},epsilon=0.1", f"rdp:order={order},epsilon=0.02@5"):
        done = run("convert", spec, "--to", "rdp", "--orders", orders, "--json")
        ends = [each["upper"] for each in result(done)["renyi_epsilon"]]
        assert ends == [pytest.approx(0.1, rel=1e-12)] * 2 + ["Infinity"]
        assert all(Fraction(str(end)) >= Fraction(1, 10) for end in ends[:2])
    sampled = run("subsample", spec, "--q", "0.1", "--orders", orders, "--json")
    assert result(sampled)["base"] == [pytest.approx(0.1, rel=1e-12)] * 2 + ["Infinity"]


def test_renyi_orders_of_a_file(
    run: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last order of a file is known beside other mechanisms, too."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "renyi.txt").write_text("2.1 0.1\n3.3 0.2\n", encoding="utf-8")
    spec = "rdp:file=./renyi.txt+gaussian:sigma=2"
    orders = ("2.1", "3.3", "3.30000000000000000001")
    done = run("convert", spec, "--to", "rdp", "--orders", ",".join(orders), "--json")
    ends = [each["upper"] for each in result(done)["renyi_epsilon"]]
    assert ends[2] == "Infinity"
    for end, order, stated in zip(ends, orders, (Fraction(1, 10), Fraction(1, 5)), strict=False):
        exactly = stated + Fraction(order) / 8
        assert exactly <= Fraction(str(end)) <= exactly * (1 + Fraction(1, 10**12))


@pytest.mark.dear("1e6")
@pytest.mark.parametrize("order", ["1.0000000000000002", "2.1", "7/3", "300.7", "1e6"])
def test_renyi_brackets_hold_the_written_order(run: Callable[..., Outcome], order: str) -> None:
    """Brackets hold the divergence at the written order, a / 8 for this noise."""
    done = run("convert", "gaussian:sigma=2", "--to", "rdp", "--orders", order, "--json")
    (bound,) = result(done)["renyi_epsilon"]
    assert Fraction(str(bound["lower"])) <= Fraction(order) / 8 <= Fraction(str(bound["upper"]))
    assert bound["upper"] - bound["lower"] <= 1e-12 * bound["upper"] or order.startswith("1.0")
    at = ("--q", "1/3", "--orders", order)
    assert run("subsample", "gaussian:sigma=2", *at, "--json").status == 0


def test_an_order_that_is_refused_is_named_as_it_was_written(run: Callable[..., Outcome]) -> None:
    """An order above 1 by less than doubles have is shown with its digits."""
    at = ("--orders", "1.0000000000000000001")
    for command in (("convert", "--to", "rdp"), ("subsample", "--q", "0.1")):
        done = run(*command, "gaussian:sigma=2", *at)
        assert done.status == 2
        assert done.stderr.endswith("got 1.0000000000000000001\n")


@pytest.mark.parametrize(
    ("cost", "budget", "status"),
    [
        ("0.3", "0.29999999999999999999999", 1),
        ("0.30000000000000000000000001", "0.3", 1),
        ("1/3", "0.333333333333333333333333333333", 1),
        ("1/3", "1/3", 0),
        ("1/3", "0.333333333333333333333333333334", 0),
        ("2/3", "2/3", 0),
    ],
)
def test_what_is_printed_proves_the_verdict(
    run: Callable[..., Outcome], cost: str, budget: str, status: int
) -> None:
    """The end that is printed is on the side of the budget that the verdict says."""
    ask = ("compose", f"pure:epsilon={cost}", "--delta", "0", "--max-epsilon", budget)
    done = run(*ask, "-t")
    text = run(*ask, "--format", "github").stdout
    assert done.status == status
    words = text.split("epsilon ")[1].split(" at delta")[0]
    sign, end = words.split()
    if status:
        assert sign == ">="
        assert Fraction(budget) < Fraction(end) <= Fraction(cost)
    else:
        assert sign == "<="
        assert Fraction(cost) <= Fraction(end) <= Fraction(budget)
    # A comparison with the double of a budget passes nothing that does not pass here.
    answer = json.loads(run(*ask, "--json").stdout)
    most = answer["check"]["max_epsilon"]
    assert Fraction(str(most)) <= Fraction(budget)
    if status:
        assert answer["result"]["epsilon"]["upper"] > most
    [row] = csv.DictReader(io.StringIO(run(*ask, "--format", "csv").stdout))
    assert float(row["budget"]) == most
