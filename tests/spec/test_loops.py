"""Lines of code and their specifications: each reads, is answered, and says what it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from privcalc.spec.describe import loops, page
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.spec.describe import Loop
    from tests.conftest import Outcome

LOOPS = loops()
SPECS = sorted({loop.spec for loop in LOOPS})


@pytest.mark.dear("gaussian:sigma=1.1@batches:t=2")
@pytest.mark.few(3)
@pytest.mark.parametrize("spec", SPECS)
def test_every_specification_has_an_answer(spec: str, run: Callable[..., Outcome]) -> None:
    """Both ends are known, of each of them."""
    done = run("compose", spec, "--delta", "1e-5", "--format", "csv", "--tolerance", "0.01")
    assert done.status == 0, done.stderr
    header, row = done.stdout.splitlines()[:2]
    cells = dict(zip(header.split(","), _cells(row), strict=True))
    assert 0.0 < float(cells["lower"]) <= float(cells["upper"]) < 200.0


def _cells(row: str) -> list[str]:
    import csv

    return next(csv.reader([row]))


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.title)
def test_every_row_is_whole(loop: Loop) -> None:
    """Code fits in a manual page, and the nearest other specification reads and is another one."""
    assert max(map(len, loop.code)) <= 67
    assert parse(loop.spec).tree != parse(loop.other).tree
    assert loop.why.endswith(".")
    assert loop.wrong.endswith(".")
    assert loop.wrong[:1].islower()


def test_rows_that_share_code_share_their_specification() -> None:
    """What decides is in the lines that are shown."""
    found: dict[tuple[str, ...], str] = {}
    for loop in LOOPS:
        assert found.setdefault(loop.code, loop.spec) == loop.spec, loop.title
    assert len({loop.title for loop in LOOPS}) == len(LOOPS)


@pytest.mark.parametrize(
    "words",
    [
        "make_private",
        "poisson_sampling=False",
        "shuffle=True",
        "rng.choice(n, 256, replace=False)",
        "shuffle(60000).batch(256",
        "CyclicPoissonSampling",
        "truncated_batch_size",
        "pad_to_multiple_of",
        "BallsInBinsSampling",
        "accumulation",
        "last batch",
        "workers",
        "3 epochs",
    ],
)
def test_what_people_write_is_found(words: str) -> None:
    """Each kind of loop that is common is among the rows."""
    assert words in page("sampling")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("wor", "rng.choice(n, 256, replace=False)"),
        ("batches", "shuffle=True"),
        ("poisson", "make_private(...)"),
        ("allocation", "rng.integers(234, size=n)"),
        ("shuffle", "people report"),
    ],
)
def test_pages_of_samplings_have_their_code(name: str, code: str) -> None:
    """In short, with the specification below it, and where there is more."""
    text = page(name).partition("\nCode, ")[2]
    assert code in text
    assert f"@{name}:" in text
    assert "--help-spec sampling" in text
    assert max(map(len, page(name).splitlines())) <= 80


def test_the_page_says_when_shuffling_is_cheap() -> None:
    """From which noise on, as the manual page has it, whose numbers are recomputed."""
    text = " ".join(page("sampling").split())
    assert "1000 of them and sigma from 4 to 12 they cost at most twice as much" in text
    assert "at sigma 1 nineteen times as much or more" in text


def test_the_page_fits_a_terminal() -> None:
    """Lines are short, but for one specification that must not be broken."""
    text = page("Sampling")
    specs = {f"  = {loop.spec}" for loop in LOOPS}
    assert all(len(line) <= 80 for line in text.splitlines() if line not in specs)
    assert len([spec for spec in specs if len(spec) > 80]) <= 1
