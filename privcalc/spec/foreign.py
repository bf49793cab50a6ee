"""What papers and other tools call things: `foreign.toml`, read only after an error.

Each hint is what to write.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from privcalc.package_data import table

if TYPE_CHECKING:
    from privcalc.spec.entry import Entry, Kind

__all__ = ["mechanism", "parameter", "word", "wrapper"]

_Row = dict[str, str]
_PLAIN = r"[\w.%/+-]{1,30}"
# A place for a value, as it was written, or in the bottom of a ratio.
_PLACE = re.compile(r"\{(1/)?([A-Z]+)\}")
_COUNTS = ("STEPS", "EPOCHS", "COUNT")


def mechanism(name: str) -> str:
    """Return what to write for the name of a mechanism, in snake_case, or ""."""
    if hint := _hint("mechanism", name) or word(name):
        return hint
    after = _hint("wrapper", name)
    return f"it stands after a mechanism: {after.removeprefix('write ')}" if after else ""


def wrapper(name: str) -> str:
    """Return what to write for the name of what is done to a mechanism, in snake_case, or ""."""
    if hint := _hint("wrapper", name) or word(name, inside="wrapper"):
        return hint
    other = _hint("mechanism", name)
    return f"it is no wrapper; compose with +: {other.removeprefix('write ')}" if other else ""


def word(name: str, value: str = "", *, inside: Kind | Literal["bare", ""] = "") -> str:
    """Return how a specification has what other tools call so, or "".

    Args:
        name: the word, in snake_case.
        value: what was written for it.
        inside: the kind of the call that it was written in; bare where it had none, and "" where it
            is no part of a specification at all.
    """
    row = _row("word", name)
    hint = row.get("wrapper" if inside == "wrapper" else "hint") or row.get("hint", "")
    return _filled(hint or ("" if inside else row.get("outside", "")), value)


def parameter(entry: Entry, name: str, value: str) -> str:
    """Return what to write for a parameter that is unknown, or "".

    Args:
        entry: whose parameter it is.
        name: its name, in snake_case.
        value: what was written for it, or "".
    """
    known = {each.spelling for each in entry.parameters}
    for row in _rows("parameter"):
        fits = {entry.spelling, entry.kind} & set(row["of"].split())
        if fits and name in row["names"].split() and row.get("has", "") in {"", *known}:
            return _filled(row["hint"], value)
    return word(name, value, inside=entry.kind)


@cache
def _table() -> dict[str, Any]:
    return table("spec", "foreign.toml")


def _rows(kind: str) -> list[_Row]:
    found: list[_Row] = _table()[kind]
    return found


def _row(kind: str, name: str) -> _Row:
    return next((row for row in _rows(kind) if name in row["names"].split()), {})


def _hint(kind: str, name: str) -> str:
    return _row(kind, name).get("hint", "")


def _filled(hint: str, value: str) -> str:
    """Put a value in its places, where it is one that may stand there."""

    def put(place: re.Match[str]) -> str:
        wanted = r"[0-9.]+" if place[1] else r"[0-9_]+" if place[2] in _COUNTS else _PLAIN
        fits = re.fullmatch(wanted, value, re.ASCII)
        return f"{place[1] or ''}{value if fits else place[2]}"

    return _PLACE.sub(put, hint)
