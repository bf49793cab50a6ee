"""One answer, as the library returns it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from privcalc.bounds import Bound
from privcalc.record import record
from privcalc.render.report import End

if TYPE_CHECKING:
    from os import PathLike

    from privcalc.bounds import Verdict
    from privcalc.picture.figure import Drawn
    from privcalc.render.report import Report


class _Shown:
    """Answers as people see them: a table, or a picture."""

    __slots__ = ()

    @property
    def _reports(self) -> list[Report]:
        """What each format gets."""
        answers: Any = self if isinstance(self, tuple) else [self]
        return [each.report for each in answers]

    def plot(self, file: str | PathLike[str] | None = None) -> Drawn:
        """Draw a curve by matplotlib; return the figure, which notebooks show.

        Args:
            file: where to draw it too; it ends in .svg, .png or .pdf.

        Raises:
            UsageError: it is no curve, matplotlib is missing, or the file cannot be written.
        """
        from os import fspath

        from privcalc.picture.picture import check_file, check_library, picture

        name = "" if file is None else fspath(file)
        check_file(name, "plot") if name else check_library("plot")
        from privcalc.picture.figure import figure, write

        drawn = picture(self._reports)[0]
        return write(drawn, name, "plot") if name else figure(drawn)

    def __str__(self) -> str:
        """Return the table that the command line prints."""
        from privcalc.render.plain import lines

        return "\n".join(lines(self._reports))

    def _repr_markdown_(self) -> str:
        """Return the table as notebooks show it."""
        from privcalc.render.plain import markdown_lines

        return "\n".join(markdown_lines(self._reports))


@record
class Result(_Shown):
    """One answer: its numbers as attributes, and all that `--json` prints of it.

        >>> import privcalc
        >>> answer = privcalc.compose("pure:epsilon=0.1@3", delta=0)
        >>> answer.epsilon.lower, answer.epsilon.upper
        (0.3, 0.3)
        >>> answer.to_dict()["result"]
        {'epsilon': {'lower': 0.3, 'upper': 0.3}}
        >>> print(answer.text, answer.relation, answer.query)
        pure:epsilon=0.1@3 add-or-remove-one {'delta': 0.0}

    An answer is a specification, too: of the guarantee that its numbers are about.

        >>> privcalc.compose(answer, "pure:epsilon=1", delta=0).epsilon.upper
        1.3

    A quantity that was not asked for is an AttributeError. Answers are frozen, are equal where they
    print the same, and can be pickled. Notebooks show them as tables.
    """

    report: Report

    @property
    def text(self) -> str:
        """The specification, in its canonical spelling."""
        return self.report.text

    @property
    def relation(self) -> str:
        """The neighbouring relation in force, with dashes."""
        return self.report.relation.text

    @property
    def query(self) -> dict[str, float]:
        """What was fixed: {"delta": d}, {"epsilon": e}, or more, or nothing."""
        return dict(self.report.query)

    @property
    def tolerance_met(self) -> bool:
        """Whether the brackets are as narrow as was asked for."""
        return self.report.method.tolerance_met

    @property
    def epsilon(self) -> Bound:
        """Epsilon at the delta of the query."""
        return self.bound("epsilon")

    @property
    def delta(self) -> Bound:
        """Delta at the epsilon of the query."""
        return self.bound("delta")

    @property
    def rho(self) -> Bound:
        """Rho of concentrated differential privacy."""
        return self.bound("rho")

    @property
    def mu(self) -> Bound:
        """Mu of Gaussian differential privacy."""
        return self.bound("mu")

    @property
    def advantage(self) -> Bound:
        """Advantage of a membership attack."""
        return self.bound("advantage")

    @property
    def verdict(self) -> Verdict:
        """Whether the budget of a file is kept: within, exceeded or undecided; see `check`.

        Of an audit: refuted or compatible.
        """
        if self.report.check is None:
            raise AttributeError("no budget was checked; that of a bracket is bound.verdict(3)")
        return self.report.check.verdict

    @property
    def sufficient(self) -> float:
        """The value of the free parameter that is certain to meet the target."""
        found: float = self._found("sufficient", int | float)
        return found

    @property
    def curve(self) -> tuple[tuple[float, Bound], ...]:
        """The points of a curve: of delta over epsilon, Renyi divergences over orders, beta over
        alpha; of a sampled Renyi curve those of the dominating pair, or else of the upper bound.
        """
        columns = {k: v for k, v in self.report.result.items() if isinstance(v, list)}
        if len(columns) < 2:
            raise AttributeError(f"this answer is no curve; it has {', '.join(self.report.result)}")
        places, *others = columns
        name = next((each for each in ("exact", "upper") if each in columns), others[0])
        points = zip(columns[places], columns[name], strict=True)
        return tuple((_printed(place).upper, _printed(cell)) for place, cell in points)

    def bound(self, name: str) -> Bound:
        """Return the bracket of a quantity, by its name in `to_dict()["result"]`.

        Raises:
            AttributeError: the answer has no such bracket.
        """
        return _printed(self._found(name, Bound | End))

    def to_json(self) -> str:
        """Return the line that `--json` prints."""
        from privcalc.render.data import json_line

        return json_line(self.report)

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints, as plain data."""
        import json

        found: dict[str, Any] = json.loads(self.to_json())
        return found

    def __repr__(self) -> str:
        from privcalc.render.words import title

        return f"<privcalc.Result {title([self.report])}: {self._brief}>"

    @property
    def _brief(self) -> str:
        """The first number on a few words, for a prompt."""
        from privcalc.render.words import bracket, number, one_sided, written

        result, places = self.report.result, self.report.query.items()
        first, *others = result
        if "sufficient" in result:
            return f"{result['parameter']} {number(self.sufficient)} is sufficient"
        at = "".join(f" at {k} {written(v)}" for k, v in places if k in ("delta", "epsilon", "fpr"))
        for name, value in result.items():
            if isinstance(value, Bound):
                return f"{name} {bracket(value)}{at}"
            if isinstance(value, End):
                return f"{name} at {'most' if value.is_upper else 'least'} {one_sided(value)}{at}"
            if isinstance(value, list):
                return f"{', '.join(others)} at {len(value)} values of {first}"
        return first

    def __eq__(self, other: object) -> bool:
        return self.to_json() == other.to_json() if isinstance(other, Result) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.to_json())

    def _found(self, name: str, kind: Any) -> Any:  # noqa: ANN401
        result = self.report.result
        if name not in result:
            raise AttributeError(f"this answer has no {name}; it has {', '.join(result)}")
        if isinstance(result[name], kind):
            return result[name]
        raise AttributeError(f"{name} of this answer is no bracket or number; to_dict() has it")


class Results(tuple[Result, ...], _Shown):
    """Answers to one question at several places, in their order.

        >>> import privcalc
        >>> answers = privcalc.compose("pure:epsilon=0.1@3", delta=[0, 0.25])
        >>> answers[0]
        <privcalc.Result pure:epsilon=0.1@3: epsilon [0.3, 0.3] at delta 0>
        >>> [answer.epsilon.upper for answer in answers]
        [0.3, 0.0]

    A tuple, which prints as one table, and is drawn as one curve.
    """

    __slots__ = ()


def _printed(cell: object) -> Bound:
    """Return a bracket with the ends that JSON has: they read back as what is proved."""
    found = getattr(cell, "printed", cell)
    if isinstance(cell, End):
        return Bound(cell.printed) if cell.is_upper else Bound(math.inf, cell.printed)
    if isinstance(cell, Bound):
        lower, upper = cell.printed
        return Bound(upper, lower, cell.exact)
    if isinstance(found, int | float):
        return Bound(float(found))
    raise AttributeError("the points of this answer are rows; to_dict() has them")
