"""Manual pages, whose prose is written by hand in mdoc(7), and what the README has of them.

What is generated in a page is a line such as `@OPTIONS compose@`, `@OPTIONS@`, `@COMMANDS@`,
`@MECHANISMS@`, `@WRAPPERS@`, `@LOOPS@` or `@GAPS apart@`; in the README it stands between marks.
"""

from __future__ import annotations

import re
from textwrap import wrap
from typing import TYPE_CHECKING

from privcalc.cli.docs.gaps import GAPS, MISSING
from privcalc.cli.docs.survey import COLUMNS, SURVEY
from privcalc.spec.entry import word_text
from privcalc.spec.loops import LOOPS
from privcalc.spec.text import value_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from privcalc.cli.docs.commands import Option, Program
    from privcalc.cli.docs.gaps import Gap
    from privcalc.spec.loops import Loop
    from privcalc.spec.registry import Entry, Parameter

_HOLE = re.compile(r"@([A-Z]+)(?: ([a-z]+))?@")
_TEMPLATE_NOTE = '.\\" Generated from man/src by python -m privcalc.cli.docs; do not edit.'


def page(template: str, program: Program) -> str:
    """Fill in what is generated of one page."""
    lines = [_TEMPLATE_NOTE]
    for line in template.splitlines():
        hole = _HOLE.fullmatch(line)
        lines += list(_filled(program, hole[1], hole[2])) if hole else [line]
    return "\n".join(lines) + "\n"


def _filled(program: Program, kind: str, command: str | None) -> Iterator[str]:
    from privcalc.spec.registry import mechanisms, wrappers

    if kind == "OPTIONS":
        yield from _options(program, command)
    elif kind in _TABLES:
        yield from _TABLES[kind](command)
    elif kind == "COMMANDS":
        yield ".Bl -tag -width Ds"
        for each in program.commands:
            yield f".It Xr privcalc-{each.name} 1"
            yield from _prose(each.summary + ".")
        yield ".El"
    else:
        entries = {"MECHANISMS": mechanisms, "WRAPPERS": wrappers}[kind]()
        yield ".Bl -tag -width Ds"
        for entry in entries:
            yield from _entry(entry)
        yield ".El"


def _options(program: Program, command: str | None) -> Iterator[str]:
    options = program.options
    if command is not None:
        options = next(each.options for each in program.commands if each.name == command)
    yield ".Bl -tag -width Ds"
    for option in options:
        yield _item(option)
        yield from _prose(option.help)
        if option.choices:
            yield "One of"
            *words, last = option.choices
            yield from (f".Cm {word} ," for word in words[:-1])
            yield f".Cm {words[-1]}"
            yield "or"
            yield f".Cm {last} ."
        if option.default:
            yield "The default is"
            yield f".Cm {_escaped(option.default)} ."
    yield ".El"


def _item(option: Option) -> str:
    value = ""
    if option.metavar.startswith("["):
        value = f" Oo Ar {option.metavar.strip('[]')} Oc"
    elif option.metavar:
        value = f" Ar {option.metavar}"
    flags = [f"Fl {flag[1:].replace('-', 'Fl ', 1)}" for flag in option.short + option.long]
    return ".It " + " , ".join(_escaped(flag) + value for flag in flags)


def _entry(entry: Entry) -> Iterator[str]:
    yield _keys(entry.spelling, [word_text(name) for name in entry.spellings])
    if entry.plain:
        yield from _prose(entry.plain)
    yield from _prose(entry.summary + ".")
    yield ".Bl -tag -width Ds -compact"
    for parameter in entry.parameters:
        yield _keys(parameter.spelling, parameter.spellings)
        yield from _prose(_facts(parameter))
    yield ".El"
    if len(entry.one_of) > 1:
        spelling = {parameter.name: parameter.spelling for parameter in entry.parameters}
        groups = [" with ".join(spelling[name] for name in group) for group in entry.one_of]
        yield from _prose(f"Give {' or '.join(groups)}.")
    yield "Example:"
    yield f".Ql {_escaped(entry.example)}"


# What fits between the margins of a page of 80 columns.
_LINE = 67


def _loop(loop: Loop) -> Iterator[str]:
    """Yield code, its specification, and what the nearest other one gets wrong."""
    yield f".Ss {_escaped(loop.title)}"
    yield ".Bd -literal -offset indent"
    yield from map(_escaped, loop.code)
    yield ".Ed"
    if len(loop.spec) <= _LINE:
        yield ".Pp"
        yield f".Dl {_escaped(loop.spec)}"
    else:
        yield ".Bd -literal -offset indent"
        yield from (_escaped(each) for each in _in_quotes("", loop.spec))
        yield ".Ed"
    yield ".Pp"
    yield from _prose(loop.why)
    yield from ("Not", f".Ql {_escaped(loop.other)} :")
    yield from _prose(loop.wrong)


def _gap(gap: Gap) -> Iterator[str]:
    """Yield a question, what is printed, why, and what is known of the truth."""
    yield f".Ss {_escaped(gap.title)}"
    line = f"privcalc {gap.ask}"
    if len(line) <= _LINE:
        yield f".Dl {_escaped(line)}"
    else:
        spec, _, options = line.partition(" --")
        yield ".Bd -literal -offset indent"
        yield from map(_escaped, _broken(spec))
        yield from (_escaped(f"    --{options}"), ".Ed")
    yield ".Bl -tag -width printed -compact"
    for word, text in (("printed", f"{gap.said}."), ("why", gap.why), ("ideal", gap.ideal)):
        yield f".It {word}"
        yield from _prose(text)
    yield ".El"


def _broken(line: str) -> Iterator[str]:
    """Yield a command whose options follow, on several lines where it is too long."""
    if len(line) + 2 <= _LINE:
        yield f"{line} \\"
        return
    command, _, spec = line.rpartition(" ")
    *first, last = _in_quotes(f"{command} ", spec.strip("'"))
    yield from first
    yield f"{last} \\"


def _in_quotes(before: str, spec: str) -> Iterator[str]:
    """Yield a specification in quotes, broken after commas.

    Blanks are allowed between the parts of a specification, and newlines are not: inside double
    quotes a shell takes away a backslash with the newline behind it.
    """
    kept = f'{before}"'
    for part in re.findall(r"[^,]+,?", spec):
        if len(kept) + len(part) + 3 > _LINE:
            yield f"{kept}\\"
            kept = " "
        kept += part
    yield f'{kept}"'


def _gaps(kind: str | None) -> Iterator[str]:
    for gap in GAPS:
        if gap.kind == kind:
            yield from _gap(gap)


def _survey(_: str | None) -> Iterator[str]:
    """Yield what kind of answer each mechanism has by itself and under each wrapper."""
    yield ".Bd -literal -offset indent"
    yield f"{'':<20}" + "".join(f"{column.heading:>4}" for column in COLUMNS)
    for spec, marks in SURVEY:
        name = spec.partition(":")[0]
        yield _escaped(f"{name:<20}" + "".join(f"{mark:>4}" for mark in marks))
    yield ".Ed"


def _columns(_: str | None) -> Iterator[str]:
    first, *more, last = [column.tail for column in COLUMNS if not column.repeats]
    yield "the mechanism alone" + first + ","
    yield from (f".Ql {_escaped(tail)} ," for tail in more)
    yield from ("and", f".Ql {_escaped(last)} .")


def _missing(_: str | None) -> Iterator[str]:
    yield ".Bl -bullet"
    for each in MISSING:
        yield ".It"
        yield from _prose(each)
    yield ".El"


def _loops(_: str | None) -> Iterator[str]:
    for loop in LOOPS:
        yield from _loop(loop)


# What is written for a hole, given its second word.
_TABLES = {
    "LOOPS": _loops,
    "GAPS": _gaps,
    "SURVEY": _survey,
    "COLUMNS": _columns,
    "MISSING": _missing,
}


def _keys(first: str, spellings: Iterable[str]) -> str:
    words = [first, *(word for word in spellings if word != first)]
    return f".It {' , '.join(f'Cm {_escaped(word)}' for word in words)}"


def _facts(parameter: Parameter) -> str:
    facts = [parameter.meaning]
    if parameter.range_text:
        facts.append(parameter.range_text)
    elif parameter.kind not in ("number", "integer"):
        facts.append(parameter.takes)
    if parameter.default_text:
        facts.append(f"default {parameter.default_text}")
    elif parameter.default is not None:
        facts.append(f"default {value_text(parameter.default)}")
    sentence = "; ".join(facts)
    return sentence[:1].upper() + sentence[1:] + "."


def _prose(text: str) -> Iterator[str]:
    """Yield running text, each sentence on a line of its own as mdoc asks."""
    for sentence in re.split(r"(?<=[.;]) (?=[A-Z-])", text):
        yield re.sub(r"^([.'])", r"\\&\1", _escaped(sentence))


def _escaped(text: str) -> str:
    # A bare hyphen may be printed as a typographic one, which cannot be pasted into a shell.
    return text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")


def readme(text: str) -> str:
    """Return the README with the list of names and the table of loops written anew."""
    for word, lines in (("list", _list()), ("table", _table())):
        begin = f"<!-- The {word} is written by python -m privcalc.cli.docs. -->"
        end = f"<!-- End of the {word}. -->"
        before, found, rest = text.partition(begin)
        if found:
            text = "\n".join((before + begin, *lines, end + rest.partition(end)[2]))
    return text


def _table() -> list[str]:
    """Return the loops that have a short form, as a table in Markdown."""
    rows = [f"| {loop.brief} | `{loop.spec}` |" for loop in LOOPS if loop.brief]
    return ["| what the code does | specification |", "|---|---|", *rows, ""]


def _list() -> list[str]:
    from privcalc.spec.describe import rows

    names = {"mechanism": list[str](), "wrapper": list[str]()}
    for row in rows():
        names[row.kind].append(f"`{'@' * (row.kind == 'wrapper')}{row.spelling}`")
    mechanisms, wrappers = map(", ".join, names.values())
    text = f"The mechanisms are {mechanisms}; the wrappers are {wrappers}."
    return wrap(text, 119, break_on_hyphens=False)
