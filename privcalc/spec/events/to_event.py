"""Specification -> DpEvent, as Python's `repr` has it."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn, cast

from privcalc.errors import UnsupportedError
from privcalc.exact import Enclosed, Written, decimal_above, decimal_below, exact
from privcalc.spec.brief import brief
from privcalc.spec.events.data import SUFFIX, Event
from privcalc.spec.events.to_tree import SHAPES, meaning
from privcalc.spec.registry import entry
from privcalc.spec.tree import Composed, Hole, Leaf, Node, Parallel, Repeated, Wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    if tree.name not in _WRITERS:
        raise UnsupportedError(f"no DpEvent is {brief(tree)}")
    writer = _Writer(tree)
    known = _WRITERS[tree.name]
    if isinstance(known, tuple):
        name, fields = known
        event = Event(name, {field: write(writer) for field, write in fields.items()})
    else:
        event = known(writer)
    if writer.values:
        names = " and ".join(sorted(writer.values))
        writer.fail(f"that of an event has no {names}")
    return event


# Below it every number has doubles on both sides.
_LARGEST = 10**308


def _number(value: float | Enclosed, *, up: bool) -> float:
    """Return a double whose `repr` stands for a number, or for one that costs more.

    A plain double does so itself. Any other number may be rounded: up where larger costs more.
    """
    if not isinstance(value, Enclosed):
        if not isinstance(value, Written):
            return value
        value = Enclosed.of(value)
    if not value.high < _LARGEST:
        raise UnsupportedError("no DpEvent has a number that large")
    return decimal_above(value.high) if up else decimal_below(value.low)


class _Writer:
    """The parameters of a mechanism or wrapper, for the fields of its event.

    Attributes:
        tree: its node.
        values: of the parameters that no field has said yet: what is left would be lost.
    """

    def __init__(self, tree: Leaf | Wrapped) -> None:
        self.tree = tree
        self.values = dict(tree.parameters)

    def number(self, name: str, default: float | None = None) -> float:
        """Take a parameter that is a number."""
        value = self.values.pop(name, default)
        if not isinstance(value, int | float):
            parameter = entry(self.tree.name).parameter(name)
            self.fail(f"write {parameter.spelling if parameter else name}")
        return value

    def exact(self, name: str, default: float | None = 1.0) -> Enclosed:
        """Take the number that a parameter stands for."""
        return Enclosed.of(self.number(name, default))

    def double(self, name: str, called: str) -> float:
        """Take a number that is a double: its rounding may cost more or less."""
        value = self.number(name)
        if isinstance(value, Written):
            self.fail(f"its {called} is no double")
        return value

    def numbers(self, name: str) -> tuple[float, ...]:
        """Take a list of numbers."""
        return cast("tuple[float, ...]", self.values.pop(name))

    def inner(self) -> Event:
        """Return the event that this is done to."""
        return _event(cast("Wrapped", self.tree).event)

    def fail(self, why: str) -> NoReturn:
        """Refuse what no event is."""
        raise UnsupportedError(f"no DpEvent is {brief(self.tree)}: {why}")


_Field = Callable[[_Writer], object]


def _up(name: str, default: float | None = None) -> _Field:
    """Return a number of which larger ones cost more."""
    return lambda w: _number(w.number(name, default), up=True)


def _whole(name: str, default: float | None = None) -> _Field:
    """Return a whole number."""
    return lambda w: int(w.number(name, default))


def _noise(name: str) -> _Field:
    """Return a noise multiplier: as it is written, or noise divided by sensitivity."""

    def write(w: _Writer) -> float:
        if "noise_multiplier" in w.values:
            return _number(w.number("noise_multiplier"), up=False)
        if "sensitivity" not in w.values:
            return _number(w.number(name), up=False)
        return _number(w.exact(name, None) / w.exact("sensitivity"), up=False)

    return write


def _discrete_laplace(w: _Writer) -> Event:
    sensitivity = w.exact("sensitivity")
    inverse = "epsilon" not in w.values
    each = (
        Enclosed.of(1.0) / w.exact("scale", None) if inverse else w.exact("epsilon") / sensitivity
    )
    fields = {"noise_parameter": _number(each, up=True), "sensitivity": int(sensitivity.low)}
    return Event("DiscreteLaplace", fields)


def _randomized_response(w: _Writer) -> Event:
    """Write p = 1 - noise (k - 1) / k; less noise costs more where the truth is likely."""
    p, k = w.exact("probability", None), int(w.number("categories", 2))
    scale = Fraction(k, k - 1)
    noise = Enclosed((1 - p.high) * scale, (1 - p.low) * scale)
    if not 0 < noise.low <= noise.high <= 1:
        w.fail("the true category is less likely than another")
    fields = {"noise_parameter": _number(noise, up=False), "num_buckets": k}
    return Event("RandomizedResponse", fields)


def _exponential(w: _Writer) -> Event:
    if w.values.pop("monotone", False):
        w.fail("that of an event knows no monotone scores")
    return Event("ExponentialMechanism", {"epsilon": _up("epsilon")(w)})


def _guarantee(w: _Writer) -> Event:
    fields = {name: _number(w.number(name, 0.0), up=True) for name in ("epsilon", "delta")}
    return Event("EpsilonDelta", fields) if any(fields.values()) else Event("NoOp", {})


def _mixture(w: _Writer) -> Event:
    sizes, written = w.numbers("sensitivities"), w.numbers("probabilities")
    if len(sizes) != len(written):
        w.fail("write one probability for each sensitivity")
    if any(isinstance(each, Written) for each in sizes):
        w.fail("its sensitivities are no doubles")
    chances = [float(each) for each in written]
    # Probabilities are divided by their sum.
    if _parts(chances) != _parts(written):
        w.fail("its probabilities are no doubles")
    sigma = _number(w.number("standard_deviation"), up=False)
    fields = {"standard_deviation": sigma, "sensitivities": [*sizes], "sampling_probs": chances}
    return Event("MixtureOfGaussians", fields)


def _parts(numbers: Iterable[float]) -> list[Fraction]:
    known = list(map(exact, numbers))
    return [each / sum(known) for each in known]


def _poisson(w: _Writer) -> Event:
    """Write Poisson samples; with a cap a larger rate may cost less, as the cap binds more."""
    rate = "sampling_probability"
    if not {"truncated_batch_size", "source_dataset_size"} & set(w.values):
        return Event(
            "PoissonSampled", {rate: min(1.0, _number(w.number(rate), up=True)), "event": w.inner()}
        )
    inner = w.inner()
    if inner.name != "Gaussian":
        w.fail("that of truncated batches has Gaussian noise, once")
    fields = {
        "dataset_size": int(w.number("source_dataset_size")),
        rate: w.double(rate, "q"),
        "truncated_batch_size": int(w.number("truncated_batch_size")),
        **inner.values,
    }
    return Event("TruncatedSubsampledGaussian", fields)


def _selected(w: _Writer) -> Event:
    runs = str(w.values.pop("runs"))
    shapes = {"poisson": math.inf, **{name: shape for shape, name in SHAPES.items()}}
    shape = w.double("shape", "shape") if runs == "tnb" else shapes.get(runs)
    if shape is None or "mean" not in w.values:
        w.fail("an event has a mean, of geometric, logarithmic, tnb or poisson runs")
    return Event("RepeatAndSelect", {"event": w.inner(), "mean": _up("mean")(w), "shape": shape})


# Events whose fields are written one by one, and functions for others.
_WRITERS: dict[str, tuple[str, dict[str, _Field]] | Callable[[_Writer], Event]] = {
    "gaussian": ("Gaussian", {"noise_multiplier": _noise("standard_deviation")}),
    "laplace": ("Laplace", {"noise_multiplier": _noise("scale")}),
    "discrete_laplace": _discrete_laplace,
    "discrete_gaussian": (
        "DiscreteGaussian",
        {
            "sigma": lambda w: w.double("standard_deviation", "sigma"),
            "sensitivity": _whole("sensitivity", 1),
            "dimension": lambda _: 1,
        },
    ),
    "randomized_response": _randomized_response,
    "exponential": _exponential,
    "pure": _guarantee,
    "approx": _guarantee,
    "zcdp": ("ZC", {"rho": _up("rho"), "xi": _up("xi", 0.0)}),
    "gaussian_mixture": _mixture,
    "poisson_sampled": _poisson,
    "sampled_without_replacement": (
        "SampledWithoutReplacement",
        {
            "source_dataset_size": _whole("source_dataset_size"),
            "sample_size": _whole("sample_size"),
            "event": _Writer.inner,
        },
    ),
    "randomly_allocated": (
        "RandomAllocation",
        {
            "event": _Writer.inner,
            "num_selected": _whole("participations", 1),
            "num_steps": _whole("steps"),
        },
    ),
    "repeat_and_select": _selected,
}
