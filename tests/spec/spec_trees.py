"""Random specification trees, and mechanisms that only tests have, with every kind of value."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING

from privcalc.relation import Relation
from privcalc.spec import registry
from privcalc.spec.entry import MAX_INTEGER
from privcalc.spec.registry import Entry, Parameter, mechanism, wrapper
from privcalc.spec.tree import (
    HOLE,
    Composed,
    Leaf,
    Node,
    Parallel,
    Parameters,
    Repeated,
    Value,
    Wrapped,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

PATHS = (
    "./curve.csv",
    "data/points",
    "/data/a-b_c.json",
    "../x",
    ".5",
    ".5e3",
    "a.",
    "CaSe/Name.TXT",
)


def ledger(entries: int) -> Composed:
    """Return the releases of some years: three kinds of mechanisms, no two of them equal."""
    numbers = (1.0 + k / 1024 for k in range(entries))
    events = (
        (
            Repeated(k + 2, Leaf("laplace", (("scale", number),))),
            Wrapped(
                "poisson_sampled",
                (("sampling_probability", 0.25),),
                Leaf("gaussian", (("noise_multiplier", number),)),
            ),
            Leaf("randomized_response", (("epsilon", number),)),
        )[k % 3]
        for k, number in enumerate(numbers)
    )
    return Composed(tuple(events))


NAMES = ("geometric", "tnb", "a_b_c", "true", "x1")


class _Bare:
    """Something with parameters."""

    def __init__(self, **parameters: object) -> None:
        self.parameters = parameters


@contextmanager
def extra_entries() -> Iterator[None]:
    """Register the test-only mechanisms and wrappers, and take them out again."""
    mechanism(
        name="test_kinds",
        aliases=("tk",),
        parameters=(
            Parameter("file_name", "a file", short="file", kind="path", default_text="none"),
            Parameter("monotone", "a flag", kind="flag", default=False),
            Parameter("noise", "a choice", kind="choice", choices=("gaussian", "two_sided")),
            Parameter("label", "a name", kind="name", default="x"),
            Parameter("mean", "any number", default_text="0"),
            Parameter("shift", "an integer", kind="integer", minimum=-5.0, default=0),
        ),
        example="test-kinds:noise=two-sided,shift=-3",
    )(_Bare)
    mechanism(
        name="test_spec",
        parameters=(
            Parameter("test", "a specification", kind="spec"),
            Parameter("mechanism", "another", kind="spec", default_text="the same"),
            Parameter("bound", "below one", maximum=1.0, open_maximum=True, default=0.5),
        ),
        relations=frozenset({Relation.REPLACE_ONE}),
        example="test-spec:test=(gaussian:sigma=8)",
    )(_Bare)
    mechanism(name="test_bare", parameters=(), example="test-bare")(_Bare)
    wrapper(
        name="test_sampled",
        short="ts",
        parameters=(
            Parameter("sampling_probability", "q", short="q", minimum=0.0, maximum=1.0),
            Parameter("source_dataset_size", "n", short="n", kind="integer", minimum=1.0),
            Parameter("sample_size", "m", short="m", kind="integer", minimum=1.0),
        ),
        one_of=(("sampling_probability",), ("source_dataset_size", "sample_size")),
        ordered=(("sample_size", "source_dataset_size"),),
        inner_relation=Relation.REPLACE_ONE,
        example="gaussian:sigma=1@ts:n=100,m=10",
    )(_Bare)
    wrapper(
        name="test_group",
        parameters=(Parameter("size", "k", short="k", kind="integer", minimum=1.0),),
        example="gaussian:sigma=1@test-group:k=3",
    )(_Bare)
    try:
        yield
    finally:
        for name in ("test_kinds", "test_spec", "test_bare", "test_sampled", "test_group"):
            registry.unregister(name)


def random_tree(rng: random.Random, depth: int = 4) -> Node:
    """Return a tree in normal form, of any registered mechanisms and wrappers."""
    shape = rng.random()
    if depth <= 1 or shape < 0.4:
        return _leaf(rng, depth)
    if shape < 0.6:
        count = HOLE if rng.random() < 0.1 else rng.choice((1, 2, 14063, 10**9, MAX_INTEGER))
        return Repeated(count, random_tree(rng, depth - 1))
    if shape < 0.8:
        entry = rng.choice(registry.wrappers())
        return Wrapped(entry.name, _parameters(rng, entry, depth), random_tree(rng, depth - 1))
    kind = rng.choice((Composed, Parallel))
    events: list[Node] = []
    for _ in range(rng.randint(2, 3)):
        event = random_tree(rng, depth - 1)
        events.extend(event.events if isinstance(event, kind) else (event,))
    return kind(tuple(events))


def _leaf(rng: random.Random, depth: int) -> Leaf:
    entry = rng.choice(registry.mechanisms())
    if depth <= 1 and any(parameter.kind == "spec" for parameter in entry.parameters):
        entry = registry.entry("gaussian")
    return Leaf(entry.name, _parameters(rng, entry, depth))


def _parameters(rng: random.Random, entry: Entry, depth: int) -> Parameters:
    group = rng.choice(entry.one_of) if entry.one_of else ()
    alternatives = {name for each in entry.one_of for name in each}
    enough = rng.choice(entry.enough) if entry.enough else ()
    values: dict[str, Value] = {}
    for parameter in entry.parameters:
        name = parameter.name
        wanted = name in group if name in alternatives else True
        excluded = any({name, other} in map(set, entry.excludes) for other in values)
        excluded |= any({name, other} in map(set, entry.excludes) for other in group)
        needed = not parameter.optional or name in enough
        if wanted and not excluded and (needed or rng.random() < 0.5):
            values[name] = _value(rng, parameter, depth)
    for low, high in entry.ordered:
        a, b = values.get(low), values.get(high)
        if isinstance(a, int | float) and isinstance(b, int | float) and a > b:
            values[low], values[high] = b, a
    return tuple(values.items())


def _value(rng: random.Random, parameter: Parameter, depth: int) -> Value:
    if parameter.kind == "spec":
        return random_tree(rng, depth - 1)
    if parameter.kind == "flag":
        return rng.random() < 0.5
    if parameter.kind == "choice":
        return rng.choice(parameter.choices)
    if parameter.kind == "numbers":
        count = rng.randint(1, 4)
        return tuple(_within(rng, parameter) for _ in range(count))
    if parameter.kind == "name":
        return rng.choice(NAMES)
    if parameter.kind == "path":
        return rng.choice(PATHS)
    if rng.random() < 0.1:
        return HOLE
    if parameter.kind == "integer":
        least = round(-9 if parameter.minimum is None else parameter.minimum)
        steps = (0, 1, 7, 59_999, 10**12)
        return least + rng.choice([step for step in steps if parameter.contains(least + step)])
    return _within(rng, parameter)


def _within(rng: random.Random, parameter: Parameter) -> float:
    number = _number(rng, parameter)
    while not parameter.contains(number):
        number = _number(rng, parameter)
    return number


def _number(rng: random.Random, parameter: Parameter) -> float:
    low, high = parameter.minimum, parameter.maximum
    if low is not None and high is not None:
        return low + (high - low) * rng.uniform(1e-9, 1 - 1e-9)
    magnitude = rng.choice((1.0, 5.0, 1.1, rng.random(), 10.0 ** rng.uniform(-9, 9)))
    if rng.random() < 0.1:
        magnitude = rng.choice((5e-324, 1e-300, 1e16, 1e22, 1.7e308, math.pi))
    if low is not None:
        return low + magnitude
    if high is not None:
        return high - magnitude
    return rng.choice((-1.0, 1.0)) * magnitude if rng.random() < 0.9 else 0.0
