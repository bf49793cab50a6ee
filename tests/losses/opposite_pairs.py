"""What the tests of replaced records share: one question, and the pair of two records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privcalc.accounting.compose import compose
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.noise.laplace import LaplaceLaw
from privcalc.losses.sampled.replaced import replaced
from privcalc.losses.term import Term
from privcalc.relation import Relation
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from privcalc.bounds import Bound
    from privcalc.losses.law import LossLaw

REPLACE = Relation.REPLACE_ONE
LAWS: dict[str, Any] = {"gaussian": GaussianLaw, "laplace": LaplaceLaw}


def asked(text: str, engine: str = "auto", relation: Relation = REPLACE, **query: float) -> Bound:
    """Return the bracket of one question under replace-one."""
    lists: Any = {f"{name}s": [value] for name, value in query.items()}
    bound = compose(parse(text).tree, relation=relation, engine=engine, **lists).answers[0].bound
    assert bound is not None
    return bound


def pair_of(noise: str, moved: float, q: float) -> LossLaw:
    """Return the law of two opposite records."""
    law = LAWS[noise](moved)
    found = replaced(law, law, q, exact=True, opposite=True)
    assert not isinstance(found, Term)
    return found
