"""Write the generated documents, or with --check compare them: for developers.

    python man/build.py [--check]

Manual pages, completions and the short help come from the templates and tables in `man/src`, the
table of options, and the registry. What is generated stands in the place of a line such as
`@OPTIONS compose@`; in the README a table stands between marks.
"""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from pathlib import Path
from textwrap import shorten, wrap
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "man" / "src"
# The checkout, and not what is installed.
sys.path.insert(0, str(ROOT))

from privcalc.cli.output import OPTIONS, OUTPUT  # noqa: E402
from privcalc.cli.program import (  # noqa: E402
    COMPLETIONS,
    HELP,
    PROGRAM,
)
from privcalc.commands.command import COMMANDS, load  # noqa: E402
from privcalc.spec.describe import TOPICS, loops  # noqa: E402
from privcalc.spec.entry import word_text  # noqa: E402
from privcalc.spec.events.history import OPACUS  # noqa: E402
from privcalc.spec.registry import (  # noqa: E402
    mechanisms,
    value_text,
    wrappers,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from privcalc.commands.options import Option
    from privcalc.spec.describe import Loop
    from privcalc.spec.entry import Entry, Parameter

# The words that select what is generated.
HOLE = re.compile(r"@([A-Z]+)(?: ([a-z]+))?@")
NOTE = '.\\" Generated from man/src by man/build.py; do not edit.'


def options(command: str) -> list[Option]:
    """Return the options of a command, or of the program (""), in the order of the help."""
    if not command:
        return [*PROGRAM]
    own = [*load(command).options, *OUTPUT]
    return [each for each in own if not each.positional] + [*PROGRAM[-2:]]


# The short help: one screen of 80 x 24, of which one line stays for the prompt.

WIDTH = 78
EXAMPLES = 3
# Options that have a line each; the others are named in a paragraph.
ROWS = {"": 9, "compose": 3, "convert": 2, "subsample": 4, "select": 6, "calibrate": 5, "audit": 4}
# Choices that are longer are named, not listed; formats are what people look for.
MOST_CHOICES, MOST_FORMATS, NAMES = 44, 54, 20


def help_text(command: str) -> str:
    """Return what `--help` prints of a command, or of the program."""
    text = inspect.cleandoc(load(command).text if command else HELP)
    first = " ".join(text.split("\n\n")[0].split())
    found = [each for each in options(command) if each.name not in ("help", "help_all")]
    asked = [each for each in found if each.name not in OPTIONS]
    kept = ROWS[command]
    lines = [usage(command), "", *wrap(first, WIDTH), "", "Examples:"]
    lines += (f"  {line}" for line in examples(load(command).examples if command else text))
    if not command:
        lines += ["", "Commands:"]
        width = max(map(len, COMMANDS))
        lines += (f"  {name:<{width}}  {line}" for name, line in COMMANDS.items())
    lines += ["", "Options:", *(help_row(each) for each in asked[:kept])]
    lines += listed("More:", asked[kept:])
    lines += listed("Output:", [each for each in found if each.name in OPTIONS])
    own = "--help-all explains every option" if command else "COMMAND --help shows its options"
    return "\n".join([*lines, "", f"{own}, privcalc --help-spec how SPEC is written.", ""])


def usage(command: str) -> str:
    """Return the first line of the help."""
    if not command:
        return "Usage: privcalc [OPTIONS] COMMAND [ARGS]..."
    first = load(command).options[0]
    needed = first.name in load(command).needed
    spec = f"{{{first.metavar}}}" if needed else f"[{first.metavar}]"
    return f"Usage: privcalc {command} [OPTIONS] {spec}"


def examples(text: str) -> list[str]:
    """Return the lines of the first examples."""
    kept: list[str] = []
    for example in re.findall(r"^ *(privcalc .*(?:(?<=\\)\n.*)*)", text, re.MULTILINE):
        if len(kept) + len(example.splitlines()) <= EXAMPLES:
            kept += example.splitlines()
    return kept


def help_row(each: Option) -> str:
    """Return the line of one option: the first sentence of its help, as far as there is room."""
    value = "|".join(each.choices)
    value = value if value and len(value) < NAMES else each.value
    head = f"  {', '.join(each.flags) + f' {value}'.rstrip():<{NAMES}}"
    sentence = re.split(r"(?<=[.]) ", each.help)[0]
    return f"{head}  {shorten(sentence, max(WIDTH - len(head) - 2, 20), placeholder=' ...')}"


def listed(title: str, found: Iterable[Option]) -> list[str]:
    """Return the names of options in a paragraph, with what they take."""
    words = []
    for each in found:
        # `~` holds together what no line break may part.
        value = "|".join(each.choices)
        most = MOST_FORMATS if each.name in OPTIONS else MOST_CHOICES
        value = value if value and len(value) <= most else each.value
        words.append(f"{each.flags[0]}~{value}" if value else each.flags[0])
    lines = wrap(", ".join(words), WIDTH - 11, break_on_hyphens=False, break_long_words=False)
    heads = [title, *([""] * len(lines))]
    return [f"{h:<9}{line.replace('~', ' ')}" for h, line in zip(heads, lines, strict=False)]


# Completions: what may follow at each place of a line.

FILES = ("/",)  # No word of the language: stands for all files.


class Call(NamedTuple):
    """A call, NAME:KEY=VALUE,..., that a specification or an option may have."""

    kind: str  # "" for a mechanism, "@" for a wrapper, "=" for the value of an option.
    names: tuple[str, ...]  # The one to offer first.
    keys: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]  # Of keys that take one of a few words, or a file.


def calls() -> list[Call]:
    """Return every mechanism, every wrapper, and what the help of options lists."""
    found = [entry_call(entry) for entry in (*mechanisms(), OPACUS, *wrappers())]
    for command in COMMANDS:
        for each in options(command):
            found += patterns(each)
    return found


def entry_call(entry: Entry) -> Call:
    """Return how a mechanism or wrapper is called."""
    others = (word_text(name) for name in entry.spellings if word_text(name) != entry.spelling)
    return Call(
        "@" if entry.kind == "wrapper" else "",
        (entry.spelling, *others),
        tuple(each.spelling for each in entry.parameters),
        {each.spelling: words for each in entry.parameters if (words := values(each))},
    )


def values(parameter: Parameter) -> tuple[str, ...]:
    """Return the words that a value may be, or none where it is a number."""
    fixed = {"flag": ("true", "false"), "path": FILES}
    return fixed.get(parameter.kind, tuple(word_text(word) for word in parameter.choices))


def patterns(each: Option) -> list[Call]:
    """Return the calls that the help of an option lists, such as `tnb:shape=S,mean=M`."""
    found = re.findall(r"(?<![@\w])([a-z]+):([a-z]+=[A-Z]+(?:,[a-z]+=[A-Z]+)*)", each.help)
    pairs = [(name, dict(pair.split("=") for pair in text.split(","))) for name, text in found]
    return [
        Call("=", (name,), (*keys,), {k: FILES for k, value in keys.items() if value == "FILE"})
        for name, keys in pairs
    ]


def offers(each: Option) -> tuple[str, ...]:
    """Return the words that the value of an option may be; FILES for the name of a file."""
    if each.name == "help_spec":
        entries = (*mechanisms(), OPACUS, *wrappers())
        return (*dict.fromkeys(n for entry in entries for n in entry_call(entry).names), *TOPICS)
    return FILES if each.value == "FILE" else each.choices


def call_cases() -> Iterator[tuple[list[str], list[str]]]:
    """Yield what may be typed so far, with the words that may follow there."""
    found = calls()
    for kind in ("", "@", "="):
        yield [kind], [f"{call.names[0]}:" for call in found if call.kind == kind]
    for call in found:
        names = [f"{call.kind}{name}:" for name in call.names]
        yield names, [f"{key}=" for key in call.keys]
        for key, words in call.values.items():
            yield [f"{name}{key}=" for name in names], [*words]


def shell_cases() -> Iterator[str]:
    """Yield the cases of calls as bash and zsh read them."""
    for places, words in call_cases():
        pattern = "|".join(f"'{place}'" for place in places)
        yield f"        {pattern}) offers='{' '.join(words)}' ;;"


def bash_holes() -> dict[str, list[str]]:
    """Return what stands in the holes of the completions for bash."""
    lines, flags = [], []
    for name in ("", *COMMANDS):
        free = []
        for each in options(name):
            pattern = "|".join(f"{name}:{flag}" for flag in each.flags)
            if patterns(each):
                lines.append(f'        {pattern}) _privcalc_call "$value" =; return ;;')
            elif words := offers(each):
                files = "-f" if words == FILES else f"-W '{' '.join(words)}'"
                lines.append(f"        {pattern})")
                if words == FILES:
                    lines.append("            compopt -o filenames 2> /dev/null")
                lines.append(f'            COMPREPLY=($(compgen {files} -- "$value"))')
                lines += ["            return", "            ;;"]
            elif each.value:
                free += [f"{name}:{flag}" for flag in each.flags]
        if free:
            lines.append(f"        {'|'.join(free)}) return ;;")
        every = " ".join(flag for each in options(name) for flag in each.flags)
        line = f"""{name}:-*) COMPREPLY=($(compgen -W '{every}' -- "$word")); return ;;"""
        flags.append(f"        {line}")
    return {"OFFERS": [*shell_cases()], "VALUES": lines, "FLAGS": flags}


def zsh_holes() -> dict[str, list[str]]:
    """Return what stands in the holes of the completions for zsh."""
    summaries, lines = [], []
    for name, summary in COMMANDS.items():
        words = f"{name}:{summary.rstrip('.')}".split(":", 1)
        summaries.append(f"        {zsh_quoted(':'.join([words[0], colons(words[1])]))}")
        lines += [f"        {name})", "          _arguments -s \\"]
        lines += zsh_arguments(name, indent="            ")
        lines += ["            '*:SPEC:_privcalc_spec'", "          ;;"]
    program = [*zsh_arguments("", indent="    ")]
    return {
        "OFFERS": [*shell_cases()],
        "PROGRAM": program,
        "SUMMARIES": summaries,
        "ARGUMENTS": lines,
    }


def zsh_arguments(command: str, *, indent: str) -> Iterator[str]:
    """Yield a line for each spelling of each option of a command."""
    for each in options(command):
        text = each.help.replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
        words = offers(each)
        action = "_files" if words == FILES else f"({' '.join(words)})" if words else " "
        if patterns(each):
            action = "_privcalc_value"
        # An action would begin at a colon that is not escaped.
        value = f":{colons(each.value.strip('[]'))}:{action}" if each.value else ""
        for flag in each.flags:
            name = f"{flag}=" if value and flag.startswith("--") else flag
            yield f"{indent}{zsh_quoted(f'*{name}[{text}]{value}')} \\"


def colons(text: str) -> str:
    """Escape colons for zsh."""
    return text.replace(":", "\\:")


def zsh_quoted(text: str) -> str:
    """Return a word for zsh."""
    return "'" + text.replace("'", "'\\''") + "'"


def fish_holes() -> dict[str, list[str]]:
    """Return what stands in the holes of the completions for fish."""
    cases = []
    for places, words in call_cases():
        cases += [f"        case {' '.join(map(fish_quoted, places))}"]
        cases += [f"            printf '%s\\n' {' '.join(words)}"]
    outside = "__fish_use_subcommand"
    lines = [fish_option(outside, each) for each in options("")]
    for name, summary in COMMANDS.items():
        line = fish_quoted(summary.rstrip("."))
        lines.append(f"complete -c privcalc -n {outside} -a {name} -d {line}")
    for name in COMMANDS:
        inside = fish_quoted(f"__fish_seen_subcommand_from {name}")
        lines += ["", *(fish_option(inside, each) for each in options(name))]
        lines.append(f"complete -c privcalc -n {inside} -a '(__privcalc_call \"\")'")
    return {"OFFERS": cases, "OPTIONS": lines}


def fish_option(condition: str, each: Option) -> str:
    """Return the line of an option for fish."""
    words = [f"complete -c privcalc -n {condition}"]
    words += [f"-l {flag[2:]}" if flag[1] == "-" else f"-s {flag[1:]}" for flag in each.flags]
    found = offers(each)
    if patterns(each):
        words.append("-x -a '(__privcalc_call =)'")
    elif found == FILES:
        words.append("-r -F")
    elif found:
        words.append(f"-x -a {fish_quoted(' '.join(found))}")
    elif each.value and not each.value.startswith("["):
        words.append("-x")
    return " ".join([*words, f"-d {fish_quoted(each.help)}"])


def fish_quoted(text: str) -> str:
    """Return a word for fish."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def completion(shell: str) -> str:
    """Return the completions for a shell: bash, zsh or fish."""
    holes = {"bash": bash_holes, "zsh": zsh_holes, "fish": fish_holes}[shell]()
    text = (SOURCE / COMPLETIONS[shell]).read_text(encoding="utf-8")
    text = text.replace("@COMMANDS@", "|".join(COMMANDS))
    text = text.replace("@COMMAND_WORDS@", " ".join(COMMANDS))
    lines = []
    for line in text.splitlines():
        lines += holes.get(line.strip("@"), [line]) if line.startswith("@") else [line]
    return "\n".join(lines) + "\n"


# Manual pages, of which the prose is written by hand in mdoc(7).


def page(template: str) -> str:
    """Fill in what is generated of one page."""
    lines = [NOTE]
    for line in template.splitlines():
        hole = HOLE.fullmatch(line)
        lines += TABLES[hole[1]](hole[2] or "") if hole else [line]
    return "\n".join(lines) + "\n"


def mdoc_commands(_: str) -> Iterator[str]:
    """Yield the commands with what each does."""
    yield ".Bl -tag -width Ds"
    for name, summary in COMMANDS.items():
        yield f".It Xr privcalc-{name} 1"
        yield from prose(summary)
    yield ".El"


def mdoc_options(command: str) -> Iterator[str]:
    """Yield all options of a command, or of the program."""
    given = {**load_output_defaults()}
    if command:
        given |= {each.name: load(command).default(each.name) for each in load(command).options}
    yield ".Bl -tag -width Ds"
    for each in options(command):
        yield mdoc_item(each)
        yield from prose(each.help)
        if each.choices:
            yield "One of"
            *words, last = each.choices
            yield from (f".Cm {word} ," for word in words[:-1])
            yield f".Cm {words[-1]}"
            yield "or"
            yield f".Cm {last} ."
        if isinstance(default := given.get(each.name), str):
            yield "The default is"
            yield f".Cm {escaped(default)} ."
    yield ".El"


def load_output_defaults() -> dict[str, Any]:
    """Return what holds without the options of the output."""
    from privcalc.cli.output import read_output

    return read_output.__kwdefaults__ or {}


def mdoc_item(each: Option) -> str:
    """Return the heading of an option."""
    value = ""
    if each.value.startswith("["):
        value = f" Oo Ar {each.value.strip('[]')} Oc"
    elif each.value:
        value = f" Ar {each.value}"
    flags = [f"Fl {flag[1:].replace('-', 'Fl ', 1)}" for flag in each.flags]
    return ".It " + " , ".join(escaped(flag) + value for flag in flags)


def mdoc_entries(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield mechanisms or wrappers."""
    yield ".Bl -tag -width Ds"
    for entry in entries:
        yield from mdoc_entry(entry)
    yield ".El"


def mdoc_entry(entry: Entry) -> Iterator[str]:
    """Yield a mechanism or wrapper."""
    yield mdoc_keys(entry.spelling, [word_text(name) for name in entry.spellings])
    if entry.plain:
        yield from prose(entry.plain)
    yield from prose(entry.summary + ".")
    yield ".Bl -tag -width Ds -compact"
    for parameter in entry.parameters:
        yield mdoc_keys(parameter.spelling, parameter.spellings)
        yield from prose(facts(entry, parameter))
    yield ".El"
    if len(entry.one_of) > 1:
        spelling = {parameter.name: parameter.spelling for parameter in entry.parameters}
        groups = [" with ".join(spelling[name] for name in group) for group in entry.one_of]
        yield from prose(f"Give {' or '.join(groups)}.")
    yield "Example:"
    yield f".Ql {escaped(entry.example)}"


# What fits between the margins of a page of 80 columns.
LINE = 67


def mdoc_loop(loop: Loop) -> Iterator[str]:
    """Yield code, its specification, and what the nearest other one gets wrong."""
    yield f".Ss {escaped(loop.title)}"
    yield ".Bd -literal -offset indent"
    yield from map(escaped, loop.code)
    yield ".Ed"
    if len(loop.spec) <= LINE:
        yield ".Pp"
        yield f".Dl {escaped(loop.spec)}"
    else:
        yield ".Bd -literal -offset indent"
        yield from (escaped(each) for each in in_quotes("", loop.spec))
        yield ".Ed"
    yield ".Pp"
    yield from prose(loop.why)
    yield from ("Not", f".Ql {escaped(loop.other)} :")
    yield from prose(loop.wrong)


def mdoc_gap(gap: dict[str, Any]) -> Iterator[str]:
    """Yield a question, what is printed, why, and what is known of the truth."""
    yield f".Ss {escaped(gap['title'])}"
    line = f"privcalc {gap['ask']}"
    if len(line) <= LINE:
        yield f".Dl {escaped(line)}"
    else:
        spec, _, options = line.partition(" --")
        yield ".Bd -literal -offset indent"
        yield from map(escaped, broken(spec))
        yield from (escaped(f"    --{options}"), ".Ed")
    yield ".Bl -tag -width printed -compact"
    for word, text in (("printed", f"{said(gap)}."), ("why", gap["why"]), ("ideal", gap["ideal"])):
        yield f".It {word}"
        yield from prose(text)
    yield ".El"


def said(gap: dict[str, Any]) -> str:
    """Return what is printed, in words, without a full stop."""
    form = {
        "apart": "The ends are {} and {}",
        "above": "The upper end is {}, and the lower one unknown",
        "infinite": "The lower end is {}, and the upper one infinite",
        "refused": "Refused: {}",
    }
    return form[gap["kind"]].format(*gap["printed"])


def broken(line: str) -> Iterator[str]:
    """Yield a command whose options follow, on several lines where it is too long."""
    if len(line) + 2 <= LINE:
        yield f"{line} \\"
        return
    command, _, spec = line.rpartition(" ")
    *first, last = in_quotes(f"{command} ", spec.strip("'"))
    yield from first
    yield f"{last} \\"


def in_quotes(before: str, spec: str) -> Iterator[str]:
    """Yield a specification in quotes, broken after commas.

    Blanks are allowed between the parts of a specification, and newlines are not: inside double
    quotes a shell takes away a backslash with the newline behind it.
    """
    kept = f'{before}"'
    for part in re.findall(r"[^,]+,?", spec):
        if len(kept) + len(part) + 3 > LINE:
            yield f"{kept}\\"
            kept = " "
        kept += part
    yield f'{kept}"'


def mdoc_gaps(kind: str) -> Iterator[str]:
    """Yield all gaps of a kind."""
    for gap in GAPS["gaps"]:
        if gap["kind"] == kind:
            yield from mdoc_gap(gap)


def mdoc_survey(_: str) -> Iterator[str]:
    """Yield what kind of answer each mechanism has by itself and under each wrapper."""
    yield ".Bd -literal -offset indent"
    yield f"{'':<20}" + "".join(f"{column['heading']:>4}" for column in SURVEY["columns"])
    for spec, marks in SURVEY["rows"]:
        name = spec.partition(":")[0]
        yield escaped(f"{name:<20}" + "".join(f"{mark:>4}" for mark in marks))
    yield ".Ed"


def mdoc_columns(_: str) -> Iterator[str]:
    """Yield what the columns of the survey are."""
    first, *more, last = [
        column["tail"] for column in SURVEY["columns"] if not column.get("repeats")
    ]
    yield "the mechanism alone" + first + ","
    yield from (f".Ql {escaped(tail)} ," for tail in more)
    yield from ("and", f".Ql {escaped(last)} .")


def mdoc_missing(_: str) -> Iterator[str]:
    """Yield what is not answered at all."""
    yield ".Bl -bullet"
    for each in GAPS["missing"]:
        yield ".It"
        yield from prose(each)
    yield ".El"


def mdoc_loops(_: str) -> Iterator[str]:
    """Yield code with its specifications."""
    for loop in loops():
        yield from mdoc_loop(loop)


GAPS = tomllib.loads((SOURCE / "gaps.toml").read_text(encoding="utf-8"))
SURVEY = tomllib.loads((SOURCE / "survey.toml").read_text(encoding="utf-8"))
# What is written for a hole, given its second word.
TABLES = {
    "OPTIONS": mdoc_options,
    "COMMANDS": mdoc_commands,
    "MECHANISMS": lambda _: mdoc_entries(mechanisms()),
    "WRAPPERS": lambda _: mdoc_entries(wrappers()),
    "LOOPS": mdoc_loops,
    "GAPS": mdoc_gaps,
    "SURVEY": mdoc_survey,
    "COLUMNS": mdoc_columns,
    "MISSING": mdoc_missing,
}


def mdoc_keys(first: str, spellings: Iterable[str]) -> str:
    """Return the heading of a name or key."""
    words = [first, *(word for word in spellings if word != first)]
    return f".It {' , '.join(f'Cm {escaped(word)}' for word in words)}"


def facts(entry: Entry, parameter: Parameter) -> str:
    """Return a parameter in one sentence."""
    facts = [entry.meaning(parameter)]
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


def prose(text: str) -> Iterator[str]:
    """Yield running text, each sentence on a line of its own as mdoc asks."""
    for sentence in re.split(r"(?<=[.;]) (?=[A-Z-])", text):
        yield re.sub(r"^([.'])", r"\\&\1", escaped(sentence))


def escaped(text: str) -> str:
    """Escape what mdoc reads in its own way."""
    # A bare hyphen may be printed as a typographic one, which cannot be pasted into a shell.
    return text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")


def readme(text: str) -> str:
    """Return the README with the table of loops written anew."""
    begin, end = "<!-- The table is written by man/build.py. -->", "<!-- End of the table. -->"
    before, _, rest = text.partition(begin)
    return "\n".join((before + begin, *readme_table(), end + rest.partition(end)[2]))


def readme_table() -> list[str]:
    """Return the loops that have a short form, as a table in Markdown."""
    rows = [f"| {loop.brief} | `{loop.spec}` |" for loop in loops() if loop.brief]
    return ["| what the code does | specification |", "|---|---|", *rows, ""]


def documents() -> dict[Path, str]:
    """Return every generated file with the text that it should have."""
    cli = ROOT / "privcalc" / "cli"
    files = {cli / "completions" / name: completion(shell) for shell, name in COMPLETIONS.items()}
    for name in ("", *COMMANDS):
        files[cli / "help" / f"{name or 'top-level'}.txt"] = help_text(name)
    for template in sorted(SOURCE.glob("*.mdoc")):
        files[ROOT / "man" / template.stem] = page(template.read_text(encoding="utf-8"))
    files[ROOT / "README.md"] = readme((ROOT / "README.md").read_text(encoding="utf-8"))
    return files


def main(arguments: list[str]) -> int:
    """Write all files; with --check write nothing and exit 1 if any would change."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: python man/build.py [--check]\n")
        return 2
    stale = 0
    for path, text in documents().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        name = path.relative_to(ROOT)
        if arguments:
            sys.stderr.write(f"{name} is stale: run python man/build.py\n")
        else:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"wrote {name}\n")
    return 1 if stale and arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
