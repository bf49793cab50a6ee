"""DpEvent -> specification, and the relations under which both say the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, cast

from privcalc.errors import SpecError
from privcalc.exact import exact, standing_for
from privcalc.record import record, replace
from privcalc.relation import Relation
from privcalc.spec.entry import MAX_DEPTH, MAX_INTEGER
from privcalc.spec.events.data import MEANS, SUFFIX, Event
from privcalc.spec.json import from_json, quoted
from privcalc.spec.tree import Composed, Node, Repeated

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.spec.tree import Wrapped

Relations = frozenset[Relation]
ANY = frozenset(Relation)
# The noise multiplier is stated for one contribution to a sum: what adding, removing or zeroing out
# a record changes. Replacing it by another changes twice that.
ONE_RECORD = frozenset({Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_SPECIAL})
# What is dropped or kept of a sample is stated for one record more or less.
ONE_MORE = frozenset({Relation.ADD_OR_REMOVE_ONE})
ANOTHER_VALUE = frozenset({Relation.REPLACE_ONE})
ZEROED = frozenset({Relation.REPLACE_SPECIAL})


@record
class Meaning:
    """What an event is.

    Attributes:
        tree: its specification.
        relations: those under which the numbers of the event are those of the specification.
    """

    tree: Node
    relations: Relations

    @property
    def relation(self) -> Relation | None:
        """The relation that the event brings along; None where it holds under any."""
        if self.relations == ANY:
            return None
        return next(each for each in Relation if each in self.relations)


def meaning(event: Event, relation: Relation | None = None) -> Meaning:
    """Return the specification of an event.

    Args:
        event: the event.
        relation: the one that is asked for, where one is.

    Raises:
        SpecError: a field is out of range, or its parts hold under different relations.
    """
    return _read(_Place(event, "", 1, relation))


@record
class _Place:
    """An event that is read, and where it stands.

    Attributes:
        event: the event.
        place: its place in the whole, for messages.
        depth: how many events it is in, and itself.
        relation: the one that is asked for, where one is.
        replaced: whether noise is that of a sum in which a record is replaced by another.
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

        Args:
            more: other parameters, and None for those that are left out.
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


Reader = Callable[[_Place], Meaning]
_LISTS = ("sensitivities", "probabilities")


def _read(at: _Place) -> Meaning:
    if at.depth > MAX_DEPTH // 2:
        raise SpecError(f"events are nested deeper than {MAX_DEPTH // 2}")
    return _READERS[at.event.name](at)


def _composed(at: _Place) -> Meaning:
    events = at.event.values["events"]
    if not isinstance(events, list) or not events:
        at.fail("events is a list of at least one DpEvent" + (", got none" if events == [] else ""))
    parts = [at.part(f"events[{index}]", each) for index, each in enumerate(events)]
    nodes: list[Node] = []
    for part in parts:
        nodes += part.tree.events if isinstance(part.tree, Composed) else (part.tree,)
    common = ANY.intersection(*(part.relations for part in parts))
    if not common:
        at.fail(
            "its events are stated for different relations, "
            + " and ".join(sorted({part.relation.text for part in parts if part.relation}))
            + ", and have no sum"
        )
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
    """Read random allocation, as it is here; the event is one step."""
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
        at.fail(
            "what it samples is stated for adding or removing a record, and here one is replaced,"
            " which changes a sum by twice the bound of one contribution: pass --relation"
            " replace-one for that, or ask about"
            f" gaussian:noise-multiplier=Z@wor:n={at.number('source_dataset_size')},"
            f"m={at.number('sample_size')}, where Z is the noise divided by what replacing a record"
            " changes"
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


def _tree(at: _Place) -> Meaning:
    """Read nodes of binary trees, of which a record is in those above one leaf of one tree.

    A tree of so many steps has ceil(log2(steps + 1)) levels of complete nodes at most, which is the
    number of binary digits (Kairouz et al. 2021, appendix D). A record that is left out, and not
    zeroed, moves all later ones to other leaves.
    """
    if at.relation is not Relation.REPLACE_SPECIAL:
        at.fail(
            "it is stated for zeroing a record out: pass --relation replace-special, or ask about"
            " gaussian:noise-multiplier=Z@D under it, where D is the most nodes that a record is"
            " in, ceil(log2(steps + 1)) of the largest tree"
        )
    counts = at.event.values["step_counts"]
    steps = at.numbers("step_counts") if isinstance(counts, list) else [at.number("step_counts")]
    if any(each < 0 or not float(each).is_integer() or each > MAX_INTEGER for each in steps):
        at.fail("step_counts takes whole numbers from 0 to 1e15")
    node = at.node(type="gaussian", noise_multiplier=at.number("noise_multiplier"))
    nodes = int(max(steps)).bit_length()
    if not nodes:
        return Meaning(at.node(type="pure", epsilon=0), ZEROED)
    return Meaning(Repeated(nodes, node) if nodes > 1 else node, ZEROED)


def _randomized_response(at: _Place) -> Meaning:
    """Read the mixture of the truth, 1 - p, and of a uniform answer, which is true once in k."""
    noise, categories = at.number("noise_parameter"), at.number("num_buckets")
    if not 0 < noise <= 1 or categories < 2:
        at.fail("noise_parameter must be in (0, 1], and num_buckets at least 2")
    truth = 1 - exact(noise) * (1 - 1 / exact(categories))
    node = at.node(type="randomized_response", probability=_written(truth), categories=categories)
    return Meaning(node, ANOTHER_VALUE)


def _same(at: _Place) -> Meaning:
    return Meaning(at.itself(), ANY)


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
_READERS: dict[str, Reader] = {
    "NoOp": lambda at: Meaning(at.node(type="pure", epsilon=0), ANY),
    "Gaussian": _noise,
    "Laplace": _noise,
    "DiscreteLaplace": _discrete_laplace,
    "DiscreteGaussian": _discrete_gaussian,
    "RandomizedResponse": _randomized_response,
    "ExponentialMechanism": _same,
    "EpsilonDelta": _same,
    "ZC": _same,
    "SelfComposed": _self_composed,
    "Composed": _composed,
    "PoissonSampled": _poisson,
    "SampledWithoutReplacement": _without_replacement,
    "RandomAllocation": _allocated,
    "MixtureOfGaussians": _mixture,
    "TruncatedSubsampledGaussian": _truncated,
    "RepeatAndSelect": _selected,
    "SingleEpochTreeAggregation": _tree,
}
