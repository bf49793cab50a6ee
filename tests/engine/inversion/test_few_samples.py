"""Few samples of Gaussians with little noise: engines that share only the law meet."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from privcalc.engine.inversion.solve import TailSplit
from privcalc.engine.planner import certified_epsilon
from privcalc.errors import NotCertifiedError
from tests.engine.inversion.sampled_cases import uses
from tests.random_numbers import log_uniform
from tests.truths import meet

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.dear("0]")
@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(60))
def test_engines_meet(seed: int) -> None:
    """The split of random few samples, the lattice and what is answered."""
    r = random.Random(seed)
    sigma, q = r.uniform(0.3, 1.4), log_uniform(r, 1e-6, 0.1)
    composition, delta = uses(sigma, q, r.randint(2, 30)), log_uniform(r, 1e-12, 1e-4)
    found = [certified_epsilon(composition, delta, 1e-6).bound]
    with suppress(NotCertifiedError):
        found.append(TailSplit(composition).epsilon(delta, delta, 1e-6).bound)
    with suppress(NotCertifiedError):
        found.append(certified_epsilon(composition, delta, 1e-6, engine="fft").bound)
    for k, one in enumerate(found):
        assert all(meet(one, other) for other in found[k + 1 :])
