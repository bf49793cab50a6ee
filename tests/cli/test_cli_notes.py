"""What may be meant otherwise is said: on standard error, in JSON, and never with -q."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from privcalc.spec.registry import mechanisms
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

G = "gaussian:sigma=2,sensitivity=1"
# What is asked for its notes alone costs little to answer.
PURE = "pure:epsilon=0.01"
AT = ("--delta", "1e-5")
EPOCHS = "if the count is one of epochs"
ONE = "see the same sample"
WHOLE = "samples nothing"
LARGE = "is above 1/n"


def note_of(run: Callable[..., Outcome], spec: str, *more: str) -> list[str]:
    """Return the notes on standard error, which JSON has too; and none with -q."""
    asked = ("compose", spec, *(more or AT))
    said = re.findall(r"^privcalc: note: (.*)$", run(*asked, "-t").stderr, re.MULTILINE)
    kept = json.loads(run(*asked, "--json").stdout)
    # Why a bracket is wide is said in the same way.
    said = [each for each in said if each not in kept.get("reasons", [])]
    assert [each for each in said if each not in kept.get("notes", [])] == []
    assert run(*asked, "-q").stderr == ""
    return said


@pytest.mark.parametrize(
    ("spec", "drawn"),
    [
        (f"{G}@poisson:q=256/60000@60", Fraction(256 * 60, 60000)),
        (f"{G}@poisson:q=600/60000@60", Fraction(600 * 60, 60000)),
        (f"{PURE}@wor:n=60000,m=256@2", Fraction(512, 60000)),
        (f"({G}@poisson:q=3/400@7+{G}@poisson:q=5/400)@9", Fraction(9 * (21 + 5), 400)),
        (f"{G}@poisson:q=1/235@470", Fraction(2)),
        (f"{G}@poisson:q=0.01,max=300,n=20000@5", Fraction(1, 20)),
        (f"{G}@poisson:q=3/400@1000@group:k=2", Fraction(3000, 400)),
        (f"{G}@poisson:q=2/7@700000000", Fraction(200_000_000)),
    ],
)
def test_passes_are_those_of_the_samples(
    run: Callable[..., Outcome], spec: str, drawn: Fraction
) -> None:
    """The sampling line has the passes, to three digits; and so has JSON."""
    printed = run("compose", spec, "--delta", "1e-7").stdout
    line = next(each for each in printed.splitlines() if each.startswith("sampling"))
    found = re.search(r": ([0-9.,e-]+) pass(es)?$", line)
    assert found is not None
    value = Fraction(found[1].replace(",", ""))
    assert abs(value - drawn) <= drawn * Fraction(6, 1000)
    assert (found[1] == "1") is (found[2] is None)
    notes = json.loads(run("compose", spec, "--delta", "1e-7", "--json").stdout)["notes"]
    assert any(line.endswith(f"; {each.partition(' over')[0]}") for each in notes)


@pytest.mark.parametrize(
    "spec",
    [
        "gaussian:sigma=2@poisson:q=0.01@60",
        "gaussian:sigma=2@batches:t=10@2",
        "gaussian:sigma=2",
        "max(gaussian:sigma=2@poisson:q=1/7,laplace:scale=2)",
        "gaussian:sigma=2@poisson:q=3/7@poisson:q=1/2",
    ],
)
def test_no_passes_where_no_size_is_written(run: Callable[..., Outcome], spec: str) -> None:
    """A rate alone, a sample of a sample and a part of the data have none."""
    assert not re.search(r": [0-9.,e-]+ pass", run("compose", spec, *AT).stdout)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (f"{PURE}@poisson:q=256/60000@60", EPOCHS),
        (f"{PURE}@wor:n=60000,m=256@60", EPOCHS),
        (f"{PURE}@poisson:q=1/235@60", EPOCHS),
        (f"{PURE}@60@poisson:q=256/60000", ONE),
        (f"{PURE}@60@poisson:q=0.01@100", ONE),
        (f"{PURE}@3@4@wor:n=50000,m=100", ONE),
        (f"{PURE}@poisson:q=0.01@60+{PURE}@poisson:q=1@2", WHOLE),
        (f"{PURE}@wor:n=1000,m=10@160+{PURE}@wor:n=1000,m=1000", WHOLE),
    ],
)
def test_slips_of_sampling_are_noted(run: Callable[..., Outcome], spec: str, words: str) -> None:
    """One note says so."""
    assert [words in each for each in note_of(run, spec)] == [True]


@pytest.mark.parametrize(
    "spec",
    [
        f"{G}@poisson:q=256/60000@235",
        f"{G}@poisson:q=256/60000",
        f"({G}+{G})@poisson:q=256/6000@500",
        f"{G}@poisson:q=1@60",
        f"{G}@poisson:q=0.01@60",
        f"{G}@1@poisson:q=1/10@60",
    ],
)
def test_nothing_is_noted_of_what_is_usual(run: Callable[..., Outcome], spec: str) -> None:
    """A pass, one step, what is sampled together, or no sampling at all."""
    assert note_of(run, spec) == []


@pytest.mark.parametrize(
    ("delta", "noted"), [("1/1000", False), ("0.0010000000000000001", True), ("0.002", True)]
)
def test_a_delta_above_the_share_of_a_record_is_noted(
    run: Callable[..., Outcome], delta: str, *, noted: bool
) -> None:
    """The number is exact: 1/n itself is not above it."""
    for spec in (
        f"{PURE}@wor:n=1000,m=10@100",
        f"{PURE}@poisson:q=7/1000@300",
        "rr:epsilon=1@shuffle:n=1000",
    ):
        said = note_of(run, spec, "--delta", delta)
        assert [LARGE in each for each in said] == [True] * noted


def test_a_note_is_one_line_and_said_once(run: Callable[..., Outcome]) -> None:
    """Lines of standard input that slip in the same way are noted once."""
    lines = f"{G}@poisson:q=256/60000@60\n" * 3
    assert run("compose", "-", *AT, "-t", stdin=lines).stderr.count("\n") == 1


def test_an_answer_with_notes_is_read_again(run: Callable[..., Outcome]) -> None:
    """The next pipe takes what has notes."""
    answer = run("compose", f"{G}@poisson:q=256/60000@60", *AT, "--json").stdout
    assert run("compose", "-", *AT, "-q", stdin=answer).status == 0


def test_neighbours_of_some_mechanisms_have_words_of_their_own(run: Callable[..., Outcome]) -> None:
    """Alone it stands for the words of the relation, in a sum after them."""
    [rr] = [each for each in mechanisms() if each.name == "randomized_response"]
    alone = run("compose", "rr:p=0.75", *AT).stdout
    assert f"add-or-remove-one ({rr.neighbours})\n" in alone
    both = run("compose", "rr:p=0.75+laplace:scale=2", *AT).stdout
    assert f"(one data set has one record more; randomized-response: {rr.neighbours})\n" in both
    # Reports that are shuffled are read under the relation of the shuffle.
    assert rr.neighbours not in run("compose", "rr:p=0.75@shuffle:n=1000", *AT).stdout


def test_theory_is_last_and_cites_no_files(run: Callable[..., Outcome]) -> None:
    """On every page; what stands between parentheses of a docstring is for those who read that."""
    for each in mechanisms():
        page = run("--help-spec", each.spelling).stdout
        assert page.index("\nParameters\n") < page.index("\nExample\n")
        assert "\nExample\n" not in page.partition("\nIn full\n")[2]
        assert not re.search(r"\.py\b|`(losses|selection|engine)/", page)


@pytest.mark.parametrize(
    ("spec", "to", "kind"),
    [
        ("gdp:mu=1", "gdp", "lossless"),
        ("gdp:mu=1@4+gaussian:sigma=2@group:k=2", "gdp", "lossless"),
        ("zcdp:rho=0.1@3", "zcdp", "lossless"),
        ("gdp:mu=1", "zcdp", "lossy"),
        ("laplace:scale=2", "gdp", "lossy"),
        ("gaussian:sigma=1@poisson:q=0.1", "gdp", "lossy"),
        ("zcdp:rho=0.1,xi=0.2", "zcdp", "lossy"),
    ],
)
def test_one_number_loses_nothing_of_its_own_kind(
    run: Callable[..., Outcome], spec: str, to: str, kind: str
) -> None:
    """Sums of squares of mu and sums of rho are all there is of them."""
    found = json.loads(run("convert", spec, "--to", to, "--json").stdout)
    assert found["method"]["kind"] == kind


@pytest.mark.parametrize("gap", [Fraction(1, 10**20), Fraction(-1, 10**20)])
def test_a_sum_next_to_its_budget_is_a_decimal(run: Callable[..., Outcome], gap: Fraction) -> None:
    """And the verdict says by how much; the fraction of a long sum has hundreds of digits."""
    sigmas = [3 + k for k in range(46)]
    rho = sum((Fraction(1, 2 * sigma * sigma) for sigma in sigmas), Fraction(0))
    digits = 10**25
    budget = Fraction(round((rho + gap) * digits), digits)
    spec = "+".join(f"discrete-gaussian:sigma={sigma}" for sigma in sigmas)
    text = f"{budget.numerator * 10**25 // budget.denominator:026d}"
    text = f"{text[:-25]}.{text[-25:]}"
    said = run("convert", spec, "--to", "zcdp", "--max-rho", text).stdout.splitlines()[-1]
    found = re.fullmatch(
        r"(within|over) budget: rho (<=|>=) ([0-9.]+), budget ([0-9.]+); (under|over) by (.*)", said
    )
    assert found is not None, said
    assert (found[1] == "within") is (gap > 0)
    shown = Fraction(found[3])
    assert rho <= shown <= budget if gap > 0 else rho >= shown > budget
    assert abs(Fraction(found[6]) / abs(Fraction(text) - rho) - 1) < Fraction(1, 10)


def test_the_action_is_three_lines_that_ci_runs() -> None:
    """Inputs reach scripts by the environment alone."""
    action = (ROOT / ".github/actions/budget/action.yml").read_text(encoding="utf-8")
    lines = re.findall(r"^ +run: (.*)$", action, re.MULTILINE)
    assert len(lines) == 3
    assert not any("${{" in line for line in lines)
    assert ".github/actions/budget/action.yml" in (ROOT / ".ci/run").read_text(encoding="utf-8")
