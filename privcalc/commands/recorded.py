"""What other libraries recorded of a run, read as a specification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privcalc.commands.questions import Recorded, as_json, question, relation_in_force
from privcalc.commands.values import read_relation
from privcalc.errors import SpecError

_FIELDS = ("history", "mechanism")


def from_opacus(accountant: object) -> str:
    """Return the specification of the training run that an accountant of Opacus recorded.

        >>> import privcalc
        >>> state = {"history": [(1.1, 0.0042666, 5), (1.1, 0.0042666, 14058)], "mechanism": "rdp"}
        >>> privcalc.from_opacus(state)
        'gaussian:noise_multiplier=1.1@poisson:q=0.0042666@14063'
        >>> spent = privcalc.compose(privcalc.from_opacus(state), delta=1e-5)
        >>> round(spent.epsilon.upper, 6)
        2.381648

    Steps are read as Poisson sampling under add-or-remove-one, as Opacus accounts for them.

    Args:
        accountant: `privacy_engine.accountant`, its `state_dict()`, or its `history` alone; what
            has one of these in it, such as a checkpoint that is loaded; or any of it as a text.

    Returns:
        A text that all functions take, however long it is.

    Raises:
        SpecError: there is no history in it, more than one, or an empty one.
    """
    text = accountant if isinstance(accountant, str) else as_json(_state(accountant))
    if "history" not in text and not text.lstrip().startswith(("[", "(")):
        raise SpecError("there is no history in this")
    found = question(text)
    return Recorded.of(found.text, found)


def _state(accountant: object) -> object:
    """Return the history in what Opacus has, without what no JSON has beside it."""
    from privcalc.spec.events.history import histories

    data: Any = accountant
    if not isinstance(data, Mapping | list | tuple):
        data = {key: getattr(data, key) for key in _FIELDS if hasattr(data, key)}
    found = [state for _, state in histories(data)]
    if len(found) > 1:
        raise SpecError(f"there are {len(found)} histories in it; give one of them")
    state = found[0] if found else data
    if not isinstance(state, Mapping):
        return state
    known = {key: state[key] for key in _FIELDS if key in state}
    if "history" not in known:
        raise SpecError(f"{type(accountant).__name__} is no accountant: it has no history")
    # Before Opacus 1.6 a state has a method for the name.
    return {key: each() if callable(each) else each for key, each in known.items()}


def from_dp_event(event: object, *, relation: str | None = None) -> str:
    """Return the specification of a DpEvent of dp_accounting.

        >>> import privcalc
        >>> event = "SelfComposedDpEvent(GaussianDpEvent(noise_multiplier=5.0), 100)"
        >>> round(privcalc.compose(privcalc.from_dp_event(event), delta=1e-6).epsilon.upper, 6)
        10.997151

    Args:
        event: the event, its repr, or its `to_named_tuple()` as JSON has it: a list, or the text.
        relation: the one that will be asked for: some events say nothing without it.

    Returns:
        A text that all functions take, however long it is: the specification where the numbers of
        the event are the same under all relations, or one was given; else the event itself, which
        brings its relation along.

    Raises:
        SpecError: it is no event, or one that is not accounted for.
    """
    text = as_json(event) if isinstance(event, list | tuple) else str(event)
    text = " ".join(text.split())
    if not (text.startswith("[") or "DpEvent(" in text):
        raise SpecError("this is no DpEvent: neither its repr nor its to_named_tuple() as JSON")
    under = None if relation is None else read_relation("relation", relation)
    found = question(text, relation=under)
    relation_in_force(under, found.relation)
    brought = found.relation not in (None, under)
    return Recorded.of(text if brought else found.text, found)
