"""The command `convert`: every target in every format, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING, Any

import mpmath
import pytest

from tests.cli.test_cli_schema import objects

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

GAUSSIAN = "gaussian:sigma=1"


def one(run: Callable[..., Outcome], *arguments: str) -> dict[str, Any]:
    """Return the result of the one answer to a question."""
    [found] = objects(run("convert", *arguments, "--json"))
    result: dict[str, Any] = found["result"]
    return result


def test_curves_do_not_tell_everything(run: Callable[..., Outcome]) -> None:
    """A Gaussian and an answer with one Renyi curve: what is true of both is above both."""
    gaussian = one(run, GAUSSIAN, "--delta", "0.3")["epsilon"]
    answer = one(run, f"rr:p={math.e / (1 + math.e)!r}", "--delta", "0.3")["epsilon"]
    assert gaussian["upper"] == pytest.approx(0.276617, abs=5e-7)
    assert answer["upper"] == pytest.approx(0.471750, abs=5e-7)
    [found] = objects(run("convert", "zcdp:rho=0.5", "--delta", "0.3", "--json"))
    assert found["result"]["epsilon"]["upper"] >= 0.471750
    assert "lower" not in found["result"]["epsilon"]
    assert found["method"]["kind"] == "lossy"
    methods = found["result"]["methods"]
    assert methods["classic"] == pytest.approx(2.0518, abs=5e-5)
    assert methods["balle"] == pytest.approx(0.8176, abs=5e-5)
    assert methods["trade_off"] == pytest.approx(0.6466748784, abs=1e-9)


def test_census(run: Callable[..., Outcome]) -> None:
    """At delta 1e-10, rho = 2.56, and with 0.07 more for housing units."""
    found = one(run, "zcdp:rho=2.56", "--delta", "1e-10")
    assert found["epsilon"]["upper"] <= 17.158309
    assert found["methods"]["balle"] == pytest.approx(17.158309, abs=5e-7)
    more = one(run, "zcdp:rho=2.56+zcdp:rho=0.07", "--delta", "1e-10")
    assert more["epsilon"]["upper"] > found["epsilon"]["upper"]


def test_groups(run: Callable[..., Outcome]) -> None:
    """Scaled noise is exact for groups; a bare guarantee follows the chain of neighbours."""
    chained = one(run, "approx:epsilon=0.5,delta=1e-6", "--group", "5", "--epsilon", "2.5")
    assert chained["delta"]["upper"] == pytest.approx(1.7237748268e-5, rel=1e-8)
    chained = one(run, "approx:epsilon=1,delta=1e-6", "--group", "10", "--epsilon", "10")
    assert chained["delta"]["upper"] == pytest.approx(0.0128183081, rel=1e-6)
    # A Gaussian that is (1, 1e-6)-DP, for three records at epsilon 3.
    sigma = "4.224678889"
    exact = one(run, f"gaussian:sigma={sigma}", "--group", "3", "--epsilon", "3")
    assert exact["delta"]["upper"] == pytest.approx(7.7465e-6, rel=1e-4)
    assert exact["delta"]["lower"] == pytest.approx(exact["delta"]["upper"], rel=1e-9)


def test_advantage_of_a_gaussian(run: Callable[..., Outcome]) -> None:
    """2 Phi(mu / 2) - 1 to twelve digits."""
    for sigma in ("0.5", "1", "4", "50"):
        found = one(run, f"gaussian:sigma={sigma}", "--to", "risk")["advantage"]
        true = float(mpmath.erf(1 / mpmath.mpf(sigma) / mpmath.sqrt(8)))
        assert found["lower"] <= true * (1 + 1e-15)
        assert found["upper"] >= true * (1 - 1e-15)
        assert found["upper"] == pytest.approx(true, rel=1e-10)


def test_risks_are_monotone(run: Callable[..., Outcome]) -> None:
    """More noise, less risk; a higher rate of false alarms, more power."""
    last = 2.0
    for sigma in ("0.5", "1", "2"):
        found = one(run, f"gaussian:sigma={sigma}@5", "--to", "risk", "--fpr", "1e-6,0.01,0.5",
                    "--prior", "0,0.01,0.5,0.9,1")  # fmt: skip
        powers = [each["tpr"]["upper"] for each in found["tpr_at_fpr"]]
        assert powers == sorted(powers)
        assert powers[0] < last
        last = powers[0]
        guesses = {each["prior"]: each["success"] for each in found["bayes_success"]}
        assert guesses[0.0]["lower"] == guesses[1.0]["lower"] == 1.0
        assert guesses[0.5]["upper"] == pytest.approx((1 + found["advantage"]["upper"]) / 2)
        assert guesses[0.01]["upper"] >= 0.99


def test_the_kind_says_which_ends_are_proved(run: Callable[..., Outcome]) -> None:
    """A Renyi order proves no lower end, of a pair that is known just as well."""
    for *arguments, words in (
        ("laplace:scale=20@3", "--delta", "1e-5", "both ends proved"),
        ("laplace:scale=20@3", "--delta", "1e-5", "--engine", "rdp", "proved from above"),
        ("gaussian:sigma=1", "--to", "profile", "--epsilon", "0.0,1", "both ends proved"),
        ("gaussian:sigma=1", "--to", "profile", "--epsilon", "1", "--engine", "rdp", "from above"),
    ):
        done = run("convert", *arguments)
        assert f"{words}\n" in done.stdout, done.stdout
        assert "lossless" in done.stdout


def test_every_target_in_every_format(run: Callable[..., Outcome]) -> None:
    """Tables, CSV, Markdown and annotations show what JSON has."""
    for target in ("profile", "rdp", "zcdp", "gdp", "tradeoff", "risk"):
        arguments = ["convert", "laplace:scale=2", "--to", target]
        if target in ("profile", "tradeoff"):
            arguments += ["--points", "6"]
        objects(run(*arguments, "--json"))
        for form in ("table", "markdown", "github"):
            done = run(*arguments, "--format", form)
            assert done.status == 0, done.stderr
            assert done.stdout
        rows = list(csv.DictReader(io.StringIO(run(*arguments, "--format", "csv").stdout)))
        assert rows
        assert all(row["upper"] for row in rows)


@pytest.mark.slow
def test_profile_and_trade_off_agree(run: Callable[..., Outcome]) -> None:
    """delta(epsilon) is the largest 1 - beta - e^epsilon alpha."""
    text = "gaussian:sigma=1.5@poisson:q=0.1@10"
    curve = one(run, text, "--to", "tradeoff", "--points", "60")
    profile = one(run, text, "--to", "profile", "--epsilon", "0,0.5,1,2")
    for epsilon, delta in zip(profile["epsilon"], profile["delta"], strict=True):
        values = [
            1.0 - beta["upper"] - math.exp(epsilon) * alpha
            for alpha, beta in zip(curve["alpha"], curve["beta"], strict=True)
        ]
        assert max(values) <= delta["upper"]
        assert max(values) == pytest.approx(delta["upper"], rel=0.1, abs=1e-5)


def test_terse(run: Callable[..., Outcome]) -> None:
    """One number for a script."""
    assert float(run("convert", GAUSSIAN, "--to", "zcdp", "-t").stdout) == pytest.approx(0.5)
    assert float(run("convert", GAUSSIAN, "--to", "gdp", "-t").stdout) == pytest.approx(1.0)
    assert float(run("convert", GAUSSIAN, "--delta", "1e-5", "-t").stdout) > 4.3


def test_textbook_formulas_under_v(run: Callable[..., Outcome]) -> None:
    """Each with its condition, on standard error only."""
    done = run("convert", "pure:epsilon=0.1@100", "--delta", "1e-6", "-v")
    for value in ("10", "6.30823095051", "5.75610551934", "5.75652176976"):
        assert f": {value}," in done.stderr
    done = run("convert", GAUSSIAN, "--delta", "1e-5", "-v")
    assert "it does not hold here" in done.stderr


@pytest.mark.parametrize(
    "row",
    [
        (10, 0.1, 1e-6, 1.0, 1.7674290544, 1.7122165, 0.9993709, 1.7122581),
        (100, 0.1, 1e-6, 10.0, 6.3082309505, 5.7561055, 4.7745676, 5.7565218),
        (1000, 0.01, 1e-6, 10.0, 1.7627598071, 1.7122577, 1.3654467, 1.7122581),
        (100, 0.5, 1e-6, 50.0, 58.718672384, 38.528542, 33.319788, 38.782609),
        (100, 1.0, 1e-5, 100.0, 219.81344197, 94.196975, 79.841322, 97.985259),
    ],
)
def test_table_of_compositions(
    run: Callable[..., Outcome], row: tuple[int, float, float, float, float, float, float, float]
) -> None:
    """Basic, advanced, its tanh form, the exact composition and zCDP, column by column."""
    count, epsilon, slack, basic, advanced, tanh, exact, concentrated = row
    text = f"pure:epsilon={epsilon!r}@{count}"
    done = run("convert", text, "--delta", repr(slack), "-v", "--json")
    found = json.loads(done.stdout)["result"]["epsilon"]["upper"]
    assert found == pytest.approx(exact, rel=1e-7)
    shown = [
        float(line.split(": ")[1].split(",")[0])
        for line in done.stderr.splitlines()
        if "composition" in line or "zCDP" in line
    ]
    assert shown == pytest.approx([basic, advanced, tanh, concentrated], rel=1e-7)


MIXED = "(gaussian:sigma=2+laplace:scale=3)@poisson:q=0.01@20"


def test_no_curve_between_relations(run: Callable[..., Outcome]) -> None:
    """Of a list to which a little mass at infinity belongs no Renyi divergence is finite."""
    done = run("convert", MIXED, "--relation", "replace-one", "--to", "rdp", "--json")
    assert done.status == 0
    assert "no finite upper end of the Renyi curve is proved" in done.stderr


@pytest.mark.slow
def test_between_relations(run: Callable[..., Outcome]) -> None:
    """Where replacing has no pair it is removing and adding: from above, and said so."""
    [found] = objects(
        run("convert", MIXED, "--relation", "replace-one", "--delta", "1e-5", "--json")
    )
    assert found["method"]["kind"] == "lossy"
    single = one(run, MIXED, "--delta", "1e-5")["epsilon"]
    assert single["upper"] < found["result"]["epsilon"]["upper"] < 3.0 * single["upper"]


@pytest.mark.parametrize("other", ["zcdp:rho=0.1", "gaussian:sigma=2@wor:q=0.1"])
def test_where_all_mass_may_be_at_infinity(other: str, run: Callable[..., Outcome]) -> None:
    """1 - (1 - 1e-3)^1e5 is 1 in doubles: delta is at most 1, and an attack finds all."""
    spec = f"approx:epsilon=0.1,delta=1e-3@100000+{other}"
    assert one(run, spec, "--to", "tradeoff", "--points", "3")["beta"][1]["lower"] == 0.0
    [found] = objects(run("compose", spec, "--epsilon", "1", "--json"))
    assert found["result"]["delta"]["upper"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((GAUSSIAN, "-t"), "-t prints one number"),
        ((GAUSSIAN, "--to", "rdp", "--delta", "1e-5"), "--delta says nothing to --to rdp"),
        ((GAUSSIAN, "--to", "profile", "--epsilon", "1", "--points", "3"), "contradicts"),
        ((GAUSSIAN, "--to", "profile", "--points", "1"), "2 to 10000"),
        ((GAUSSIAN, "--to", "risk", "--prior", "2"), "between 0 and 1"),
        ((GAUSSIAN, "--to", "tradeoff", "-t"), "-t prints one number"),
        ((GAUSSIAN, "--to", "bits"), "bits"),
        (("gaussian:sigma=_", "--to", "zcdp"), "calibrate"),
        ((GAUSSIAN, "--delta", "1e-5", "--group", "0"), "at least 1"),
    ],
)
def test_refusals(arguments: tuple[str, ...], message: str, run: Callable[..., Outcome]) -> None:
    """One line on standard error, nothing printed, status 2."""
    done = run("convert", *arguments)
    assert done.status == 2
    assert done.stdout == ""
    assert message in done.stderr


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("gaussian:sigma=2 --to tradeoff --fpr 0.1", ["alpha", "beta"]),
        ("gaussian:sigma=2 --to gdp", ["mu"]),
        ("gaussian:sigma=2 --to zcdp", ["rho"]),
        ("gaussian:sigma=2 --to rdp --orders 2", ["renyi_epsilon"]),
        (
            "gaussian:sigma=2 --to risk",
            ["advantage", "tpr", "success by prior", "success by baseline"],
        ),
        ("zcdp:rho=0.5 --delta 1e-5", ["classic", "balle", "trade_off"]),
    ],
)
def test_columns_are_explained(run: Callable[..., Outcome], line: str, names: list[str]) -> None:
    """Below the table each column has a line, under the words that stand above the column."""
    printed = run("convert", *line.split()).stdout
    table, below = printed.split("\nconversion", 1)
    found = [row.split("  ")[0] for row in below.splitlines()]
    for name in names:
        assert name in found
        assert all(word in table for word in name.split(" by "))
