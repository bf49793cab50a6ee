"""What a result says when it is piped on: the guarantee that was printed, or a refusal.

Every question is written twice: as the options of the command that prints a result, and by hand as
the text of the guarantee that its numbers are about. What the next command makes of the result has
to be what it makes of that text.
"""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Outcome

    Run = Callable[..., Outcome]

COMMANDS = ("compose", "convert", "subsample", "select", "calibrate")
RELATIONS = ("add-or-remove-one", "replace-one", "replace-special")
DELTA = "1e-5"
# How the text of several rounds of a sample ends; what is sampled stands before the sampling.
ROUNDS = ("@7", "@1000")


@dataclass(frozen=True)
class Printed:
    """One printed result.

    Attributes:
        line: as it was printed.
        text: the guarantee that it is about, written by hand; "" where it guarantees nothing.
        relation: the relation of that guarantee.
    """

    line: str
    text: str
    relation: str

    @property
    def fields(self) -> dict[str, Any]:
        """The object itself."""
        found: dict[str, Any] = json.loads(self.line)
        return found


def leaf(rng: random.Random, *, plain: bool) -> str:
    """Return a mechanism that is cheap to account for; a plain one is so in a selection, too."""
    number = f"{rng.uniform(0.5, 9.0):.{rng.choice((1, 3))}f}"
    some = (f"pure:epsilon={number}", f"rr:p={rng.uniform(0.55, 0.95):.2f}")
    more = (
        f"gaussian:sigma={number}",
        f"gaussian:sigma={number},sensitivity=2",
        f"laplace:scale={number}",
        f"approx:epsilon={number},delta=1e-7",
        f"gdp:mu={number}",
        f"zcdp:rho={number}",
        f"rdp:order=8,epsilon={number}",
    )
    return rng.choice(some if plain else some + more)


def specification(rng: random.Random, *, plain: bool) -> str:
    """Return a specification: a mechanism, repeated, sampled, grouped or beside another."""
    text = leaf(rng, plain=plain)
    kind = rng.random()
    if kind < 0.15:
        text += f"@poisson:q={rng.choice(('1/100', '0.5', '3%', '0'))}"
    elif kind < 0.25:
        text += rng.choice(("@wor:q=0.1", "@wor:n=50,m=5"))
    if rng.random() < 0.4:
        text += f"@{rng.randint(2, 9)}"
    if rng.random() < 0.1:
        text += "@group:k=2"
    return f"{text}+gaussian:sigma=3" if rng.random() < 0.15 else text


def default_relation(text: str) -> str:
    """Return the relation of a specification that names none."""
    return "replace-one" if "@wor" in text else "add-or-remove-one"


def below(text: str, wrapper: str) -> str:
    """Wrap a specification."""
    return f"({text}){wrapper}" if "+" in text else text + wrapper


def composed(rng: random.Random, plain: bool) -> tuple[list[str], str]:
    """Ask compose."""
    several = [specification(rng, plain=plain) for _ in range(rng.choice((1, 1, 1, 2)))]
    asked = rng.choice((["--delta", DELTA], ["--delta", f"{DELTA},1e-7"], ["--epsilon", "1"], []))
    asked = asked + (["--engine", "afa"] if asked and rng.random() < 0.1 else [])
    return [*several, *asked], "" if "afa" in asked else "+".join(several)


def converted(rng: random.Random, plain: bool) -> tuple[list[str], str]:
    """Ask convert."""
    text = specification(rng, plain=plain)
    target = rng.choice(
        (
            ["--delta", DELTA],
            ["--epsilon", "1", "--delta", DELTA],
            ["--to", "rdp", "--orders", "2,8"],
            ["--to", "zcdp"],
            ["--to", "gdp"],
            ["--to", "profile", "--points", "3"],
            ["--to", "tradeoff", "--fpr", "0.1"],
            ["--to", "risk", "--fpr", "0.01", "--prior", "0.5"],
        )
    )
    if rng.random() < 0.4:
        size = rng.randint(2, 4)
        return [text, *target, "--group", str(size)], below(text, f"@group:k={size}")
    return [text, *target], text


def subsampled(rng: random.Random, plain: bool) -> tuple[list[str], str]:
    """Ask subsample; the rounds are those of the lines about epsilon."""
    text, count = specification(rng, plain=plain), rng.choice((1, 1, 7, 1000))
    if rng.random() < 0.7:
        q = rng.choice(("0.01", "1/8", "25%", "1"))
        sample, wrapper = ["--q", q], f"@poisson:q={q}"
    else:
        sample, wrapper = ["--n", "60", "--m", "6"], "@wor:n=60,m=6"
    asked = ["--delta", DELTA, "--count", str(count)] if rng.random() < 0.6 else []
    whole = below(text, wrapper) + (f"@{count}" if asked and count > 1 else "")
    return [text, *sample, "--orders", "2,8", *asked], whole


def selected(rng: random.Random, plain: bool) -> tuple[list[str], str]:
    """Ask select; a node in the specification takes its time."""
    del plain
    text = leaf(rng, plain=True)
    runs = rng.choice(("poisson:mean=2", "poisson:mean=2.5", "binomial:n=5,p=0.4"))
    if rng.random() < 0.1:
        asked = ["gaussian:sigma=9@_", "--thresholds", "--epsilon-q", "1", "--delta", DELTA]
        return [*asked, "--runs", "geometric:mean=3"], ""
    asked = rng.choice((["--delta", DELTA], ["--epsilon", "1.5"]))
    return [text, "--runs", runs, *asked], below(text, f"@select:runs={runs.replace(':', ',', 1)}")


def calibrated(rng: random.Random, plain: bool) -> tuple[list[str], str]:
    """Ask calibrate; the hole is filled with what it finds."""
    some = ("pure:epsilon=0.25@_", "pure:epsilon=_", "rr:epsilon=_", "approx:epsilon=_,delta=0")
    more = ("gaussian:sigma=_", "gaussian:sigma=_@5", "laplace:scale=_", "gaussian:sigma=2@_",
            "gdp:mu=_+gaussian:sigma=9", "gaussian:sigma=_@group:k=2")  # fmt: skip
    text = rng.choice(some if plain else some + more)
    target = rng.choice(
        (["--epsilon", f"{rng.uniform(0.6, 4):.2f}", "--delta", DELTA],
         ["--advantage", f"{rng.uniform(0.2, 0.5):.2f}"],
         ["--mu", f"{rng.uniform(0.6, 3):.1f}"])
    )  # fmt: skip
    return [text, *target], text


ASK = {
    "compose": composed,
    "convert": converted,
    "subsample": subsampled,
    "select": selected,
    "calibrate": calibrated,
}


def results(command: str, rng: random.Random, run: Run, *, plain: bool) -> Iterator[Printed]:
    """Yield printed results of a command, as many as are asked for."""
    while True:
        arguments, text = ASK[command](rng, plain)
        relation = rng.choice((None, None, *RELATIONS))
        named = ["--relation", relation] if relation else []
        outcome = run(command, *arguments, *named, "--json")
        assert "internal" not in outcome.stderr, (arguments, named, outcome)
        for line in outcome.stdout.splitlines():
            yield printed(command, line, text, relation)


def printed(command: str, line: str, text: str, relation: str | None) -> Printed:
    """Say what one line of an answer guarantees."""
    found = json.loads(line)
    if "sufficient" in found["result"]:
        text = text.replace("_", repr(found["result"]["sufficient"]), 1)
    if command == "subsample" and "orders" in found["result"]:
        # The curve is of one round, and of several rounds it guarantees nothing.
        text = "" if text.endswith(ROUNDS) else text
    return Printed(line, text, relation or default_relation(text))


def next_command(command: str, rng: random.Random) -> list[str]:
    """Return the options of the command that a result is piped into."""
    return {
        "compose": ["--delta", DELTA],
        "convert": rng.choice((["--delta", DELTA], ["--to", "rdp", "--orders", "3"])),
        "subsample": rng.choice(
            (["--q", "0.1", "--orders", "3", "--delta", DELTA], ["--n", "9", "--m", "3"])
        ),
        "select": ["--runs", "poisson:mean=2", "--delta", DELTA],
        "calibrate": ["--epsilon", "1", "--delta", DELTA],
    }[command]


def meets(one: object, other: object) -> bool:
    """Say whether two results are of the same numbers: brackets meet, all else is alike."""
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return False
        if one.keys() <= {"lower", "upper"}:
            low, high = (float(one.get("lower", -math.inf)), float(one["upper"]))
            return low <= float(other["upper"]) and float(other.get("lower", -math.inf)) <= high
        return all(meets(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(meets, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return one == other


def answers(outcome: Outcome) -> list[dict[str, Any]]:
    """Return the printed objects."""
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def check_pipe(found: Printed, command: str, options: list[str], run: Run) -> bool:
    """Check one result in one pipe; return whether it was answered."""
    piped = run(command, "-", *options, "--json", stdin=found.line)
    assert "internal" not in piped.stderr, (found, command, options, piped)
    if not found.text or command == "calibrate":
        assert (piped.status, piped.stdout, piped.stderr.count("\n")) == (2, "", 1), (found, piped)
        return False
    by_hand = run(command, found.text, *options, "--relation", found.relation, "--json")
    assert piped.status == by_hand.status, (found, command, options, piped, by_hand)
    pairs = list(zip(answers(piped), answers(by_hand), strict=True))
    for one, other in pairs:
        assert meets(one["result"], other["result"]), (found, command, options, one, other)
        assert (one["relation"], one["query"]) == (other["relation"], other["query"])
    return bool(pairs)


# Selections within selections take seconds, as do samples of samples.
QUICK = (("compose", "convert"), ("subsample", "compose"))


@pytest.mark.dear("subsample-compose]")
@pytest.mark.parametrize(
    ("command", "following"),
    [
        pytest.param(*pair, marks=() if pair in QUICK else pytest.mark.slow)
        for pair in product(COMMANDS, COMMANDS)
    ],
)
def test_results_are_read_as_their_guarantees(command: str, following: str, run: Run) -> None:
    """Of each command, in each other: what comes of the text of the guarantee, or a refusal."""
    rng = random.Random(f"{command} {following}")
    stream = results(command, rng, run, plain=following == "select")
    answered = sum(
        check_pipe(next(stream), following, next_command(following, rng), run) for _ in range(4)
    )
    assert following == "calibrate" or answered > 0
