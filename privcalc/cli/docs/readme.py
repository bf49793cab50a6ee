"""The list of mechanisms and wrappers in the README: between two marks."""

from __future__ import annotations

import re
from textwrap import wrap

_BEGIN = "<!-- The list is written by python -m privcalc.cli.docs. -->"
_END = "<!-- End of the list. -->"


def readme(text: str) -> str:
    """Return the README with the list written anew."""
    between = re.compile(f"{re.escape(_BEGIN)}.*?{re.escape(_END)}", re.DOTALL)
    return between.sub(lambda _: "\n".join((_BEGIN, *_list(), _END)), text)


def _list() -> list[str]:
    from privcalc.spec.describe import rows

    names = {"mechanism": list[str](), "wrapper": list[str]()}
    for row in rows():
        names[row.kind].append(f"`{'@' * (row.kind == 'wrapper')}{row.name}`")
    mechanisms, wrappers = map(", ".join, names.values())
    text = f"The mechanisms are {mechanisms}; the wrappers are {wrappers}."
    return wrap(text, 110, break_on_hyphens=False)
