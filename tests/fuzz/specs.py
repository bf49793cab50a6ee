"""Specifications of whatever the registry has, from its declarations, and what is left of them
after an accident.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from privcalc.spec.registry import mechanisms, wrappers
from tests.fuzz import numbers
from tests.random_specs import log_uniform

if TYPE_CHECKING:
    import random

    from privcalc.spec.entry import Entry, Parameter

# Those that answer in milliseconds are drawn so many times as often as the others.
CHEAP, OFTEN = frozenset({
    "gaussian", "laplace", "randomized_response", "pure", "approx", "gdp", "zcdp", "rdp",
    "exponential", "gnmax", "bernoulli_pair", "discrete_laplace", "staircase", "stability",
    "partition_selection", "truncated_laplace", "profile", "pmf", "opacus",
}), 5  # fmt: skip
SAMPLINGS = {
    "poisson_sampled": 12, "sampled_without_replacement": 4, "randomly_allocated": 1,
    "shuffled_batches": 1, "shuffled_reports": 1,
}  # fmt: skip
RATES = frozenset({
    "probability", "p", "other_p", "sampling_probability", "false_positive", "delta", "gamma",
})  # fmt: skip
# Written both, or neither of them.
TOGETHER = {"truncated_batch_size", "source_dataset_size"}
NUMBER = re.compile(r"(?<=[=,])[0-9][0-9.e/%-]*")
WORDS = ("true", "false", "gaussian", "laplace", "x", "1", "_", "tree", "fixed", "None", "(", "é")
PIECES = (
    "@", "+", "(", ")", ":", ",", "=", "_", "@_", "@10", "/", "%", "-", "e", "1e999", "\t", " ",
    "\x1c", "\x00", "\u2028", "é", "٣", "\ud800", "@poisson:q=0.1", "@wor:q=0.5", "@group:k=2", "*",
    "pure:epsilon=1", "@select:runs=geometric,mean=3", "[", "{", '"', "\n", "\x85", "\x1f",
)  # fmt: skip


class Specs:
    """Draws specifications; the files that they name are collected."""

    def __init__(self, rng: random.Random, wild: float) -> None:
        """Take the source of chance, and how often a value is at a border."""
        self.rng = rng
        self.wild = wild
        self.files: dict[str, bytes] = {}
        # Two kinds of sampling in one specification are refused.
        self.sampling = rng.choices(list(SAMPLINGS), list(SAMPLINGS.values()))[0]

    def text(self, depth: int = 0) -> str:
        """Return a sum of a few parts."""
        size = self.rng.choices((1, 2, 3), (12, 3, 1))[0]
        return "+".join(self.part(depth) for _ in range(size))

    def part(self, depth: int = 0) -> str:
        """Return one mechanism, wrapped or not, with its count."""
        rng = self.rng
        text = self.call(self.one_of(mechanisms()), depth)
        if rng.random() < 0.05:
            text = f"({text}+{self.call(self.one_of(mechanisms()), depth)})"
        for _ in range(rng.choices((0, 1, 2), (10, 7, 1))[0]):
            text += f"@{self.call(self.wrapper(), depth)}"
        if rng.random() < 0.4:
            text += f"@{numbers.whole(rng, self.wild / 2)}"
        return text

    def one_of(self, entries: tuple[Entry, ...]) -> Entry:
        """Return an entry, mostly a cheap one."""
        often = OFTEN if self.rng.random() < 0.7 else 1
        weights = [often if each.name in CHEAP else 1 for each in entries]
        return self.rng.choices(entries, weights)[0]

    def wrapper(self) -> Entry:
        """Return a wrapper: mostly the sampling of this specification."""
        entries, rng = wrappers(), self.rng
        if rng.random() < 0.05:
            return rng.choice(entries)
        others = [each for each in entries if each.name not in SAMPLINGS]
        sampling = next(each for each in entries if each.name == self.sampling)
        return sampling if rng.random() < 0.8 else rng.choice(others)

    def call(self, entry: Entry, depth: int = 0) -> str:
        """Return a call of an entry in text."""
        rng = self.rng
        name = rng.choice(entry.spellings) if rng.random() < 0.2 else entry.short or entry.name
        keys = [(p, self.value(entry, p, depth)) for p in self.written(entry)]
        inside = ",".join(f"{p.spelling}={value}" for p, value in keys)
        return f"{name.replace('_', '-')}:{inside}" if inside else name.replace("_", "-")

    def written(self, entry: Entry) -> list[Parameter]:
        """Return the parameters that are written: those that are needed, and some others."""
        rng = self.rng
        group = rng.choice(entry.one_of) if entry.one_of else ()
        group += rng.choice(entry.enough) if entry.enough else ()
        found = []
        for each in entry.parameters:
            alternative = any(each.name in names for names in entry.one_of)
            chosen = each.name in group or (not alternative and entry.needs(each))
            if not chosen and not alternative:
                chosen = rng.random() < 0.25
            slip = rng.random() < 0.02 * self.wild
            if chosen != slip:
                found.append(each)
        names = {each.name for each in found}
        dropped = {pair[1] for pair in entry.excludes if set(pair) <= names}
        if entry.name == "poisson_sampled" and len(TOGETHER & names) == 1:
            dropped |= TOGETHER
        return [each for each in found if each.name not in dropped or rng.random() < 0.02]

    def value(self, entry: Entry, parameter: Parameter, depth: int) -> str:
        """Return what is written for a parameter."""
        rng, wild = self.rng, self.wild
        if rng.random() < 0.01 * wild:
            return rng.choice(WORDS)
        kind = parameter.kind
        if kind == "number":
            if parameter.name in RATES and parameter.maximum == 1:
                return numbers.rate(rng, wild)
            return numbers.number(rng, wild)
        if kind == "integer":
            return numbers.whole(rng, wild, 20)
        if kind == "choice":
            return rng.choice(parameter.choices).replace("_", "-")
        if kind == "flag":
            return rng.choice(("true", "false"))
        if kind == "path":
            return self.file(entry)
        if kind == "numbers":
            size = rng.randint(1, 4)
            if wild or parameter.maximum != 1:
                return ",".join(numbers.number(rng, wild) for _ in range(size))
            return ",".join(f"1/{size}" for _ in range(size))
        if kind == "spec" and depth < 2:
            return f"({self.text(depth + 1)})"
        return rng.choice(WORDS)

    def file(self, entry: Entry) -> str:
        """Put a file of the kind that an entry takes among the files, and return its name."""
        rng = self.rng
        name = f"./file{len(self.files)}.{rng.choice(('csv', 'json', 'txt'))}"
        text = self.table(entry.name)
        if rng.random() < 0.3 * self.wild:
            text = mutated(rng, text)
        self.files[name] = text.encode(errors="surrogatepass")
        return name

    def table(self, name: str) -> str:
        """Return what stands in the file of a mechanism."""
        rng, wild = self.rng, self.wild
        size = rng.randint(1, 5)
        if name == "opacus":
            history: list[Any] = [
                [self.json_number(), self.json_number(rate=True), self.json_number(whole=True)]
                for _ in range(size)
            ]
            whole: Any = {"history": history, "mechanism": rng.choice(("rdp", "prv", "gdp"))}
            return json.dumps(whole if rng.random() < 0.8 else history)
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
            if rng.random() < 0.7:
                other = [rng.randint(1, 9) for _ in range(size)]
                found = [(f"1/{size}", f"{each}/{sum(other)}") for each in other]
        if wild and rng.random() < wild:
            found.append((numbers.number(rng, 1.0), numbers.number(rng, 1.0)))
        joint = rng.choice((" ", ",", "\t"))
        return "".join(joint.join(row) + "\n" for row in found)

    def json_number(self, *, rate: bool = False, whole: bool = False) -> float | int | str:
        """Return a number for JSON, mostly a mild one."""
        rng = self.rng
        if whole:
            return int(log_uniform(rng, 1, 50))
        value = log_uniform(rng, 1e-4, 0.9) if rate else log_uniform(rng, 0.5, 20)
        if rng.random() >= self.wild:
            return value
        wild = numbers.extreme(rng)
        try:
            return float(wild)
        except ValueError:
            return wild


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
