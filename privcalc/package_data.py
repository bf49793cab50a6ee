"""Files of the package, wherever it was imported from: a folder, or an archive (zipapp)."""

import os


def read(*path: str) -> str:
    """Return the text of a file, given its path below the package.

    Raises:
        OSError: there is none.
    """
    # Neither pathlib nor importlib.resources: they take longer to load than all that needs this.
    place = os.path.join(os.path.dirname(__file__), *path)  # noqa: PTH118, PTH120
    data: bytes = __loader__.get_data(place)  # type: ignore[name-defined]
    return data.decode()


def table(*path: str) -> dict[str, object]:
    """Return what is in a TOML file, given its path below the package."""
    import tomllib

    return tomllib.loads(read(*path))
