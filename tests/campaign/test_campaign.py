"""Random specifications obey the laws of the subject; and what does not obey them is noticed."""

from __future__ import annotations

import json
import secrets
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

import privcalc
from privcalc.errors import UnsupportedError
from privcalc.spec.parse import parse
from tests.campaign import __main__ as campaign
from tests.campaign import cases, laws
from tests.campaign.__main__ import Campaign, folder
from tests.campaign.cases import Case, ContradictionError, Ends
from tests.campaign.laws import LAWS, Claim

if TYPE_CHECKING:
    from pathlib import Path

    from privcalc.bounds import Bound
    from tests.campaign.laws import Law

# Where examples are to be the same each time, so are these.
SEED = 41 if settings().derandomize else secrets.randbelow(10**9)
FEW, MANY = 12, 2000
# Of each law, a specification of which it says something.
EXAMPLES: dict[Law, str] = {
    laws.order_of_parts: "gaussian:sigma=3@2+laplace:scale=4",
    laws.several_uses: "laplace:scale=3",
    laws.uses_of_uses: "gaussian:sigma=30+rr:p=0.51",
    laws.one_more_use: "gaussian:sigma=50@7",
    laws.one_more_part: "gaussian:sigma=3+pure:epsilon=1",
    laws.part_that_says_nothing: "laplace:scale=3@2",
    laws.disjoint_parts: "max(gaussian:sigma=3,laplace:scale=3)@2",
    laws.groups: "gaussian:sigma=9",
    laws.group_along_a_chain: "rr:p=0.6@3",
    laws.relations: "laplace:scale=3",
    laws.declared_direction: "laplace:scale=3",
    laws.other_units: "laplace:scale=3,sensitivity=2",
    laws.twin: "rr:p=0.6@poisson:q=1/3@2",
    laws.sample_of_all: "gaussian:sigma=2",
    laws.nested_tolerances: "laplace:scale=2@2",
    laws.largest_direction: "rr:p=0.6@poisson:q=0.1@2",
    laws.delta_of_epsilon: "gaussian:sigma=2@3",
    laws.engines: "gaussian:sigma=2@2",
    laws.certificates: "gaussian:sigma=2@9",
    laws.guarantee: "rr:epsilon=1",
    laws.wider_description: "laplace:scale=2@3",
    laws.unsampled: "rr:p=0.9@poisson:q=0.99",
    laws.amplification: "laplace:scale=2",
    laws.convex_in_the_rate: "laplace:scale=2",
    laws.coin_of_two: "pure:epsilon=1",
    laws.selection: "gaussian:sigma=3",
    laws.rounds_of_samples: "rr:p=0.6",
    laws.attack: "gaussian:sigma=2@3",
    laws.conversion: "gaussian:sigma=2@3",
    laws.calibration: "laplace:scale=2",
}


def _clean(numbers: range, seed: int) -> None:
    """Run specifications; what is wrong is printed with what shows it again."""
    found = Campaign(seed, numbers.start, numbers.stop)
    found.run()
    print(found.table())
    assert found.found["contradictions"] == []
    # A generator of which nothing is answered tests nothing.
    assert found.found["answered"] > 0.5 * len(numbers)


def test_few_specifications(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each obeys some law, whichever is drawn for it; there are others each time."""
    monkeypatch.setattr(cases, "WORK", ((1e5,), (1,)))
    monkeypatch.setattr(cases, "SECONDS", 0.5)
    monkeypatch.setattr(campaign, "MOST", 1)
    _clean(range(FEW), SEED)


@pytest.mark.slow
def test_many_specifications() -> None:
    """So do 2000 others, at more work and with two laws each."""
    _clean(range(FEW, FEW + MANY), SEED)


def case_of(text: str, number: int = 0) -> Case:
    """Return a case about a specification, with the chance of a number."""
    case = Case(0, number)
    case.text, case.relation, case.delta, case.work = text, "", 1e-5, 5e6
    case.begin()
    return case


class Lie:
    """Takes the ends of an answer, once multiplied by a factor."""

    def __init__(self, at: int, factor: float) -> None:
        """Say which answer is falsified: the first is number 0."""
        self.at, self.factor, self.true = at, factor, Ends.of

    def __call__(self, bound: Bound) -> Ends:
        """Return the ends, true or not."""
        factor = self.factor if self.at == 0 else 1.0
        self.at -= 1
        return Ends(*(factor * end for end in self.true(bound)))


def noticed(law: Law, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Say whether a law notices one false answer, be it the first one or another."""
    for number, at, factor in product(range(4), range(4), (0.2, 5.0)):
        case = case_of(EXAMPLES[law], number)
        with monkeypatch.context() as patch:
            patch.setattr(Ends, "of", Lie(at, factor))
            try:
                found = any(claim.margin < 0.0 for claim in law(case))
            except ContradictionError:
                found = True
        if found:
            return True
    return False


@pytest.mark.few(8)
@pytest.mark.parametrize("law", LAWS, ids=[law.__name__ for law in LAWS])
def test_each_law_notices(law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    """A law holds of an example, and does not where one of the answers is false."""
    with folder():
        claims = [claim for k in range(4) for claim in law(case_of(EXAMPLES[law], k))]
        assert claims
        assert min(claim.margin for claim in claims) >= 0.0
        # What is read by another program is tested with that.
        assert law is laws.certificates or noticed(law, monkeypatch)


def test_claims() -> None:
    """Brackets that touch do not contradict one another; such as are apart do."""
    assert Claim(Ends(1.0, 2.0), Ends(0.5, 1.0)).margin == 0.0
    assert Claim(Ends(1.0, 2.0), Ends(0.4, 0.5)).margin == -0.5
    assert Claim(Ends(1.0, float("inf")), Ends(0.0, float("inf"))).margin == float("inf")
    assert Claim(Ends(float("inf"), float("inf")), Ends(0.0, 3.0)).margin < 0.0


def test_accidents_are_noticed() -> None:
    """An error that nobody raises on purpose is a contradiction."""
    case = case_of("pure:epsilon=1")

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ContradictionError, match="internal error"):
        case.ask(broken)


def test_refusals_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is answered may not be refused when it is written otherwise."""
    case, compose = case_of("gaussian:sigma=3@2+laplace:scale=4"), privcalc.compose

    def refusing(text: str, **options: object) -> object:
        if text.startswith("laplace"):
            raise UnsupportedError("no")
        return compose(text, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(privcalc, "compose", refusing)
    with pytest.raises(ContradictionError, match="written otherwise"):
        laws.again(case, parse("laplace:scale=4+gaussian:sigma=3@2").tree)


def test_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Two halves find what the whole does, and a campaign that is over does nothing."""
    files = [tmp_path / name for name in ("halves", "whole")]
    for last in (2, 4, 4):
        Campaign(7, 0, last, files[0]).run()
    Campaign(7, 0, 4, files[1]).run()
    halves, whole = (json.loads(each.read_text()) for each in files)
    for each in (halves, whole):
        del each["seconds"]
        for row in each["laws"].values():
            del row["slowest"]
    assert halves == whole
    assert whole["next"] == 4
    assert "4 specifications" in Campaign(7, 0, 4, files[1]).table()


def test_cases_repeat() -> None:
    """A number is the same specification wherever it is drawn."""
    with folder():
        texts = [[Case(5, number).text for number in range(40)] for _ in range(2)]
    assert texts[0] == texts[1]
    assert len(set(texts[0])) == 40
