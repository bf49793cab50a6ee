"""The exit statuses of every command."""

from enum import IntEnum


class ExitStatus(IntEnum):
    """What the caller learns without reading the output (man page, EXIT STATUS)."""

    OK = 0
    """Done, or within the budget."""
    BUDGET = 1
    """The budget is exceeded, or nothing proves that it is kept."""
    ERROR = 2
    """Anything wrong: usage, specification, domain, not certified, internal."""
    INTERRUPTED = 130
    """Ctrl-C: 128 + SIGINT, as shells report it."""
