"""The language explained: what `--help-spec` prints and manual pages hold, from the registry."""

from __future__ import annotations

import json
import re
from inspect import cleandoc
from shlex import quote
from textwrap import indent, wrap
from typing import TYPE_CHECKING, Any, cast

from privcalc.errors import SpecError
from privcalc.opened import table
from privcalc.record import record
from privcalc.relation import Relation
from privcalc.spec.entry import snake_case, suggestion, word_text
from privcalc.spec.events.history import OPACUS
from privcalc.spec.json import to_json
from privcalc.spec.parse import parse
from privcalc.spec.registry import mechanisms, value_text, wrappers

if TYPE_CHECKING:
    from privcalc.spec.entry import Entry, Parameter

_WIDTH = 79
# Of the column of names, the longest of which is randomized-response.
_NAMES = 21

# What stands for disjoint parts of the data is no mechanism, and explained like one.
PARTS = "max"
_LOOPS = "sampling"
# Names of files with proofs, in parentheses or in a sentence of their own.
_SOURCES = re.compile(
    r"\s+\((?:proved in )?`[\w/]+/\w+(?:\.py)?`\)|\s+Proofs: (?:`[\w/.]+`(?:\s+and\s+)?)+\."
)
# What has a page and is no name of a mechanism or wrapper, each with its line.
TOPICS = {
    PARTS: "mechanisms on disjoint parts of the data",
    _LOOPS: "lines of code, and which specification each of them is",
}


def rows() -> tuple[Entry, ...]:
    """Return all that has a line: mechanisms, then wrappers."""
    return (*mechanisms(), OPACUS, *wrappers())


def overview() -> str:
    """Return the whole language on one screen: every name has a line."""
    texts = _texts()
    lines = [texts["grammar"]]
    for title, kind in (("Mechanisms", "mechanism"), ("Wrappers, after @", "wrapper")):
        lines.append(title)
        lines += [f"  {row.spelling:<{_NAMES}}{row.line}" for row in rows() if row.kind == kind]
        lines.append("")
    return "\n".join([*lines, texts["end"]])


def _texts() -> dict[str, str]:
    return cast("dict[str, str]", table("spec", "help.toml"))


def page(name: str) -> str:
    """Return all that is known of one mechanism or wrapper, or of a topic.

    Raises:
        SpecError: there is none of this name.
    """
    name = "-".join(name.split())
    if snake_case(name) == PARTS:
        return _texts()["max"]
    if snake_case(name) == _LOOPS:
        around = table("spec", "loops.toml")
        return "\n\n".join([str(around["opening"]), *map(_loop, loops()), str(around["end"])])
    entry = next((each for each in rows() if snake_case(name) in each.spellings), None)
    if entry is None and (found := _by_meaning(snake_case(name))):
        return found
    if entry is None:
        words = [word_text(word) for each in rows() for word in each.spellings] + [*TOPICS]
        raise SpecError(
            f"unknown mechanism or wrapper: {name}",
            text=name,
            span=(0, len(name)),
            hint=suggestion(word_text(snake_case(name)), words, of_calls=True),
        )
    # What stands in the file of a history is its form in JSON.
    twin = "" if entry is OPACUS else json.dumps(to_json(parse(entry.example).tree))
    file = entry.example_file.rstrip("\n")
    sections = [
        _opening(entry),
        "Parameters\n" + "\n".join(_parameter(entry, parameter) for parameter in entry.parameters),
        *_rules(entry),
        "Relations\n" + _paragraph(_relations(entry)),
        f"Example\n  {quote(entry.example)}\n{_paragraph(twin)}".rstrip("\n"),
        _code(entry),
        f"The file of the example\n{indent(file, '  ')}" if file else "",
        _mathematics(entry),
    ]
    return "\n\n".join(section for section in sections if section)


def _by_meaning(word: str) -> str:
    """Return what is said of a word, and the lines of what is named there; or where it is said."""
    from privcalc.spec.hints import for_topic

    said, plain = for_topic(word), word.replace("_", " ")
    pattern = r"(?<![\w-]){}(?![\w=-])" if said else r"\b{}"
    found = [
        f"  {row.spelling:<{_NAMES}}{row.line}"
        for row in rows()
        if (
            said
            and re.search(pattern.format(f"(?:{'|'.join(map(word_text, row.spellings))})"), said)
        )
        or (not said and len(plain) > 3 and re.search(pattern.format(re.escape(plain)), _all(row)))
    ]
    opening = "\n".join(wrap(f"{word_text(word)}: {said}", _WIDTH, break_on_hyphens=False))
    more = "See privcalc --help-spec NAME"
    return "\n\n".join(
        filter(None, [opening if said else "", "\n".join(found), more if found else ""])
    )


def _all(row: Entry) -> str:
    return f"{row.spelling} {row.line} {row.plain} {row.summary}".lower()


def _opening(entry: Entry) -> str:
    """Return what it is in plain words, then in the words of the field."""
    first = f"{entry.spelling}: {entry.plain or entry.summary}"
    opening = "\n".join(wrap(first, _WIDTH, break_on_hyphens=False))
    return f"{opening}\n\n{_paragraph(entry.summary + '.')}" if entry.plain else opening


def _mathematics(entry: Entry) -> str:
    """Return the docstring between its first sentence and the list of attributes, last on a page.

    Where a proof stands in the code is of use to those who read the docstring only.
    """
    text = _SOURCES.sub("", cleandoc(entry.factory.__doc__ or ""))
    kept = [each for each in text.split("\n\n")[1:] if not each.startswith("Attributes:")]
    return "In full\n" * bool(kept) + "\n\n".join(
        _display(each) if each[0] == " " else _paragraph(each) for each in kept
    )


def _parameter(entry: Entry, parameter: Parameter) -> str:
    file = "a file, whose name has a dot or a slash in it, or stands in quotes"
    takes = file if parameter.kind == "path" else parameter.takes
    head = f"{takes} {parameter.range_text}".rstrip()
    head += f", in the {parameter.unit}" if parameter.unit else ""
    default = parameter.default_text
    if not default and parameter.default is not None:
        default = value_text(parameter.default)
    head += f"; default: {default}" if default else ""
    meaning = entry.meaning(parameter) + (f"; in full {parameter.name}" if parameter.short else "")
    lines = wrap(head, _WIDTH - 22)
    first = f"  {parameter.spelling:<20}{lines[0]}"
    rest = [*lines[1:], *wrap(meaning, _WIDTH - 22)]
    return "\n".join([first, *(" " * 22 + line for line in rest)])


def _rules(entry: Entry) -> list[str]:
    spelling = {parameter.name: parameter.spelling for parameter in entry.parameters}
    rules = []
    if entry.one_of:
        rules.append(f"exactly one of {entry.groups(entry.one_of)}")
    if entry.enough:
        rules.append(f"at least {entry.groups(entry.enough)}")
    rules += [f"{spelling[a]} does not go with {spelling[b]}" for a, b in entry.excludes]
    rules += [f"{spelling[a]} <= {spelling[b]}" for a, b in entry.ordered]
    lines = [f"Together\n{_paragraph('; '.join(rules))}"] if rules else []
    others = [word_text(name) for name in entry.spellings if word_text(name) != entry.spelling]
    return lines + ([f"Also written\n  {', '.join(others)}"] if others else [])


def _relations(entry: Entry) -> str:
    text = ", ".join(relation.text for relation in Relation if relation in entry.relations)
    if entry.inner_relation is not None:
        text += f"; what it wraps is read under {entry.inner_relation.text}"
    return text


def _code(entry: Entry) -> str:
    """Return lines of code that draw records as a wrapper does."""
    found = (each for each in loops() if each.brief and f"@{entry.spelling}:" in each.spec)
    rows = [f"  {each.brief.replace('`', '')}\n      {each.spec}" for each in found]
    if entry.kind != "wrapper" or not rows:
        return ""
    more = f"  More: privcalc --help-spec {_LOOPS}"
    return "\n".join(["Code, with n = 60000, b = 256, 60 epochs", *rows, more])


@record
class Loop:
    """One way in which code draws its batches: who draws, the lines that decide, and what it is.

    Its nearest `other` specification is wrong; `brief` is a line for the README, or "" for no row.
    """

    title: str
    code: tuple[str, ...]
    spec: str
    why: str
    other: str
    wrong: str
    brief: str = ""


def loops() -> tuple[Loop, ...]:
    """Return the table that help, the README and a manual page have."""
    rows = cast("list[dict[str, Any]]", table("spec", "loops.toml")["loop"])
    return tuple(Loop(**{**each, "code": tuple(each["code"].splitlines())}) for each in rows)


def _loop(loop: Loop) -> str:
    """Return one row: the code, the specification, why, and what the nearest other one misses."""
    text = f"{loop.why} Not {loop.other}: {loop.wrong}"
    # Specifications are never broken at a dash.
    said = wrap(text, _WIDTH - 2, break_on_hyphens=False, break_long_words=False)
    code = indent("\n".join(loop.code), "    ")
    return "\n".join([loop.title, code, f"  = {loop.spec}", indent("\n".join(said), "  ")])


def _display(text: str) -> str:
    """Return formulas, which stand in lines of their own, with these lines."""
    lines = (wrap(line, _WIDTH - 2, subsequent_indent=" " * 8) for line in text.splitlines())
    return indent("\n".join(part for line in lines for part in line), "  ")


def _paragraph(text: str) -> str:
    return indent("\n".join(wrap(text, _WIDTH - 2, break_on_hyphens=False)), "  ")
