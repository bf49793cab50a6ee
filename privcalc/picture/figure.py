"""A picture drawn by matplotlib: a figure, which notebooks show, and files (SVG, PNG, PDF)."""

from __future__ import annotations

from io import BytesIO
from math import inf
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from privcalc.errors import UsageError
from privcalc.version import __version__

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes

    from privcalc.picture.picture import Curve, Picture

# Each curve has a line and a mark of its own, so that nothing hangs on colour.
LINES, MARKS, GREYS = ("-", "--", "-.", ":"), "os^D", ("0.0", "0.3", "0.45", "0.55")
# No date: the same picture is the same bytes.
_METADATA = {
    ".svg": {"Date": None, "Creator": f"privcalc {__version__}"},
    ".pdf": {"CreationDate": None, "Creator": f"privcalc {__version__}"},
    ".png": {"Software": f"privcalc {__version__}"},
}


def style() -> AbstractContextManager[None]:
    """Return what pictures are drawn in: the same one is the same bytes, with no names by lot."""
    return rc_context({"svg.hashsalt": "privcalc", "font.size": 9.0, "pdf.fonttype": 42})


class Drawn(Figure):
    """A figure that a notebook shows, whatever backend it has, or none."""

    def _repr_png_(self) -> bytes:
        """Return the picture for a notebook."""
        kept = BytesIO()
        with style():
            self.savefig(kept, format="png")
        return kept.getvalue()


def figure(picture: Picture) -> Drawn:
    """Draw a picture."""
    with style():
        found = Drawn(figsize=(6.4, 4.8), dpi=150, layout="constrained")
        _draw(picture, found.add_subplot())
        head = wrap(picture.title, 86, break_on_hyphens=False)
        head += [line for pair in picture.facts for line in wrap(": ".join(pair), 98)]
        found.suptitle("\n".join(head), x=0.01, ha="left", fontsize=8.0, parse_math=False)
        foot = [line for remark in picture.remarks for line in wrap(remark, 98)]
        words = "\n".join([*foot, f"privcalc {__version__}"])
        found.supxlabel(words, x=0.01, ha="left", fontsize=7.0)
    return found


def write(picture: Picture, name: str, option: str = "--plot-file") -> Drawn:
    """Draw a picture into a file, and return it.

    Raises:
        UsageError: the file cannot be written.
    """
    with style():
        found = figure(picture)
        try:
            found.savefig(name, metadata=_METADATA[Path(name).suffix.lower()])
        except OSError as error:
            raise UsageError(f"{option}: {name}: {error.strerror or error}") from None
    return found


def _draw(picture: Picture, axes: Axes) -> None:
    for axis, drawn in ((picture.x, axes.xaxis), (picture.y, axes.yaxis)):
        drawn.set_label_text(axis.label, parse_math=False)
        if axis.logarithmic:
            axes.set(**{f"{drawn.axis_name}scale": "log"})
    axes.grid(visible=True, color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    single = len(picture.curves) == 1
    for index, curve in enumerate(picture.curves):
        label = "" if single else f"{curve.name}, "
        line, mark, grey = (each[index % len(each)] for each in (LINES, MARKS, GREYS))
        style = {"linestyle": line, "marker": mark, "color": grey}
        _lines(axes, curve, label, style | {"markersize": 4.0, "linewidth": 1.0})
    # What is 0 lies below a logarithmic axis: bands end where it does.
    low, high = axes.get_ylim()
    for index, curve in enumerate(picture.curves):
        _band(axes, curve, low if picture.y.logarithmic else -inf, shade=0.85 - 0.08 * index)
    axes.set_ylim(low, high)
    if picture.unit:
        axes.plot([0, 1], [1, 0], color="0.5", linewidth=1.0, dashes=(1, 3), label="random guess")
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.legend(fontsize=8.0, frameon=False)


def _lines(axes: Axes, curve: Curve, label: str, style: dict[str, Any]) -> None:
    """Draw both ends, full marks above and hollow ones below: ends that coincide are one mark."""
    upper = [(p.x, p.upper) for p in curve.points if p.upper is not None]
    lower = [(p.x, p.lower) for p in curve.points if p.lower]
    if upper:
        name = "both ends" if curve.narrow else "at most"
        axes.plot(*zip(*upper, strict=True), label=label + name, **style)
    if lower and not curve.narrow:
        hollow = {"markerfacecolor": "white", "linestyle": ":", "zorder": 1.9}
        axes.plot(*zip(*lower, strict=True), label=f"{label}at least", **style | hollow)


def _band(axes: Axes, curve: Curve, floor: float, shade: float) -> None:
    """Shade what lies between both ends."""
    both = [(p.x, p.lower, p.upper) for p in curve.points if None not in (p.lower, p.upper)]
    if both and not curve.narrow:
        places, lower, upper = zip(*both, strict=True)
        bottom = [max(each, floor) for each in lower]
        axes.fill_between(places, bottom, upper, color=str(shade), linewidth=0.0, zorder=0.9)
