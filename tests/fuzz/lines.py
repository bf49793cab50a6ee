"""Command lines with all that stands behind them: options, standard input, and files."""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from privcalc.errors import PrivcalcError
from privcalc.spec.json import to_json
from privcalc.spec.parse import parse
from tests import random_numbers as numbers
from tests.random_specs import Specs, mutated, touched

if TYPE_CHECKING:
    from collections.abc import Callable

# Values that JSON has, and that are none here, or at borders.
WILD = (
    "1e308", "1e-320", "NaN", "Infinity", "null", "1e999", "true", "[]", "{}", "-0", '"1/3"', "-1",
    "0.9999999999999999", '"1e5"', "1" * 50, '"_"', "0.1e0", "0.12345678901234567890", "1e-999",
    '"\\ud800"',
)  # fmt: skip
# Lines of standard input that are no questions, or may begin one.
ODD = (
    b"\x1c", b"\x1f", b"\x85", b"\xc2\x85", b"\xc2\xa0", b"\xe2\x80\xa8", b"", b" ", b"[", b"{",
    b"]", b'"', b"[]", b"{}", b"\xff", b"\x00", b"# x", b"\xef\xbb\xbf", b"1", b"[1]", b"null",
    b'["pure:epsilon=1"]', b"\x0b", b"\x0c", b"\r", b"[[", b"-",
)  # fmt: skip
FORMATS = ("table", "json", "json", "csv", "markdown", "github", "junit", "gitlab", "statement")
RELATIONS = (*("add-or-remove-one", "replace-one", "replace-special") * 6, "x", "")
ENGINES = (*("auto", "contour", "fft", "rdp", "afa") * 4, "x")
TARGETS = ("dp", "profile", "rdp", "zcdp", "gdp", "tradeoff", "risk", "dp-event")
RUNS = (
    "geometric:mean={}", "logarithmic:mean={}", "tnb:shape={},mean={}", "poisson:mean={}",
    "binomial:n={},mean={}", "fixed:n={}", "tnb:shape={},gamma={}", "binomial:n={},p={}", "x:{}",
)  # fmt: skip
BUDGETS = {"zcdp": "rho", "gdp": "mu", "risk": "advantage"}
# Units of work, and how often.
WORK = (1e4, 1e5, 1e6, 5e6, math.inf), (3, 6, 1, 0.1, 0.02)
# What questions on one or two epsilons cost is little beside curves of many points.
FEW_POINTS = (*("2", "3", "5") * 6, "1", "0", "1000001", "x", "1e3")


@dataclass
class Line:
    """One command line.

    Attributes:
        arguments: what follows the name of the program.
        stdin: standard input.
        files: names, in the current directory, with what they hold.
        work: units of work that all of it may cost (`numerics/work.py`): mostly so few that
            searches run out of it, which is quick, and a border as well.
    """

    arguments: list[str]
    stdin: bytes = b""
    files: dict[str, bytes] = field(default_factory=dict)
    work: float = math.inf

    @property
    def streams(self) -> bool:
        """Whether there may be several questions, each with an answer or an error."""
        many = any(each.startswith("--sweep") for each in self.arguments)
        return many or ("-" in self.arguments and "--file" not in self.arguments)

    @property
    def written(self) -> str:
        """All that was written in it, for checks on what is only repeated."""
        held = [each.decode(errors="replace") for each in (self.stdin, *self.files.values())]
        return "\n".join([*self.arguments, *held])


class Lines:
    """Draws command lines."""

    def __init__(self, rng: random.Random) -> None:
        """Take the source of chance; half of the lines have some numbers at borders."""
        self.rng = rng
        self.wild = rng.choice((0.0, 0.0, 0.1, 0.4))
        self.specs = Specs(rng, wild=self.wild)

    def line(self) -> Line:
        """Return one line, whole or after an accident."""
        rng = self.rng
        kinds: dict[Callable[[], Line], int] = {
            self.compose: 10,
            self.convert: 6,
            self.calibrate: 2,
            self.select: 2,
            self.subsample: 3,
            self.stream: 4,
            self.budget_file: 4,
            self.filtered: 1,
            self.on_data: 1,
            self.other: 1,
        }
        line = rng.choices(list(kinds), list(kinds.values()))[0]()
        line.files.update(self.specs.files)
        line.work = rng.choices(*WORK)[0]
        if rng.random() < 0.06 and line.arguments:
            place = rng.randrange(len(line.arguments))
            line.arguments[place] = mutated(rng, line.arguments[place])
        if rng.random() < 0.01:
            rng.shuffle(line.arguments)
        return line

    def spec(self) -> str:
        """Return a specification as one argument, in text or JSON."""
        text = self.specs.text()
        if self.wild == 0.0 and self.rng.random() < 0.4:
            text = touched(self.rng, text)
        if self.rng.random() < 0.12:
            text = self.json(text)
        return mutated(self.rng, text) if self.rng.random() < 0.08 else text

    def json(self, text: str) -> str:
        """Return the JSON twin of a specification, with the numbers at borders that JSON has."""
        rng = self.rng
        try:
            value: Any = to_json(parse(text).tree)
        except (PrivcalcError, RecursionError):
            return text
        found = json.dumps(value)
        if rng.random() < 0.3:
            words = found.split(" ")
            place = rng.randrange(len(words))
            tail = words[place].lstrip("0123456789.e-+")
            words[place] = rng.choice(WILD) + (tail if tail != words[place] else "")
            found = " ".join(words)
        return found

    def places(self) -> list[str]:
        """Return deltas or epsilons to answer at."""
        rng, wild = self.rng, self.wild
        size = rng.choices((1, 2, 3), (8, 2, 1))[0]
        if rng.random() < 0.6:
            return ["--delta", ",".join(numbers.delta(rng, wild) for _ in range(size))]
        return ["--epsilon", ",".join(numbers.number(rng, wild) for _ in range(size))]

    def output(self) -> list[str]:
        """Return options of the output, and the tolerance."""
        rng, found = self.rng, list[str]()
        if rng.random() < 0.6:
            found += ["--format", rng.choice(FORMATS)]
        for flag, chance in (("-t", 0.005 if found else 0.1), ("-q", 0.01), ("-v", 0.1),
                             ("--plot", 0.005), ("--color=always", 0.02)):  # fmt: skip
            found += [flag] if rng.random() < chance else []
        if rng.random() < 0.2:
            found += ["--tolerance", self.tolerance()]
        if rng.random() < 0.15:
            found += ["--relation", rng.choice(RELATIONS)]
        return found

    def tolerance(self) -> str:
        """Return a tolerance: often a wide one, at times one that no double reaches."""
        rng = self.rng
        some = ("1e-3", "0.1", "0.5", "0.99", "0.999999", "1e-6", "1e-9", "1e-14", "1e-16", "1e-17",
                "1e-100", "1e-300", "1e-320", "5e-324", "0.9999999999999999")  # fmt: skip
        return rng.choice(some) if rng.random() < 0.9 else numbers.number(rng, 1.0)

    def engine(self, chance: float = 0.2) -> list[str]:
        """Return the option, or none."""
        rng = self.rng
        return ["--engine", rng.choice(ENGINES)] if rng.random() < chance else []

    def budget(self, asked: list[str], chance: float = 0.2) -> list[str]:
        """Return a budget that goes with what is asked, mostly; or none."""
        rng = self.rng
        if rng.random() >= chance:
            return []
        name = "epsilon" if "--delta" in asked else "delta" if "--epsilon" in asked else ""
        name = next((of for to, of in BUDGETS.items() if to in asked), name)
        if not name or rng.random() < 0.05:
            name = rng.choice(("epsilon", "delta", "rho", "mu", "advantage"))
        draw = numbers.number if name in ("epsilon", "mu", "rho") else numbers.delta
        return [f"--max-{name}", draw(rng, max(self.wild, 0.2))]

    def compose(self) -> Line:
        """Return what a specification costs."""
        rng = self.rng
        specs = [self.spec() for _ in range(rng.choices((1, 2), (9, 1))[0])]
        # A profile costs as much as twenty answers.
        places = self.places() if rng.random() < 0.95 else []
        asked = [*places, *self.engine(), *self.budget(places)]
        return Line(["compose", *specs, *asked, *self.output()])

    def convert(self) -> Line:
        """Return a guarantee in another language."""
        rng, wild = self.rng, self.wild
        to = rng.choice((*TARGETS, "rdp", "zcdp", "dp-event"))
        found = ["convert", self.spec(), "--to", to]
        if to == "dp" or rng.random() < 0.1:
            found += self.places()
        if to == "rdp" or rng.random() < 0.02:
            orders = [numbers.number(rng, 1.0) if rng.random() < wild else "2,8.5,64"]
            found += ["--orders", *orders]
        if to in ("profile", "tradeoff") and rng.random() < 0.9:
            found += ["--points", rng.choice(FEW_POINTS)]
        if to in ("tradeoff", "risk") and rng.random() < 0.4:
            found += ["--fpr", numbers.rate(rng, wild)]
        if to == "risk" and rng.random() < 0.4:
            found += ["--prior", numbers.rate(rng, wild)]
        if rng.random() < 0.1:
            found += ["--group", numbers.whole(rng, wild, 5)]
        found += self.budget(found, 0.15)
        return Line([*found, *self.engine(0.05), *self.output()])

    def calibrate(self) -> Line:
        """Return a hole and a target."""
        rng, wild = self.rng, self.wild
        spec = rng.choice((
            "gaussian:sigma=_", "laplace:scale=_", "gaussian:sigma=2@_", "pure:epsilon=_@5",
            "gaussian:sigma=2@poisson:q=_@10", "gaussian:sigma=_@poisson:q=0.1@10", "rr:p=_",
            "zcdp:rho=_", "gdp:mu=_", "laplace:scale=_@3+pure:epsilon=0.1", "gaussian:sigma=_@_",
            "discrete-laplace:scale=_", "exponential:epsilon=_@3", "approx:epsilon=0.1,delta=_",
        ))  # fmt: skip
        if rng.random() < 0.3:
            place = self.specs.text()
            ends = [i for i, c in enumerate(place) if c == "="]
            start = rng.choice(ends) + 1 if ends else 0
            stop = next((i for i in range(start, len(place)) if place[i] in ",@+)"), len(place))
            spec = place[:start] + "_" + place[stop:]
        if rng.random() < 0.2:
            spec += f"+{self.specs.part()}"
        found = ["calibrate", spec]
        target = rng.choice(("epsilon", "epsilon", "mu", "rho", "advantage", "tpr"))
        found += [f"--{target}", numbers.number(rng, wild)]
        if target == "epsilon":
            found += ["--delta", numbers.delta(rng, wild)]
        if target == "tpr":
            found += ["--fpr", numbers.rate(rng, wild)]
        if rng.random() < 0.05:
            found += ["--ratio", f"1,{numbers.number(rng, wild)}"]
        if rng.random() < 0.03:
            found += ["--sweep", f"count={numbers.whole(rng, wild)}:{numbers.number(rng, wild)}:3"]
        return Line([*found, *self.output()])

    def select(self) -> Line:
        """Return the best of a random number of runs."""
        rng, wild = self.rng, self.wild
        runs = rng.choice(RUNS)
        holes = runs.count("{}")
        filled = runs.format(*(numbers.number(rng, wild) for _ in range(holes)))
        if runs.startswith(("fixed", "binomial")):
            filled = runs.format(*(numbers.whole(rng, wild) for _ in range(holes)))
        spec = rng.choice((self.spec(), "pure:epsilon=1", "gaussian:sigma=4", "laplace:scale=3"))
        if rng.random() < 0.05:
            found = ["select", "gaussian:sigma=4@_", "--thresholds", "--runs", filled]
            found += ["--epsilon-q", numbers.number(rng, wild), "--delta", numbers.delta(rng, wild)]
            return Line([*found, *self.output()])
        places = self.places()
        asked = [*places, *self.engine(0.1), *self.budget(places, 0.1)]
        return Line(["select", spec, "--runs", filled, *asked, *self.output()])

    def subsample(self) -> Line:
        """Return an amplified Renyi curve."""
        rng, wild = self.rng, self.wild
        found = ["subsample", self.spec()]
        if rng.random() < 0.7:
            found += ["--q", numbers.rate(rng, wild)]
        else:
            found += ["--n", numbers.whole(rng, wild, 1e5), "--m", numbers.whole(rng, wild, 1e3)]
        if rng.random() < 0.8:
            orders = numbers.number(rng, 1.0) if rng.random() < wild else "2,3.5,16"
            found += ["--orders", orders]
        if rng.random() < 0.2:
            found += ["--delta", numbers.delta(rng, wild), "--count", numbers.whole(rng, wild)]
        return Line([*found, *self.engine(0.05), *self.output()])

    def stream(self) -> Line:
        """Return questions on standard input."""
        rng, found = self.rng, list[bytes]()
        for _ in range(rng.randint(1, 4)):
            kind = rng.random()
            if kind < 0.2:
                found.append(rng.choice(ODD))
            elif kind < 0.6:
                found.append(self.spec().encode(errors="replace"))
            elif kind < 0.8:
                found.append(self.json(self.specs.text()).encode(errors="replace"))
            else:
                text = json.dumps([self.specs.text() for _ in range(rng.randint(1, 2))])
                found.append(mutated(rng, text).encode(errors="replace"))
        command = rng.choice(("compose", "compose", "convert"))
        places = self.places()
        asked = [*places, *self.budget(places, 0.1), *self.output()]
        joint = rng.choice((b"\n", b"\n", b"\r\n", b" "))
        return Line([command, "-", *asked], stdin=joint.join(found) + joint)

    def budget_file(self) -> Line:
        """Return a check of a budget file."""
        rng, wild = self.rng, self.wild
        quote = rng.random() < 0.2
        epsilon, delta = numbers.number(rng, wild), numbers.delta(rng, wild)
        epsilon, delta = (json.dumps(each) if quote else each for each in (epsilon, delta))
        text = f"[budget]\nepsilon = {epsilon}\ndelta = {delta}\n"
        if rng.random() < 0.2:
            text += f"relation = {json.dumps(rng.choice(RELATIONS))}\n"
        for k in range(rng.randint(1, 3)):
            name = rng.choice((*[f"part {k}"] * 9, "training", "é", "a\\u2028", ""))
            text += f'[[mechanism]]\nname = "{name}"\nspec = {json.dumps(self.spec())}\n'
            text += 'note = "x"\n' if rng.random() < 0.1 else ""
        if rng.random() < 0.1:
            text = mutated(rng, text)
        content = text.encode(errors="replace")
        tail = self.output()
        if rng.random() < 0.2:
            return Line(["compose", "--file", "-", *tail], stdin=content)
        return Line(["compose", "--file", "privacy.toml", *tail], files={"privacy.toml": content})

    def filtered(self) -> Line:
        """Return what a filter leaves."""
        rng, wild = self.rng, self.wild
        value = numbers.number(rng, wild)
        of = rng.choice((f"zcdp:rho={value}", f"gdp:mu={value}", f"rdp:order=4,epsilon={value}"))
        found = ["convert", self.spec(), "--filter", of]
        return Line([*found, "--delta", numbers.delta(rng, wild), *self.output()])

    def on_data(self) -> Line:
        """Return what a mechanism costs on data at hand."""
        rng = self.rng
        spec = rng.choice(("gnmax:sigma=40", "noisy-screening:sigma=40,threshold=100,votes=200",
                           "pure:epsilon=1"))  # fmt: skip
        row = ",".join(numbers.whole(rng, self.wild, 200) for _ in range(rng.randint(1, 6)))
        text = "\n".join([row] * rng.randint(1, 3))
        if rng.random() < 0.3:
            text = mutated(rng, text)
        asked = self.places() if rng.random() < 0.8 else ["--to", "rdp", "--orders", "2,8"]
        found = ["convert", spec, "--data-dependent", "votes.csv", *asked, *self.output()]
        return Line(found, files={"votes.csv": text.encode(errors="replace")})

    def other(self) -> Line:
        """Return what needs no question."""
        rng = self.rng
        name = rng.choice(("gaussian", "poisson", "x", "ops", "", "svt"))
        some = [["--version"], ["--help-spec", name], ["--schema", "result"], ["-h"], ["compose"],
                ["--show-completion", "bash"], ["compose", "-h"], ["x"], ["--x"], ["select"],
                ["compose", "--help-all"], ["--schema", "x"], []]  # fmt: skip
        return Line(list(rng.choice(some)))


def line_of(seed: int, number: int) -> Line:
    """Return the line with a number in the campaign with a seed: the same on every machine."""
    return Lines(random.Random(f"{seed}:{number}")).line()
