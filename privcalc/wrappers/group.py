"""Groups of records."""

from __future__ import annotations

from privcalc.spec.registry import Parameter, wrapper


@wrapper(
    name="group",
    plain=(
        "Asks for the privacy of several records together, such as all records of one "
        "person or household."
    ),
    parameters=(
        Parameter(
            "records",
            "size of the group",
            short="k",
            kind="integer",
            minimum=1.0,
            # One more link of the chain of neighbours.
            cost="increases",
        ),
    ),
    example="gaussian:sigma=4@100@group:k=3",
)
class Group:
    """A group of k records that are all added, all removed, or all replaced together.

    It is pushed to the mechanisms: k times the sensitivity where noise is scaled to it (Gaussian,
    Laplace and their discrete forms, gdp); nothing for one randomized response, which may flip
    anyway; a mixture of Gaussians where Gaussian noise is sampled by Poisson sampling; and
    otherwise the composition of trade-off functions along a chain of k neighbours (Dong, Roth,
    Su 2022, Theorem 2.14), which is an upper bound only.

    Attributes:
        records: k.
    """

    def __init__(self, *, records: int) -> None:
        """Take the size of the group."""
        self.records = records
