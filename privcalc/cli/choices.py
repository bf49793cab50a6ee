"""What options have a choice of, and what holds without one: all that a plain question loads."""

from __future__ import annotations

from enum import StrEnum

from privcalc.relation import Relation

Format = StrEnum("Format", ["TABLE", "JSON", "CSV", "MARKDOWN", "GITHUB", "STATEMENT"])
ColorMode = StrEnum("ColorMode", ["AUTO", "ALWAYS", "NEVER"])
# Engines that can be forced, and those of them that prove what they answer.
Engine = StrEnum("Engine", ["AUTO", "CONTOUR", "FFT", "RDP", "AFA"])
ProvedEngine = StrEnum("ProvedEngine", ["AUTO", "CONTOUR", "FFT", "RDP"])
# JSON Schemas that are shipped, and shells with completions.
SchemaName = StrEnum("SchemaName", ["RESULT", "SPEC", "ERROR"])
Shell = StrEnum("Shell", ["BASH", "ZSH", "FISH"])


class Target(StrEnum):
    """Languages into which a guarantee can be put."""

    DP = "dp"
    PROFILE = "profile"
    RDP = "rdp"
    ZCDP = "zcdp"
    GDP = "gdp"
    TRADEOFF = "tradeoff"
    RISK = "risk"
    DP_EVENT = "dp-event"


class RelationName(StrEnum):
    """Neighbouring relations, with dashes."""

    ADD_OR_REMOVE_ONE = "add-or-remove-one"
    REPLACE_ONE = "replace-one"
    REPLACE_SPECIAL = "replace-special"


def relation_named(name: RelationName | None) -> Relation | None:
    """Return the relation that an option names."""
    return None if name is None else Relation(name.value.replace("-", "_"))
