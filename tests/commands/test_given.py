"""What the functions are given: numbers in any form, and junk, which is not taken for one."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import privcalc
from privcalc import exact

if TYPE_CHECKING:
    from collections.abc import Callable

G = "gaussian:sigma=1"
DISTANT = 10**400
# Each function with what it needs to answer cheaply, and all keywords that it takes beside.
CALLS: list[tuple[str, tuple[str, ...], dict[str, Any], tuple[str, ...]]] = [
    ("compose", ("pure:epsilon=1",), {"delta": 0.1},
     ("delta", "epsilon", "relation", "tolerance", "engine")),
    ("convert", ("pure:epsilon=1",), {"delta": 0.1},
     ("to", "delta", "epsilon", "orders", "points", "fpr", "prior", "group", "relation",
      "tolerance", "engine")),
    ("convert", ("pure:epsilon=1",), {"to": "rdp", "orders": 2}, ("orders", "group", "engine")),
    ("convert", ("pure:epsilon=1",), {"to": "risk"}, ("fpr", "prior")),
    ("convert", ("pure:epsilon=1",), {"to": "tradeoff", "fpr": 0.1}, ("fpr", "points")),
    ("subsample", ("pure:epsilon=1",), {"q": 0.1, "orders": 2},
     ("q", "n", "m", "orders", "delta", "count", "relation", "tolerance", "engine")),
    ("subsample", ("pure:epsilon=1",), {"n": 9, "m": 2, "orders": 2}, ("n", "m")),
    ("select", ("pure:epsilon=1",), {"runs": "fixed:n=2", "delta": 0.1},
     ("runs", "delta", "epsilon", "relation", "tolerance", "engine")),
    ("audit", ("pure:epsilon=1",), {"design": "runs", "counts": (9, 1, 3, 7)},
     ("design", "counts", "threshold", "delta", "confidence", "relation")),
    ("audit", (), {"design": "one-run", "canaries": 9, "guesses": 5, "correct": 4, "delta": 0},
     ("canaries", "guesses", "correct", "scores", "top", "bottom")),
    ("calibrate", ("gaussian:sigma=_",), {"mu": 1},
     ("mu", "epsilon", "delta", "rho", "advantage", "tpr", "fpr", "ratio", "relation",
      "tolerance")),
]  # fmt: skip
KEYWORDS = [(*call[:3], keyword) for call in CALLS for keyword in call[3]]
# No counts, points or orders that take long: what is tested is what becomes of what was given.
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, DISTANT, -DISTANT, 2.5, 0.0, -0.0, float("nan"), float("inf"), 1j]),
    st.floats(-3.0, 3.0),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(
        ["1e-5", "12", "1%", "1/3", "1,2", "_", "1e999", "-1", "٣", "\ud800", "x" * 99]
    ),
    st.binary(max_size=3),
    st.binary(max_size=3).map(bytearray),
    st.sampled_from([memoryview(b""), memoryview(b"1")]),
    st.sampled_from([Fraction(1, 3), Fraction(1, DISTANT), Decimal("0.1"), Decimal("sNaN")]),
    st.sampled_from([object(), object, len, np, {}, {"a": 1}, set(), {1.0}, iter([1]), range(3)]),
    st.lists(st.one_of(st.none(), st.floats(-2, 2), st.text(max_size=2)), max_size=3),
    st.sampled_from(
        [
            np.array([]),
            np.array(0.5),
            np.array([[1.0, 2.0]]),
            np.array(["a"]),
            np.array([b"1"]),
            np.array([None]),
            np.float64,
            np.float32(0.5),
            np.int64(2),
            np.bool_(1),
            np.datetime64("2026-01-01"),
            np.complex128(1j),
            np.clongdouble(1j),
            np.longdouble(0.5),
        ]
    ),
)


@pytest.mark.slow
@example(call=("calibrate", ("gaussian:sigma=_",), {"mu": 1}, "mu"), junk=[1.0, 1.0])
@settings(deadline=None, max_examples=150)
@given(call=st.sampled_from(KEYWORDS), junk=JUNK)
def test_junk_is_refused_or_answered(call: tuple[Any, ...], junk: object) -> None:
    """Whatever a keyword is given, there is an answer or an error of privcalc."""
    command, specs, needed, keyword = call
    try:
        found = getattr(privcalc, command)(*specs, **{**needed, keyword: junk})
    except privcalc.PrivcalcError:
        return
    # A list has a list of answers.
    assert isinstance(found, privcalc.Result | privcalc.Results)


@settings(deadline=None, max_examples=100)
@given(junk=JUNK)
def test_junk_is_no_specification_and_no_budget(junk: object) -> None:
    """The same of what stands for a specification, and of what a bracket is compared with."""
    bound = privcalc.Bound(1.0, 0.5)
    asks: tuple[Callable[[Any], object], ...] = (
        lambda spec: privcalc.compose(spec, delta=0),
        bound.verdict,
    )
    for ask in asks:
        with suppress(privcalc.PrivcalcError):
            assert isinstance(ask(junk), privcalc.Result | privcalc.Verdict)


def test_forms_of_numbers() -> None:
    """A number is the same question in every form, and a list has an answer for each of its own."""

    def answer(delta: Any) -> Any:
        return privcalc.compose("pure:epsilon=1", delta=delta)

    one = answer(1e-5)
    for same in ("1e-5", "0.001%", np.float64(1e-5), np.array(1e-5), Decimal("1e-5")):
        assert answer(same) == one
    both = (one, answer(0.125))
    for several in (
        [1e-5, 0.125],
        ("1e-5", "12.5%"),
        np.array([1e-5, 0.125]),
        [1e-5, Fraction(1, 8)],
    ):
        found = answer(several)
        assert isinstance(found, privcalc.Results)
        assert found == both
        assert len(answer(several[:1])) == 1


@pytest.mark.parametrize(
    ("command", "keywords", "words"),
    [
        ("compose", {"epsilon": "1,2"}, "epsilon is a text with 2 numbers; give a list"),
        ("compose", {"epsilon": b"1"}, "epsilon takes a number such as 1e-5, got bytes"),
        ("compose", {"delta": True}, "got bool"),
        ("compose", {"delta": {1e-5}}, "got set"),
        ("compose", {"delta": []}, "no number in it"),
        ("compose", {"delta": DISTANT}, "too large"),
        ("compose", {"delta": Fraction(1, DISTANT)}, "too small"),
        ("compose", {"relation": 3}, "relation takes a text"),
        ("convert", {"to": "gdp", "delta": [1e-5, 1e-6]}, "about one delta"),
        ("convert", {"points": 2.5}, "points takes a whole number such as 60_000, got float"),
        ("convert", {"points": 5, "to": "profile", "epsilon": 1}, "contradicts"),
        ("subsample", {"q": 0.1, "delta": 0.1, "orders": 2}, "ask in turn"),
        ("select", {"runs": None, "delta": 0.1}, "select needs runs"),
    ],
)
def test_nothing_is_dropped(command: str, keywords: dict[str, Any], words: str) -> None:
    """What cannot be part of the one question is refused by its name."""
    with pytest.raises(privcalc.PrivcalcError, match=words):
        getattr(privcalc, command)(G, **keywords)


def test_texts_are_read_as_on_the_command_line() -> None:
    """A text is a number, and not its digits."""
    assert privcalc.compose(G, epsilon="12").query == {"epsilon": 12.0}
    curve = privcalc.convert(G, to="rdp", orders="23").curve
    assert [order for order, _ in curve] == [23.0]
    assert privcalc.convert(G, to="rdp", orders="2, 3") == privcalc.convert(
        G, to="rdp", orders=(2, 3)
    )
    assert privcalc.subsample(G, q="1%", orders="2") == privcalc.subsample(G, q=0.01, orders=2)
    assert privcalc.convert(G, points="5") == privcalc.convert(G, points=5)


def test_budgets_of_a_bracket() -> None:
    """A budget is a finite number in any form, and is meant exactly."""
    bound = privcalc.compose("pure:epsilon=0.1@3", delta=0).epsilon
    for budget in (0.3, np.float64(0.3), Fraction(3, 10), Decimal("0.3"), DISTANT):
        assert bound.verdict(budget) is privcalc.Verdict.WITHIN  # type: ignore[arg-type]
    less = Decimal("0.29999999999999999999999")
    assert bound.verdict(less) is privcalc.Verdict.EXCEEDED  # type: ignore[arg-type]
    for wrong in (float("nan"), float("inf"), -float("inf"), Decimal("nan"), "0.3", None, [1]):
        with pytest.raises(privcalc.PrivcalcError, match="a budget"):
            bound.verdict(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (Fraction(1, 3), "1/3"),
        (Fraction(5, 2), "2.5"),
        (Decimal("1.1"), "1.1"),
        (Decimal("1.00000000000000000000000000001"), "1.00000000000000000000000000001"),
        (privcalc.compose(G, delta=Fraction(1, 3)).query["delta"], "1/3"),
    ],
)
def test_exact_numbers_in_objects(given: object, text: str) -> None:
    """Fractions, decimals and numbers of answers keep their value in objects."""
    fields = {"type": "gaussian", "standard_deviation": given}
    group = {"type": "group", "records": 2, "event": fields}
    assert privcalc.compose(fields, delta=0.1).text == f"gaussian:sigma={text}"
    assert privcalc.compose(group, delta=0.1).text == f"gaussian:sigma={text}@group:k=2"


@pytest.mark.parametrize("given", [Decimal("nan"), Decimal("inf"), Fraction(1, DISTANT)])
def test_what_is_no_number_in_objects_is_refused(given: object) -> None:
    """Infinite numbers, and those that no double holds, are errors of privcalc."""
    with pytest.raises(privcalc.PrivcalcError):
        privcalc.compose({"type": "gaussian", "standard_deviation": given}, delta=0.1)


def test_histories_in_any_form() -> None:
    """Numbers of numpy are those that they print as; what has no history, or no numbers, none."""
    plain = {"history": [(1.1, 0.5, 5)], "mechanism": "rdp"}
    recorded = SimpleNamespace(
        history=[(np.float64(1.1), np.float32(0.5), np.int64(5))], mechanism=lambda: "rdp"
    )
    assert privcalc.from_opacus(recorded) == privcalc.from_opacus(plain)
    for junk, words in (
        (object(), "object is no accountant"),
        ("hello", "there is no history"),
        ({"history": [(1.1, {1}, 5)], "mechanism": "rdp"}, "expected a number for sample_rate"),
    ):
        with pytest.raises(privcalc.SpecError, match=words):
            privcalc.from_opacus(junk)
    with pytest.raises(privcalc.SpecError, match="this is no DpEvent"):
        privcalc.from_dp_event("hello")


def test_what_only_looks_like_a_number_is_refused() -> None:
    """An object may have the methods of a number and be none."""

    class Promised:
        """What has both methods, and no number behind them."""

        def __index__(self) -> int:
            raise TypeError("none")

        def __float__(self) -> float:
            raise ValueError("none")

    with pytest.raises(privcalc.UsageError, match=r"count takes a whole number .*, got Promised"):
        privcalc.subsample(G, q=0.1, orders=2, count=Promised())  # type: ignore[call-overload]
    with pytest.raises(privcalc.UsageError, match=r"delta takes a number .*, got Promised"):
        privcalc.compose(G, delta=Promised())  # type: ignore[call-overload]


def test_answers_without_a_number_or_a_curve_say_so() -> None:
    """Rows are no points."""
    with pytest.raises(AttributeError, match="the points of this answer are rows"):
        _ = privcalc.convert(G, to="risk").curve
    with pytest.raises(AttributeError, match="this answer has no sufficient; it has epsilon"):
        _ = privcalc.compose(G, delta=0.1).sufficient


def test_what_was_read_is_given_again() -> None:
    """A number that stands for a fraction keeps it, and events need not be texts."""
    third = exact.standing_for(1 / 3, Fraction(1, 3))
    assert isinstance(third, exact.Written)
    given, text = (privcalc.compose(f"{G}", delta=each) for each in (third, "1/3"))
    assert given.to_json() == text.to_json()
    event = ["dp_accounting.dp_event", "GaussianDpEvent", 5.0]
    for form in (event, str(event).replace("'", '"')):
        spec = privcalc.from_dp_event(form, relation="add-or-remove-one")
        assert spec == "gaussian:noise_multiplier=5"
