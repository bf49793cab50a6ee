"""Start the command line: `python -m privcalc`, and the installed `privcalc`."""

import os
import signal
import sys
from contextlib import suppress


def main() -> int:
    """Run the command line on sys.argv; return the exit status."""
    # Ctrl-C while modules load: an exception would surface wherever the import machinery stands,
    # and nothing has been printed that could be lost. A caller's own handler is left alone.
    loading = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if loading:
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    try:
        # Answered before anything is imported: scripts ask for the version often.
        if sys.argv[1:] == ["--version"] and sys.stdout is not None:
            from privcalc import __version__

            sys.stdout.write(f"privcalc {__version__}\n")
            sys.stdout.flush()
            return 0
        from privcalc.cli.app import main as run

        if loading:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return run(sys.argv[1:])
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001  (an uncaught one would exit 1: over budget)
        return _unstarted(error)


def _unstarted(error: Exception) -> int:
    """Report what went wrong before the command line could, and have nothing flushed again."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    if isinstance(error, BrokenPipeError):
        return 0
    message = getattr(error, "strerror", None) or error
    with suppress(OSError):
        os.write(2, f"privcalc: {message}\n".encode(errors="replace"))
    return 2


if __name__ == "__main__":
    sys.exit(main())
