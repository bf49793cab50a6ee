"""The errors that privcalc raises on purpose; the command line maps each to exit status 2."""


class PrivcalcError(Exception):
    """Common base of every error below. Never raised directly."""

    code = "internal"


class UsageError(PrivcalcError):
    """A command was called with options that do not fit together."""

    code = "usage"


class SpecError(PrivcalcError):
    """A specification cannot be read: syntax, an unknown name, a value out of range.

    Attributes:
        text: the specification as it was written (one line), or "" if there is none.
        span: half-open range [start, stop) of `text` that is at fault.
        hint: what to write instead, or "".
    """

    code = "spec"

    def __init__(
        self, message: str, *, text: str = "", span: tuple[int, int] = (0, 0), hint: str = ""
    ) -> None:
        """Keep the place of the fault beside the message."""
        super().__init__(message)
        self.text = text
        self.span = span
        self.hint = hint


class DomainError(PrivcalcError, ValueError):
    """A number lies outside the range on which the question makes sense."""

    code = "domain"


class UnsupportedError(PrivcalcError):
    """The question is well formed, and nothing in privcalc answers it (it says which part)."""

    code = "unsupported"


class NotCertifiedError(PrivcalcError):
    """No engine proved a finite upper end; the message says why. No number is printed."""

    code = "not_certified"


class DisagreementError(PrivcalcError):
    """Two certified brackets of one number do not meet: privcalc contradicts itself.

    Never expected; both brackets are in the message, and neither is to be trusted.
    """

    code = "disagreement"
