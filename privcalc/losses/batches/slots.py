"""How many records are in the slots of an epoch, and in none."""

from __future__ import annotations

from privcalc.record import record


@record
class Slots:
    """The slots of an epoch whose outputs are seen.

    Slot 1 has b records, and no other has more. Where b t records are fewer than n, some are in no
    slot, which are as random as the rest of the permutation: those of a last batch that is dropped,
    or of an epoch that is stopped.

    Attributes:
        steps: t, how many slots there are.
        batch: b.
        records: n >= b.
    """

    steps: int
    batch: int
    records: int

    @property
    def seen(self) -> int:
        """How many records are in a slot."""
        return min(self.records, self.steps * self.batch)

    @property
    def skipped(self) -> float:
        """The probability that a record is in no slot, rounded."""
        return (self.records - self.seen) / self.records

    @property
    def others(self) -> int:
        """J, how many records are in slots 2, ..., t."""
        return self.seen - self.batch

    @property
    def even(self) -> float:
        """J / b, by how many slots of b records those are as many as, rounded."""
        return self.others / self.batch
