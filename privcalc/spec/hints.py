"""What to write instead: one hint for each mistake that comes naturally."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from privcalc.spec.entry import MAX_INTEGER, snake_case
from privcalc.spec.foreign import foreign, mechanism

if TYPE_CHECKING:
    from privcalc.spec.entry import Entry

__all__ = [
    "ANY_NUMBER",
    "for_bare",
    "for_behind",
    "for_call",
    "for_character",
    "for_comma",
    "for_count",
    "for_epochs",
    "for_file",
    "for_file_alone",
    "for_file_name",
    "for_functional",
    "for_input",
    "for_key",
    "for_no_name",
    "for_number",
    "for_number_out_of_range",
    "for_number_word",
    "for_option",
    "for_parts",
    "for_positional",
    "for_ratio",
    "for_root",
    "for_value",
    "for_word",
]

_NOISES = ("sigma", "standard_deviation", "scale", "noise_multiplier")
ANY_NUMBER = "a value is a number such as 1.1 or 1e-5, a ratio 256/60000, or a percentage 1%"

_FREE = "a value that is wanted is written _, and privcalc calibrate finds it"

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
    "'": "quotes stand around the whole specification, or around the name of a file",
    '"': "quotes stand around the whole specification, or around the name of a file",
    "?": _FREE,
    "~": "the shell knows ~ at the beginning of a word only: write $HOME",
    "\\": "write the name of a file with /, or in quotes",
    "$": "variables are the shell's; write the value",
}


def for_character(rest: str) -> str:
    """Hint for a character that does not belong where it stands, with what follows it."""
    if re.match(r"--?[A-Za-z]", rest):
        return "options stand outside of it, behind the command, the same for all lines of input"
    hint = _CHARACTERS.get(rest[:1], "")
    count = re.match(r".[*]?[ \t]*([0-9][0-9_]{0,15})(?![0-9.eE_])", rest)
    if quoted := re.match(r"(['\"])([0-9][0-9./%e-]*)\1", rest):
        return f"numbers have no quotes: write {quoted[2]}"
    return hint.replace("14000", count[1]) if count else hint


def for_word(rest: str) -> str:
    """Hint for a word after a specification: `x 100`, `times 100`, `and ...`."""
    count = re.match(r"(?i:x|times|repeat|steps)[ \t]*([0-9][0-9_]*)", rest, re.ASCII)
    if count:
        return f"write @{count[1]} to repeat {count[1]} times"
    if re.match(r"(?i:epochs?)\b", rest):
        return foreign("epochs")
    return "compose with +, and separate parameters with a comma"


def for_behind(name: str, written: str, rest: str) -> str:
    """Hint for a colon after `gaussian:sigma=1.1` or `laplace`: what should stand before it; or "".

    Args:
        name: what the last value belongs to, or a key that is no key.
        written: the value before the colon, or "".
        rest: the text from the colon, or from the name, on.
    """
    count = re.match(r":[ \t]*([0-9][0-9_]*)(?![\w.])", rest, re.ASCII)
    if count and written:
        return f"write {name}={written}@{count[1]} to repeat {count[1]} times"
    if value := re.match(r":[ \t]*([0-9][\w./%-]*)", rest, re.ASCII):
        return f"write {name}={value[1]}"
    word = re.match(r":?[ \t]*([A-Za-z][\w-]*)", rest, re.ASCII)
    found = _entry(word[1]) if word else None
    if found is None:
        return ""
    mark = "@" if found.kind == "wrapper" else "+"
    what = "what is done to it follows" if mark == "@" else "compose with"
    return f"{what} {mark}: write {mark}{found.spelling}:{_pattern(found.spelling)}".rstrip(":")


def for_value(written: str) -> str:
    """Hint for a word where a number should stand: `x`, `None`, `auto`; for others ""."""
    return _FREE if written.lower() in _WANTED else ""


# What people write for a value that they do not know.
_WANTED = ("x", "y", "auto", "none", "null", "todo", "tbd", "unknown", "free", "any", "s", "n")


def for_ratio(key: str, written: str) -> str:
    """Hint for a ratio where a whole number is wanted: what it is, or the numbers around it."""
    found = re.fullmatch(r"([0-9_]{1,15})[ \t]*/[ \t]*([0-9_]{1,15})", written, re.ASCII)
    top, bottom = (int(each.replace("_", "") or 0) for each in found.groups()) if found else (0, 0)
    if not bottom or top < bottom:
        return ""
    whole, rest = divmod(top, bottom)
    if not rest:
        return f"write {key}={whole}"
    return (
        f"write {key}={whole} where a partial one at the end is dropped; else --help-spec sampling"
    )


def for_number_out_of_range(key: str, value: float, written: str, most: float | None) -> str:
    """Hint for a count where a probability should stand: `q=256`; or ""."""
    if most != 1 or not (value > 1 and re.fullmatch(r"[0-9_]+", written)):
        return ""
    percent = f", or {written}% if that is meant" if value <= 100 else ""
    return f"{written} of N records are {key}={written}/N{percent}"


def for_epochs(written: str, before: str) -> str:
    """Hint for `@20epochs`: the steps that they are, by the sampling before it; "" for others.

    Args:
        written: what stands where a count should.
        before: the text before that.
    """
    found = re.fullmatch(r"([0-9_]{1,9}?)_?epochs?", written.lower(), re.ASCII)
    if found is None or not found[1].strip("_"):
        return ""
    epochs = int(found[1].replace("_", ""))
    last = re.search(r"@[ \t]*([A-Za-z-]+):([^@+()]{1,200})@[ \t]*$", before[-_NEAR:], re.ASCII)
    entry = _entry(last[1]) if last else None
    if last is None or entry is None:
        return foreign("epochs")
    if entry.spelling in ("batches", "allocation"):
        return f"a count after it is that of epochs: @{epochs}"
    pairs = dict(re.findall(r"([A-Za-z_]+)[ \t]*=[ \t]*([0-9._eE/%-]{1,40})", last[2]))
    rate = pairs.get("q") or f"{pairs.get('m')}/{pairs.get('n')}"
    share = _share(rate) if entry.spelling in ("poisson", "wor") else None
    if share is None:
        return "steps are epochs / q, or epochs x records / batch size: @STEPS"
    steps = epochs / share
    if steps > MAX_INTEGER:
        return ""
    at = f"{epochs} epoch{'s' * (epochs != 1)} at q={rate} are"
    if steps.denominator == 1:
        return f"{at} @{steps.numerator}"
    return f"{at} {float(steps):.1f} steps: @{ceil(steps)}"


def _share(written: str) -> Fraction | None:
    """Read a ratio, a decimal or a percentage; None for what is none of them."""
    # Exponents are short: the digits of longer ones would be written out.
    number = r"([0-9._]{1,30}(?:[eE][+-]?[0-9]{1,3})?)"
    found = re.fullmatch(rf"{number}(?:/{number})?(%?)", written, re.ASCII)
    try:
        if found is None:
            return None
        value = Fraction(found[1]) / Fraction(found[2] or 1) / (100 if found[3] else 1)
    except (ValueError, ZeroDivisionError):
        return None
    return value if 0 < value <= 1 else None


def for_count(written: str, otherwise: str = "a count is a whole number such as 1_000_000") -> str:
    """Hint for a whole number that is not plain digits: `1e6`, `1.5`, `0_`, `10k`, `-3`."""
    if written.endswith("_"):
        return "an underscore stands between two digits, as in 1_000_000"
    plain = re.fullmatch(r"[0-9_]+(?:\.[0-9]+)?(?:[eE]\+?[0-9]{1,3})?", written)
    if re.fullmatch(r"[0-9_]*[0-9][xX]", written):
        return f"write {written[:-1]}"
    if plain:
        value = float(written.replace("_", ""))
        if value.is_integer() and 1 <= value <= MAX_INTEGER:
            return f"write {int(value):_}"
    if re.fullmatch(r"[0-9]+[kKmM]", written):
        zeros = "_000" if written[-1] in "kK" else "_000_000"
        return f"write {written[:-1]}{zeros}"
    return otherwise


_RANGE = "a list has commas: 1,2,3; a range is one of a number of SPEC: --sweep sigma=1..3/5"
# What begins like a number and is none, each with its hint; the first that is found is meant.
_NO_NUMBERS = (
    (r"^[0-9._/eE-]*[0-9.][eE][+-]?[0-9]{4}", "an exponent has at most three digits"),
    (r"^[0-9._]*[eE][+-]?$", "an exponent has digits, as in 1e-5"),
    (r"^[0-9]+[kKmM]$", "write the zeros, or 1e3 and 1e6"),
    (r"^[0-9.]*[0-9]\.\.", _RANGE),
    (
        r"(?<![0-9A-Za-z_])_(?![0-9A-Za-z_])",
        "a free parameter is a whole value: _ by itself",
    ),
    (r"__|_\.|_$", "an underscore stands between two digits, as in 60_000"),
    (r"^-?[0-9_]+\.(?![0-9])", "digits follow the point, as in 1.0"),
    (r"^-?[0-9_.]+/", "a ratio is two numbers, as in 256/60000"),
    (r"^[^\W\d_]", "a name ends in a letter or a digit"),
)


def for_number(written: str) -> str:
    """Hint for what begins like a number and is none: `1e6666`, `1_`, `1.`, `5k`, `1/n`."""
    if times := re.fullmatch(r"([0-9.]+(?:/[0-9]+)?)[xX]([0-9]+)", written):
        return f"write {times[1]}@{times[2]} to repeat {times[2]} times"
    return next((hint for each, hint in _NO_NUMBERS if re.search(each, written)), ANY_NUMBER)


def for_option(option: str, text: str) -> str:
    """Hint for what an option has and is no number: `10^-5`, `'1e-5'`, `delta=1e-5`; or ""."""
    if len(text) > _LONGEST:
        return ""
    signs = {"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "\N{MULTIPLICATION SIGN}": "*"}
    plain = "".join(signs.get(each, each) for each in text.strip().strip("'\""))
    plain = re.sub(rf"^{re.escape(option.lstrip('-'))}\s*[=:]\s*", "", plain)
    power = re.fullmatch(r"(?:([0-9.]+) *\* *)?10 *(?:\^|\*\*) *\(?(-?[0-9]{1,3})\)?", plain)
    if power:
        return f"write {power[1] or 1}e{power[2]}"
    if re.fullmatch(r"[0-9.e-]*[0-9] *(?:\.\.|:) *[0-9][0-9.e:/log-]*", plain):
        return _RANGE
    items = [each for each in re.split(r"[;\s]+", plain) if each]
    number = re.compile(r"[0-9][0-9.]*(?:[eE]-?[0-9]+)?%?(?:/[0-9]+)?", re.ASCII)
    if len(items) > 1 and all(number.fullmatch(each) for each in items):
        return f"a list has commas: write {','.join(items)}"
    if plain != text.strip() and number.fullmatch(plain):
        return f"write {plain}"
    return "write the value in digits" if plain.lower() in ("n", "1/n", "delta", "epsilon") else ""


# What is looked at of a value that is none.
_LONGEST = 80


def for_comma(before: str, after: str) -> str:
    """Hint for the comma in `@1,000`, which a count written with commas leaves; else ""."""
    head = re.search(r"@[ \t]*([0-9]{1,3})[ \t]*$", before)
    tail = re.match(r"((?:,[0-9]{3})+)(?![0-9])", after)
    return f"write {head[1]}{tail[1].replace(',', '_')}" if head and tail else ""


def for_number_word(word: str) -> str:
    """Hint for a word where a number should stand."""
    if word.lower() in ("inf", "infinity", "nan"):
        return "numbers are finite"
    return for_value(word)


def for_functional(name: str, rest: str) -> str:
    """Hint for `gaussian(sigma=1.1)`; `rest` is the text from the parenthesis on."""
    inner = re.match(r"\(([^()]*)\)?", rest)
    arguments = "".join(inner.group(1).split()) if inner else ""
    if not re.fullmatch(r"[\w.%/+,=-]{1,60}", arguments, re.ASCII) or "=" not in arguments:
        arguments = _pattern(name)
    if not arguments:
        return (mechanism(snake_case(name)) if _entry(name) is None else "") or f"write {name}"
    return f"write {name}:{arguments}, not {name}({arguments})"


def for_call(name: str, rest: str) -> str:
    """Hint for a name that no colon follows: `gaussian sigma=1`, `gaussian,sigma=1`."""
    match = re.match(r"[ \t,;=/]*([\w.%/+,=-]{1,60})", rest, re.ASCII)
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
    if not key:
        word = snake_case(name)
        return foreign(word, value, inside="wrapper") or mechanism(word)
    return f"keys are always written out: {name}:{key}={value}" if key else ""


def for_bare(key: str, rest: str) -> str:
    """Hint for `sigma=1.1` without a mechanism before it; `rest` begins with the equals sign."""
    from privcalc.spec.registry import mechanisms

    count = re.match(r"=[ \t]*([0-9][0-9_]*)", rest, re.ASCII)
    if count and key.lower() in ("count", "n", "repeat", "steps", "times"):
        return f"write @{count.group(1)}"

    value = re.match(r"=[ \t]*([0-9./%e-]{1,20})", rest, re.ASCII)
    if (call := _entry(key)) and (pattern := _pattern(key)):
        first = f"{pattern.split('=', 1)[0]}={value[1]}" if value else pattern
        return f"write {'@' if call.kind == 'wrapper' else ''}{call.spelling}:{first}"
    if value and (option := _OPTIONS.get(snake_case(key), "")) and rest[value.end() :] == "":
        return f"where something is asked is an option: write {option} {value[1]}"
    if hint := foreign(snake_case(key), value[1] if value else "", inside="bare"):
        return hint
    takers = [e.spelling for e in mechanisms() if e.spelled(snake_case(key))]
    taker = _ALONE.get(snake_case(key)) or (takers[0] if takers else "")
    return f"write {taker}:{key}={value[1] if value else 'VALUE'}" if taker else ""


# The mechanism of a parameter that many have.
_ALONE = {"epsilon": "pure", "rho": "zcdp"}
# Words that are options, and no parameters, where they stand alone.
_OPTIONS = {
    "delta": "--delta",
    "tolerance": "--tolerance",
    "tol": "--tolerance",
    "max_epsilon": "--max-epsilon",
    "max_delta": "--max-delta",
    "target_delta": "--delta",
}
_FILES = {
    "toml": "a budget file is an option: write --file",
    "json": "write opacus:file=",
    "csv": "a file belongs to a mechanism: write pmf:file=NAME, profile:file=NAME or rdp:file=NAME",
    "txt": "questions in a file: privcalc compose - < NAME",
    "jsonl": "questions in a file: privcalc compose - < NAME",
}
_CHECKPOINT = "checkpoints are not loaded, as that can run code: json.dump(a.state_dict(), f)"
_FILE = re.compile(r"[\w./~\\ :=-]{1,200}\.(toml|jsonl?|csv|txt|pt|pth|ckpt|pkl|pickle)", re.ASCII)


def for_no_name(rest: str, before: str = "") -> str:
    """Hint for a specification that begins with a number or an `@`, or ends in `+`.

    Args:
        rest: the text where a name should stand.
        before: what stands before it.
    """
    character = rest[:1]
    if character == "@" and not before:
        return "a mechanism comes first, in one word or in quotes with what is done to it"
    if character == "+":
        alone = not (before or rest.strip("+ "))
        return "several SPECs are one sum: leave + out" if alone else "write + once, between two"
    if (number := re.fullmatch(r"[0-9][0-9./e%,-]*", rest)) and not before:
        return f"numbers belong to options, in one word: --delta {number[0]}, or --delta 1e-5,1e-6"
    times = re.fullmatch(r"([0-9][0-9_]*)[ \t]*[*xX@\u00d7]?[ \t]*([A-Za-z(][^+]{0,60})", rest)
    if times and "(" not in before:
        return f"a count stands behind: write {times[2]}@{times[1]}"
    if character.isdecimal() or character == ".":
        return for_file_alone(rest) if not before and "/" in rest else _EXAMPLE
    return "for example gaussian:sigma=1.1"


_EXAMPLE = "for example gaussian:sigma=1.1; an option's values stand in one word: 1e-5,1e-6"


# How far from a mistake the name of a file is looked for.
_NEAR = 300


def for_file_name(text: str, place: int) -> str:
    """Hint for the name of a file that is cut off by a sign that only quotes keep, or ""."""
    # A name is short; longer texts would take a search with every letter of theirs as its start.
    text, place = text[max(0, place - _NEAR) : place + _NEAR], min(place, _NEAR)
    key = re.search(r"([A-Za-z_]+)=[ \t]*([^\"'+,()]*)$", text[:place], re.ASCII)
    if key is None or key[1].lower() != "file":
        return ""
    rest = re.match(r"[^\"'+,()@]*", text[place:])
    name = (key[2] + (rest[0] if rest else "")).strip()
    if name.startswith("~"):
        return f"no shell reads ~ here: write {key[1]}=$HOME{name[1:]}"
    if not re.search(r"[ =:\\]", name) or len(name) > 200:
        return ""
    call = re.split(r"[+(,@]", text[: key.start(2)])[-1].strip()
    return f"""in quotes, inside of others: '{call}"{name}"'"""


def for_file_alone(text: str) -> str:
    """Hint for the name of a file where a specification should stand, or ""."""
    found = _FILE.fullmatch(text.strip())
    if found is None:
        return ""
    hint = _FILES.get(found[1].lower(), _CHECKPOINT)
    plain = re.fullmatch(r"[A-Za-z./][\w./-]*", text.strip(), re.ASCII)
    name = text.strip() if plain else f'"{text.strip()}"'
    if hint.endswith("="):
        return f"{hint}{name}"
    return f"{hint} {name}" if hint.endswith("--file") else hint.replace("NAME", name)


def _pattern(name: str) -> str:
    """Return `sigma=NUMBER` for what the call needs least, or "" for an unknown name."""
    if snake_case(name) == "opacus":
        # It stands for a specification, and is in no table of mechanisms.
        return "file=FILE"
    entry = _entry(name)
    if entry is None:
        return ""
    first = (*entry.one_of, *entry.enough, ())[0]
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
