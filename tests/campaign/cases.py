"""Random specifications over the whole language, and questions about them that may not take long.

A case is drawn from its number alone. What it asks goes through the library, so that answers are
those that are printed; each question has so much work, and so much processor time.
"""

from __future__ import annotations

import random
import warnings
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import privcalc
from privcalc.accounting.realize import default_relation
from privcalc.bounds import TOLERANCE
from privcalc.errors import DisagreementError, NotCertifiedError, PrivcalcError
from privcalc.exact import Written
from privcalc.numerics.work import allowance
from privcalc.record import replace
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from privcalc.spec.registry import to_text
from privcalc.spec.tree import Composed, Leaf, Parallel, Repeated, Wrapped
from tests.fuzz.judge import TooLongError, limited
from tests.random_numbers import log_uniform
from tests.random_specs import ADAPTIVE, Specs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import Any

    from privcalc.bounds import Bound
    from privcalc.spec.tree import Node

# Units of work of a question, and how often: little work gives wide brackets, and takes other ways.
WORK = (1e5, 4e5, 1e6), (8, 4, 1)
# Processor time of a question. What takes longer is counted, and left to the tests of work.
SECONDS = 1.5
KINDS = {"near": 18, "general": 3, "disjoint": 1, "adaptive": 3}


class NoAnswerError(Exception):
    """A question had no answer within what it may cost; `refused` if more would be of no use."""

    def __init__(self, message: str, *, refused: bool) -> None:
        """Keep what was said."""
        super().__init__(message)
        self.refused = refused


class ContradictionError(Exception):
    """A law does not hold, or an answer is an accident."""


class Ends(NamedTuple):
    """The two ends of a bracket, as they are printed: 0 where there is no lower one."""

    lower: float
    upper: float

    @classmethod
    def of(cls, bound: Bound) -> Ends:
        """Take those of an answer."""
        return cls(bound.lower or 0.0, bound.upper)


class Case:
    """One specification, and what is asked about it.

    Attributes:
        rng: the chance of this case, from its number.
        text: the specification.
        relation: the relation that is asked for, from the beginning that of the specification:
            others that are made of it may have another default.
        delta: where epsilon is asked.
        work: units of work of each question.
        tolerance: of what is composed.
        questions: how many were asked.
        late: questions that took too long.
    """

    def __init__(self, seed: int, number: int) -> None:
        """Draw it; files that it names are written into the current directory."""
        self.rng = rng = random.Random(f"{seed}-{number}")
        self.relation = ""
        self.delta = log_uniform(rng, 1e-12, 0.1)
        self.work = rng.choices(*WORK)[0]
        self.tolerance = rng.choice((1e-3, TOLERANCE))
        self.questions = 0
        self.late: list[str] = []
        self._known: dict[object, Ends] = {}
        self._epsilon: float | None = None
        self.text = self._drawn(rng.choices(list(KINDS), list(KINDS.values()))[0])

    def _drawn(self, kind: str) -> str:
        """Return a specification of a kind, and take its relation and delta."""
        only = ADAPTIVE if kind == "adaptive" else ()
        specs = Specs(self.rng, near=kind != "general", only=only)
        text, delta, relation = specs.question()
        if kind == "disjoint":
            text = specs.parallel()
        elif kind != "general":
            self.delta = delta
            self.relation = "" if relation is None else relation.text
        specs.write()
        return text

    @property
    def tree(self) -> Node:
        """The specification as a tree."""
        return parse(self.text).tree

    def ask(self, command: Callable[..., Any], *specs: object, **options: Any) -> Any:
        """Ask one question.

        Raises:
            NoAnswerError: it is refused, or takes too long.
            ContradictionError: an error that nobody raises on purpose.
        """
        self.questions += 1
        shown = f"{getattr(command, '__name__', command)} {' '.join(map(str, specs))} {options}"
        try:
            with warnings.catch_warnings(), limited(SECONDS), allowance(self.work):
                warnings.simplefilter("error")
                return command(*specs, **options)
        except TooLongError:
            self.late.append(shown)
            raise NoAnswerError("too late", refused=False) from None
        except DisagreementError as error:
            raise ContradictionError(f"{shown}: {error}") from error
        except NotCertifiedError as error:
            raise NoAnswerError(str(error), refused=False) from error
        except PrivcalcError as error:
            raise NoAnswerError(str(error), refused=True) from error
        except Exception as error:
            raise ContradictionError(f"{shown}: internal error: {error!r}") from error

    def cost(self, spec: str | Node | None = None, **options: Any) -> Ends:
        """Return the bracket of a specification: of epsilon, or of delta, whichever was drawn."""
        text = self.text if spec is None else spec if isinstance(spec, str) else to_text(spec)
        given = {"relation": self.relation, "tolerance": self.tolerance, **self.place, **options}
        given = {name: value for name, value in given.items() if value is not None}
        key = text, *sorted(given.items())
        if key not in self._known:
            answer = self.ask(privcalc.compose, text, **given)
            self._known[key] = Ends.of(answer.delta if "epsilon" in given else answer.epsilon)
        return self._known[key]

    def epsilon_of(self, spec: str | Node | None = None, **options: Any) -> Ends:
        """Return the bracket of epsilon at the delta of this case."""
        return self.cost(spec, **{"epsilon": None, "delta": self.delta, **options})

    def delta_of(self, epsilon: float, spec: str | Node | None = None, **options: Any) -> Ends:
        """Return the bracket of delta at an epsilon."""
        return self.cost(spec, **{"delta": None, "epsilon": epsilon, **options})

    @property
    def place(self) -> dict[str, float]:
        """Where costs are asked: at the delta, or at an epsilon near where delta is that."""
        return {"delta": self.delta} if self._epsilon is None else {"epsilon": self._epsilon}

    @property
    def under(self) -> Relation:
        """The relation of all questions."""
        return Relation(self.relation.replace("-", "_"))

    def one_use(self) -> Node:
        """Return one part of the sum without its count."""
        part = self.rng.choice(events(self.tree))
        while isinstance(part, Repeated):
            part = part.event
        return part

    def leaf_of(self, names: Collection[str]) -> Leaf | None:
        """Return one of the mechanisms of these names, if there is any."""
        found = [each for each in nodes(self.tree) if isinstance(each, Leaf) and each.name in names]
        return self.rng.choice(found) if found else None

    @property
    def middle(self) -> float:
        """An epsilon with few digits, not far from where delta is that of this case."""
        upper = self.epsilon_of().upper
        return float(f"{upper / 3:.2g}") if 1e-6 < upper < 100.0 else 0.5

    def read(self, answer: Any) -> Ends:
        """Return the bracket of an answer to what costs are asked of."""
        return Ends.of(answer.epsilon if self._epsilon is None else answer.delta)

    def begin(self) -> Ends:
        """Ask about the specification itself, and choose where all else is asked."""
        try:
            tree = self.tree
        except PrivcalcError as error:
            raise NoAnswerError(str(error), refused=True) from error
        self.relation = self.relation or default_relation(tree).text
        base = self.epsilon_of()
        if self.rng.random() < 0.5 and 1e-6 < base.upper < 1e3:
            self._epsilon = log_uniform(self.rng, base.upper / 4, base.upper * 1.2)
        return self.cost()


def written(value: Fraction) -> float:
    """Return a number for a tree that stands for this rational."""
    near = float(value)
    if Fraction(repr(near)) == value:
        return near
    return Written(near, value, f"{value.numerator}/{value.denominator}")


def events(tree: Node) -> tuple[Node, ...]:
    """Return the parts of a sum."""
    return tree.events if isinstance(tree, Composed) else (tree,)


def total(parts: tuple[Node, ...]) -> Node:
    """Return a sum of parts, none of them a sum."""
    return parts[0] if len(parts) == 1 else Composed(parts)


def nodes(tree: Node) -> Iterator[Node]:
    """Yield all nodes, but for those among the parameters of a mechanism."""
    yield tree
    inside = tree.events if isinstance(tree, Composed | Parallel) else ()
    for each in (*inside, *((tree.event,) if isinstance(tree, Wrapped | Repeated) else ())):
        yield from nodes(each)


def changed(tree: Node, change: Callable[[Node], Node]) -> Node:
    """Return a tree with every node replaced, the innermost first."""
    if isinstance(tree, Composed | Parallel):
        tree = replace(tree, events=tuple(changed(each, change) for each in tree.events))
    elif isinstance(tree, Wrapped | Repeated):
        tree = replace(tree, event=changed(tree.event, change))
    return change(tree)


def wrapping(tree: Node) -> set[str]:
    """Return the names of all wrappers."""
    return {each.name for each in nodes(tree) if isinstance(each, Wrapped)}


def leaves(tree: Node) -> set[str]:
    """Return the names of all mechanisms."""
    return {each.name for each in nodes(tree) if isinstance(each, Leaf)}
