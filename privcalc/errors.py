"""The errors that privcalc raises on purpose; the command line maps each to exit status 2."""


class PrivcalcError(Exception):
    """Common base of every error below. Never raised directly.

    >>> import privcalc
    >>> issubclass(privcalc.SpecError, privcalc.PrivcalcError), privcalc.SpecError.code
    (True, 'spec')

    Attributes:
        text: the specification, or the value, as it was written (one line), or "".
        span: half-open range [start, stop) of `text` that is at fault.
        hint: what to write instead, or "".
    """

    code = "internal"

    def __init__(
        self, message: str, *, text: str = "", span: tuple[int, int] = (0, 0), hint: str = ""
    ) -> None:
        """Keep what is wrong, where, and what to write instead."""
        super().__init__(message)
        self.text, self.span, self.hint = text, span, hint

    @property
    def message(self) -> str:
        """What is wrong, without the hint."""
        return super().__str__()

    def __str__(self) -> str:
        """Return what is wrong, and what to write instead."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(PrivcalcError):
    """A command was called with options that do not fit together.

    >>> import privcalc
    >>> privcalc.select("gaussian:sigma=1", runs="geometric:mean=30")
    Traceback (most recent call last):
    privcalc.errors.UsageError: select needs delta or epsilon
    """

    code = "usage"


class SpecError(PrivcalcError):
    """A specification cannot be read: syntax, an unknown name, a value out of range.

    >>> import privcalc
    >>> privcalc.compose("gaussian:sgma=1", delta=1e-5)
    Traceback (most recent call last):
    privcalc.errors.SpecError: gaussian has no parameter sgma (did you mean sigma?)
    """

    code = "spec"


class FileError(PrivcalcError):
    """Something in a file is wrong.

    >>> import privcalc
    >>> error = privcalc.FileError(privcalc.UsageError("no budget"), "privacy.toml", 3)
    >>> str(error), error.file, error.line
    ('privacy.toml, line 3: no budget', 'privacy.toml', 3)
    """

    def __init__(self, cause: PrivcalcError, file: str, line: int | None) -> None:
        """Keep what is wrong and its place."""
        super().__init__(f"{file}, line {line}: {cause}" if line else f"{file}: {cause}")
        self.cause, self.code = cause, cause.code
        self.file, self.line = file, line


class DomainError(PrivcalcError, ValueError):
    """A number lies outside the range on which the question makes sense.

    >>> import privcalc
    >>> privcalc.compose("gaussian:sigma=1", delta=2)
    Traceback (most recent call last):
    privcalc.errors.DomainError: delta must be between 0 and 1, got 2
    """

    code = "domain"


class UnsupportedError(PrivcalcError):
    """The question is well formed, and nothing in privcalc answers it (it says which part).

    >>> import privcalc
    >>> privcalc.compose("laplace:scale=1@wor:q=0.1", relation="replace-special")
    ... # doctest: +ELLIPSIS
    Traceback (most recent call last):
    privcalc.errors.UnsupportedError: wor is not defined under replace-special; ...
    """

    code = "unsupported"


class NotCertifiedError(PrivcalcError):
    """No engine proved a finite upper end; the message says why. No number is printed.

    >>> import privcalc
    >>> privcalc.convert("zcdp:rho=1", to="gdp")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    privcalc.errors.NotCertifiedError: no finite mu is proved: only an upper bound is known ...
    """

    code = "not_certified"


class DisagreementError(PrivcalcError):
    """Two certified brackets of one number do not meet: privcalc contradicts itself.

    Never expected; both brackets are in the message, and neither is to be trusted.
    """

    code = "disagreement"
