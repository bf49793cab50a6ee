"""What a calibration returns: two values with their certificates, no presentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.accounting.answer import Method
    from privcalc.bounds import Bound
    from privcalc.calibration.target import CalibrationTarget
    from privcalc.relation import Relation
    from privcalc.spec.tree import Node, Path

# How far apart the two values may be, relatively.
GAP = 1e-8


@record
class Calibration:
    """A value that meets a target, and one next to it that does not.

    Attributes:
        target: what was asked.
        parameter: the spelling of the parameter; `count` for the number of uses.
        paths: where the holes are, in the order of the text.
        sufficient: the value, a decimal of at most ten digits or a whole number; with a ratio, the
            number by which it is multiplied.
        insufficient: a value at which the target is missed for certain; None where none is known.
        unproved: the neighbour at which the target is not proved to be met; often `insufficient`.
        values: the sufficient value of each hole.
        insufficient_values: the other one of each hole, or () where none is known.
        tree: the specification with the sufficient value.
        insufficient_tree: with the other one, or None.
        bound: bracket of the target's quantity at the sufficient value.
        insufficient_bound: at the other one, or None.
        method: how `bound` was obtained. Its tolerance is met where both values are known and are
            neighbours, or within GAP (or the tolerance asked for) of each other.
        relation: the neighbouring relation in force.
        sampling: as `compose` names it.
        asked: how many times the cost of a value was worked out.
    """

    target: CalibrationTarget
    parameter: str
    paths: tuple[Path, ...]
    sufficient: float | int
    insufficient: float | int | None
    unproved: float | int
    values: tuple[float | int, ...]
    insufficient_values: tuple[float | int, ...]
    tree: Node
    insufficient_tree: Node | None
    bound: Bound
    insufficient_bound: Bound | None
    method: Method
    relation: Relation
    sampling: str
    asked: int
