"""What the registry refuses in one call: keys, values and how they go together.

Text and JSON share these checks. They do not know where the call was written: a refusal is a
`Fault`, and the reader that meets it adds the span, or the place in the JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.spec.spelling import brief_text, word_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from privcalc.spec.entry import Entry, Parameter
    from privcalc.spec.tree import Value

# The powers of ten up to this one, and all integers between, are doubles.
MAX_INTEGER = 10**15

# Most nodes from the root to a leaf, and most parentheses inside one another. One level costs at
# most six Python frames in the parser, so that the interpreter's limit of 1000 is not reached.
MAX_DEPTH = 100

# The fields by which the JSON twin tells its nodes apart, and the types that are no mechanism.
RESERVED = frozenset(
    {"type", "event", "events", "count", "composed", "self_composed", "parallel_composed"}
)


class Fault(Exception):  # noqa: N818  (never seen outside this package: it becomes a SpecError)
    """A call that the registry refuses.

    Attributes:
        hint: what to write instead, or "".
        index: which of the parameters, in the order written, is at fault; None for the call.
    """

    def __init__(self, message: str, *, hint: str = "", index: int | None = None) -> None:
        """Keep what the reader of the call needs to point at the fault."""
        super().__init__(message)
        self.hint = hint
        self.index = index


def suggestion(word: str, known: Iterable[str], *, of_calls: bool = False) -> str:
    """Return "did you mean ...?" for the nearest known word, else the list of known words.

    Args:
        word: what was written.
        known: what could have been.
        of_calls: the words name mechanisms or wrappers. There `truncated-gaussian` is another
            mechanism than `gaussian` and `discrete-gaussian`, not a slip of the pen.
    """
    words = list(known)
    near = nearest(word, words, of_calls=of_calls)
    if near:
        return f"did you mean {near}?"
    return f"known: {', '.join(words)}" if words else ""


def nearest(word: str, known: Iterable[str], *, of_calls: bool = False) -> str:
    """Return the known word that was likely meant, or ""; the arguments are as above."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=3)
    if of_calls:
        near = [each for each in near if _is_slip(word, each)]
    return near[0] if near else ""


# What other tools call the parts of a training run, in snake_case.
_RATES = ("sample_rate", "sampling_rate", "sampling_probability", "sample_probability", "q")
_STEPS = ("steps", "num_steps", "n_steps", "iterations", "rounds", "compositions", "count")
_EPOCHS = ("epochs", "num_epochs", "n_epochs", "epoch")
_BATCHES = ("batch_size", "batchsize", "lot_size", "batch")
_NOISES = ("noise_multiplier", "sigma", "noise_scale")
_TRAINING = ("dpsgd", "dp_sgd", "sgd", "dp_adam", "dpadam", "dp_training")


def foreign(word: str, value: str = "", *, inside: str = "") -> str:
    """Return how a specification has what other tools call so, or "".

    Args:
        word: the name, in snake_case.
        value: what was written for it.
        inside: the kind of the call that it was written in, or "" outside of one.
    """
    if word in _RATES:
        rate = f"q={value or 'RATE'}"
        if inside == "wrapper":
            return f"write {rate}"
        return f"sampling stands after the mechanism: @poisson:{rate}"
    if word in _BATCHES:
        rate = f"q={value or 'BATCH'}/RECORDS"
        before = "" if inside == "wrapper" else "@poisson:"
        return f"the sampling rate is batch size / records: {before}{rate}"
    if word in _STEPS:
        return f"steps stand after what is repeated: @{value if value.isdigit() else 'STEPS'}"
    if word in _EPOCHS:
        return "count steps, which are epochs x records / batch size: @STEPS, after the rest"
    if word in _TRAINING:
        return "DP-SGD is gaussian:sigma=NOISE@poisson:q=BATCH/RECORDS@STEPS"
    if word in _NOISES and not inside:
        return f"noise is a part of SPEC: gaussian:sigma={value or 'NOISE'}"
    return ""


def _is_slip(word: str, meant: str) -> bool:
    """Say whether a name is another one misspelled, also where both have a part in common."""
    from difflib import SequenceMatcher

    if meant in word and len(word) - len(meant) >= 3:
        return False
    parts, others = word.split("-"), meant.split("-")
    left = "-".join(part for part in parts if part not in others)
    right = "-".join(part for part in others if part not in parts)
    return SequenceMatcher(None, left, right).ratio() > 0.7


def check_range(parameter: Parameter, key: str, value: float, written: str = "") -> None:
    """Refuse a number outside the range; `written` is how the value was spelled."""
    if not parameter.contains(value):
        got = written or brief_text(value)
        raise Fault(f"{key} must be {parameter.range_text}, got {got}")


def check_integer(key: str, value: int) -> None:
    """Refuse an integer that a double does not hold exactly."""
    if abs(value) > MAX_INTEGER:
        raise Fault(f"{key} must be at most {brief_text(MAX_INTEGER)} in size")


def choice(parameter: Parameter, key: str, word: str) -> str:
    """Return the choice that a word in snake_case names."""
    if word in parameter.choices:
        return word
    known = [word_text(each) for each in parameter.choices]
    message = f"{key} must be one of {', '.join(known)}, got {word_text(word)}"
    near = suggestion(word_text(word), known)
    raise Fault(message, hint=near if near.startswith("did") else "")


def check_arrangement(
    entry: Entry, given: Sequence[tuple[str, Value]], *, long_names: bool
) -> None:
    """Refuse parameters that are repeated, missing, or do not go together.

    Args:
        entry: what is called.
        given: long names and values, in the order written.
        long_names: whether messages use the long names (JSON) or those of the canonical text.
    """
    spelling = {p.name: p.name if long_names else p.spelling for p in entry.parameters}
    place = {name: index for index, (name, _) in reversed(list(enumerate(given)))}
    for index, (name, _) in enumerate(given):
        if place[name] != index:
            raise Fault(f"{spelling[name]} is given twice", index=index)
    for first, second in entry.excludes:
        if first in place and second in place:
            raise Fault(
                f"{spelling[first]} and {spelling[second]} do not go together",
                index=max(place[first], place[second]),
            )
    caller = entry.name if long_names else entry.spelling
    example = "" if long_names else f"for example {entry.example}"
    _check_alternatives(entry, caller, place, spelling, example)
    missing = [spelling[p.name] for p in entry.parameters if entry.needs(p) and p.name not in place]
    if missing:
        raise Fault(f"{caller} needs {' and '.join(missing)}", hint=example)
    values = dict(given)
    for low, high in entry.ordered:
        a, b = values.get(low), values.get(high)
        if isinstance(a, int | float) and isinstance(b, int | float) and a > b:
            raise Fault(
                f"{spelling[low]} must be <= {spelling[high]}, got {brief_text(a)}",
                index=place[low],
            )


def _check_alternatives(
    entry: Entry, caller: str, place: dict[str, int], spelling: dict[str, str], example: str
) -> None:
    if not entry.one_of:
        return
    wording = " or ".join(" with ".join(spelling[name] for name in group) for group in entry.one_of)
    started = [group for group in entry.one_of if any(name in place for name in group)]
    if not started:
        raise Fault(f"{caller} needs {wording}", hint=example)
    if len(started) > 1:
        written = sorted(place[name] for group in started for name in group if name in place)
        only = "not both" if len(entry.one_of) == 2 else "and only one of them"
        raise Fault(f"{caller} takes {wording}, {only}", index=written[1])
    missing = [spelling[name] for name in started[0] if name not in place]
    if missing:
        there = next(name for name in started[0] if name in place)
        raise Fault(
            f"{spelling[there]} needs {' and '.join(missing)} beside it", index=place[there]
        )
