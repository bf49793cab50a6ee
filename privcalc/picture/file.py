"""A picture in a file, drawn by matplotlib: SVG, PNG or PDF."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from privcalc.errors import UsageError
from privcalc.version import __version__

if TYPE_CHECKING:
    from privcalc.picture.figure import Drawn
    from privcalc.picture.picture import Picture

FORMATS = (".svg", ".png", ".pdf")
# The same picture is the same bytes: no date.
_METADATA = {
    ".svg": {"Date": None, "Creator": f"privcalc {__version__}"},
    ".pdf": {"CreationDate": None, "Creator": f"privcalc {__version__}"},
    ".png": {"Software": f"privcalc {__version__}"},
}


def check_file(name: str, option: str = "--plot-file") -> None:
    """Refuse, before anything is computed, a file that cannot be drawn.

    Args:
        name: of the file.
        option: what the file was given to.

    Raises:
        UsageError: it ends in no known format, its folder is missing, or matplotlib is.
    """
    path = Path(name)
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"{option} ends in {', '.join(FORMATS[:-1])} or .pdf, got {name}")
    if not path.parent.is_dir():
        raise UsageError(f"{option}: there is no folder {path.parent}")
    check_library(option)


def check_library(option: str) -> None:
    """Refuse to draw where matplotlib, which is an extra, is missing."""
    if find_spec("matplotlib") is None:
        raise UsageError(f"{option} needs matplotlib: pip install 'privcalc[plot]'")


def write(picture: Picture, name: str, option: str = "--plot-file") -> Drawn:
    """Draw a picture into a file, and return it.

    Raises:
        UsageError: the file cannot be written.
    """
    from privcalc.picture.figure import figure, style

    with style():
        found = figure(picture)
        try:
            found.savefig(name, metadata=_METADATA[Path(name).suffix.lower()])
        except OSError as error:
            raise UsageError(f"{option}: {name}: {error.strerror or error}") from None
    return found
