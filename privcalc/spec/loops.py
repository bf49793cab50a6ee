"""Which specification is my code? `loops.toml` has the table for help, README and a manual page."""

from __future__ import annotations

from textwrap import indent, wrap
from typing import Any

from privcalc.package_data import table
from privcalc.record import record

_WIDTH = 79
TOPIC = "sampling"


@record
class Loop:
    """One way in which code draws its batches.

    Attributes:
        title: who draws, a few words.
        code: literal lines, those that decide.
        spec: the specification.
        why: why it is that, and where its numbers come from.
        other: the nearest other specification, or "".
        wrong: what is wrong with it.
        brief: the code in one short line for the README, or "" where that has no row for it.
    """

    title: str
    code: tuple[str, ...]
    spec: str
    why: str
    other: str = ""
    wrong: str = ""
    brief: str = ""


_TABLE: dict[str, Any] = table("spec", "loops.toml")
LOOPS = tuple(Loop(**{**each, "code": tuple(each["code"].splitlines())}) for each in _TABLE["loop"])


def page() -> str:
    """Return the table as `--help-spec sampling` prints it."""
    return "\n\n".join([_TABLE["opening"], *map(_shown, LOOPS), _TABLE["end"]])


def of_wrapper(name: str) -> str:
    """Return the rows of one wrapper in short, or "": its name as the canonical text prints it."""
    rows = [
        f"  {loop.brief.replace('`', '')}\n      {loop.spec}"
        for loop in LOOPS
        if loop.brief and f"@{name}:" in loop.spec
    ]
    return "\n".join([*rows, f"  More: privcalc --help-spec {TOPIC}"]) if rows else ""


def _shown(loop: Loop) -> str:
    """Return one row: the code, the specification, why, and what the nearest other one misses."""
    text = f"{loop.why} Not {loop.other}: {loop.wrong}"
    # Specifications are never broken at a dash.
    said = wrap(text, _WIDTH - 2, break_on_hyphens=False, break_long_words=False)
    code = indent("\n".join(loop.code), "    ")
    return "\n".join([loop.title, code, f"  = {loop.spec}", indent("\n".join(said), "  ")])
