"""Specification -> DpEvent, as Python's `repr` has it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn, cast

from privcalc.errors import UnsupportedError
from privcalc.exact import Enclosed, Written, decimal_above, decimal_below, exact
from privcalc.spec.brief import brief
from privcalc.spec.events.data import FIELDS, MEANS, SUFFIX, Event
from privcalc.spec.events.to_tree import SHAPES, meaning
from privcalc.spec.registry import entry
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
    writer = _Writer(tree)
    event = _WRITERS.get(tree.name, _Writer.event)(writer)
    parameters = entry(tree.name).parameters
    defaults = {each.name: each.default for each in parameters if each.default is not None}
    lost = [n for n, value in writer.values.items() if n not in defaults or value != defaults[n]]
    if lost:
        writer.fail(f"that of an event has no {' and '.join(sorted(lost))}")
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
        given: names of all that were written.
    """

    def __init__(self, tree: Leaf | Wrapped) -> None:
        self.tree = tree
        self.values = dict(tree.parameters)
        self.given = {*self.values}

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

    def written(self, name: str) -> object:
        """Take a parameter, rounded to the side that costs more where one does."""
        parameter = entry(self.tree.name).parameter(name)
        if parameter is None or parameter.kind == "numbers":
            return [*cast("tuple[float, ...]", self.values.pop(name))]
        value = self.number(name, cast("float | None", parameter.default))
        if parameter.kind == "integer":
            return int(value)
        known = not parameter.cost_note and not {*parameter.cost_unless} & self.given
        if parameter.cost and known:
            return _number(value, up=parameter.cost == "increases")
        if isinstance(value, Written):
            self.fail(f"its {parameter.spelling} is no double")
        return value

    def event(self, name: str = "", **more: object) -> Event:
        """Return the event whose fields are parameters, as `events.toml` has it."""
        known = [each for each, means in MEANS.items() if means["is"] == self.tree.name]
        if not known:
            self.fail("")
        name = name or known[0]
        fields = {
            field: more[field] if field in more else self.written(MEANS[name][field])
            for field in FIELDS[name]
            if field in MEANS[name] or field in more
        }
        return Event(name, fields)

    def inner(self) -> Event:
        """Return the event that this is done to."""
        return _event(cast("Wrapped", self.tree).event)

    def fail(self, why: str) -> NoReturn:
        """Refuse what no event is."""
        raise UnsupportedError(f"no DpEvent is {brief(self.tree)}{f': {why}' if why else ''}")


def _noise(w: _Writer) -> Event:
    """Write a noise multiplier: as it is written, or noise divided by sensitivity."""
    if "noise_multiplier" in w.values:
        return w.event()
    spread = "scale" if w.tree.name == "laplace" else "standard_deviation"
    divided = "sensitivity" in w.values
    noise = w.exact(spread, None) / w.exact("sensitivity") if divided else w.number(spread)
    return w.event(noise_multiplier=_number(noise, up=False))


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


def _guarantee(w: _Writer) -> Event:
    fields = {name: _number(w.number(name, 0.0), up=True) for name in ("epsilon", "delta")}
    return Event("EpsilonDelta", fields) if any(fields.values()) else Event("NoOp", {})


def _mixture(w: _Writer) -> Event:
    sizes, written = (
        cast("tuple[float, ...]", w.values[name]) for name in ("sensitivities", "probabilities")
    )
    if len(sizes) != len(written):
        w.fail("write one probability for each sensitivity")
    if any(isinstance(each, Written) for each in sizes):
        w.fail("its sensitivities are no doubles")
    chances = [float(each) for each in written]
    # Probabilities are divided by their sum.
    if _parts(chances) != _parts(written):
        w.fail("its probabilities are no doubles")
    del w.values["probabilities"]
    return w.event(sampling_probs=chances)


def _parts(numbers: Iterable[float]) -> list[Fraction]:
    known = list(map(exact, numbers))
    return [each / sum(known) for each in known]


def _poisson(w: _Writer) -> Event:
    """Write Poisson samples; with a cap a larger rate may cost less, as the cap binds more."""
    inner = w.inner()
    if not {"truncated_batch_size", "source_dataset_size"} & w.given:
        rate = min(1.0, _number(w.number("sampling_probability"), up=True))
        return w.event(sampling_probability=rate, event=inner)
    if inner.name != "Gaussian":
        w.fail("that of truncated batches has Gaussian noise, once")
    return w.event("TruncatedSubsampledGaussian", **inner.values)


def _selected(w: _Writer) -> Event:
    runs = str(w.values.pop("runs"))
    shapes = {"poisson": math.inf, **{name: shape for shape, name in SHAPES.items()}}
    shape = w.written("shape") if runs == "tnb" else shapes.get(runs)
    if shape is None or "mean" not in w.values:
        w.fail("an event has a mean, of geometric, logarithmic, tnb or poisson runs")
    mean = _number(w.number("mean"), up=True)
    return Event("RepeatAndSelect", {"event": w.inner(), "mean": mean, "shape": shape})


_WRITERS: dict[str, Callable[[_Writer], Event]] = {
    "gaussian": _noise,
    "laplace": _noise,
    "discrete_laplace": _discrete_laplace,
    "discrete_gaussian": lambda w: w.event(dimension=1),
    "randomized_response": _randomized_response,
    "pure": _guarantee,
    "approx": _guarantee,
    "gaussian_mixture": _mixture,
    "poisson_sampled": _poisson,
    "sampled_without_replacement": lambda w: w.event(event=w.inner()),
    "randomly_allocated": lambda w: w.event(event=w.inner()),
    "repeat_and_select": _selected,
}
