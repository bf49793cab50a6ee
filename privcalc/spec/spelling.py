"""How numbers and names are spelled in text."""

from __future__ import annotations

from privcalc.exact import shown

_SHOWN = 40
# The digits of the usual decimal context.
_ROUNDED = 28


def number_text(value: float) -> str:
    """Return the shortest text that reads back as this number: 5 for 5.0."""
    return shown(value).removesuffix(".0")


def brief_text(value: float) -> str:
    """Return a number for a message, as briefly as it can be written exactly: 1e10."""
    from decimal import Decimal

    plain = number_text(value)
    # A ratio has no shorter form, and a context rounds long decimals.
    if "/" in plain or len(plain) > _ROUNDED:
        return plain
    scientific = f"{Decimal(plain).normalize():e}".replace("e+", "e")
    return min(plain, scientific, key=len)


def word_text(name: str) -> str:
    """Return a snake_case name as text prints it, with dashes."""
    return name.replace("_", "-")


def snake_case(word: str) -> str:
    """Return the form in which names are compared: lower case, with `_` for `-`."""
    return word.lower().replace("-", "_")


def shorten(written: str) -> str:
    """Return a piece of a text for a message, cut where it is long."""
    return written if len(written) <= _SHOWN else written[: _SHOWN - 3] + "..."
