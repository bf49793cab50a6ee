"""What to write instead: one hint for each mistake that comes naturally."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from privcalc.spec.entry import MAX_INTEGER, foreign, snake_case

if TYPE_CHECKING:
    from privcalc.spec.entry import Entry

__all__ = [
    "ANY_NUMBER",
    "for_bare",
    "for_call",
    "for_character",
    "for_comma",
    "for_count",
    "for_file",
    "for_functional",
    "for_input",
    "for_key",
    "for_no_name",
    "for_number",
    "for_number_word",
    "for_parts",
    "for_positional",
    "for_root",
]

_NOISES = ("sigma", "standard_deviation", "scale", "noise_multiplier")
ANY_NUMBER = "a value is a number such as 1.1 or 1e-5, a ratio 256/60000, or a percentage 1%"

_CHARACTERS = {
    "*": "write @14000 to repeat 14000 times",
    "\N{MULTIPLICATION SIGN}": "write @14000 to repeat 14000 times",
    "\N{MIDDLE DOT}": "write @14000 to repeat 14000 times",
    "\N{MINUS SIGN}": "write - for minus",
    "\N{EN DASH}": "write - for minus",
    ";": "compose with +, and separate parameters with a comma",
    "&": "compose with +",
    "|": "compose with +",
    "[": "group with ( and )",
    "{": "group with ( and )",
    "}": "group with ( and )",
    "]": "group with ( and )",
    "=": "write KEY=VALUE, each key once",
    ":": "one colon stands between a name and its parameters",
    ",": "a comma stands between parameters; compose with +",
    "^": "write @14000 to repeat 14000 times; numbers are plain, as 1e-5",
    "#": "a specification has no comments",
    "\n": "write the specification on one line",
    "\r": "write the specification on one line",
    "\N{NO-BREAK SPACE}": "this looks like a space and is another character",
    "\N{GREEK SMALL LETTER SIGMA}": "write sigma",
    "\N{GREEK SMALL LETTER EPSILON}": "write epsilon",
    "\N{GREEK SMALL LETTER DELTA}": "write delta",
    "\N{GREEK SMALL LETTER MU}": "write mu",
    "\N{GREEK SMALL LETTER RHO}": "write rho",
    "'": "the shell removes quotes only around the whole specification",
    '"': "the shell removes quotes only around the whole specification",
    "$": "variables are the shell's; write the value",
}


def for_character(rest: str) -> str:
    """Hint for a character that does not belong where it stands, with what follows it."""
    hint = _CHARACTERS.get(rest[:1], "")
    count = re.match(r".[*]?[ \t]*([0-9][0-9_]{0,15})(?![0-9.eE_])", rest)
    return hint.replace("14000", count[1]) if count else hint


def for_count(written: str, otherwise: str = "a count is a whole number such as 1_000_000") -> str:
    """Hint for a whole number that is not plain digits: `1e6`, `1.5`, `0_`, `10k`, `-3`."""
    if written.endswith("_"):
        return "an underscore stands between two digits, as in 1_000_000"
    plain = re.fullmatch(r"[0-9_]+(?:\.[0-9]+)?(?:[eE]\+?[0-9]{1,3})?", written)
    if plain:
        value = float(written.replace("_", ""))
        if value.is_integer() and 1 <= value <= MAX_INTEGER:
            return f"write {int(value):_}"
    if re.fullmatch(r"[0-9]+[kKmM]", written):
        zeros = "_000" if written[-1] in "kK" else "_000_000"
        return f"write {written[:-1]}{zeros}"
    return otherwise


def for_number(written: str) -> str:
    """Hint for what begins like a number and is none: `1e6666`, `1_`, `1.`, `5k`, `1/n`."""
    if re.match(r"[0-9._/eE-]*[0-9.][eE][+-]?[0-9]{4}", written):
        return "an exponent has at most three digits"
    if re.match(r"[0-9._]*[eE][+-]?$", written):
        return "an exponent has digits, as in 1e-5"
    if re.match(r"[0-9]+[kKmM]$", written):
        return "write the zeros, or 1e3 and 1e6"
    if re.search(r"(?<![0-9A-Za-z_])_(?![0-9A-Za-z_])", written):
        return "a free parameter is a whole value: _ by itself"
    if "__" in written or "_." in written or written.endswith("_"):
        return "an underscore stands between two digits, as in 60_000"
    if re.match(r"-?[0-9_]+\.(?![0-9])", written):
        return "digits follow the point, as in 1.0"
    if re.match(r"-?[0-9_.]+/", written):
        return "a ratio is two numbers, as in 256/60000"
    if written[0].isalpha():
        return "a name ends in a letter or a digit"
    return ANY_NUMBER


def for_comma(before: str, after: str) -> str:
    """Hint for the comma in `@1,000`, which a count written with commas leaves; else ""."""
    head = re.search(r"@[ \t]*([0-9]{1,3})[ \t]*$", before)
    tail = re.match(r"((?:,[0-9]{3})+)(?![0-9])", after)
    return f"write {head[1]}{tail[1].replace(',', '_')}" if head and tail else ""


def for_number_word(word: str) -> str:
    """Hint for a word where a number should stand."""
    if word.lower() in ("inf", "infinity", "nan"):
        return "numbers are finite"
    return ""


def for_functional(name: str, rest: str) -> str:
    """Hint for `gaussian(sigma=1.1)`; `rest` is the text from the parenthesis on."""
    inner = re.match(r"\(([^()]*)\)?", rest)
    arguments = "".join(inner.group(1).split()) if inner else ""
    if not re.fullmatch(r"[\w.%/+,=-]{1,60}", arguments, re.ASCII) or "=" not in arguments:
        arguments = _pattern(name)
    return f"write {name}:{arguments}, not {name}({arguments})" if arguments else f"write {name}"


def for_call(name: str, rest: str) -> str:
    """Hint for a name that no colon follows: `gaussian sigma=1`, `gaussian,sigma=1`."""
    match = re.match(r"[ \t,;=]*([\w.%/+,=-]{1,60})", rest, re.ASCII)
    if match and "=" in match.group(1):
        return f"write {name}:{match.group(1).split('+', 1)[0]}"
    return ""


def for_key(name: str) -> str:
    """Hint where a key should stand."""
    pattern = _pattern(name)
    return f"write {name}:{pattern}" if pattern else ""


def for_file(name: str, rest: str) -> str:
    """Hint for `opacus:history.json`: a file without its key, where nothing else is needed."""
    found = re.match(r"[A-Za-z0-9_./-]+", rest, re.ASCII)
    key, _, kind = _pattern(name).partition("=")
    if not found or kind != "FILE" or found[0] == key:
        return ""
    return f"write {name}:{key}={found[0]}"


def for_input(name: str, key: str, rest: str) -> str:
    """Hint for `file=-`, which is no name of standard input here; "" where it is another value."""
    if not re.match(r"-[ \t]*(?:[,@+)]|$)", rest):
        return ""
    if snake_case(name) == "opacus":
        return "pipe the history into privcalc compose - with nothing around it"
    entry = _entry(name)
    parameter = entry.spelled(snake_case(key)) if entry else None
    if parameter is None or parameter.kind != "path":
        return ""
    return "write the name of a file; standard input has questions"


def for_root(name: str, key: str, rest: str) -> str:
    """Hint for `sigma=sqrt(2)`: the variance where it is a parameter, else digits; "" for others.

    Of noise the digits are rounded down, and of all else up: both ways cost more.
    """
    from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

    found = re.match(r"sqrt\([ \t]*([0-9]+(?:\.[0-9]+)?(?:/[0-9]+)?)[ \t]*\)", rest, re.ASCII)
    if not found:
        return ""
    entry, noise = _entry(name), snake_case(key) in _NOISES
    if noise and entry is not None and entry.parameter("variance"):
        return f"write variance={found[1]}"
    top, _, bottom = found[1].partition("/")
    context = Context(prec=17, rounding=ROUND_FLOOR if noise else ROUND_CEILING)
    if not Decimal(bottom or 1):
        return ""
    root = context.sqrt(context.divide(Decimal(top), Decimal(bottom or 1)))
    # The root is rounded to nearest, two digits further out.
    return f"write {key}={Context(prec=15, rounding=context.rounding).plus(root):f}"


def for_parts(wanted: str) -> str:
    """Hint for `max:`, `Max(`, `parallel(` and `@max(`."""
    if wanted != "a mechanism":
        return "max(A,B) is a part by itself, to which + adds others"
    return "mechanisms on disjoint parts of the data are max(A,B)"


def for_positional(name: str, value: str) -> str:
    """Hint for `gaussian:1.1`."""
    key = _pattern(name).split("=", 1)[0]
    return f"keys are always written out: {name}:{key}={value}" if key else ""


def for_bare(key: str, rest: str) -> str:
    """Hint for `sigma=1.1` without a mechanism before it; `rest` begins with the equals sign."""
    from privcalc.spec.registry import mechanisms

    count = re.match(r"=[ \t]*([0-9][0-9_]*)", rest, re.ASCII)
    if count and key.lower() in ("count", "n", "repeat", "steps", "times"):
        return f"write @{count.group(1)}"

    value = re.match(r"=[ \t]*([0-9./%e-]{1,20})", rest, re.ASCII)
    if hint := foreign(snake_case(key), value[1] if value else "", inside="bare"):
        return hint
    takers = [e.spelling for e in mechanisms() if e.spelled(snake_case(key))]
    return f"write {takers[0]}:{key}=VALUE" if takers else ""


def for_no_name(character: str) -> str:
    """Hint for a specification that begins with a number or an `@`, or ends in `+`."""
    if character == "@":
        return "a mechanism comes first, then what is done to it"
    if character == "+":
        return "write + once, between two mechanisms"
    if character.isdecimal() or character == ".":
        return "for example gaussian:sigma=1.1; an option's values stand in one word: 1e-5,1e-6"
    return "for example gaussian:sigma=1.1"


def _pattern(name: str) -> str:
    """Return `sigma=NUMBER` for what the call needs least, or "" for an unknown name."""
    if snake_case(name) == "opacus":
        # It stands for a specification, and is in no table of mechanisms.
        return "file=FILE"
    entry = _entry(name)
    if entry is None:
        return ""
    first = entry.one_of[0] if entry.one_of else ()
    wanted = [p for p in entry.parameters if p.name in first or entry.needs(p)]
    return ",".join(f"{p.spelling}={_placeholder(p.kind)}" for p in wanted)


def _entry(name: str) -> Entry | None:
    from privcalc.spec.registry import mechanisms, wrappers

    known = (*mechanisms(), *wrappers())
    return next((each for each in known if snake_case(name) in each.spellings), None)


def _placeholder(kind: str) -> str:
    return {"spec": "(SPEC)", "path": "FILE", "flag": "true", "numbers": "NUMBER,NUMBER"}.get(
        kind, "NUMBER"
    )
