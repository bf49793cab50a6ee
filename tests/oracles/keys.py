"""The ways in which people may have keys that nobody else has."""

from __future__ import annotations


def parted(total: int, least: int = 1) -> list[list[int]]:
    """Return the ways to write a number as a sum of increasing ones."""
    found = [[total]]
    for first in range(least, total // 2 + 1):
        found += [[first, *rest] for rest in parted(total - first, first)]
    return found
