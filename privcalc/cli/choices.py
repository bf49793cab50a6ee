"""What options have a choice of, and what holds without one: all that a plain question loads."""

from __future__ import annotations

from enum import StrEnum

from privcalc.relation import Relation


class Format(StrEnum):
    """Output formats."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    GITHUB = "github"


class Engine(StrEnum):
    """Engines that can be forced."""

    AUTO = "auto"
    CONTOUR = "contour"
    FFT = "fft"
    RDP = "rdp"
    AFA = "afa"


class Target(StrEnum):
    """Languages into which a guarantee can be put."""

    DP = "dp"
    PROFILE = "profile"
    RDP = "rdp"
    ZCDP = "zcdp"
    GDP = "gdp"
    TRADEOFF = "tradeoff"
    RISK = "risk"


class ProvedEngine(StrEnum):
    """Engines that prove what they answer."""

    AUTO = "auto"
    CONTOUR = "contour"
    FFT = "fft"
    RDP = "rdp"


class RelationName(StrEnum):
    """Neighbouring relations, with dashes."""

    ADD_OR_REMOVE_ONE = "add-or-remove-one"
    REPLACE_ONE = "replace-one"
    REPLACE_SPECIAL = "replace-special"


class ColorMode(StrEnum):
    """When to use colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class SchemaName(StrEnum):
    """JSON Schemas that are shipped."""

    RESULT = "result"
    SPEC = "spec"
    ERROR = "error"


class Shell(StrEnum):
    """Shells with completions."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


DEFAULT_ORDERS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)


def relation_named(name: RelationName | None) -> Relation | None:
    """Return the relation that an option names."""
    return None if name is None else Relation(name.value.replace("-", "_"))
