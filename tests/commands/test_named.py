"""Arguments of the library under other names, or without one: each error says what to write."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

import privcalc
from privcalc.opened import table

if TYPE_CHECKING:
    from collections.abc import Callable

GAUSSIAN = "gaussian:sigma=5"
WANTED = "gaussian:sigma=_"
FUNCTIONS = ("compose", "convert", "subsample", "select", "calibrate", "audit", "check")


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
        ("compose", [], {"sigma": 1.1, "delta": 1e-5}, "the specification"),
        ("compose", [GAUSSIAN], {"steps": 10}, "@STEPS"),
        ("compose", [GAUSSIAN, 1e-5], {}, "numbers have names, as in delta=1e-5"),
        ("compose", [[GAUSSIAN]], {"delta": 1e-5}, "give *specs"),
        ("convert", [GAUSSIAN], {"to": "risk", "alpha": 0.1}, "fpr takes false positive rates"),
        ("subsample", [GAUSSIAN], {"rate": 0.1}, "write q"),
        ("select", [GAUSSIAN], {"delta": 1e-5}, "select needs runs (such as runs='geometric:"),
        ("select", [GAUSSIAN], {"runs": 30, "delta": 1e-5}, "runs takes a text, got int"),
        ("calibrate", [WANTED], {"target_epsilon": 1, "delta": 1e-5}, "write epsilon"),
        (
            "audit",
            [],
            {"counts": (1, 1, 1, 1), "delta": 0},
            "audit needs design runs (many trainings",
        ),
        ("audit", [], {"design": "runs", "fpr": 0.1}, "write counts"),
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
    """What checks names is not seen by `help`, and no parameter is taken for another."""
    parameters = inspect.signature(called(function)).parameters
    assert "relation" in parameters
    known: Any = table("commands", "meant.toml")
    assert not set(parameters) & {*known["python"], *known.get(function, ())} - {"specs"}
