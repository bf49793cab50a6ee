"""The language explained: what `--help-spec` prints and manual pages hold, from the registry."""

from __future__ import annotations

import json
from inspect import cleandoc
from textwrap import indent, wrap
from typing import TYPE_CHECKING

from privcalc.errors import SpecError
from privcalc.record import record
from privcalc.relation import Relation
from privcalc.spec.entry import (
    MAX_DEPTH,
    MAX_INTEGER,
    brief_text,
    number_text,
    snake_case,
    suggestion,
    word_text,
)
from privcalc.spec.events.history import OPACUS
from privcalc.spec.json import to_json
from privcalc.spec.parse import parse
from privcalc.spec.registry import mechanisms, wrappers
from privcalc.spec.syntax import MAX_LENGTH

if TYPE_CHECKING:
    from privcalc.spec.entry import Entry, Kind, Parameter

_WIDTH = 79
# Of the column of names, the longest of which is randomized-response.
_NAMES = 21

_GRAMMAR = """\
A specification says what was done with the data, from left to right:

  gaussian:sigma=1.1                              one answer with Gaussian noise
  gaussian:sigma=1.1@poisson:q=256/60000@14063    DP-SGD: sampled, 14063 steps
  gaussian:sigma=4@batches:t=234,b=256@60         60 passes over shuffled data
  '(laplace:scale=2@10+gaussian:sigma=5)@50'      eleven answers, 50 times
  'max(laplace:scale=2,pure:epsilon=0.1)'         disjoint data: --help-spec max

  NAME:KEY=VALUE,...    a mechanism with its parameters; keys are always written
  @WRAPPER:KEY=VALUE    is done to all that precedes it, back to + or (
  @COUNT                used COUNT times, adaptively: @14000 or @14_000
  SPEC+SPEC             both on the same data, adaptively
  VALUE                 a number 1.1 or 1e-5, a ratio 256/60000, a percentage 1%
"""

_MOST = brief_text(MAX_INTEGER)
_END = f"""\
--help-spec NAME has the parameters of one, and an example; --help-spec sampling
has lines of code and their specifications.

At most {MAX_LENGTH:,} characters, {MAX_DEPTH} levels and counts of {_MOST}; or JSON, with long
names ({{"type": "gaussian", ...}}), or a DpEvent."""

# What stands for disjoint parts of the data is no mechanism, and explained like one.
PARTS = "max"
_PARTS = """\
max(SPEC,SPEC,...): mechanisms on disjoint parts of the data, such as one for
each region: a record is in one part, and pays there alone.

  The data is split before anything is released, by what a record itself is;
  the cost is that of the part that costs most, at each epsilon or delta by
  itself. Each part may be empty but for the record, so that both ends are
  those of the parts. The split is kept in repetitions: max(A,B)@k is
  max(A@k,B@k), and max(A,B)+C the worst of A+C and B+C. Two that are written
  have two splits: max(A,B)+max(C,D) is the worst of A+C, A+D, B+C and B+D.
  Splits that are chosen in view of earlier outputs are not covered.

  It may stand before @COUNT, @poisson (without a cap), @allocation, @batches,
  @select and @group; the records of a group may be in different parts. Under
  replace-one a record that moves from one part to another pays in both, so
  that max is refused there.

Example
  'max(gaussian:sigma=2,laplace:scale=3)@10+discrete-laplace:scale=20'
  {"type": "parallel_composed", "events": [...]}"""

_LOOPS = "sampling"
# What has a page and is no name of a mechanism or wrapper, each with its line.
TOPICS = {
    PARTS: "mechanisms on disjoint parts of the data",
    _LOOPS: "lines of code, and which specification each of them is",
}


@record
class Row:
    """One line of the table of mechanisms and wrappers.

    Attributes:
        kind: mechanism or wrapper.
        name: as the canonical text has it.
        aliases: other spellings that text accepts.
        line: what it is, in at most 60 characters.
        summary: what it is, a clause without a full stop.
    """

    kind: Kind
    name: str
    aliases: tuple[str, ...]
    line: str
    summary: str


def rows() -> tuple[Row, ...]:
    """Return the table of mechanisms, then of wrappers."""
    return tuple(
        Row(
            entry.kind,
            entry.spelling,
            tuple(word_text(name) for name in entry.spellings if word_text(name) != entry.spelling),
            entry.line,
            entry.summary,
        )
        for entry in (*mechanisms(), OPACUS, *wrappers())
    )


def overview() -> str:
    """Return the whole language on one screen: every name has a line."""
    lines = [_GRAMMAR]
    for title, kind in (("Mechanisms", "mechanism"), ("Wrappers, after @", "wrapper")):
        lines.append(title)
        lines += [f"  {row.name:<{_NAMES}}{row.line}" for row in rows() if row.kind == kind]
        lines.append("")
    return "\n".join([*lines, _END])


def page(name: str) -> str:
    """Return all that is known of one mechanism or wrapper, or of a topic.

    Raises:
        SpecError: there is none of this name.
    """
    if snake_case(name) == PARTS:
        return _PARTS
    if snake_case(name) == _LOOPS:
        from privcalc.spec import loops

        return loops.page()
    known = (*mechanisms(), OPACUS, *wrappers())
    entry = next((each for each in known if snake_case(name) in each.spellings), None)
    if entry is None:
        from privcalc.spec.foreign import mechanism

        words = [word_text(word) for each in known for word in each.spellings] + [*TOPICS]
        raise SpecError(
            f"unknown mechanism or wrapper: {name}",
            text=name,
            span=(0, len(name)),
            hint=mechanism(snake_case(name))
            or suggestion(word_text(snake_case(name)), words, of_calls=True),
        )
    # What stands in the file of a history is its form in JSON.
    twin = "" if entry is OPACUS else json.dumps(to_json(parse(entry.example).tree))
    sections = [
        _opening(entry),
        _mathematics(entry),
        "Parameters\n" + "\n".join(_parameter(parameter) for parameter in entry.parameters),
        *_rules(entry),
        "Relations\n" + _paragraph(_relations(entry)),
        f"Example\n  {entry.example}\n{_paragraph(twin)}".rstrip("\n"),
        _code(entry),
        _file(entry),
    ]
    return "\n\n".join(section for section in sections if section)


def _opening(entry: Entry) -> str:
    """Return what it is in plain words, then in the words of the field."""
    first = f"{entry.spelling}: {entry.plain or entry.summary}"
    opening = "\n".join(wrap(first, _WIDTH, break_on_hyphens=False))
    return f"{opening}\n\n{_paragraph(entry.summary + '.')}" if entry.plain else opening


def _mathematics(entry: Entry) -> str:
    """Return the docstring between its first sentence and the list of attributes."""
    paragraphs = cleandoc(entry.documentation).split("\n\n")[1:]
    kept = [each for each in paragraphs if not each.startswith("Attributes:")]
    return "\n\n".join(_display(each) if each[0] == " " else _paragraph(each) for each in kept)


def _parameter(parameter: Parameter) -> str:
    takes = (
        "a file, whose name has a dot or a slash in it, or stands in quotes"
        if parameter.kind == "path"
        else ""
    )
    facts = [takes or parameter.takes, parameter.range_text]
    head = " ".join(fact for fact in facts if fact)
    if parameter.unit:
        head += f", in the {parameter.unit}"
    default = _default(parameter)
    if default:
        head += f"; {default} where left out"
    meaning = parameter.meaning
    if parameter.short:
        meaning += f"; in full {parameter.name}"
    lines = wrap(head, _WIDTH - 22)
    first = f"  {parameter.spelling:<20}{lines[0]}"
    rest = [*lines[1:], *wrap(meaning, _WIDTH - 22)]
    return "\n".join([first, *(" " * 22 + line for line in rest)])


def _rules(entry: Entry) -> list[str]:
    spelling = {parameter.name: parameter.spelling for parameter in entry.parameters}
    rules = []
    if entry.one_of:
        groups = [" with ".join(spelling[name] for name in group) for group in entry.one_of]
        rules.append(f"exactly one of {' or '.join(groups)}")
    if entry.enough:
        groups = [" with ".join(spelling[name] for name in group) for group in entry.enough]
        rules.append(f"at least {' or '.join(groups)}")
    rules += [f"{spelling[a]} does not go with {spelling[b]}" for a, b in entry.excludes]
    rules += [f"{spelling[a]} <= {spelling[b]}" for a, b in entry.ordered]
    lines = [f"Together\n{_paragraph('; '.join(rules))}"] if rules else []
    others = [word_text(name) for name in entry.spellings if word_text(name) != entry.spelling]
    return lines + ([f"Also written\n  {', '.join(others)}"] if others else [])


def _relations(entry: Entry) -> str:
    supported = [relation.text for relation in Relation if relation in entry.relations]
    text = ", ".join(supported)
    if entry.inner_relation is not None:
        text += f"; what it wraps is read under {entry.inner_relation.text}"
    return text


def _default(parameter: Parameter) -> str:
    if parameter.default_text:
        return parameter.default_text
    if parameter.default is None:
        return ""
    if isinstance(parameter.default, bool):
        return "true" if parameter.default else "false"
    if isinstance(parameter.default, str):
        return word_text(parameter.default)
    return number_text(parameter.default)


def _code(entry: Entry) -> str:
    """Return lines of code that draw records as a wrapper does."""
    if entry.kind != "wrapper":
        return ""
    from privcalc.spec import loops

    rows = loops.of_wrapper(entry.spelling)
    return f"Code, with n = 60000, b = 256, 60 epochs\n{rows}" if rows else ""


def _file(entry: Entry) -> str:
    """Return what stands in the file that the example names."""
    if not entry.example_file:
        return ""
    return "The file of the example\n" + indent(entry.example_file.rstrip("\n"), "  ")


def _display(text: str) -> str:
    """Return formulas, which stand in lines of their own, with these lines."""
    lines = (wrap(line, _WIDTH - 2, subsequent_indent=" " * 8) for line in text.splitlines())
    return indent("\n".join(part for line in lines for part in line), "  ")


def _paragraph(text: str) -> str:
    return indent("\n".join(wrap(text, _WIDTH - 2, break_on_hyphens=False)), "  ")
