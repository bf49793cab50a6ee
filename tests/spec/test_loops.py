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


@pytest.mark.dear("gaussian:sigma=1.1@allocation:t=234,k=3@20]")
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


def test_what_people_write_is_found() -> None:
    """Each kind of loop that is common is among the rows."""
    text = page("sampling")
    words = "make_private poisson_sampling=False shuffle=True truncated_batch_size accumulation"
    more = (
        "rng.choice(n, 256, replace=False)",
        "shuffle(60000).batch(256",
        "last batch",
        "3 epochs",
    )
    assert [each for each in (*words.split(), *more) if each not in text] == []


def test_pages_of_samplings_have_their_code() -> None:
    """In short, with the specification below it, and where there is more."""
    for name in ("wor", "batches", "poisson", "allocation", "shuffle"):
        text = page(name).partition("\nCode, ")[2]
        assert f"@{name}:" in text
        assert "--help-spec sampling" in text


def test_the_page_fits_a_terminal() -> None:
    """Lines are short, but for one specification that must not be broken."""
    text = page("Sampling")
    specs = {f"  = {loop.spec}" for loop in LOOPS}
    assert all(len(line) <= 80 for line in text.splitlines() if line not in specs)
    assert len([spec for spec in specs if len(spec) > 80]) <= 1
