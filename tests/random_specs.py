"""Random specifications of whatever the registry has: the one generator of all tests.

Names, kinds, ranges and alternatives are those of the declarations. Numbers are mild, or at
borders (`wild`), or near those of the declared examples (`near`), where most questions have an
answer: then noise is between a third of the example's and thirty times that, files have what they
need, and each kind of sampling is one of what it is for.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from privcalc.relation import Relation
from privcalc.spec.parse import parse
from privcalc.spec.registry import entry, mechanisms, wrappers
from privcalc.spec.tree import calls
from tests import random_numbers as numbers
from tests.random_numbers import log_uniform

if TYPE_CHECKING:
    import random
    from collections.abc import Collection

    from privcalc.spec.entry import Entry, Parameter

# Noise and guarantees whose pair is the one that was stated, under any relation.
STATED = frozenset({
    "gaussian", "laplace", "gdp", "pure", "approx", "discrete_gaussian", "discrete_laplace",
    "staircase", "randomized_response", "exponential", "skellam",
})  # fmt: skip
ADAPTIVE = frozenset({
    "above_threshold", "ptr", "stability", "thresholded_counts", "partition_selection",
    "noisy_screening", "gnmax", "gnss", "posterior_regression",
})  # fmt: skip
# Those that answer in milliseconds are drawn so many times as often as the others.
CHEAP, OFTEN = STATED - {"discrete_gaussian"} | {
    "zcdp", "rdp", "gnmax", "bernoulli_pair", "stability", "partition_selection",
    "truncated_laplace", "profile", "pmf",
}, 5  # fmt: skip
SAMPLINGS = {
    "": 5, "poisson_sampled": 12, "sampled_without_replacement": 4, "randomly_allocated": 1,
    "shuffled_batches": 1, "shuffled_reports": 1,
}  # fmt: skip
# Known for some mechanisms only.
PARTICULAR = ("randomly_allocated", "shuffled_batches", "shuffled_reports")
RUNS = (
    "geometric:mean={}", "logarithmic:mean={}", "tnb:shape={},mean={}", "poisson:mean={}",
    "binomial:n=40,mean={}", "fixed:n=3", "tnb:shape={},gamma=0.1", "binomial:n=5,p=0.4",
)  # fmt: skip
# The most uses near examples; some have more, and others answer as slowly as their examples.
FEW_USES, MANY_USES, MOST_USES = 30, 5000, {
    "gaussian": 1_000_000, "noisy_screening": 1000, "gnmax": 100_000, "discrete_gaussian": 1000,
    "matrix_gaussian": 1000, "thresholded_counts": 300, "bernoulli_pair": 300, "pmf": 30,
    "profile": 100, "noisy_max": 1000, "gaussian_mixture": 100, "gaussian_pair": 100,
}  # fmt: skip
RATES = frozenset({
    "probability", "p", "other_p", "sampling_probability", "false_positive", "delta", "gamma",
})  # fmt: skip
# Written both, or neither of them.
TOGETHER = {"truncated_batch_size", "source_dataset_size"}
# Of the example's number: what costs less when it is larger, what costs more, and all else.
SPREAD = {"decreases": (0.3, 30.0), "increases": (0.03, 4.0), "": (0.4, 2.5)}
NUMBER = re.compile(r"(?<=[=,])[0-9][0-9.e/%-]*")
WORDS = ("true", "false", "gaussian", "laplace", "x", "1", "_", "tree", "fixed", "None", "(", "é")
PIECES = (
    "@", "+", "(", ")", ":", ",", "=", "_", "@_", "@10", "/", "%", "-", "e", "1e999", "\t", " ",
    "\x1c", "\x00", "\u2028", "é", "٣", "\ud800", "@poisson:q=0.1", "@wor:q=0.5", "@group:k=2", "*",
    "pure:epsilon=1", "@select:runs=geometric,mean=3", "[", "{", '"', "\n", "\x85", "\x1f",
)  # fmt: skip


class Question(NamedTuple):
    """A specification, a delta, and the relation to ask under (None: the default)."""

    text: str
    delta: float
    relation: Relation | None

    @property
    def replaces(self) -> bool:
        """Whether it is asked under replace-one, the default of samples of a fixed size."""
        if self.relation is None:
            return "@wor:" in self.text
        return self.relation is Relation.REPLACE_ONE


@cache
def example_of(name: str) -> tuple[dict[str, Any], str]:
    """Return the values in the example of an entry, and the first mechanism in it."""
    found = list(calls(parse(entry(name).example).tree))
    own = next(each for each in found if each.name == name)
    return dict(own.parameters), found[-1].name


class Specs:
    """Draws specifications; the files that they name are collected."""

    def __init__(
        self,
        rng: random.Random,
        *,
        wild: float = 0.0,
        near: bool = False,
        only: Collection[str] = (),
        without: Collection[str] = (),
        sampling: str | None = None,
        sizes: tuple[tuple[float, float], ...] = (),
    ) -> None:
        """Take the source of chance.

        Args:
            rng: where numbers come from.
            wild: how often a value is at a border.
            near: whether numbers are near those of examples.
            only: names of the mechanisms that are drawn, or () for all.
            without: names of wrappers that are not drawn near examples.
            sampling: the name of the wrapper, "" for none, None for any.
            sizes: ranges from one of which numbers are drawn instead; integers are as far from
                the least one. Ratios and all that may be left out are as frequent as all else.
        """
        self.rng, self.wild, self.near, self.sizes = rng, wild, near or bool(sizes), sizes
        self.without = without
        self.entries = tuple(each for each in mechanisms() if not only or each.name in only)
        self.files: dict[str, bytes] = {}
        # Two kinds of sampling in one specification are refused.
        kinds = SAMPLINGS if near else {k: n for k, n in SAMPLINGS.items() if k}
        drawn = rng.choices(list(kinds), list(kinds.values()))[0]
        self.sampling = drawn if sampling is None else sampling

    def question(self) -> Question:
        """Return a specification with where and how to ask about it."""
        rng, relation = self.rng, None
        text = self.text()
        if not self.sampling and rng.random() < 0.15:
            relation = Relation.REPLACE_ONE
        elif "@wor:" in text and rng.random() < 0.3:
            relation = Relation.ADD_OR_REMOVE_ONE
        return Question(text, log_uniform(rng, 1e-30, 0.3), relation)

    def text(self, depth: int = 0) -> str:
        """Return a sum of a few parts."""
        size = self.rng.choices((1, 2, 3), (12, 5, 1))[0]
        return "+".join(self.part(depth) for _ in range(size))

    def parallel(self) -> str:
        """Return mechanisms on disjoint parts of the data, at times with another beside."""
        rng = self.rng
        inside = ",".join(self.part() for _ in range(rng.randint(2, 3)))
        beside = f"+{self.part()}" if rng.random() < 0.5 else ""
        return f"max({inside})@{rng.randint(1, 3)}{beside}"

    def part(self, depth: int = 0) -> str:
        """Return one mechanism, wrapped or not, with its count."""
        rng = self.rng
        around = [self.wrapper() for _ in range(rng.choices((0, 1, 2), (10, 7, 1))[0])]
        if self.near:
            # A group is one of records that are sampled one by one.
            around.sort(key=lambda each: each.name not in SAMPLINGS)
        chosen = self.one_of(self.entries)
        for each in around if self.near else ():
            if each.name in PARTICULAR:
                chosen = entry(example_of(each.name)[1])
        text = self.call(chosen, depth)
        if rng.random() < 0.05:
            text = f"({text}+{self.call(self.one_of(self.entries), depth)})"
        for each in around:
            text += f"@{self.call(each, depth)}"
        if rng.random() < 0.4:
            text += f"@{self.count(chosen)}"
        return text

    def count(self, of: Entry) -> str:
        """Return how often a mechanism is used."""
        if not self.near:
            return numbers.whole(self.rng, self.wild / 2)
        usual = MANY_USES if of.name in CHEAP else FEW_USES
        return str(int(log_uniform(self.rng, 1, MOST_USES.get(of.name, usual))))

    def one_of(self, entries: tuple[Entry, ...]) -> Entry:
        """Return an entry, mostly a cheap one."""
        often = OFTEN if self.rng.random() < 0.7 else 1
        weights = [often if each.name in CHEAP else 1 for each in entries]
        return self.rng.choices(entries, weights)[0]

    def wrapper(self) -> Entry:
        """Return a wrapper: mostly the sampling of this specification."""
        entries, rng = wrappers(), self.rng
        if rng.random() < 0.05 and not self.near:
            return rng.choice(entries)
        others = [each for each in entries if each.name not in {*SAMPLINGS, *self.without}]
        return entry(self.sampling) if self.sampling and rng.random() < 0.8 else rng.choice(others)

    def call(self, entry: Entry, depth: int = 0) -> str:
        """Return a call of an entry in text."""
        rng = self.rng
        name = rng.choice(entry.spellings) if rng.random() < 0.2 else entry.short or entry.name
        if self.near and entry.name == "repeat_and_select":
            return f"select:runs={self.runs().replace(':', ',', 1)}"
        size = rng.randint(1, 4)
        keys = {p.name: self.value(entry, p, depth, size) for p in self.written(entry)}
        for less, more in entry.ordered if self.near else ():
            if {less, more} <= keys.keys():
                keys[less], keys[more] = sorted((keys[less], keys[more]), key=float)
        spelled = {p.name: p.spelling for p in entry.parameters}
        inside = ",".join(f"{spelled[key]}={value}" for key, value in keys.items())
        noise = entry.parameter("noise") if self.near else None
        if noise is not None:
            normal = "sigma=" in inside or ("scale=" not in inside and rng.random() < 0.5)
            some = [each for each in noise.choices if each.endswith("gaussian") == normal]
            inside = f"noise={rng.choice(some).replace('_', '-')},{inside}"
        return f"{name.replace('_', '-')}:{inside}" if inside else name.replace("_", "-")

    def runs(self) -> str:
        """Return a number of runs that is random."""
        form = self.rng.choice(RUNS)
        return form.format(*(log_uniform(self.rng, 1.5, 30) for _ in range(form.count("{}"))))

    def written(self, entry: Entry) -> list[Parameter]:
        """Return the parameters that are written: those that are needed, and some others."""
        rng = self.rng
        example = example_of(entry.name)[0]
        group = rng.choice(entry.one_of) if entry.one_of else ()
        group += rng.choice(entry.enough) if entry.enough else ()
        if self.near and {"file", "strategy"} & {p.name for p in entry.parameters}:
            group = tuple(example)
        found = []
        for each in entry.parameters:
            alternative = any(each.name in names for names in entry.one_of)
            chosen = each.name in group or (not alternative and entry.needs(each))
            if not chosen and not alternative:
                usual = self.near and each.default is None and each.name in example
                chosen = usual or rng.random() < (0.5 if self.sizes else 0.25)
            slip = rng.random() < 0.02 * self.wild
            if chosen != slip and not (self.near and each.name == "noise"):
                found.append(each)
        names = {each.name for each in found}
        dropped = {pair[1] for pair in entry.excludes if set(pair) <= names}
        if dropped and self.near and rng.random() < 0.5 and entry.excludes[0][0] not in group:
            dropped = {entry.excludes[0][0]}
        if entry.name == "poisson_sampled" and len(TOGETHER & names) == 1:
            dropped |= TOGETHER
        slips = 0.0 if self.near else 0.02
        return [each for each in found if each.name not in dropped or rng.random() < slips]

    def value(self, entry: Entry, parameter: Parameter, depth: int, size: int) -> str:
        """Return what is written for a parameter; lists have so many numbers near examples."""
        rng, wild = self.rng, self.wild
        if rng.random() < 0.01 * wild:
            return rng.choice(WORDS)
        kind = parameter.kind
        if self.sizes and kind in ("number", "integer", "numbers", "spec"):
            return self.sized(parameter)
        if kind in ("number", "integer"):
            return self.near_example(entry, parameter) if self.near else self.number(parameter)
        if kind == "choice":
            return rng.choice(parameter.choices).replace("_", "-")
        if kind == "flag":
            return rng.choice(("true", "false"))
        if kind == "path":
            return self.file(entry)
        if kind == "numbers":
            if self.near and parameter.maximum == 1:
                weights = [rng.randint(1, 30) for _ in range(size)]
                return ",".join(f"{each}/{sum(weights)}" for each in weights)
            if self.near:
                return ",".join(f"{round(rng.uniform(0, 3), 1)}" for _ in range(size))
            size = rng.randint(1, 4)
            if wild or parameter.maximum != 1:
                return ",".join(numbers.number(rng, wild) for _ in range(size))
            return ",".join(f"1/{size}" for _ in range(size))
        if kind == "spec" and depth < 2:
            if self.near:
                stated = [each for each in mechanisms() if each.name in STATED & CHEAP]
                return f"({self.call(rng.choice(stated), depth + 1)})"
            return f"({self.text(depth + 1)})"
        return rng.choice(WORDS)

    def number(self, parameter: Parameter) -> str:
        """Return a number or a count that questions have, or one at a border."""
        if parameter.kind == "integer":
            return numbers.whole(self.rng, self.wild, 20)
        if parameter.name in RATES and parameter.maximum == 1:
            return numbers.rate(self.rng, self.wild)
        return numbers.number(self.rng, self.wild)

    def near_example(self, entry: Entry, parameter: Parameter) -> str:
        """Return a number in the range that is declared, not far from that of the example."""
        rng, base = self.rng, example_of(entry.name)[0].get(parameter.name)
        if parameter.name == "sampling_probability":
            # The product of two with few binary digits is exact, and then is accepted.
            few = rng.random() < 0.5
            return repr(rng.randint(1, 255) / 256 if few else log_uniform(rng, 1e-5, 0.9))
        if parameter.kind == "integer":
            least = int(parameter.minimum or 1)
            top = max(least + 3.0, 1.5 * float(base or parameter.default or 40))
            if parameter.default == 1:
                top = 5.0
            return str(int(min(log_uniform(rng, max(least, 1), top), parameter.maximum or 1e15)))
        if parameter.maximum == 1:
            if base is None or base >= 0.01:
                return repr(round(rng.uniform(0.02, 0.98), 3))
            return repr(log_uniform(rng, 1e-10 * base, 1e3 * base))
        if base is None:
            base = float(parameter.default or 1.0)
        low, high = SPREAD[parameter.cost]
        value = log_uniform(rng, low * base, high * base) if base else round(rng.uniform(-1, 1), 2)
        return repr(value if parameter.contains(value) else float(base))

    def sized(self, parameter: Parameter) -> str:
        """Return a number of few digits in one of the sizes, and in the range that is declared."""
        rng, high = self.rng, parameter.maximum
        if parameter.kind == "spec":
            return "(gaussian:sigma=2)"
        if parameter.kind == "numbers":
            return "0.5,0.5" if high == 1 else f"1.5,{0.5 * rng.randint(0, 2)}"
        low, top = rng.choice(self.sizes)
        if parameter.kind == "integer":
            least = round(parameter.minimum or 0)
            value = least + round(log_uniform(rng, low, min(top, 200.0)))
            return str(value if parameter.contains(value) else least)
        while True:
            size = log_uniform(rng, low, top)
            if high is not None and high <= 1:
                size = min(size, 1.0) if rng.random() < 0.5 else 1.0 - min(size, 1.0)
                size = rng.choice((parameter.minimum or 0.0, high)) if rng.random() < 0.05 else size
            written = f"{size:.3g}"
            if rng.random() < 0.2:
                written = f"{rng.randint(1, 9)}/{rng.choice((3, 7, 11))}"
            if parameter.minimum is None and rng.random() < 0.3:
                written = f"-{written}"
            if parameter.contains(float(Fraction(written))):
                return written

    def file(self, entry: Entry) -> str:
        """Put a file of the kind that an entry takes among the files, and return its name."""
        rng = self.rng
        name = (
            f"./file{len(self.files)}.{'csv' if self.near else rng.choice(('csv', 'json', 'txt'))}"
        )
        text = self.table(entry.name)
        if rng.random() < 0.3 * self.wild:
            text = mutated(rng, text)
        self.files[name] = text.encode(errors="surrogatepass")
        return name

    def table(self, name: str) -> str:
        """Return what stands in the file of a mechanism."""
        rng, wild = self.rng, self.wild
        size = rng.randint(2 if self.near else 1, 5)
        if name == "profile":
            rows = sorted(log_uniform(rng, 0.01, 5) for _ in range(size))
            found = [(repr(e), numbers.delta(rng, wild)) for e in rows]
        elif name == "rdp":
            rows = sorted(1 + log_uniform(rng, 0.1, 60) for _ in range(size))
            found = [(repr(o), numbers.number(rng, wild)) for o in rows]
        elif name == "repeat_and_select":
            found = [(str(k), f"1/{size}") for k in range(1, size + 1)]
        else:
            found = [(f"1/{size}", numbers.rate(rng, wild)) for _ in range(size)]
            if self.near or rng.random() < 0.7:
                # At times an output that one of both lacks.
                other = [rng.randint(0 if self.near else 1, 9) for _ in range(size)]
                other[-1] += 1
                found = [(f"1/{size}", f"{each}/{sum(other)}") for each in other]
        if self.near and name in ("profile", "rdp"):
            found = self.ordered(name, size)
        if wild and rng.random() < wild:
            found.append((numbers.number(rng, 1.0), numbers.number(rng, 1.0)))
        joint = rng.choice((" ", ",", "\t"))
        return "".join(joint.join(row) + "\n" for row in found)

    def ordered(self, name: str, size: int) -> list[tuple[str, str]]:
        """Return points of a profile that falls to a small delta, or of a curve that rises."""
        rng = self.rng
        if name == "rdp":
            orders = sorted(1 + log_uniform(rng, 0.1, 60) for _ in range(size))
            slope = log_uniform(rng, 1e-3, 0.3)
            return [(repr(order), f"{slope * order:.6g}") for order in orders]
        epsilons = sorted(log_uniform(rng, 0.01, 3) for _ in range(size))
        start = rng.uniform(0.02, 0.4)
        deltas = [float(f"{start * 10 ** (-rng.uniform(2, 4) * e):.3g}") for e in epsilons]
        deltas.sort(reverse=True)
        deltas[-1] = min(deltas[-1], log_uniform(rng, 1e-35, 1e-6))
        return [(repr(e), repr(d)) for e, d in zip(epsilons, deltas, strict=True)]

    def write(self) -> None:
        """Write the files into the current directory."""
        for name, content in self.files.items():
            Path(name).write_bytes(content)


def touched(rng: random.Random, text: str) -> str:
    """Return a specification with one of its numbers at a border, and all else as it was."""
    found = list(NUMBER.finditer(text))
    if not found:
        return text
    start, stop = rng.choice(found).span()
    return text[:start] + numbers.extreme(rng) + text[stop:]


def mutated(rng: random.Random, text: str) -> str:
    """Return a text after one to three accidents."""
    for _ in range(rng.randint(1, 3)):
        place = rng.randint(0, len(text))
        kind = rng.random()
        if kind < 0.3:
            text = text[:place] + text[place + rng.randint(1, 3) :]
        elif kind < 0.6:
            text = text[:place] + rng.choice(PIECES) + text[place:]
        elif kind < 0.75:
            text = text[:place] + numbers.number(rng, 1.0) + text[place:]
        elif kind < 0.9:
            other = rng.randint(0, len(text))
            text = text[:place] + text[other : other + rng.randint(1, 12)] + text[place:]
        else:
            text = text[:place] + text[place:].upper()
    return text
