"""What the data at hand cost: against all neighbours one by one, labelled, and in no total."""

from __future__ import annotations

import csv
import io
import json
import math
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.accounting.convert import ConversionQuery, on_data
from privcalc.bounds import Bound
from privcalc.errors import UsageError
from privcalc.renyi.votes import VotesCurve
from privcalc.spec.parse import parse
from tests.cli.test_cli_schema import validator
from tests.truths import renyi_divergence, screened

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

CAUTION = "data-dependent: no guarantee, and itself sensitive"


def chances(votes: list[int], sigma: float) -> list[Any]:
    """Return the probability of each class to win."""
    return [
        mp.quad(
            lambda x, n=n, i=i: (
                mp.npdf(x)
                * mp.fprod(
                    mp.ncdf(x + mpf(n - other) / sigma) for j, other in enumerate(votes) if j != i
                )
            ),
            mp.linspace(-9, 9 + mpf(max(votes) - min(votes)) / sigma, 5),
            maxdegree=5,
        )
        for i, n in enumerate(votes)
    ]


@pytest.mark.dear("votes2-4.0")
@pytest.mark.parametrize(
    ("votes", "sigma"),
    [
        ([9, 2], 1.25),
        pytest.param([5, 4, 1], 2.0, marks=pytest.mark.slow),
        ([30, 10, 0], 4.0),
        ([0, 0], 0.5),
    ],
)
def test_votes_cost_what_their_worst_neighbour_costs(votes: list[int], sigma: float) -> None:
    """Every move of a vote, in both orders, by quadrature with other nodes and digits."""
    with mp.workdps(17):
        here = chances(votes, sigma)
        moved = []
        for a, b in permutations(range(len(votes)), 2):
            if votes[a]:
                other = list(votes)
                other[a], other[b] = other[a] - 1, other[b] + 1
                moved.append(chances(other, sigma))
        for order in (1.5, 4.0, 20.0):
            c = np.array([order - 1.0])
            curve = VotesCurve(tuple(sorted(votes, reverse=True)), sigma)
            found = float(curve.upper(c)[0]) / (order - 1.0)
            if not moved:
                assert found == 0.0
                continue
            true = max(
                renyi_divergence(*pair, mpf(order))
                for each in moved
                for pair in ((here, each), (each, here))
            )
            assert true <= found + 1e-12
            assert found <= float(true) + 1e-9


def test_counts_and_local_sensitivities(tmp_path: Path) -> None:
    """The counts next to one; Laplace noise with what the data at hand move."""
    counts = tmp_path / "counts.txt"
    counts.write_text("3\n3 # again\n")
    tree = parse("noisy-screening:sigma=1.5,threshold=2.25,votes=5").tree
    (answer,) = on_data(tree, str(counts), ConversionQuery(to="rdp", orders=(3.0,))).answers
    bounds = answer.result["renyi_epsilon"]
    assert isinstance(bounds, tuple)
    (bound,) = bounds
    assert isinstance(bound, Bound)
    with mp.workdps(30):
        yes = screened("1.5", "2.25", 5)
        true = 2 * max(
            renyi_divergence([yes[s], 1 - yes[s]], [yes[t], 1 - yes[t]], mpf(3))
            for s, t in ((3, 2), (2, 3), (3, 4), (4, 3))
        )
    assert float(true) <= bound.upper <= float(true) * (1 + 1e-9)
    local = tmp_path / "local.txt"
    local.write_text("0.25\n")
    (answer,) = on_data(
        parse("laplace:scale=2").tree, str(local), ConversionQuery(deltas=(1e-5,))
    ).answers
    (same,) = compose(parse("laplace:scale=8").tree, deltas=[1e-5]).answers
    assert answer.result["epsilon"] == same.bound
    # A query that no neighbour changes tells nothing.
    local.write_text("0\n")
    (answer,) = on_data(
        parse("laplace:scale=2").tree, str(local), ConversionQuery(deltas=(0.0,))
    ).answers
    assert answer.result["epsilon"] == Bound(0.0, 0.0, Fraction(0))


@pytest.mark.slow
def test_confident_aggregation_adds_up(tmp_path: Path) -> None:
    """A screening and the votes of the same queries: no less than any neighbour, no more than all.

    Order 3 of two queries with two classes, by quadrature; a neighbour moves one vote in each.
    """
    queries = ([6, 2], [4, 4])
    (tmp_path / "votes.txt").write_text("6 2\n4 4\n")
    (tmp_path / "counts.txt").write_text("6\n4\n")
    text = "noisy-screening:sigma=1.5,threshold=4.5,votes=8+gnmax:sigma=2"
    question = ConversionQuery(to="rdp", orders=(3.0,))

    def total(files: str | list[str], spec: str = text) -> float:
        (answer,) = on_data(parse(spec).tree, files, question).answers
        bounds = answer.result["renyi_epsilon"]
        assert isinstance(bounds, tuple)
        assert isinstance(bounds[0], Bound)
        return bounds[0].upper

    votes, counts = str(tmp_path / "votes.txt"), str(tmp_path / "counts.txt")
    found = total(votes)
    assert found == total([counts, votes]) == total([votes])
    screening, _, answering = text.partition("+")
    alone = total(votes, screening) + total(votes, answering)
    assert found == pytest.approx(alone, rel=1e-12)
    with mp.workdps(17):

        def passed(count: int) -> list[Any]:
            yes = mp.ncdf((count - mpf("4.5")) / mpf("1.5"))
            return [yes, 1 - yes]

        def outcomes(query: list[int]) -> tuple[list[Any], list[Any]]:
            return passed(max(query)), chances(query, 2.0)

        worst, most = mpf(0), mpf(0)
        for query in queries:
            here = outcomes(query)
            there = [outcomes([query[0] + s, query[1] - s]) for s in (1, -1)]
            sums = [
                [renyi_divergence(a, b, mpf(3)) for a, b in zip(*pair, strict=True)]
                for other in there
                for pair in ((here, other), (other, here))
            ]
            worst += max(screen + vote for screen, vote in sums)
            # Of counts it is not known that no vote lowers the larger of two equal ones.
            near = [passed(max(query) + s) for s in (1, -1)]
            pairs = [pair for other in near for pair in ((here[0], other), (other, here[0]))]
            most += max(renyi_divergence(a, b, mpf(3)) for a, b in pairs)
            most += max(vote for _, vote in sums)
    assert worst <= found + 1e-9
    assert found <= float(most) * (1 + 1e-7)


def test_several_mechanisms_on_the_command_line(
    run: Callable[..., Outcome], votes: str, tmp_path: Path
) -> None:
    """One file for all, or one for each; anything else is refused."""
    local = tmp_path / "local.txt"
    local.write_text("0.5\n1\n")
    spec = "noisy-screening:sigma=12,threshold=22,votes=40+gnmax:sigma=10+laplace:scale=20"
    asked = ("convert", spec, "--delta", "1e-5", "--json")
    each = (word for file in (votes, votes, str(local)) for word in ("--data-dependent", file))
    done = run(*asked, *each)
    assert done.status == 0, done.stderr
    found = json.loads(done.stdout)
    validator("result").validate(found)
    assert found["caution"] == CAUTION
    upper = found["result"]["epsilon"]["upper"]
    less = run("convert", spec.rpartition("+")[0], "--delta", "1e-5", "--json",
               "--data-dependent", votes)  # fmt: skip
    assert json.loads(less.stdout)["result"]["epsilon"]["upper"] < upper
    for files, message in (
        ((votes, votes), "one file for all mechanisms, or one for each: 2 for 3"),
        ((votes,), "expected one local sensitivity, at least 0"),
    ):
        words = (word for file in files for word in ("--data-dependent", file))
        refused = run(*asked, *words)
        assert (refused.status, refused.stdout) == (2, "")
        assert message in refused.stderr


@pytest.fixture
def votes(tmp_path: Path) -> str:
    """Write votes of two queries."""
    path = tmp_path / "votes.txt"
    path.write_text("30 10 0\n20 19 1\n")
    return str(path)


def test_every_format_says_that_it_is_no_guarantee(run: Callable[..., Outcome], votes: str) -> None:
    """Tables, JSON, CSV, Markdown and annotations; a bare number is refused."""
    asked = ("convert", "gnmax:sigma=10", "--data-dependent", votes, "--delta", "1e-5")
    assert f"caution   {CAUTION}" in run(*asked).stdout
    assert f"- caution: {CAUTION}" in run(*asked, "--format", "markdown").stdout
    assert run(*asked, "--format", "github").stdout.startswith(
        f"::warning title=no privacy guarantee::{CAUTION}"
    )
    (row,) = csv.DictReader(io.StringIO(run(*asked, "--format", "csv").stdout))
    assert row["quantity"] == f"epsilon ({CAUTION})"
    data = json.loads(run(*asked, "--json").stdout)
    assert data["caution"] == CAUTION
    validator("result").validate(data)
    assert 0.0 < data["result"]["epsilon"]["upper"] < math.inf
    terse = run(*asked, "-t")
    assert (terse.status, terse.stdout) == (2, "")
    assert "no guarantee" in terse.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("compose", "-", "--delta", "1e-5"),
        ("convert", "-", "--delta", "1e-5"),
        ("select", "-", "--runs", "geometric:mean=3", "--delta", "1e-5"),
        ("subsample", "-", "--q", "0.1"),
    ],
)
def test_it_is_part_of_no_total(
    run: Callable[..., Outcome], votes: str, command: tuple[str, ...]
) -> None:
    """What was printed is refused by every command that reads it, which says why."""
    asked = ("convert", "gnmax:sigma=10", "--data-dependent", votes, "--delta", "1e-5", "--json")
    refused = run(*command, stdin=run(*asked).stdout)
    assert (refused.status, refused.stdout) == (2, "")
    assert "depends on the data at hand: it is no guarantee" in refused.stderr
    assert "part of no total" in refused.stderr


@pytest.mark.parametrize(
    ("spec", "text", "message"),
    [
        ("gnmax:sigma=10@2", "3 1", "takes one mechanism"),
        ("rr:p=0.7", "3 1", "is not known"),
        ("gnmax:sigma=9+rr:p=0.7", "3 1", "what randomized-response costs on the data"),
        ("gnmax:sigma=9+gnmax:sigma=9@3", "3 1", "with no count and no sampling"),
        ("max(gnmax:sigma=9,gnmax:sigma=8)", "3 1", "with no count and no sampling"),
        ("noisy-screening:sigma=2,threshold=3,votes=5", "3 6", "a whole number in [0, 5]"),
        ("gnmax:sigma=10", "3", "line 1: expected votes for 2 to 200 classes"),
        ("gnmax:sigma=10", "# none\n", "has no numbers"),
        ("gnmax:sigma=10", "3 0.5", "votes are whole numbers"),
        ("laplace:scale=2", "1 2", "expected one local sensitivity, at least 0"),
        ("laplace:scale=2", "-1", "expected one local sensitivity, at least 0"),
        ("noisy-screening:sigma=2,threshold=3,votes=5", "6", "a whole number in [0, 5]"),
        ("noisy-screening:sigma=2,threshold=300,votes=5", "4", "more than 34 sigma"),
    ],
)
def test_refusals(
    run: Callable[..., Outcome], tmp_path: Path, spec: str, text: str, message: str
) -> None:
    """Files and mechanisms that do not fit, in one line."""
    file = tmp_path / "data.txt"
    file.write_text(text)
    found = run("convert", spec, "--data-dependent", str(file), "--delta", "1e-5")
    assert found.status == 2
    assert message in found.stderr
    assert found.stderr.count("\n") == 1


def test_other_languages_are_not_spoken(tmp_path: Path) -> None:
    """Neither of one number for all, nor of groups; the file is not looked at."""
    tree, file = parse("gnmax:sigma=10").tree, str(tmp_path / "none.csv")
    questions = ConversionQuery(to="gdp"), ConversionQuery(deltas=(1e-5,), records=2)
    for question in questions:
        with pytest.raises(UsageError, match="goes with --to dp and --to rdp, and with no --group"):
            on_data(tree, file, question)
