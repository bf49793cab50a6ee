"""Opacus: the history of an accountant, as a specification."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, cast

from privcalc.errors import DomainError, SpecError
from privcalc.exact import distinct
from privcalc.opened import read_text
from privcalc.spec.entry import Entry, Fault, Parameter, check_integer
from privcalc.spec.json import from_json, load_json, quoted
from privcalc.spec.registry import build
from privcalc.spec.tree import Composed, Repeated

if TYPE_CHECKING:
    from privcalc.spec.tree import Leaf, Node, Wrapped

# Accountants of Opacus. They account for the same steps in different ways.
ACCOUNTANTS = ("rdp", "prv", "gdp")
WRITE = (
    'a history is JSON: json.dump({"history": a.history, "mechanism": a.mechanism()},'
    ' open("history.json", "w")) with a = privacy_engine.accountant; checkpoints of torch are not'
    " loaded, as that can run code"
)
_FORM = 'for example {"history": [[1.1, 0.0042666, 14000]], "mechanism": "rdp"}'
_STEP = ("noise_multiplier", "sample_rate", "steps")


class Opacus:
    """The steps of a training run that an accountant of Opacus recorded.

    The file is JSON, {"history": [[noise_multiplier, sample_rate, steps], ...], "mechanism":
    "rdp"}: each entry is so many steps of Poisson sampling at that rate with Gaussian noise, read
    under add-or-remove-one, as Opacus accounts for them. The mechanism names its accountant (rdp,
    prv or gdp) and changes nothing: all of them account for the same steps. A history does not say
    whether batches were sampled so; Opacus does it unless told otherwise. Equal steps are merged;
    composition does not depend on their order. The object itself may also stand where a
    specification does, on standard input for example.

    Checkpoints of torch are not opened: to load one can run code. Write the file where the training
    runs, with a = privacy_engine.accountant:

        json.dump({"history": a.history, "mechanism": a.mechanism()}, open("history.json", "w"))
    """


OPACUS = Entry(
    kind="mechanism",
    name="opacus",
    parameters=(Parameter("file", "history of an accountant, as JSON", kind="path"),),
    example="opacus:file=./history.json",
    example_file='{"history": [[1.1, 0.0042666, 14000]], "mechanism": "rdp"}\n',
    plain="Stands for a training run that the library Opacus has recorded in a file.",
    factory=Opacus,
)


def from_file(file: str) -> Node:
    """Return the specification of a history in a file.

    Raises:
        SpecError: the file cannot be read, or has no history in it; the message says where.
    """
    try:
        text = read_text(file)
    except DomainError as error:
        raise SpecError(str(error), hint=WRITE) from None
    if not text.strip():
        raise SpecError(f"{file} is empty", hint=WRITE)
    try:
        return from_history(load_json(text))
    except SpecError as error:
        # Only a fault of the JSON has a place in the text.
        line = text[: error.span[0]].count("\n") + 1
        place = f"{file}, line {line}" if error.text else file
        raise SpecError(f"{place}: {error}", hint=error.hint) from None


def from_history(value: object) -> Node:
    """Return the specification of a history.

    Args:
        value: what a JSON reader made of it.

    Raises:
        SpecError: it is none, or is empty; the message names the entry.
    """
    if not isinstance(value, dict) or "history" not in value:
        _fail("a history is a JSON object with the fields history and mechanism", _FORM)
    for key in value:
        if key not in ("history", "mechanism"):
            _fail(f"a history has no field {quoted(key)}", _FORM)
    mechanism, history = value.get("mechanism"), value["history"]
    if mechanism not in ACCOUNTANTS:
        known = ", ".join(f'"{each}"' for each in ACCOUNTANTS)
        got = f", got {quoted(mechanism)}" if "mechanism" in value else ", and is missing"
        _fail(f"mechanism is one of {known}{got}", "it names the accountant")
    if not isinstance(history, list):
        _fail(f"history is a list of steps, got {quoted(history)}", _FORM)
    if not history:
        hint = "it was written before the first step, or is of another accountant than the run's"
        if mechanism == "gdp":
            hint = "a gdp accountant drops its steps where the noise or the rate changes; use rdp"
        _fail("the history is empty: no step was recorded, and nothing can be said", hint)
    # Equal noise and rate: one event, with the steps of all such entries.
    steps: dict[object, tuple[Node, int]] = {}
    for index, each in enumerate(history):
        place = f"history[{index}]"
        noise, rate, count = _numbers(each, place)
        key = distinct((noise, rate))
        event, before = steps[key] if key in steps else (_event(noise, rate, place), 0)
        steps[key] = event, _counted(count + before, place)
    found = tuple(Repeated(count, event) for event, count in steps.values())
    return found[0] if len(found) == 1 else Composed(found)


def _numbers(entry: object, place: str) -> tuple[float, float, int]:
    """Read one entry of a history: noise, rate, and how many steps."""
    if not isinstance(entry, list) or len(entry) != len(_STEP):
        got = f"a list of {len(entry)}" if isinstance(entry, list) else quoted(entry)
        _fail(f"{place}: expected [{', '.join(_STEP)}], got {got}", _FORM)
    for name, each in zip(_STEP, entry, strict=True):
        if isinstance(each, bool) or not isinstance(each, int | float):
            _fail(f"{place}: expected a number for {name}, got {quoted(each)}", _FORM)
    noise, rate, count = entry
    if count < 1 or count != int(count):
        _fail(f"{place}: steps is a whole number >= 1, got {quoted(count)}")
    return noise, rate, int(count)


def _event(noise: float, rate: float, place: str) -> Node:
    """Return what one step is."""
    gaussian = {"type": "gaussian", "noise_multiplier": noise}
    step = {"type": "poisson_sampled", "sampling_probability": rate, "event": gaussian}
    try:
        found = cast("Wrapped", from_json(step))
        # What is out of the range of the mechanism is said here, where the entry is known.
        build(cast("Leaf", found.event))
    except DomainError as error:
        _fail(f"{place}: noise_multiplier {quoted(noise)} is out of range: {error}")
    except SpecError as error:
        message = str(error).partition(" (at ")[0].replace("sampling_probability", "sample_rate")
        _fail(f"{place}: {message}", error.hint)
    return found


def _counted(count: int, place: str) -> int:
    try:
        check_integer("steps", count)
    except Fault as fault:
        _fail(f"{place}: {fault}")
    return count


def _fail(message: str, hint: str = "") -> NoReturn:
    raise SpecError(message, hint=hint)
