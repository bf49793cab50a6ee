"""Arguments of the library under other names, or without one: each error says what to write."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

import privcalc
from privcalc.commands.named import _ELSEWHERE, _MEANT

if TYPE_CHECKING:
    from collections.abc import Callable

GAUSSIAN = "gaussian:sigma=5"
WANTED = "gaussian:sigma=_"
FUNCTIONS = ("compose", "convert", "subsample", "select", "calibrate", "check")


def called(name: str) -> Callable[..., object]:
    """Return a function of the library; mypy would refuse what is asked of it here."""
    found: Callable[..., object] = getattr(privcalc, name)
    return found


@pytest.mark.parametrize(
    ("function", "specs", "given", "words"),
    [
        ("compose", [GAUSSIAN], {"deltas": 1e-5}, "compose takes no deltas (did you mean delta?)"),
        ("compose", [GAUSSIAN], {"Delta": 1e-5}, "did you mean delta?"),
        ("compose", [GAUSSIAN], {"max_epsilon": 3}, ".epsilon.verdict(3)"),
        ("compose", [GAUSSIAN], {"zzz": 3}, "known: delta, epsilon, relation, tolerance, engine"),
        ("compose", [], {"spec": GAUSSIAN}, "privcalc.compose('gaussian:sigma=5')"),
        ("compose", [], {"sigma": 1.1, "delta": 1e-5}, "a part of the specification"),
        ("compose", [GAUSSIAN], {"steps": 10}, "a part of the specification"),
        ("compose", [GAUSSIAN, 1e-5], {}, "numbers have names, as in delta=1e-5"),
        ("compose", [[GAUSSIAN]], {"delta": 1e-5}, "give *specs"),
        ("convert", [GAUSSIAN], {"to": "risk", "alpha": 0.1}, "did you mean fpr?"),
        ("subsample", [GAUSSIAN], {"rate": 0.1}, "did you mean q?"),
        ("select", [GAUSSIAN], {"delta": 1e-5}, "select needs runs (such as runs='geometric:"),
        ("select", [GAUSSIAN], {"runs": 30, "delta": 1e-5}, "runs takes a text, got int"),
        ("calibrate", [WANTED], {"target_epsilon": 1, "delta": 1e-5}, "did you mean epsilon?"),
        ("check", [{"budget": 3}], {}, "file takes a text, got dict"),
    ],
)
def test_what_is_wrong_says_what_to_write(
    function: str, specs: list[Any], given: dict[str, Any], words: str
) -> None:
    """A wrong name, a missing one and a value without one are errors of privcalc with a hint."""
    with pytest.raises(privcalc.PrivcalcError) as error:
        called(function)(*specs, **given)
    assert words in str(error.value)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_keep_their_signatures(function: str) -> None:
    """What checks names is not seen by `help`, and each parameter is known by its own name."""
    parameters = inspect.signature(called(function)).parameters
    assert "relation" in parameters
    for name in parameters:
        meant = _MEANT.get(name, name)
        assert meant == name or " " in meant


def test_what_is_meant_is_a_parameter() -> None:
    """Each parameter that another name stands for is one of some function."""
    known = {
        name for each in FUNCTIONS for name in inspect.signature(getattr(privcalc, each)).parameters
    }
    words = {meant for meant in _MEANT.values() if " " not in meant}
    assert words <= known
    assert set(_ELSEWHERE) <= words
