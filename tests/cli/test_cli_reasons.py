"""Every wide bracket, missing end and infinity has its sentence, and what it says is so."""

from __future__ import annotations

import json
import math
import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from privcalc.spec import registry
from tests.transcripts import HERE, entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Outcome

ENOUGH = [
    pytest.param(each.line, found, id=each.line)
    for each in entries(HERE / "reasons.txt")
    for found in re.findall(
        r"more often than delta \S+: a delta above (\S+) has", each.out + each.err
    )
]


@pytest.mark.few(4)
@pytest.mark.dear("compose partition-selection:epsilon=0")
@pytest.mark.parametrize(("line", "delta"), ENOUGH)
def test_what_is_said_to_be_enough_is(line: str, delta: str, run: Callable[..., Outcome]) -> None:
    """At that delta epsilon is finite, and at a little less it is not."""
    words = shlex.split(line)[:2]

    def upper(at: str) -> float:
        done = run(*words, "--delta", at)
        return float(re.findall(r"^\S+  +\S+  +([\d.e-]+|Infinity)$", done.stdout, re.MULTILINE)[0])

    assert upper(delta) < math.inf
    assert upper(repr(0.97 * float(delta))) in (math.inf, 1.0)


def unclear(value: object, *, at_all: bool = False) -> Iterator[object]:
    """Yield brackets that a reader does not understand by themselves."""
    if isinstance(value, dict) and "upper" in value and set(value) <= {"lower", "upper"}:
        low, high = (float(value.get(end, "nan")) for end in ("lower", "upper"))
        if math.isnan(low) or math.isinf(high) or (high > 1e-300 and high - low > 0.01 * high):
            yield value
    elif isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        for each in inner:
            yield from unclear(each, at_all=at_all)


def examples() -> list[str]:
    """Return a specification of every mechanism and wrapper, and what else has brackets."""
    return [
        *(entry.example for entry in (*registry.mechanisms(), *registry.wrappers())),
        "noisy-max:noise=laplace,scale=3,candidates=5",
        "exponential:epsilon=0.1@poisson:q=0.1@9",
        "laplace:scale=2@wor:q=0.1@9",
        "gaussian:sigma=1@poisson:q=0.01,max=30,n=1000@30",
        "pure:epsilon=1@shuffle:n=1000",
        "rr:epsilon=1@wor:q=0.5@group:k=3@4",
        "zcdp:rho=1@poisson:q=0.1@9",
        "gdp:mu=1@poisson:q=0.1@group:k=2@9",
        "max(zcdp:rho=1,approx:epsilon=1,delta=1e-6)@2",
    ]


QUERIES = [
    ("compose", "--delta", "0"),
    ("compose", "--delta", "1e-300"),
    ("compose", "--delta", "1e-20"),
    ("compose", "--delta", "0.5"),
    ("compose", "--epsilon", "0.01"),
    ("compose",),
    ("convert", "--to", "zcdp"),
    ("convert", "--to", "gdp"),
    ("convert", "--to", "rdp"),
    ("convert", "--to", "risk", "--fpr", "0.1"),
    ("convert", "--to", "tradeoff", "--fpr", "0.1"),
    ("subsample", "--q", "0.1", "--orders", "2,60"),
    ("select", "--runs", "geometric:mean=9", "--delta", "1e-5"),
]


# Three queries of each, and each query of many.
ASKED = [
    pytest.param(text, QUERIES[(3 * i + 5 * j) % len(QUERIES)], id=f"{text}-{j}")
    for i, text in enumerate(examples())
    for j in range(3)
]


@pytest.mark.dear("exponential:epsilon=0.1@poisson:q=0.1@9-0]")
@pytest.mark.dear("gaussian:sigma=1@poisson:q=0.064@16@clients:q=0.5@20-0]")
@pytest.mark.dear("gaussian:sigma=1@poisson:q=0.064@16@clients:q=0.5@20-0]")
@pytest.mark.dear("exponential:epsilon=0.1@poisson:q=0.1@9-1]")
@pytest.mark.dear(
    "gaussian:sigma=2,sensitivity=2",
    "gaussian:sigma=1@allocation:t=1000@10-2",
    "noisy-max:sigma=4,candidates=10@10-0",
)
@pytest.mark.few(6)
@pytest.mark.parametrize(("text", "query"), ASKED)
def test_nothing_unclear_is_unexplained(
    text: str,
    query: tuple[str, ...],
    run: Callable[..., Outcome],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever is asked of whatever mechanism, also at absurd deltas."""
    monkeypatch.chdir(tmp_path)
    for entry in registry.mechanisms():
        if entry.example == text and entry.example_file:
            named = re.search(r"file=([^,@+)]+)", text)
            assert named
            (tmp_path / named[1]).write_text(entry.example_file)
    done = run(query[0], text, *query[1:], "--json")
    if done.status == 2:
        assert json.loads(done.stderr.splitlines()[-1])["message"]
        return
    for line in done.stdout.splitlines():
        data: dict[str, Any] = json.loads(line)
        found = {k: v for k, v in data["result"].items() if k not in ("methods", "base_epsilon")}
        if list(unclear(found)) and (query[0] == "select" or not data["method"]["tolerance_met"]):
            assert data["reasons"], line
        if "Infinity" in json.dumps(found):
            assert data["reasons"], line
        assert all(each.strip() == each and "  " not in each for each in data.get("reasons", ()))
