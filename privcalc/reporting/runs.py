"""The number of runs that `select` is about: read from --runs, and in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.errors import SpecError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.spec.tree import Parameters

# The distribution of the runs is read as the wrapper of this specification, which costs nothing.
BEFORE = "pure:epsilon=0@select:runs="


def runs_remark(runs: Mapping[str, float | str]) -> tuple[str, str]:
    """Describe the number of runs in one line."""
    from privcalc.render.words import named

    facts = [f"{name.replace('_', ' ')} {named(runs[name])}" for name in runs if name != "family"]
    return "runs", f"{runs['family']}: {', '.join(facts)}"


def read_runs(text: str) -> Parameters:
    """Read the distribution of the number of runs: one call, such as `geometric:mean=30`.

    Raises:
        SpecError: it cannot be read; the span is one of this text.
        UsageError: it has a hole.
    """
    from privcalc.spec.parse import parse
    from privcalc.spec.registry import holes
    from privcalc.spec.tree import Wrapped

    name, colon, _ = text.partition(":")
    if not name.strip() or (not colon and "," in name):
        raise UsageError("--runs takes one distribution, such as geometric:mean=30")
    try:
        tree = parse(BEFORE + text.replace(":", ",", 1)).tree
    except SpecError as error:
        start, end = error.span or (0, 0)
        inside = max(0, start - len(BEFORE)), max(1, min(len(text), end - len(BEFORE)))
        message = f"--runs: {error}".replace(": select ", f": {name} ", 1)
        message = message.replace("a parameter of select ", f"a parameter of {name} ")
        raise SpecError(message, text=text, span=inside, hint=_hint(error.hint)) from None
    if not isinstance(tree, Wrapped) or isinstance(tree.event, Wrapped):
        raise UsageError("--runs takes one distribution, such as geometric:mean=30")
    if holes(tree):
        raise UsageError("--runs has a hole; calibrate finds the value of one")
    return tree.parameters


def _hint(hint: str) -> str:
    foreign = BEFORE[:4] in hint or "@" in hint or "select" in hint
    return "for example geometric:mean=30" if foreign else hint
