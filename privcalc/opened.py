"""Files: those that a user names, refused by kind and by size, and those of the package."""

import os
import stat

# Neither pathlib nor importlib.resources: they take longer to load than all that needs this.
# ruff: noqa: PTH116, PTH118, PTH120, PTH123
MAX_BYTES = 20_000_000


def read_text(file: str) -> str:
    """Return what stands in a file.

    Raises:
        DomainError: there is no such file, it is of another kind, too large, or no UTF-8 text.
    """
    from privcalc.errors import DomainError

    try:
        # What has no end, or waits for somebody, is no file of numbers.
        regular = stat.S_ISREG(os.stat(file).st_mode)
        # Some files say that they are empty, and are not; others grow.
        with open(file if regular else os.devnull, "rb") as opened:
            content = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise DomainError(
            f"{file[:200]} cannot be read ({error.strerror or error}); file names are relative to"
            " the current directory"
        ) from None
    except ValueError:
        raise DomainError(f"{file[:200]!a} cannot be read: it is the name of no file") from None
    if not regular:
        raise DomainError(f"{file} cannot be read: it is no regular file")
    if len(content) > MAX_BYTES:
        raise DomainError(f"{file} has more than {MAX_BYTES} bytes")
    return decoded(file, content)


def decoded(file: str, content: bytes) -> str:
    """Return what was read as text; DomainError where it is none."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        from privcalc.errors import DomainError

        raise DomainError(f"{file} cannot be read: not a text file") from None


def package_text(*path: str) -> str:
    """Return a file of the package by its path, in a folder or an archive (zipapp), or OSError."""
    place = os.path.join(os.path.dirname(__file__), *path)
    data: bytes = __loader__.get_data(place)  # type: ignore[name-defined]
    return data.decode()


def table(*path: str) -> dict[str, object]:
    """Return what is in a TOML file of the package."""
    import tomllib

    return tomllib.loads(package_text(*path))
