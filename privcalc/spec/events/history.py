"""Opacus: the history of an accountant, as a specification.

It is found wherever it stands: in the state of an accountant, in a checkpoint that has this among
other things, as JSON or as Python prints it, or as the list of steps alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn, cast

from privcalc.errors import DomainError, SpecError
from privcalc.exact import distinct
from privcalc.opened import read_text
from privcalc.spec.entry import MAX_INTEGER, Entry, Parameter, brief_text
from privcalc.spec.events.data import load
from privcalc.spec.json import from_json, quoted
from privcalc.spec.registry import build
from privcalc.spec.tree import Composed, Repeated, place_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.spec.tree import Leaf, Node, Path, Wrapped

# Accountants of Opacus. They account for the same steps in different ways.
ACCOUNTANTS = ("rdp", "prv", "gdp")
WRITE = (
    'a history is JSON: json.dump(privacy_engine.accountant.state_dict(), open("history.json",'
    ' "w"), default=str); checkpoints of torch are not loaded, as that can run code'
)
FORM = 'for example {"history": [[1.1, 0.0042666, 14000]], "mechanism": "rdp"}'
_STEP = ("noise_multiplier", "sample_rate", "steps")
# How a method is printed, and whose it is: `mechanism` in states before Opacus 1.6.
_METHOD = re.compile(r"<?bound method (\w+)\.mechanism\b")
_CLASSES = {"RDPAccountant": "rdp", "GaussianAccountant": "gdp", "PRVAccountant": "prv"}


class Opacus:
    """The steps of a training run that an accountant of Opacus recorded.

    The file is JSON, {"history": [[noise_multiplier, sample_rate, steps], ...], "mechanism":
    "rdp"}, or what Python prints of it: each entry is so many steps of Poisson sampling at that
    rate with Gaussian noise, read under add-or-remove-one, as Opacus accounts for them. The
    mechanism names its accountant (rdp, prv or gdp) and changes nothing: all of them account for
    the same steps. A history does not say whether batches were sampled so; Opacus does it unless
    told otherwise. Equal steps are merged; composition does not depend on their order. The history
    may stand anywhere in the JSON of a checkpoint, once. What is in the file may also stand where a
    specification does, on standard input for example.

    Checkpoints of torch are not opened: to load one can run code. Write the file where the training
    runs, where Opacus before version 1.6 needs the default=str, with a = privacy_engine.accountant:

        json.dump(a.state_dict(), open("history.json", "w"), default=str)
    """


OPACUS = Entry(
    kind="mechanism",
    name="opacus",
    parameters=(Parameter("file", "history of an accountant, as JSON", kind="path"),),
    example="opacus:file=./history.json",
    example_file='{"history": [[1.1, 0.0042666, 14000]], "mechanism": "rdp"}\n',
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
        found = from_data(load(text))
        if found is None:
            _fail("a history is a JSON object with the fields history and mechanism", FORM)
    except SpecError as error:
        # Only a fault of the JSON has a place in the text.
        line = text[: error.span[0]].count("\n") + 1
        place = f"{file}, line {line}" if error.text else file
        raise SpecError(f"{place}: {error.message}", hint=error.hint) from None
    return found


def from_data(value: object) -> Node | None:
    """Return the specification of the one history in data, or None: a state, steps, or more.

    Raises:
        SpecError: there is more than one, or it says nothing.
    """
    if _are_steps(value):
        return from_history({"history": value, "mechanism": ACCOUNTANTS[0]})
    found = list(histories(value))
    if len(found) > 1:
        places = " and ".join(place_text(path) or "the top" for path, _ in found[:3])
        _fail(f"there are {len(found)} histories, at {places}", "give one of them")
    if found:
        ((path, state),) = found
        return from_history(state, place_text(path))
    return from_history(value) if isinstance(value, Mapping) and "history" in value else None


# Data of other programs may be nested deeper than Python calls.
_DEEPEST = 100


def histories(
    value: object, path: Path = (), inside: tuple[int, ...] = ()
) -> Iterator[tuple[Path, Mapping[str, object]]]:
    """Yield every history in data, with the way to it.

    What is called a history is one if an accountant is named beside it, or it has steps only: what
    others call so, losses for example, is passed over. `inside` has what the data stands in, by
    identity: it may go round in circles.
    """
    if len(path) > _DEEPEST or id(value) in inside:
        return
    inside = (*inside, id(value))
    if isinstance(value, Mapping):
        steps = value.get("history")
        listed = isinstance(steps, list | tuple)
        name = _accountant(value.get("mechanism"))
        if _are_steps(steps) or (listed and (name in ACCOUNTANTS or callable(name))):
            yield path, value
            return
        for key, each in value.items():
            yield from histories(each, (*path, str(key)), inside)
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            if isinstance(each, Mapping | list | tuple):
                yield from histories(each, (*path, index), inside)


def _are_steps(value: object) -> bool:
    """Say whether this is a list of steps, each of three numbers."""
    return (
        isinstance(value, list | tuple)
        and len(value) > 0
        and all(isinstance(each, list | tuple) and len(each) == len(_STEP) for each in value)
        and all(isinstance(each, int | float) for each in value[0])
    )


def _accountant(written: object) -> object:
    """Return the name of an accountant; before Opacus 1.6 states have a method in its place."""
    method = _METHOD.match(written) if isinstance(written, str) else None
    return _CLASSES.get(method[1], written) if method else written


def from_history(value: Mapping[str, object], at: str = "") -> Node:
    """Return the specification of the state of an accountant, which stands at a place in data.

    Raises:
        SpecError: it is none, or is empty; the message names the entry.
    """
    mechanism, history = value.get("mechanism"), value["history"]
    known_steps = "mechanism" not in value and _are_steps(history)
    if not known_steps and _accountant(mechanism) not in ACCOUNTANTS:
        known = ", ".join(f'"{each}"' for each in ACCOUNTANTS)
        got = f", got {quoted(mechanism)}" if "mechanism" in value else ", and is missing"
        _fail(f"mechanism is one of {known}{got}", "it names the accountant")
    if not isinstance(history, list | tuple):
        _fail(f"history is a list of steps, got {quoted(history)}", FORM)
    if not history:
        hint = "it was written before the first step, or is of another accountant than the run's"
        if _accountant(mechanism) == "gdp":
            hint = "a gdp accountant drops its steps where the noise or the rate changes; use rdp"
        _fail("the history is empty: no step was recorded, and nothing can be said", hint)
    # Equal noise and rate: one event, with the steps of all such entries.
    steps: dict[object, tuple[Node, int]] = {}
    for index, each in enumerate(history):
        place = f"{at}.history[{index}]" if at else f"history[{index}]"
        noise, rate, count = _numbers(each, place)
        key = distinct((noise, rate))
        event, before = steps[key] if key in steps else (_event(noise, rate, place), 0)
        if count + before > MAX_INTEGER:
            _fail(f"{place}: steps must be at most {brief_text(MAX_INTEGER)} in size")
        steps[key] = event, count + before
    found = tuple(Repeated(count, event) for event, count in steps.values())
    return found[0] if len(found) == 1 else Composed(found)


def _numbers(entry: object, place: str) -> tuple[float, float, int]:
    """Read one entry of a history: noise, rate, and how many steps."""
    if not isinstance(entry, list | tuple) or len(entry) != len(_STEP):
        got = f"a list of {len(entry)}" if isinstance(entry, list) else quoted(entry)
        _fail(f"{place}: expected [{', '.join(_STEP)}], got {got}", FORM)
    for name, each in zip(_STEP, entry, strict=True):
        if isinstance(each, bool) or not isinstance(each, int | float):
            _fail(f"{place}: expected a number for {name}, got {quoted(each)}", FORM)
    noise, rate, count = entry
    if count < 1 or count % 1 != 0:
        _fail(f"{place}: steps is a whole number >= 1, got {quoted(count)}")
    return noise, rate, int(count)


def _event(noise: float, rate: float, place: str) -> Node:
    """Return what one step is; numbers out of range are those of the entry."""
    gaussian = {"type": "gaussian", "noise_multiplier": noise}
    step = {"type": "poisson_sampled", "sampling_probability": rate, "event": gaussian}
    try:
        found = cast("Wrapped", from_json(step))
        build(cast("Leaf", found.event))
    except DomainError as error:
        _fail(f"{place}: noise_multiplier {quoted(noise)} is out of range: {error}")
    except SpecError as error:
        message = error.message.partition(" (at ")[0].replace("sampling_probability", "sample_rate")
        _fail(f"{place}: {message}", error.hint)
    return found


def _fail(message: str, hint: str = "") -> NoReturn:
    raise SpecError(message, hint=hint)
