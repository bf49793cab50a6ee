"""Adds to `printed.json` what the training libraries of an environment print and save.

Run it in an environment of each version of a library; it needs nothing of privcalc, and leaves what
other versions printed as it is:

    pip install opacus==1.6.0 && python tests/oracles/make_printed.py tests/oracles/printed.json

Each entry has what was run (`what`), in which version (`made_by`), the text, and as a specification
what was run, written here by hand and not by any reader.
"""

from __future__ import annotations

import json
import pprint
import sys
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

RATE = 256 / 60000
RUN = f"gaussian:sigma=1.1@poisson:q={RATE!r}@14063"
TWO = f"gaussian:sigma=1.1@poisson:q={RATE!r}@5+gaussian:sigma=0.9@poisson:q={RATE!r}@3"
SHORT = "1.100000023841858"
ONE = f"gaussian:sigma=1.1@poisson:q={RATE!r}@5"

# What a library printed: what was run, its text, and the specification.
Printed = tuple[str, str, str]


def main() -> None:
    """Write what each library that is here prints."""
    file = Path(sys.argv[1])
    stored = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    makers = {
        "opacus": of_opacus,
        "dp-accounting": of_dp_accounting,
        "jax-privacy": of_jax_privacy,
        "tensorflow-privacy": of_tensorflow_privacy,
    }
    for library, maker in makers.items():
        with suppress(ImportError):
            made = list(maker())
            made_by = f"{library} {version(library)}"
            stored = [each for each in stored if each["made_by"] != made_by]
            stored += [
                {"made_by": made_by, "what": what, "text": text, "spec": spec}
                for what, text, spec in made
            ]
    stored.sort(key=lambda each: each["made_by"])
    file.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def of_opacus() -> Iterator[Printed]:
    """Yield states and histories of every accountant."""
    from opacus import accountants  # type: ignore[import-not-found]

    for kind in ("RDPAccountant", "GaussianAccountant", "PRVAccountant"):
        if not hasattr(accountants, kind):
            continue
        accountant = getattr(accountants, kind)()
        for noise in (1.1,) * 5 + (() if kind == "GaussianAccountant" else (0.9,) * 3):
            accountant.step(noise_multiplier=noise, sample_rate=RATE)
        spec = ONE if kind == "GaussianAccountant" else TWO
        # Version 1.0 has steps, and no state; of one accountant their number.
        steps = getattr(accountant, "history", None) or accountant.steps
        if not isinstance(steps, list):
            continue
        yield f"repr({kind}.history)", repr(steps), spec
        yield f"json.dumps({kind}.history)", json.dumps(steps), spec
        if not hasattr(accountant, "state_dict"):
            continue
        state = accountant.state_dict()
        checkpoint = {"epoch": 3, "best": None, "privacy": {"accountant": state, "loss": [0.5]}}
        yield f"repr({kind}.state_dict())", repr(state), spec
        yield f"repr(dict({kind}.state_dict()))", repr(dict(state)), spec
        yield f"pprint.pformat({kind}.state_dict())", pprint.pformat(state, width=60), spec
        yield f"repr(checkpoint of {kind})", repr(checkpoint), spec
        written = json.dumps(state, default=str)
        yield f"json.dumps({kind}.state_dict(), default=str)", written, spec
        written = json.dumps(checkpoint, default=str, indent=2)
        yield f"json.dumps(checkpoint of {kind}, default=str, indent=2)", written, spec
        with suppress(TypeError):
            yield f"json.dumps({kind}.state_dict())", json.dumps(state), spec


def of_dp_accounting() -> Iterator[Printed]:
    """Yield events and their named tuples."""
    from dp_accounting import dp_event as dp
    from dp_accounting import dp_event_builder

    run = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(RATE, dp.GaussianDpEvent(1.1)), 14063)
    builder = dp_event_builder.DpEventBuilder()
    builder.compose(run)
    builder.compose(dp.LaplaceDpEvent(20.0), 4)
    builder.compose(dp.GaussianDpEvent(5.0), 2)
    ledger = f"{RUN}+laplace:scale=20@4+gaussian:sigma=5@2"
    for name, event, spec in (("run", run, RUN), ("ledger", builder.build(), ledger)):
        yield f"repr({name})", repr(event), spec
        if hasattr(event, "to_named_tuple"):
            plain = event.to_named_tuple()
            yield f"repr({name}.to_named_tuple())", repr(plain), spec
            yield f"json.dumps({name}.to_named_tuple())", json.dumps(plain), spec


def of_jax_privacy() -> Iterator[Printed]:
    """Yield the events of its training loops."""
    import jax_privacy  # type: ignore[import-not-found]

    banded = "gaussian:sigma=1.1@poisson:q=0.004@25"
    if jax_privacy.__version__.startswith("1."):
        from jax_privacy.experimental import execution_plan  # type: ignore[import-not-found]

        config = execution_plan.BandMFExecutionPlanConfig(
            num_examples=60000,
            iterations=100,
            num_bands=4,
            epsilon=None,
            delta=None,
            noise_multiplier=1.1,
            sampling_prob=0.004,
            strategy_optimization_steps=1,
        )
        clipped = SimpleNamespace(sensitivity=lambda *_: 1.0)
        event = config.make(clipped).dp_event
        yield "repr(BandMFExecutionPlanConfig(...).make(...).dp_event)", repr(event), banded
        return
    from jax_privacy.experimental import accounting

    event = accounting.dpsgd_event(1.1, 14063, sampling_prob=RATE)
    yield "repr(dpsgd_event(...))", repr(event), RUN
    event = accounting.truncated_dpsgd_event(
        1.1, 100, sampling_prob=0.004, num_examples=60000, truncated_batch_size=400
    )
    capped = "gaussian:sigma=1.1@poisson:q=0.004,max=400,n=60000@100"
    yield "repr(truncated_dpsgd_event(...))", repr(event), capped
    event = accounting.amplified_bandmf_event(1.1, 100, num_bands=4, sampling_prob=0.004)
    yield "repr(amplified_bandmf_event(...))", repr(event), banded


def of_tensorflow_privacy() -> Iterator[Printed]:
    """Yield the events of its queries."""
    import tensorflow as tf  # type: ignore[import-untyped]
    import tensorflow_privacy as tfp  # type: ignore[import-not-found]

    query = tfp.GaussianSumQuery(l2_norm_clip=1.0, stddev=1.1)
    state = query.initial_global_state()
    record = [tf.constant([0.5]), tf.constant([0.25])]
    parameters = query.derive_sample_params(state)
    sample = query.initial_sample_state(record)
    sample = query.accumulate_record(parameters, sample, record)
    _, _, event = query.get_noised_result(sample, state)
    # A tensor has 24 bits.
    yield "repr(event of GaussianSumQuery)", repr(event), f"gaussian:sigma={SHORT}"


if __name__ == "__main__":
    main()
