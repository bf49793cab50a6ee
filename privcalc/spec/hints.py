"""How a mistake is shown; and what to write instead, if it comes naturally.

A hint is another form of what was typed, or a pattern with words in capitals for what is missing:
never a number that was not typed, and so never another question.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from privcalc.opened import table
from privcalc.spec.entry import MAX_INTEGER, snake_case, suggestion, word_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from privcalc.errors import SpecError
    from privcalc.spec.entry import Entry, Kind
    from privcalc.spec.tree import Span

ANY_NUMBER = "a value is a number such as 1.1 or 1e-5, a ratio 256/60000, or a percentage 1%"
DECIMAL_POINT = "a number has a decimal point and no comma: 0.5, and 60_000 or 60000"
_EXAMPLE = "for example gaussian:sigma=1.1"
# How far from a mistake is looked, and the longest value that is looked at.
_NEAR = 300
_LONGEST = 80
_WHOLE_COUNT = "a count is a whole number in digits, 1 or more, or a product or quotient of such"
_FILE = re.compile(
    r"[\w./~\\ :=-]{1,200}\.(toml|jsonl?|csv|txt|png|svg|pdf|pt|pth|ckpt|pkl|pickle)", re.ASCII
)
# Columns for the specification, so that the lines fit in 80 with an indent.
_WIDTH = 76
_CUT = "..."
# The longest text that an error object has whole.
_WHOLE = 10_000


def marked(error: SpecError) -> str:
    """Return the lines that show where a specification is wrong, without a final line break.

        sigma must be > 0, got -1
          gaussian:sigma=-1@1000
                         ^^
        hint: ...

    A long text is cut to a window around the span. Without a text there are no middle lines.
    """
    lines = [error.message]
    if error.text:
        lines += _with_markers(error.text, *error.span)
    if error.hint:
        lines.append(f"hint: {error.hint}")
    return "\n".join(lines)


def _with_markers(text: str, start: int, stop: int) -> list[str]:
    """Return the text and the line of markers under it, each letter a column wide."""
    left, right = _window(len(text), start, stop)
    before = _CUT if left > 0 else ""
    after = _CUT if right < len(text) else ""
    # Tabs, and whatever a terminal would not print, are one character.
    plain = re.sub(r"[\t\n\r]", " ", text[left:right])
    shown = "".join(each if each.isprintable() else "?" for each in plain)
    blank = " " * (len(before) + start - left)
    return [f"  {before}{shown}{after}", f"  {blank}{'^' * max(min(stop, right) - start, 1)}"]


def excerpt(text: str, span: Span) -> tuple[str, Span]:
    """Return a text and a span in it; of a long text the part around the span, and where it is."""
    start, stop = span
    left, right = _window(len(text), start, stop, _WHOLE)
    return text[left:right], (start - left, min(stop, right) - left)


def _window(length: int, start: int, stop: int, width: int = _WIDTH) -> tuple[int, int]:
    """Choose the part to show: all of a short text, else the span with what is around it."""
    if length <= width:
        return 0, length
    room = width - 2 * len(_CUT)
    middle = (start + min(stop, start + room)) // 2
    left = min(max(middle - room // 2, 0), length - room)
    # The span begins inside the window, even where it is longer than that.
    left = min(left, start)
    return left, min(left + room, length)


@cache
def _table(file: str = "hints.toml") -> dict[str, Any]:
    return table("spec", file)


def for_place(text: str, place: int) -> str:
    """Hint for what stands at a place and does not belong there; or ""."""
    rest, before = text[place : place + _NEAR], text[max(0, place - _NEAR) : place]
    found = _first("place", rest)
    if found is not None:
        return found
    if re.match("[A-Za-z_]", rest) and re.search(r"[\w)'\"][ \t]*$", before):
        return "compose with +, and separate parameters with a comma"
    return str(_table()["character"].get(rest[:1], ""))


def _first(kind: str, written: str) -> str | None:
    """Return the hint of the first pattern that is found, with what was written in its places."""
    found = ((re.search(row["pattern"], written), row["hint"]) for row in _table()[kind])
    return next((match.expand(hint) for match, hint in found if match), None)


def for_missing(text: str, place: int) -> str:
    """Hint for a specification without a name at a place: a file, or a count that stands first."""
    before, rest = text[:place], text[place:]
    found = "" if before.strip() else for_file_alone(rest) or _first("beginning", rest)
    return found or _first("missing", rest) or for_place(text, place) or _EXAMPLE


def for_functional(name: str, rest: str) -> str:
    """Hint for `gaussian(sigma=1.1)`; `rest` is the text from the parenthesis on."""
    inner = re.match(r"\(([^()]*)\)?", rest)
    other = re.match("write ([a-z-]+):", for_mechanism(snake_case(name)))
    known = name if _entry(name) or not other else other[1]
    arguments = "".join(inner.group(1).split()) if inner else ""
    plain, entry = re.fullmatch(r"[\w.%/+,=-]{1,60}", arguments, re.ASCII), _entry(known)
    keys = re.findall(r"([\w-]+)=", arguments) if plain else []
    if not keys or not (entry and all(entry.spelled(snake_case(key)) for key in keys)):
        pattern = _pattern(known)
        return f"write {known}:{pattern}" if pattern else for_name(name, "mechanism")
    return f"write {known}:{arguments}, not {name}({arguments})"


def for_bare(key: str, rest: str, reads: Callable[[str], bool]) -> str:
    """Hint for `sigma=1.1` without a mechanism before it; `rest` begins with the equals sign.

    What follows is a part of the hint, where it `reads` so.
    """
    from privcalc.spec.registry import mechanisms

    word = snake_case(key)
    found = re.match(r"=[ \t]*([0-9./%e_-]{1,20})", rest, re.ASCII)
    value = found[1] if found else ""
    taker = {"epsilon": "pure", "rho": "zcdp"}.get(word)
    taker = taker or next((each.spelling for each in mechanisms() if each.spelled(word)), "")
    if found and rest[found.end() :]:
        return f"write {taker}:{key}{rest}" if reads(f"{taker}:{key}{rest}") else ""
    if value.isdigit() and word in ("count", "n", "repeat", "steps", "times"):
        return f"write @{value}"
    if (call := _entry(key)) and (pattern := _pattern(key)):
        first = f"{pattern.split('=', 1)[0]}={value}" if value else pattern
        return f"write {'@' if call.kind == 'wrapper' else ''}{call.spelling}:{first}"
    option = _table()["option"].get(word)
    if option and found:
        return f"where something is asked is an option: write {option} {value}"
    if hint := for_word(word, value, inside="bare"):
        return hint
    return f"write {taker}:{key}={value or 'VALUE'}" if taker else ""


def for_call(name: str, rest: str) -> str:
    """Hint for a name that no colon follows: `gaussian sigma=1`, `gaussian,sigma=1`."""
    found = re.match(r"[ \t,;=/]*([\w.%/,=-]{1,60})(?=[ \t]*(?:$|[+@)]))", rest, re.ASCII)
    return f"write {name}:{found[1]}" if found and "=" in found[1] else ""


def for_lacking(name: str, given: Collection[str], written: str) -> str:
    """Hint for a call, as it is written, in which keys are missing: with these."""
    pattern = _pattern(name, given)
    known = pattern and "=WORD" not in pattern
    return f"write {written}{',' if given else ':'}{pattern}" if known else ""


def for_key(name: str) -> str:
    """Hint where a key should stand: all that the call needs."""
    pattern = _pattern(name)
    return f"write {name}:{pattern}" if pattern else ""


def for_positional(name: str, value: str, *, alone: bool) -> str:
    """Hint for `gaussian:1.1`; `alone` is whether nothing else is written there."""
    if not alone:
        return for_key(name) or for_mechanism(snake_case(name))
    if key := _pattern(name).split("=", 1)[0]:
        return f"keys are always written out: {name}:{key}={value}"
    word = snake_case(name)
    return for_word(word, value, inside="bare") or for_mechanism(word)


def for_count(written: str, otherwise: str = _WHOLE_COUNT) -> str:
    """Hint for a whole number that is not plain digits: `1e6`, `0_`, `10k`, `100x`."""
    if (found := _first("count", written)) is not None:
        return found
    if re.fullmatch(r"[0-9_]+(?:\.[0-9]+)?(?:[eE]\+?[0-9]{1,3})?", written):
        value = float(written.replace("_", ""))
        if value.is_integer() and 1 <= value <= MAX_INTEGER:
            return f"write {int(value):_}"
    return otherwise


def for_number(written: str, after: str) -> str:
    """Hint for what begins like a number and is none: `1e6666`, `1_`, `1.`, `5k`, `1/n`.

    What follows may be a part of it.
    """
    ends = after in ("", *" \t@+),")
    return (_first("number", written) if ends else "") or ANY_NUMBER


def for_function(key: str, name: str, rest: str) -> str:
    """Hint for `sqrt(5)`, of which the decimal is to be written; `rest` begins with "("."""
    found = re.match(r"\(([0-9]{1,9}(?:\.[0-9]{0,9})?)\)", rest, re.ASCII)
    function = {"sqrt": math.sqrt, "ln": math.log, "log": math.log, "exp": math.exp}.get(name)
    if not found or not function or not 0.0 < float(found[1]) <= 700.0:
        return f"write {key} in digits, or {key}=(SPEC)"
    return f"write {key}={function(float(found[1]))!r} for {key}={name}({found[1]})"


def for_message(message: str) -> str:
    """Hint for a refusal that has none of its own, by its words; or ""."""
    return _first("message", message) or ""


def for_word_as_number(word: str) -> str:
    """Hint for a word where a number should stand: `inf`, `x`, `None`, `auto`; for others ""."""
    return _first("word", word) or ""


def for_option(option: str, text: str) -> str:
    """Hint for what an option has and is no number: `10^-5`, `'1e-5'`, `delta=1e-5`; or ""."""
    if len(text) > _LONGEST:
        return ""
    plain = _plain(text.strip().strip("'\""))
    plain = re.sub(rf"^{re.escape(option.lstrip('-'))}\s*[=:]\s*", "", plain)
    if (found := _first("value", plain)) is not None:
        return found
    number = re.fullmatch(r"[0-9][0-9.]*(?:[eE]-?[0-9]+)?%?(?:/[0-9]+)?", plain, re.ASCII)
    return f"write {plain}" if number and plain != text.strip() else ""


def _plain(text: str) -> str:
    """Write in plain signs what papers and word processors write in others: 1e-5 for 10⁻⁵."""
    for row in _table()["plain"]:
        text = re.sub(row["pattern"], row["write"], text)
    plain = text.translate(str.maketrans(_table()["signs"]))
    return re.sub(r"(?<=@)[1-9]e1?[0-9](?![\w.])", lambda found: f"{int(float(found[0])):_}", plain)


def for_whole(text: str, place: int, hint: str, mended: Callable[..., str]) -> str:
    """Hint for a text that can be read once its signs are plain, or a name is ours: all of it.

    Where something else is wrong, too, what stands at the place of the mistake.

    Args:
        text: the whole of it.
        place: where it is wrong.
        hint: what is said there, which may be another name.
        mended: returns what hints make of a text, which can be read or has words in capitals.
    """
    if len(text) > _NEAR:
        return ""
    plain = _plain(text)
    other = re.match("write @?([a-z-]+):", hint)
    if plain == text and other and re.match(r"[\w-]+ *:", text[place:]):
        plain = text[:place] + re.sub(r"^[\w-]+", other[1], text[place:])
    if plain != text and (whole := mended(plain)):
        said = (row for row in _table()["plain"] if re.search(row["pattern"], text))
        return f"write {whole}{next((row['also'] for row in said if 'also' in row), '')}"
    for row in _table()["plain"]:
        for found in re.finditer(row["pattern"], text):
            if row.get("part") and found.start() <= place <= found.end():
                return f"write {_plain(found.expand(row['write']))} for {found[0]}"
    return ""


# What a hint writes that begins with a name; and an example, a missing count of a ratio.
_WRITTEN = re.compile(
    r"(?:a count stands behind: |keys are always written out: )?(?:write )?"
    r"(@?[a-z][a-z-]*:[^ ]*)(?:$|, (?:not|which) |[;,] ).*"
)
# The same of a key with its value, in the place of the one that is marked.
_PAIR = re.compile(r"write ([a-z_]+=[^ ,;]+)(?:; .*)?")
_DIGITS = re.compile(
    r"(?:(?<![\w.^])|(?<=[ 0-9]x))[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII
)


def kept(text: str, span: Span, hint: str, mended: Callable[..., str]) -> str:
    """Return a hint that writes a call, with all of the text around it; or "".

    There has to be a place for it in the text, after which all numbers are there that were typed,
    and which can be read but for words in capitals.
    """
    typed = counted(text) if len(text) <= _NEAR else []
    if not typed or text[0] in "{[":
        return hint
    if "\N{PER MILLE SIGN}" in text:
        return str(_table()["character"]["\N{PER MILLE SIGN}"])
    if (pair := _PAIR.fullmatch(hint)) and text[span[1] : span[1] + 1] == "=":
        rest = re.sub(r"^[^,@+)]*", "", text[span[1] :])
        whole = text[: span[0]] + pair[1] + rest
        found_whole = mended(whole) if counted(whole) == typed else ""
        return f"write {found_whole}" if found_whole else hint
    found = _WRITTEN.fullmatch(hint)
    if found is None:
        return hint
    ends = [m.start() for m in re.finditer(r"$|[@+),;& ]", text) if m.start() >= span[0]]
    signs = [m.span() for m in re.finditer(r"^|[@+(]", text[: span[0] + 1])]
    starts = [each for sign in signs for each in dict.fromkeys(sign)]
    placed = (text[:a] + found[1] + text[b:] for a in reversed(starts) for b in ends)
    same = [whole for whole in placed if counted(whole) == typed and "@@" not in whole]
    pattern = re.search(r"=\(?[A-Z]+", found[1])
    for whole in same:
        if (pattern and not re.search(r"[;&]|\w [a-z]", whole)) or mended(whole, depth=0):
            return f"write {whole}"
    # Where something else is wrong, too, it is mended of the first place that fits.
    other = mended(same[0]) if same else ""
    without = not counted(found[1]) and re.search(r"[=@(][A-Z]", found[1])
    return f"write {other}" if other else hint if without else ""


def counted(text: str) -> list[float]:
    """Return the numbers in a text, as they are once its signs are plain."""
    plain = _plain(text) if len(text) <= _NEAR else text
    return sorted(float(each.replace("_", "")) for each in _DIGITS.findall(plain))


def for_file_alone(text: str) -> str:
    """Hint for the name of a file where a specification should stand, or ""."""
    name = text.strip()
    found = _FILE.fullmatch(name)
    if found is None:
        return ""
    files = _table()["file"]
    plain = re.fullmatch(r"[A-Za-z./][\w./-]*", name, re.ASCII)
    hint = str(files.get(found[1].lower(), files["other"]))
    return hint.replace("NAME", name if plain else f'"{name}"')


def _pattern(name: str, given: Collection[str] = ()) -> str:
    """Return `sigma=NUMBER` for what the call lacks; "" for an unknown name."""
    if snake_case(name) == "opacus":
        # It stands for a specification, and is in no table of mechanisms.
        return "file=FILE"
    entry = _entry(name)
    if entry is None:
        return ""
    groups = (*entry.one_of, *entry.enough, ())
    first = max(groups, key=lambda group: len({*group} & {*given}))
    wanted = [p for p in entry.parameters if p.name in first or entry.needs(p)]
    wanted = [p for p in wanted if p.name not in given]
    kinds = {"spec": "(SPEC)", "path": "FILE", "flag": "true", "numbers": "NUMBER,NUMBER"}
    kinds |= {"choice": "WORD", "name": "WORD"}
    return ",".join(f"{p.spelling}={kinds.get(p.kind, 'NUMBER')}" for p in wanted)


def _entry(name: str) -> Entry | None:
    from privcalc.spec.registry import mechanisms, wrappers

    known = (*mechanisms(), *wrappers())
    return next((each for each in known if snake_case(name) in each.spellings), None)


_PLAIN = r"[\w.%/+-]{1,30}"
# A place for a value, as it was written, or in the bottom of a ratio.
_PLACE = re.compile(r"\{(1/)?([A-Z]+)\}")
_COUNTS = ("STEPS", "EPOCHS", "COUNT")


def for_name(name: str, kind: Kind) -> str:
    """Hint for the name of no mechanism or wrapper: by what others call it, or by its letters."""
    from privcalc.spec.registry import mechanisms, wrappers

    word, known = snake_case(name), mechanisms() if kind == "mechanism" else wrappers()
    spellings = [word_text(each) for entry in known for each in entry.spellings]
    meant = for_mechanism(word) if kind == "mechanism" else for_wrapper(word)
    return meant or suggestion(word_text(word), spellings, of_calls=True)


def for_mechanism(name: str) -> str:
    """Return what to write for the name of a mechanism, in snake_case, or ""."""
    if hint := _hint("mechanism", name) or for_word(name):
        return hint
    after = _hint("wrapper", name)
    return f"it stands after a mechanism: {after.removeprefix('write ')}" if after else ""


def for_topic(name: str) -> str:
    """Return what is said of a word that --help-spec is asked for, in snake_case, or ""."""
    return _hint("topic", name) or for_mechanism(name)


def for_wrapper(name: str) -> str:
    """Return what to write for the name of what is done to a mechanism, in snake_case, or ""."""
    if hint := _hint("wrapper", name) or for_word(name, inside="wrapper"):
        return hint
    other = _hint("mechanism", name)
    return f"it is no wrapper; compose with +: {other.removeprefix('write ')}" if other else ""


def for_word(name: str, value: str = "", *, inside: Kind | Literal["bare", ""] = "") -> str:
    """Return how a specification has what other tools call so, or "".

    A value may have been written for it, in a call of some kind; bare is none, and "" is outside of
    any specification.
    """
    row = _row("word", name)
    hint = row.get("wrapper" if inside == "wrapper" else "hint") or row.get("hint", "")
    return _filled(hint or ("" if inside else row.get("outside", "")), value)


def for_parameter(entry: Entry, name: str, value: str) -> str:
    """Return what to write for a parameter of this name, in snake_case, which is unknown, or ""."""
    known = {each.spelling for each in entry.parameters}
    for row in _table("foreign.toml")["parameter"]:
        fits = {entry.spelling, entry.kind} & set(row["of"].split())
        if fits and name in row["names"].split() and row.get("has", "") in {"", *known}:
            return _filled(row["hint"], value)
    found = for_word(name, value, inside=entry.kind)
    key = re.match("write ([a-z_]+)=", found)
    return found if key is None or key[1] in known else ""


def _row(kind: str, name: str) -> dict[str, str]:
    """Return what papers and other tools call so, and what is to be written."""
    rows = _table("foreign.toml")[kind]
    return next((row for row in rows if name in row["names"].split()), {})


def _hint(kind: str, name: str) -> str:
    return _row(kind, name).get("hint", "")


def _filled(hint: str, value: str) -> str:
    """Put a value in its places, where it is one that may stand there."""

    def put(place: re.Match[str]) -> str:
        wanted = r"[0-9.]+" if place[1] else r"[0-9_]+" if place[2] in _COUNTS else _PLAIN
        fits = re.fullmatch(wanted, value, re.ASCII)
        return f"{place[1] or ''}{value if fits else place[2]}"

    return _PLACE.sub(put, hint)
