"""What was meant by what is no command, option, argument or value: their other names.

Read only after an error. Each hint says what to write.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from privcalc.opened import table
from privcalc.spec.entry import snake_case, suggestion, word_text
from privcalc.spec.hints import for_file_alone, for_word

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


def _table(name: str) -> dict[str, str]:
    """Return what to write for each word, from the data of the package."""
    found: Any = table("commands", "meant.toml")
    return found.get(name, {})  # type: ignore[no-any-return]


def for_option(option: str, known: Sequence[str], command: str = "") -> str:
    """Return what to write for an unknown option of a command, or "" for the program; it has those.

    Other tools have some for the parts of a run.
    """
    from difflib import get_close_matches

    word = option.lstrip("-").replace("-", "_")
    if found := _table(command).get(word) or for_word(word) or _table("options").get(word):
        return found
    names = {name.lstrip("-"): name for name in known if name.startswith("--")}
    begun = [name for name in names if name.startswith(word) and len(word) > 1]
    near = begun or get_close_matches(word, names, cutoff=0.7)
    return f"did you mean {names[near[0]]}?" if near else ""


def for_argument(name: str, known: Sequence[str], command: str) -> str:
    """Return what to write in Python for an argument that a command does not have; it has those."""
    if found := _table("python").get(name.lower()):
        return found.format(command=command)
    flags = [f"--{each.replace('_', '-')}" for each in known]
    found = for_option(name.lower(), flags, command).replace("SPEC", "the specification")
    return found or suggestion(name.lower(), known)


def for_command(words: Sequence[str], commands: Collection[str]) -> str:
    """Return what to write for words of which the first is none of the commands, or ""."""
    first = words[0] if words else ""
    if hint := _table("commands").get(snake_case(first), ""):
        other = next((word for word in words[1:] if word in commands), "")
        return f"write privcalc {other} --help" if first == "help" and other else hint
    if first.endswith(".toml"):
        return f"write privcalc compose --file {first}"
    if file := for_file_alone(first):
        return file.replace("write opacus", "write privcalc compose opacus")
    if not re.search(r"[:@+({\[_]|DpEvent", first):
        from privcalc.spec.registry import mechanisms

        if not any(snake_case(first) in each.spellings for each in mechanisms()):
            return ""
    line = "calibrate SPEC --epsilon 1" if re.search(r"[=@]_", first) else "compose SPEC"
    return f"a command stands first: privcalc {line} --delta 1e-5"


def for_value(value: str, choices: Collection[str]) -> str:
    """Return what to write for a value that is none of the choices of an option, or ""."""
    from difflib import get_close_matches

    word = snake_case(value)
    near = get_close_matches(word_text(word), [*map(word_text, choices)], n=1)
    found = _table("to").get(word) if "tradeoff" in choices else ""
    return found or _table("values").get(word) or (f"did you mean {near[0]}?" if near else "")
