"""The table of mechanisms and wrappers in the README: Markdown between two marks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGIN = "<!-- The table is written by python -m privcalc.cli.docs. -->"
_END = "<!-- End of the table. -->"


def readme(text: str) -> str:
    """Return the README with the table written anew."""
    table = "\n".join((_BEGIN, "", *_table(), "", _END))
    between = re.compile(f"{re.escape(_BEGIN)}.*?{re.escape(_END)}", re.DOTALL)
    return between.sub(lambda _: table, text)


def _table() -> Iterator[str]:
    from privcalc.spec.describe import rows

    yield "| name | parameters (default) | what it is |"
    yield "|---|---|---|"
    for row in rows():
        at = "@" if row.kind == "wrapper" else ""
        # The long names of wrappers are those of JSON.
        names = [row.name, *(row.aliases if row.kind == "mechanism" else ())]
        name = ", ".join(f"`{at}{each}`" for each in names)
        yield f"| {name} | `{row.parameters}` | {row.summary} |"
