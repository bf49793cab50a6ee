"""Gaussian noise that is correlated between the steps of a run: matrix factorisation, DP-FTRL."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import DomainError, UnsupportedError
from privcalc.exact import Enclosed
from privcalc.mechanisms.correlated import dense, strategies
from privcalc.mechanisms.correlated.strategies import tree
from privcalc.mechanisms.gaussian import Gaussian, checked_mu
from privcalc.spec.entry import deviation, sensitivity, whole
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw, Term
    from privcalc.mechanisms.base import Mechanism
    from privcalc.spec.tree import Leaf

MOST_STEPS = 1_000_000
# Beyond this relative error of mu the law is one of two ends.
CLOSE = 1e-11


@mechanism(
    name="matrix_gaussian",
    place=55,
    parameters=(
        deviation("standard deviation of each entry of the noise Z", unit="unit of a step"),
        sensitivity(
            meaning="most that one record changes what one step adds up, in the L2 norm",
            unit="unit of a step",
        ),
        Parameter("file", "the matrix C, a line for each row, a column for each step", kind="path"),
        Parameter(
            "strategy",
            "a matrix C by name: nodes of a binary tree, square root of prefix sums, unit matrix",
            kind="choice",
            choices=("tree", "banded", "identity"),
        ),
        # The first steps of a longer run, of which the record takes part in no others.
        whole("steps", "number of steps of a named strategy", "increases", most=MOST_STEPS),
        whole("bands", "of banded: number of bands", most=MOST_STEPS, default_text="steps"),
        # Fewer are among those that it may be.
        whole(
            "participations", "most steps in which one record takes part", "increases", default=1
        ),
        whole("separation", "least number of steps from one participation to the next", default=1),
        Parameter(
            "pattern",
            "whether participations are at least so far apart, or exactly (passes in one order)",
            kind="choice",
            choices=("separated", "fixed"),
            default="separated",
        ),
        Parameter(
            "completion",
            "of tree: whether virtual steps complete it where steps is no power of two",
            kind="flag",
            default=False,
        ),
    ),
    one_of=(("file",), ("strategy", "steps")),
    excludes=(("file", "bands"), ("file", "completion")),
    example="matrix-gaussian:sigma=2,strategy=banded,steps=1000,participations=5,separation=200",
)
class MatrixGaussian(Gaussian):
    """Correlated noise: C G + Z, with a strategy matrix C and independent Gaussian noise Z.

    Row i of G is what step i adds up, to which a record gives a vector of norm at most
    `sensitivity` in each step in which it takes part. Published are C G + Z, or estimates that are
    computed from it such as the prefix sums A G + B Z, A = B C (DP-FTRL, matrix factorisation).
    Let S be the largest norm of C (G - G') over all that one record may do in the steps that
    `participations`, `separation` and `pattern` allow; the steps of other records stay as they are.
    Then N(S, sigma^2) and N(0, sigma^2) dominate the mechanism in every direction, also where each
    step depends on what was published before, if no row of C G + Z is published before the last
    step that it needs: row by row these are Gaussian mechanisms chosen adaptively, whose squared
    distances add up to at most S^2 whatever happens (Denisov et al. 2022, Theorem 2.1; Smith,
    Thakurta 2022). The record with those vectors attains it. A group of k records has k S.

    Where C^T C is nonnegative S is the sum of its entries over the worst pattern, exactly for
    `banded`, `identity`, one participation and a fixed pattern; elsewhere S is enclosed, and the
    lower end of the answer is that of the worst pattern found. A `file` has a line for each row of
    C, with a column for each step: decimals or ratios, separated by commas, semicolons or white
    space; `#` begins a comment.

    `tree` publishes every node of a binary tree whose last step is over, and one participation has
    S^2 = floor(log2 steps) + 1. Restarts are uses: `@5` is five trees, each with its own noise.
    Where `steps` is no power of two, nodes that end later are not published; `completion=true` adds
    virtual steps until it is one, and every node that has a step is published (the tree completion
    of DP-FTRL before a restart, which has less noise in the last sums, and costs more): one
    participation has S^2 = ceil(log2 steps) + 1. Answers say which of the two they are about. A run
    whose last tree is not completed is a sum: `...,completion=true@4` and one without.

    Under `@poisson` each step sees a sample of one group of records: the records are divided, by
    chance and for good, into as many groups as C has bands, and step i samples from group i modulo
    bands, with probability q for each of its records (Choquette-Choo et al. 2023, Theorem 4). A
    record may be in steps that far apart, which no row of C has in common. Each is a sampled
    Gaussian mechanism with the norm of its column, and there are ceil(steps / bands) of them. Leave
    out `participations` there.

    Attributes:
        mu: S / sigma.
    """

    run = True
    named: ClassVar[str] = "sensitivity of the run / standard_deviation"

    @classmethod
    def sampled_how(cls, leaf: Leaf) -> str:
        """Name planned participations, and what becomes of a tree with steps to spare."""
        given = dict(leaf.parameters)
        steps, completed = given.get("steps"), given.get("completion", False)
        odd = isinstance(steps, int) and steps & (steps - 1) > 0
        if given.get("strategy") != "tree" or not odd:
            return "planned participations"
        return f"planned participations, tree {'' if completed else 'not '}completed"

    def __init__(
        self,
        *,
        standard_deviation: float,
        sensitivity: float = 1.0,
        file: str | None = None,
        strategy: str | None = None,
        steps: int | None = None,
        bands: int | None = None,
        participations: int = 1,
        separation: int = 1,
        pattern: str = "separated",
        completion: bool = False,
    ) -> None:
        """Take the strategy and the participations.

        Raises:
            DomainError: they do not fit, or the file has no matrix.
        """
        if bands is not None and strategy != "banded":
            raise DomainError("bands is a parameter of strategy=banded")
        if completion and strategy != "tree":
            raise DomainError("completion is a parameter of strategy=tree")
        self.unit = Enclosed.of(sensitivity) / Enclosed.of(standard_deviation)
        self.participations = participations
        self.strategy, self.steps, self.bands = strategy, steps or 0, bands or steps or 0
        if file is not None:
            self.matrix = dense.read(file)
            square = self.matrix.square(participations, separation, fixed=pattern == "fixed")
        elif strategy == "banded":
            square = strategies.square_root(self.steps, self.bands, participations, separation)
        elif strategy == "tree":
            square = tree(
                self.steps,
                participations,
                separation,
                fixed=pattern == "fixed",
                completion=completion,
            )
        else:
            square = strategies.identity(self.steps, participations, separation)
        self.mu = self._mu(square)

    def law(self) -> LossLaw | Term:
        """Return the law of one direction, the same in each; or those at both ends of mu."""
        from privcalc.losses.gaussian import GaussianLaw
        from privcalc.losses.law import Term

        law = GaussianLaw.of(self.mu)
        if law.error <= CLOSE:
            return law
        low, high = self.mu.doubles()
        return Term(GaussianLaw(high), GaussianLaw(low))

    def rounds(self, records: int) -> list[tuple[Mechanism, int]]:
        """Return what a record meets in samples, with counts: columns of one group.

        The norms of the columns of a banded square root fall, so that the group of step 0 costs
        most; its last column may be short.
        """
        if self.strategy == "tree" or self.participations > 1:
            raise UnsupportedError(
                "sampling of matrix-gaussian is known for banded strategies, and draws the"
                " participations: leave them out, and take another strategy than tree"
            )
        if self.strategy is None:
            bands, found = self.matrix.columns()
        else:
            bands = self.bands if self.strategy == "banded" else 1
            whole, rest = divmod(self.steps, bands)
            found = [(strategies.square_root(bands, bands, 1, 1), whole)]
            if rest:
                found.append((strategies.square_root(rest, bands, 1, 1), 1))
        if bands > 1 and records > 1:
            raise UnsupportedError(
                "@group of sampled matrix-gaussian is not available: records of different groups"
                " share rows of the noise"
            )
        return [(self._round(square), count) for square, count in found if count]

    def _round(self, square: Enclosed) -> Mechanism:
        return self.changed(mu=self._mu(square), run=False)

    def _mu(self, square: Enclosed) -> Enclosed:
        return checked_mu(square.root() * self.unit, self.named)
