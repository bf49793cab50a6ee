"""DpEvents of the library dp_accounting, as plain data: what there is, and what each is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.record import field, record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.spec.tree import Span


@record
class Event:
    """One event.

    Attributes:
        name: its class, without `DpEvent` at the end.
        values: of its fields: numbers, lists, and other events.
        span: where in the text it stands, if that is known.
    """

    name: str
    values: Mapping[str, object]
    span: Span | None = field(default=None, compare=False)


# Fields in their order; None is one that has to be given. As of version 0.6.0, and of the
# repository after it (EpsilonDelta, DiscreteGaussian, ExponentialMechanism, PermuteAndFlip).
SUFFIX = "DpEvent"
FIELDS: dict[str, dict[str, float | None]] = {
    "NoOp": {},
    "Gaussian": {"noise_multiplier": None},
    "Laplace": {"noise_multiplier": None},
    "DiscreteLaplace": {"noise_parameter": None, "sensitivity": None},
    "DiscreteGaussian": {"sigma": None, "sensitivity": 1.0, "dimension": 0},
    "RandomizedResponse": {"noise_parameter": None, "num_buckets": None},
    "ExponentialMechanism": {"epsilon": None},
    "EpsilonDelta": {"epsilon": None, "delta": None},
    "ZC": {"rho": None, "xi": 0.0},
    "SelfComposed": {"event": None, "count": None},
    "Composed": {"events": None},
    "PoissonSampled": {"sampling_probability": None, "event": None},
    "SampledWithoutReplacement": {"source_dataset_size": None, "sample_size": None, "event": None},
    "RandomAllocation": {"event": None, "num_selected": None, "num_steps": None},
    "MixtureOfGaussians": {
        "standard_deviation": None,
        "sensitivities": None,
        "sampling_probs": None,
    },
    "TruncatedSubsampledGaussian": {
        "dataset_size": None,
        "sampling_probability": None,
        "truncated_batch_size": None,
        "noise_multiplier": None,
    },
    "RepeatAndSelect": {"event": None, "mean": None, "shape": None},
    "SingleEpochTreeAggregation": {"noise_multiplier": None, "step_counts": None},
}

# Why others are refused, and what to ask instead.
REFUSED = {
    "NonPrivate": "it stands for an operation without any privacy: no epsilon holds",
    "Unsupported": "it says nothing of what was done",
    "SampledWithReplacement": "sampling with replacement is not accounted for",
    "PermuteAndFlip": "ask about pure:epsilon=E, which it satisfies",
}

# Events in brackets are Python's, and no JSON.
LISTED = "a list of DpEvents is no specification"
LISTED_HINT = "write ComposedDpEvent([...]) for their sum, or each event on a line of its own"
