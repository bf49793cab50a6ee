"""Specification -> DpEvent, as Python's `repr` has it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

from privcalc.errors import UnsupportedError
from privcalc.exact import Enclosed, Written, decimal_above, decimal_below, exact
from privcalc.spec.brief import brief
from privcalc.spec.events.event import SUFFIX, Event
from privcalc.spec.events.to_tree import SHAPES, meaning
from privcalc.spec.tree import Composed, Hole, Leaf, Node, Parallel, Repeated, Wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from privcalc.relation import Relation


def event_text(tree: Node, relation: Relation) -> str:
    """Return the repr of the DpEvent that a specification is.

    A number that no double is, such as a quotient, is rounded to the side that costs more.

    Args:
        tree: the specification.
        relation: the neighbouring relation in force; events do not say under which they are read.

    Raises:
        UnsupportedError: there is no event for it, or none that holds under this relation.
    """
    event = _event(tree)
    relations = meaning(event).relations
    if relation not in relations:
        known = " or ".join(sorted(each.text for each in relations))
        raise UnsupportedError(
            f"a DpEvent for {brief(tree)} is read under {known}, and not under {relation.text};"
            " --relation says under which it holds"
        )
    return _repr(event)


def _repr(value: object) -> str:
    if isinstance(value, Event):
        fields = ", ".join(f"{name}={_repr(each)}" for name, each in value.values.items())
        return f"{value.name}{SUFFIX}({fields})"
    if isinstance(value, list):
        return f"[{', '.join(map(_repr, value))}]"
    return repr(value)


def _event(tree: Node) -> Event:
    if isinstance(tree, Composed):
        return Event("Composed", {"events": [_event(each) for each in tree.events]})
    if isinstance(tree, Parallel):
        raise UnsupportedError(f"no DpEvent is {brief(tree)}: events have no disjoint data")
    if isinstance(tree, Repeated):
        if isinstance(tree.count, Hole):
            raise TypeError("holes are refused before")
        return Event("SelfComposed", {"event": _event(tree.event), "count": tree.count})
    known = _WRITERS.get(tree.name)
    if known is None:
        raise UnsupportedError(f"no DpEvent is {brief(tree)}")
    writer = _Writer(tree)
    event = known(writer)
    if writer.left:
        names = " and ".join(sorted(writer.left))
        writer.fail(f"that of an event has no {names}")
    return event


def _number(value: float | Enclosed, *, up: bool) -> float:
    """Return a double whose `repr` stands for a number, or for one that costs more.

    A plain double does so itself. Any other number may be rounded: up where larger costs more.
    """
    if not isinstance(value, Enclosed):
        if not isinstance(value, Written):
            return value
        value = Enclosed.of(value)
    low, high = value.low, value.high
    if not high < _LARGEST:
        raise UnsupportedError("no DpEvent has a number that large")
    return decimal_above(high) if up else decimal_below(low)


_ONE = Enclosed.of(1.0)
# Below it every number has doubles on both sides.
_LARGEST = 10**308


class _Writer:
    """The parameters of a mechanism or wrapper, for the fields of its event.

    Attributes:
        tree: its node.
        values: of the parameters that are written.
        left: the names of those that were not taken.
    """

    def __init__(self, tree: Leaf | Wrapped) -> None:
        self.tree = tree
        self.values = dict(tree.parameters)
        # Parameters that no field has said yet: what is left at the end would be lost.
        self.left = set(self.values)

    def has(self, name: str) -> bool:
        """Say whether a parameter is written."""
        return name in self.values

    def taken(self, name: str) -> object:
        """Return a parameter, or None."""
        self.left.discard(name)
        return self.values.get(name)

    def plain(self, name: str) -> float:
        """Return a parameter that is a number."""
        value = self.taken(name)
        if not isinstance(value, int | float):
            raise TypeError(f"{name} is no number")
        return value

    def exact(self, name: str, default: float = 1.0) -> Enclosed:
        """Return the number that a parameter stands for."""
        return Enclosed.of(self.plain(name) if self.has(name) else default)

    def up(self, name: str, default: float = 0.0) -> float:
        """Return a number of which larger ones cost more."""
        return _number(self.plain(name), up=True) if self.has(name) else default

    def noise(self, name: str) -> float:
        """Return a noise multiplier: as it is written, or noise divided by sensitivity."""
        if self.has("noise_multiplier"):
            return _number(self.plain("noise_multiplier"), up=False)
        if not self.has("sensitivity"):
            return _number(self.plain(name), up=False)
        return _number(self.exact(name) / self.exact("sensitivity"), up=False)

    def double(self, name: str, value: object) -> float:
        """Return a number that is a double: its rounding may cost more or less."""
        if not isinstance(value, int | float):
            raise TypeError(f"{name} is no number")
        if isinstance(value, Written):
            self.fail(f"its {name} is no double")
        return value

    def numbers(self, name: str) -> tuple[float, ...]:
        """Return a list of numbers."""
        values = self.taken(name)
        if not isinstance(values, tuple):
            raise TypeError(f"{name} is no list")
        return values

    def doubles(self, name: str) -> list[float]:
        """Return a list of numbers that are doubles."""
        return [self.double(name, each) for each in self.numbers(name)]

    def inner(self) -> Event:
        """Return the event that this is done to."""
        if not isinstance(self.tree, Wrapped):
            raise TypeError("only wrappers have an event")
        return _event(self.tree.event)

    def fail(self, why: str) -> NoReturn:
        """Refuse what no event is."""
        raise UnsupportedError(f"no DpEvent is {brief(self.tree)}: {why}")


def _gaussian(w: _Writer) -> Event:
    return Event("Gaussian", {"noise_multiplier": w.noise("standard_deviation")})


def _laplace(w: _Writer) -> Event:
    return Event("Laplace", {"noise_multiplier": w.noise("scale")})


def _discrete_laplace(w: _Writer) -> Event:
    sensitivity = w.exact("sensitivity")
    each = (
        w.exact("epsilon") / sensitivity
        if w.has("epsilon")
        else Enclosed.of(1.0) / w.exact("scale")
    )
    fields = {"noise_parameter": _number(each, up=True), "sensitivity": int(sensitivity.low)}
    return Event("DiscreteLaplace", fields)


def _discrete_gaussian(w: _Writer) -> Event:
    if not w.has("standard_deviation"):
        w.fail("write sigma")
    sigma, sensitivity = w.plain("standard_deviation"), int(w.exact("sensitivity").low)
    if isinstance(sigma, Written):
        w.fail("its sigma is no double")
    return Event("DiscreteGaussian", {"sigma": sigma, "sensitivity": sensitivity, "dimension": 1})


def _randomized_response(w: _Writer) -> Event:
    """Write p = 1 - noise (k - 1) / k; less noise costs more where the truth is likely."""
    if not w.has("probability"):
        w.fail("write p instead of epsilon")
    p, k = w.exact("probability"), int(w.exact("categories", 2).low)
    scale = Fraction(k, k - 1)
    noise = Enclosed((1 - p.high) * scale, (1 - p.low) * scale)
    if not 0 < noise.low <= noise.high <= 1:
        w.fail("the true category is less likely than another")
    fields = {"noise_parameter": _number(noise, up=False), "num_buckets": k}
    return Event("RandomizedResponse", fields)


def _exponential(w: _Writer) -> Event:
    if w.taken("monotone"):
        w.fail("that of an event knows no monotone scores")
    return Event("ExponentialMechanism", {"epsilon": w.up("epsilon")})


def _guarantee(w: _Writer) -> Event:
    epsilon, delta = w.up("epsilon"), w.up("delta")
    if not epsilon and not delta:
        return Event("NoOp", {})
    return Event("EpsilonDelta", {"epsilon": epsilon, "delta": delta})


def _zcdp(w: _Writer) -> Event:
    return Event("ZC", {"rho": w.up("rho"), "xi": w.up("xi")})


def _parts(numbers: Iterable[float]) -> list[Fraction]:
    known = list(map(exact, numbers))
    return [each / sum(known) for each in known]


def _mixture(w: _Writer) -> Event:
    sizes, written = w.doubles("sensitivities"), w.numbers("probabilities")
    if len(sizes) != len(written):
        w.fail("write one probability for each sensitivity")
    chances = [float(each) for each in written]
    # Probabilities are divided by their sum.
    if _parts(chances) != _parts(written):
        w.fail("its probabilities are no doubles")
    sigma = _number(w.plain("standard_deviation"), up=False)
    fields = {"standard_deviation": sigma, "sensitivities": sizes, "sampling_probs": chances}
    return Event("MixtureOfGaussians", fields)


def _truncated(w: _Writer) -> Event:
    """Write a Poisson sample with a cap; a larger rate may cost less, as the cap binds more."""
    if not (w.has("truncated_batch_size") and w.has("source_dataset_size")):
        w.fail("write max and n together")
    inner = w.inner()
    if inner.name != "Gaussian":
        w.fail("that of truncated batches has Gaussian noise, once")
    rate = "sampling_probability"
    fields = {
        "dataset_size": int(w.plain("source_dataset_size")),
        rate: w.double("q", w.plain(rate)),
        "truncated_batch_size": int(w.plain("truncated_batch_size")),
        **inner.values,
    }
    return Event("TruncatedSubsampledGaussian", fields)


def _poisson(w: _Writer) -> Event:
    if w.has("truncated_batch_size") or w.has("source_dataset_size"):
        return _truncated(w)
    q = min(1.0, w.up("sampling_probability"))
    return Event("PoissonSampled", {"sampling_probability": q, "event": w.inner()})


def _without_replacement(w: _Writer) -> Event:
    sizes = ("source_dataset_size", "sample_size")
    if not all(map(w.has, sizes)):
        w.fail("give n and m")
    numbers = {name: int(w.plain(name)) for name in sizes}
    return Event("SampledWithoutReplacement", {**numbers, "event": w.inner()})


def _allocated(w: _Writer) -> Event:
    selected = int(w.plain("participations")) if w.has("participations") else 1
    fields = {"num_selected": selected, "num_steps": int(w.plain("steps"))}
    return Event("RandomAllocation", {"event": w.inner(), **fields})


def _selected(w: _Writer) -> Event:
    shapes = {"poisson": math.inf, **{name: shape for shape, name in SHAPES.items()}}
    runs = w.taken("runs")
    if runs == "tnb" and not w.has("shape"):
        w.fail("tnb runs have a shape")
    shape = w.plain("shape") if runs == "tnb" else shapes.get(str(runs))
    if shape is None or not w.has("mean"):
        w.fail("an event has a mean, of geometric, logarithmic, tnb or poisson runs")
    if isinstance(shape, Written):
        w.fail("its shape is no double")
    return Event("RepeatAndSelect", {"event": w.inner(), "mean": w.up("mean"), "shape": shape})


_WRITERS: dict[str, Callable[[_Writer], Event]] = {
    "gaussian": _gaussian,
    "laplace": _laplace,
    "discrete_laplace": _discrete_laplace,
    "discrete_gaussian": _discrete_gaussian,
    "randomized_response": _randomized_response,
    "exponential": _exponential,
    "pure": _guarantee,
    "approx": _guarantee,
    "zcdp": _zcdp,
    "gaussian_mixture": _mixture,
    "poisson_sampled": _poisson,
    "sampled_without_replacement": _without_replacement,
    "randomly_allocated": _allocated,
    "repeat_and_select": _selected,
}
