"""What proves a number is named: which kind of inequality, and of which end a width is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import privcalc
from privcalc.bounds import Proof

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

PROVED = [
    (Proof.CLOSED_FORM, "pure:epsilon=1@3", {"delta": 0}),
    (Proof.SINGLE_USE, "gaussian:sigma=1", {"delta": 1e-5}),
    (Proof.INVERSION, "gaussian:sigma=1@2+laplace:scale=2", {"delta": 1e-5}),
    (Proof.TAIL_SPLIT, "gaussian:sigma=2@poisson:q=0.01@10", {"delta": 1e-9}),
    (Proof.LATTICE, "rr:p=0.75@10", {"delta": 1e-5}),
    (Proof.GAME, "gaussian:sigma=1@wor:q=0.2@5", {"delta": 1e-5, "tolerance": 1e-2}),
    (Proof.LATTICE, "laplace:scale=10@300", {"delta": 1e-6, "engine": "fft"}),
    (Proof.RENYI, "zcdp:rho=1", {"delta": 1e-5}),
]


@pytest.mark.dear("GAME]")
@pytest.mark.parametrize(("proof", "text", "question"), PROVED, ids=[p.name for p, _, _ in PROVED])
def test_a_proof_has_a_name(proof: Proof, text: str, question: dict[str, float]) -> None:
    """JSON has the words for people, and the engine as scripts have always read it."""
    method = privcalc.compose(text, **question).to_dict()["method"]  # type: ignore[call-overload]
    assert (method["proof"], method["engine"]) == (proof.words, proof.engine)


def test_names_differ() -> None:
    """Words tell proofs apart, and engines are those that scripts know."""
    assert len({proof.words for proof in Proof}) == len(Proof)
    assert {proof.engine for proof in Proof} == {"closed-form", "contour", "fft", "rdp", "afa"}


@pytest.mark.slow
def test_a_width_is_that_of_what_was_proved(run: Callable[..., Outcome]) -> None:
    """Where two distributions have an end each, the width of one is not said of both."""
    fine = ("--tolerance", "1e-10")
    lines = run("compose", "laplace:scale=1@wor:q=0.1@30", "--delta", "1e-5", *fine, "-v").stderr
    assert "    upper PLD, lattice FFT: relative width" in lines
    assert "    the two ends are those of two privacy loss distributions" in lines
