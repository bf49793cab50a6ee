"""Questions of the command `select`, and what its answers look like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.cli.test_cli_schema import objects

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

GAUSSIAN = "gaussian:sigma=4"
GEOMETRIC = ("--runs", "geometric:mean=30")
ALWAYS = {"paper", "tight", "pointwise"}


def one(run: Callable[..., Outcome], *arguments: str) -> dict[str, Any]:
    """Return the result of the one answer to a question."""
    [found] = objects(run("select", *arguments, "--json"))
    result: dict[str, Any] = found["result"]
    return result


def in_order(result: dict[str, Any], quantity: str = "epsilon") -> None:
    """Check lower <= answer <= every method, and tight <= paper."""
    bound = result[quantity]
    methods = {name: float(value) for name, value in result["methods"].items()}
    assert bound.get("lower", 0.0) <= bound["upper"] <= min(methods.values())
    assert methods["tight"] <= methods["paper"]
