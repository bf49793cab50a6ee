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
from tests.transcripts import FILES, entries

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


def result(run: Callable[..., Outcome], *arguments: str) -> dict[str, Any]:
    """Return the result of the one answer to a question."""
    [found] = objects(run(*arguments, "--json"))
    numbers: dict[str, Any] = found["result"]
    return numbers


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 8))]
)
def test_what_is_recorded(part: int) -> None:
    """Every form of answer and of error is valid, and a specification by itself as well."""
    for entry in (each for file in FILES for each in entries(file)[part::8]):
        for name, text in (("result", entry.out), ("error", entry.err)):
            for line in text.splitlines()[:2]:
                if line.startswith('{"schema"'):
                    validator(name).validate(json.loads(line))
        if entry.out.startswith('{"schema"'):
            validator("spec").validate(json.loads(entry.out.splitlines()[0])["spec"])


@pytest.mark.dear("bound0]")
@pytest.mark.parametrize("bound", [Bound(math.inf, math.inf), Bound(math.inf, 0.0)])
def test_infinite_ends(
    bound: Bound, run: Callable[..., Outcome], accounting: FakeAccounting
) -> None:
    """What no number is has a form in JSON, too."""
    accounting.bound = bound
    accounting.terms = {"aliasing": 1e-12, "rounding": math.inf}
    [found] = objects(run("compose", GAUSSIAN, "--delta", "1e-5", "--json"))
    assert found["result"]["epsilon"]["upper"] == "Infinity"
    assert found["method"]["terms"]["rounding"] == "Infinity"


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


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "spec",
    ["gaussian:sigma=1.1@poisson:q=0.004@9000", "rdp:order=8,epsilon=1",
     "gaussian:sigma=0.69@poisson:q=0.000132@22271"],
)  # fmt: skip
def test_certificates(run: Callable[..., Outcome], tmp_path: Path, spec: str) -> None:
    """What is written fits the schema that is shipped, which is strict."""
    path = tmp_path / "certificate.json"
    assert run("compose", spec, "--delta", "1e-6", "--certificate", str(path)).status == 0
    found = json.loads(path.read_text(encoding="utf-8"))
    validator("certificate").validate(found)
    assert not validator("certificate").is_valid({**found, "more": 1})
