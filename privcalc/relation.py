"""Neighbouring relations, and the adjacencies (directions) that each consists of."""

from enum import Enum


class Adjacency(Enum):
    """One direction of a relation: P is the output on the first data set.

    The second has one record more (ADD), one less (REMOVE), or another value of one (REPLACE).
    """

    ADD = "add"
    REMOVE = "remove"
    REPLACE = "replace"


class Relation(Enum):
    """Which data sets count as neighbours. The value is the JSON form."""

    ADD_OR_REMOVE_ONE = "add_or_remove_one"
    REPLACE_ONE = "replace_one"
    REPLACE_SPECIAL = "replace_special"

    @property
    def text(self) -> str:
        """The form that the command line takes, with dashes."""
        return self.value.replace("_", "-")

    @property
    def adjacencies(self) -> tuple[Adjacency, ...]:
        """The directions to compose one by one; the maximum is taken at the very end.

        Composing the pointwise maximum instead is unsound: the direction that is worse for one
        step need not be the worse one after composition (Lebeda et al. 2024).
        Replacing a record by a special value (zero-out) has the two directions of adding and
        removing, read on mechanisms that take any relation.
        """
        if self is Relation.REPLACE_ONE:
            return (Adjacency.REPLACE,)
        return (Adjacency.REMOVE, Adjacency.ADD)
