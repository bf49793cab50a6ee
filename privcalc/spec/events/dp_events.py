"""DpEvents of dp_accounting <-> specifications, and the relations under which both say the same."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn, cast

from privcalc.errors import SpecError, UnsupportedError
from privcalc.exact import Written, decimal_above, decimal_below, exact, standing_for
from privcalc.record import record, replace
from privcalc.relation import Relation
from privcalc.spec.brief import brief
from privcalc.spec.entry import MAX_DEPTH
from privcalc.spec.events.data import FIELDS, MEANS, SUFFIX, Event
from privcalc.spec.json import from_json, quoted
from privcalc.spec.registry import entry
from privcalc.spec.tree import Composed, Leaf, Node, Parallel, Repeated, Wrapped

if TYPE_CHECKING:
    from collections.abc import Callable

Relations = frozenset[Relation]
ANY = frozenset(Relation)
# The noise multiplier is stated for one contribution to a sum: what adding, removing or zeroing out
# a record changes. Replacing it by another changes twice that.
ONE_RECORD = frozenset({Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_SPECIAL})
# What is dropped or kept of a sample is stated for one record more or less.
ONE_MORE = frozenset({Relation.ADD_OR_REMOVE_ONE})
ANOTHER_VALUE = frozenset({Relation.REPLACE_ONE})


@record
class Meaning:
    """What an event is, and the relations under which its numbers are those of the tree."""

    tree: Node
    relations: Relations

    @property
    def relation(self) -> Relation | None:
        """The relation that the event brings along; None where it holds under any."""
        if self.relations == ANY:
            return None
        return next(each for each in Relation if each in self.relations)


def meaning(event: Event, relation: Relation | None = None) -> Meaning:
    """Return the specification of an event, given the relation that is asked for, where one is.

    Raises:
        SpecError: a field is out of range, or its parts hold under different relations.
    """
    return _read(_Place(event, "", 1, relation))


@record
class _Place:
    """An event that is read, where it stands, and which relation is asked for, where one is.

    `replaced` is whether noise is that of a sum in which a record is replaced by another.
    """

    event: Event
    place: str
    depth: int
    relation: Relation | None
    replaced: bool = False

    def number(self, name: str) -> float | int:
        """Return a field that is a number."""
        return self.checked(name, self.event.values[name])

    def checked(self, name: str, value: object) -> float | int:
        """Return a value that is a number, and not infinite."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fail(f"{name} takes a number, got {_words(value)}")
        if isinstance(value, float) and math.isinf(value):
            self.fail(f"{name} takes a finite number, got {value}")
        return value

    def numbers(self, name: str) -> list[float]:
        """Return a list of numbers."""
        values = self.event.values[name]
        if not isinstance(values, list) or not values:
            self.fail(f"{name} takes a list of at least one number, got {_words(values)}")
        return [self.checked(f"{name}[{index}]", each) for index, each in enumerate(values)]

    def inner(self, *, replaced: bool | None = None) -> Meaning:
        """Return what the event is that this one is done to."""
        replaced = self.replaced if replaced is None else replaced
        return replace(self, replaced=replaced).part("event", self.event.values["event"])

    def part(self, name: str, value: object) -> Meaning:
        """Return what one event in a field is."""
        if not isinstance(value, Event):
            self.fail(f"{name} takes a DpEvent, got {_words(value)}")
        place = f"{self.place}.{name}" if self.place else name
        return _read(replace(self, event=value, place=place, depth=self.depth + 1))

    def node(self, **twin: object) -> Node:
        """Return a node by its JSON twin; faults are those of the event."""
        try:
            return from_json(twin)
        except SpecError as error:
            return self.fail(error.message.partition(" (at ")[0])

    def itself(self, **more: object) -> Node:
        """Return what the event is: each of its fields is a parameter, as `events.toml` has it.

        Others are given as keywords, and None for those that are left out.
        """
        means = MEANS[self.event.name]
        values = {
            parameter: self.numbers(name) if parameter in _LISTS else self.number(name)
            for name, parameter in means.items()
            if name != "is"
        }
        found = {name: value for name, value in (values | more).items() if value is not None}
        return self.node(type=means["is"], **found)

    def around(self, inner: Meaning, **more: object) -> Node:
        """Return the same around an event; only its values are checked, as the event is a tree."""
        node = self.itself(event={"type": "pure", "epsilon": 0}, **more)
        return replace(cast("Repeated | Wrapped", node), event=inner.tree)

    def fail(self, message: str) -> NoReturn:
        """Refuse the event."""
        place = f" (at {self.place})" if self.place else ""
        span = self.event.span or (0, 0)
        raise SpecError(f"{self.event.name}{SUFFIX}: {message}{place}", span=span) from None


def _words(value: object) -> str:
    return "a DpEvent" if isinstance(value, Event) else quoted(value)


_LISTS = ("sensitivities", "probabilities")


def _read(at: _Place) -> Meaning:
    if at.depth > MAX_DEPTH // 2:
        raise SpecError(f"events are nested deeper than {MAX_DEPTH // 2}")
    return _READERS[at.event.name](at)


def _composed(at: _Place) -> Meaning:
    events = at.event.values["events"]
    if not isinstance(events, list) or not events:
        at.fail("events is a list of at least one DpEvent")
    parts = [at.part(f"events[{index}]", each) for index, each in enumerate(events)]
    nodes: list[Node] = []
    for part in parts:
        nodes += part.tree.events if isinstance(part.tree, Composed) else (part.tree,)
    common = ANY.intersection(*(part.relations for part in parts))
    if not common:
        texts = " and ".join(sorted({part.relation.text for part in parts if part.relation}))
        at.fail(f"its events are stated for different relations, {texts}, and have no sum")
    return Meaning(Composed(tuple(nodes)) if len(nodes) > 1 else nodes[0], common)


def _self_composed(at: _Place) -> Meaning:
    inner = at.inner()
    return Meaning(at.around(inner), inner.relations)


def _poisson(at: _Place) -> Meaning:
    """Read Poisson sampling: what is inside is read under add-or-remove-one, whatever is asked."""
    inner = at.inner(replaced=False)
    if Relation.ADD_OR_REMOVE_ONE not in inner.relations:
        at.fail("what it samples is stated for replacing a record, and not for adding one")
    return Meaning(at.around(inner), ANY)


def _truncated(at: _Place) -> Meaning:
    """Read a Poisson sample with a cap.

    Binomial(n - 1, q) of the others are drawn, with n the size of the event: as n is here, that of
    the larger data set. One contribution is of size 1, as for a noise multiplier.
    """
    noise = {"type": "gaussian", "noise_multiplier": at.number("noise_multiplier")}
    return Meaning(at.itself(event=noise), ONE_MORE)


def _allocated(at: _Place) -> Meaning:
    """Read random allocation; the event is one step."""
    inner = at.inner(replaced=False)
    common = inner.relations & ONE_RECORD
    if not common:
        at.fail("what it allocates is stated for replacing a record, and not for adding one")
    steps, selected = at.number("num_steps"), at.number("num_selected")
    if selected > steps:
        at.fail(f"num_selected is at most num_steps, got {selected} of {steps}")
    more = {"participations": None} if selected == 1 else {}
    return Meaning(at.around(inner, **more), common)


def _mixture(at: _Place) -> Meaning:
    """Read N(0, sigma^2) without the record, and the mixture with it, as the mechanism has it."""
    sizes, chances = at.numbers("sensitivities"), at.numbers("sampling_probs")
    if len(sizes) != len(chances):
        at.fail(
            "sensitivities and sampling_probs have the same length,"
            f" got {len(sizes)} and {len(chances)}"
        )
    return Meaning(at.itself(), ONE_RECORD)


def _without_replacement(at: _Place) -> Meaning:
    """Read a sample of fixed size: what is inside is read under replace-one.

    A record that gives a vector of norm C to a sum is replaced by another that does, and the sum
    changes by at most 2 C. Without a relation that is asked for, the noise multiplier may be meant
    as that of the change.
    """
    inner = at.inner(replaced=at.relation is not None)
    if Relation.REPLACE_ONE not in inner.relations:
        sample = f"n={at.number('source_dataset_size')},m={at.number('sample_size')}"
        at.fail(
            "what it samples is stated for adding or removing a record, and here one is replaced,"
            " which changes a sum by twice the bound of one contribution: pass --relation"
            f" replace-one for that, or ask about gaussian:noise-multiplier=Z@wor:{sample}, where Z"
            " is the noise divided by what replacing a record changes"
        )
    return Meaning(at.around(inner), ANY)


def _selected(at: _Place) -> Meaning:
    inner, mean, shape = at.inner(), at.number("mean"), at.event.values["shape"]
    runs = "poisson" if shape == math.inf else SHAPES.get(at.number("shape"), "tnb")
    more = {"shape": shape} if runs == "tnb" else {}
    pure = {"type": "pure", "epsilon": 0}
    node = at.node(type="repeat_and_select", runs=runs, mean=mean, event=pure, **more)
    return Meaning(replace(cast("Wrapped", node), event=inner.tree), inner.relations)


def _discrete_laplace(at: _Place) -> Meaning:
    """Read P(x) proportional to e^(-a |x|): scale 1 / a, so that epsilon = a sensitivity."""
    sensitivity = at.number("sensitivity") * (2 if at.replaced else 1)
    epsilon = _written(exact(at.number("noise_parameter")) * exact(sensitivity))
    node = at.node(type="discrete_laplace", epsilon=epsilon, sensitivity=sensitivity)
    return Meaning(node, ANOTHER_VALUE if at.replaced else ONE_RECORD)


def _noise(at: _Place) -> Meaning:
    """Read noise on a sum of contributions of norm 1."""
    if not at.replaced:
        return Meaning(at.itself(), ONE_RECORD)
    spread = "scale" if at.event.name == "Laplace" else "standard_deviation"
    values = {spread: at.number("noise_multiplier"), "sensitivity": 2}
    return Meaning(at.node(type=MEANS[at.event.name]["is"], **values), ANOTHER_VALUE)


def _randomized_response(at: _Place) -> Meaning:
    """Read the mixture of the truth, 1 - p, and of a uniform answer, which is true once in k."""
    noise, categories = at.number("noise_parameter"), at.number("num_buckets")
    if not 0 < noise <= 1 or categories < 2:
        at.fail("noise_parameter must be in (0, 1], and num_buckets at least 2")
    truth = 1 - exact(noise) * (1 - 1 / exact(categories))
    node = at.node(type="randomized_response", probability=_written(truth), categories=categories)
    return Meaning(node, ANOTHER_VALUE)


def _discrete_gaussian(at: _Place) -> Meaning:
    if at.event.values["dimension"] != 1:
        at.fail("dimension is 1: noise on several coordinates is not the noise on one of them")
    return Meaning(at.itself(), ANY)


def _written(number: Fraction) -> float:
    """Return the double that stands for a number."""
    try:
        return standing_for(float(number), number)
    except OverflowError:
        return math.inf


SHAPES: dict[float, str] = {1: "geometric", 0: "logarithmic"}
_READERS: dict[str, Callable[[_Place], Meaning]] = {
    "NoOp": lambda at: Meaning(at.node(type="pure", epsilon=0), ANY),
    "Gaussian": _noise,
    "Laplace": _noise,
    "DiscreteLaplace": _discrete_laplace,
    "DiscreteGaussian": _discrete_gaussian,
    "RandomizedResponse": _randomized_response,
    "ExponentialMechanism": lambda at: Meaning(at.itself(), ANY),
    "EpsilonDelta": lambda at: Meaning(at.itself(), ANY),
    "ZC": lambda at: Meaning(at.itself(), ANY),
    "SelfComposed": _self_composed,
    "Composed": _composed,
    "PoissonSampled": _poisson,
    "SampledWithoutReplacement": _without_replacement,
    "RandomAllocation": _allocated,
    "MixtureOfGaussians": _mixture,
    "TruncatedSubsampledGaussian": _truncated,
    "RepeatAndSelect": _selected,
}


def event_text(tree: Node, relation: Relation) -> str:
    """Return the repr of the DpEvent that a specification is; it does not say the relation.

    A number that no double is, such as a quotient, is rounded to the side that costs more.

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


def _number(value: float | Fraction, *, up: bool) -> float:
    """Return a double whose `repr` stands for a number, or for one that costs more.

    A plain double does so itself. Any other number may be rounded: up where larger costs more.
    """
    if not isinstance(value, Fraction | Written):
        return value
    number = exact(value) if isinstance(value, Written) else value
    if not number < _LARGEST:
        raise UnsupportedError("no DpEvent has a number that large")
    return decimal_above(number) if up else decimal_below(number)


class _Writer:
    """The parameters of a mechanism or wrapper, for the fields of its event.

    `values` are those that no field has said yet: what is left would be lost. `given` has the names
    of all that were written.
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

    def exact(self, name: str, default: float | None = 1.0) -> Fraction:
        """Take the number that a parameter stands for."""
        return exact(self.number(name, default))

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


def _write_noise(w: _Writer) -> Event:
    """Write a noise multiplier: as it is written, or noise divided by sensitivity."""
    if "noise_multiplier" in w.values:
        return w.event()
    spread = "scale" if w.tree.name == "laplace" else "standard_deviation"
    divided = "sensitivity" in w.values
    noise = w.exact(spread, None) / w.exact("sensitivity") if divided else w.number(spread)
    return w.event(noise_multiplier=_number(noise, up=False))


def _write_discrete_laplace(w: _Writer) -> Event:
    sensitivity = w.exact("sensitivity")
    inverse = "epsilon" not in w.values
    each = 1 / w.exact("scale", None) if inverse else w.exact("epsilon") / sensitivity
    fields = {"noise_parameter": _number(each, up=True), "sensitivity": int(sensitivity)}
    return Event("DiscreteLaplace", fields)


def _write_randomized_response(w: _Writer) -> Event:
    """Write p = 1 - noise (k - 1) / k; less noise costs more where the truth is likely."""
    p, k = w.exact("probability", None), int(w.number("categories", 2))
    noise = (1 - p) * Fraction(k, k - 1)
    if not 0 < noise <= 1:
        w.fail("the true category is less likely than another")
    fields = {"noise_parameter": _number(noise, up=False), "num_buckets": k}
    return Event("RandomizedResponse", fields)


def _write_guarantee(w: _Writer) -> Event:
    fields = {name: _number(w.number(name, 0.0), up=True) for name in ("epsilon", "delta")}
    return Event("EpsilonDelta", fields) if any(fields.values()) else Event("NoOp", {})


def _write_mixture(w: _Writer) -> Event:
    sizes, chances = (
        cast("tuple[float, ...]", w.values[name]) for name in ("sensitivities", "probabilities")
    )
    if len(sizes) != len(chances):
        w.fail("write one probability for each sensitivity")
    if any(isinstance(each, Written) for each in (*sizes, *chances)):
        w.fail("its sensitivities or probabilities are no doubles")
    return w.event()


def _write_poisson(w: _Writer) -> Event:
    """Write Poisson samples; with a cap a larger rate may cost less, as the cap binds more."""
    inner = w.inner()
    if not {"truncated_batch_size", "source_dataset_size"} & w.given:
        rate = min(1.0, _number(w.number("sampling_probability"), up=True))
        return w.event(sampling_probability=rate, event=inner)
    if inner.name != "Gaussian":
        w.fail("that of truncated batches has Gaussian noise, once")
    return w.event("TruncatedSubsampledGaussian", **inner.values)


def _write_selected(w: _Writer) -> Event:
    runs = str(w.values.pop("runs"))
    shapes = {"poisson": math.inf, **{name: shape for shape, name in SHAPES.items()}}
    shape = w.written("shape") if runs == "tnb" else shapes.get(runs)
    if shape is None or "mean" not in w.values:
        w.fail("an event has a mean, of geometric, logarithmic, tnb or poisson runs")
    mean = _number(w.number("mean"), up=True)
    return Event("RepeatAndSelect", {"event": w.inner(), "mean": mean, "shape": shape})


_WRITERS: dict[str, Callable[[_Writer], Event]] = {
    "gaussian": _write_noise,
    "laplace": _write_noise,
    "discrete_laplace": _write_discrete_laplace,
    "discrete_gaussian": lambda w: w.event(dimension=1),
    "randomized_response": _write_randomized_response,
    "pure": _write_guarantee,
    "approx": _write_guarantee,
    "gaussian_mixture": _write_mixture,
    "poisson_sampled": _write_poisson,
    "sampled_without_replacement": lambda w: w.event(event=w.inner()),
    "randomly_allocated": lambda w: w.event(event=w.inner()),
    "repeat_and_select": _write_selected,
}
