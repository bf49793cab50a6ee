"""What other libraries recorded of a run, as specifications that the functions take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from privcalc.errors import SpecError
from privcalc.library.given import Recorded, relation_named
from privcalc.reporting.questions import question, relation_in_force


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
        accountant: `privacy_engine.accountant`, its `state_dict()`, or its `history` alone.

    Returns:
        A text that all functions take, however long it is.

    Raises:
        SpecError: it is no history, or an empty one.
    """
    state: Mapping[str, object]
    if isinstance(accountant, Mapping):
        state = accountant
    elif isinstance(accountant, list | tuple):
        state = {"history": accountant, "mechanism": "rdp"}
    else:
        recorded: Any = accountant
        try:
            state = {"history": recorded.history, "mechanism": recorded.mechanism()}
        except (AttributeError, TypeError):
            kind = type(accountant).__name__
            raise SpecError(f"{kind} is no accountant: it has no history and mechanism()") from None
    if "history" not in state:
        raise SpecError("the state of an accountant has the fields history and mechanism")
    found = question(_json(dict(state)))
    return Recorded.of(found.text, found)


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
    if isinstance(event, str):
        text = event
    else:
        text = _json(event) if isinstance(event, list | tuple) else repr(event)
    text = " ".join(text.split())
    if not (text.startswith("[") or "DpEvent(" in text):
        raise SpecError("this is no DpEvent: neither its repr nor its to_named_tuple() as JSON")
    under = relation_named(relation)
    found = question(text, relation=under)
    relation_in_force(under, found.relation)
    brought = found.relation not in (None, under)
    return Recorded.of(text if brought else found.text, found)


def _json(value: object) -> str:
    """Write what Python has as the JSON that is read; numbers of numpy are numbers."""
    try:
        return json.dumps(value, default=_number)
    except (TypeError, ValueError, RecursionError) as error:
        raise SpecError(f"not JSON: {error}") from None


def _number(value: object) -> object:
    item = getattr(value, "item", None)
    if item is None:
        raise TypeError(f"{type(value).__name__} is no number")
    return item()
