"""What is printed as JSON fits the schemas that are shipped."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

import privcalc
from privcalc.bounds import Bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome
    from tests.fake_accounting import FakeAccounting

SCHEMAS = Path(privcalc.__file__).parent / "schema"
GAUSSIAN = "gaussian:sigma=2@poisson:q=1%@100"


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    """Return a checked validator for one shipped schema."""
    schema = json.loads((SCHEMAS / f"{name}-v1.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def objects(outcome: Outcome) -> list[dict[str, Any]]:
    """Return the JSON objects of a run, each of which fits the schema."""
    assert outcome.status == 0, outcome.stderr
    found = [json.loads(line) for line in outcome.stdout.splitlines()]
    for each in found:
        validator("result").validate(each)
        validator("spec").validate(each["spec"])
    return found


@pytest.mark.parametrize(
    "arguments",
    [
        ("--delta", "1e-5,0,1"),
        ("--epsilon", "0,1e308"),
        (),
        ("--delta", "1e-5", "--engine", "afa"),
        ("--delta", "1e-5", "--max-epsilon", "3"),
        ("--epsilon", "1", "--max-delta", "1e-5", "--relation", "replace-one"),
    ],
)
@pytest.mark.parametrize(
    "bound", [Bound(2.5, 2.25), Bound(2.5), Bound(math.inf, math.inf), Bound(math.inf, 0.0)]
)
def test_results(
    arguments: tuple[str, ...],
    bound: Bound,
    run: Callable[..., Outcome],
    accounting: FakeAccounting,
) -> None:
    """Every form of answer is valid, and its specification by itself as well."""
    accounting.bound = bound
    accounting.terms = {"aliasing": 1e-12, "rounding": math.inf}
    outcome = run("compose", GAUSSIAN, *arguments, "--json")
    for line in outcome.stdout.splitlines():
        answer = json.loads(line)
        validator("result").validate(answer)
        validator("spec").validate(answer["spec"])


@pytest.mark.parametrize(
    "change",
    [
        {"result": {"epsilon": {"lower": 1.0}}},
        {"result": {"epsilon": {"lower": None, "upper": 1.0}}},
        {"result": {"epsilon": 1.0}},
        {"result": {"epsilon": {"upper": "NaN"}}},
        {"query": {"delta": 2.0}},
        {"relation": "add-or-remove-one"},
        {"check": {"verdict": "within"}},
        {"host": "x"},
        {"command": "guess"},
    ],
)
def test_what_is_no_result(
    change: dict[str, object], run: Callable[..., Outcome], accounting: FakeAccounting
) -> None:
    """The schema is strict."""
    assert accounting.calls == []
    answer = json.loads(run("compose", GAUSSIAN, "--delta", "1e-5", "--json").stdout)
    assert not validator("result").is_valid({**answer, **change})


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (("compose", "gausian:sigma=1"), ""),
        (("compose", "gaussian:sigma=_"), ""),
        (("compose", ""), ""),
        (("compose", "("), ""),
        (("compose", '{"type": "gaussian"}'), ""),
        (("compose", GAUSSIAN, "--delta", "2"), ""),
        (("compose", GAUSSIAN, "--nothing"), ""),
        (("compose", "-"), "(\n\xff\n{}\n"),
    ],
)
def test_errors(arguments: tuple[str, ...], stdin: str, run: Callable[..., Outcome]) -> None:
    """Every form of error is valid."""
    outcome = run(*arguments, "--json", stdin=stdin)
    assert outcome.status == 2
    lines = outcome.stderr.splitlines()
    assert lines
    for line in lines:
        validator("error").validate(json.loads(line))
