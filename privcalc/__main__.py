"""Start the command line: `python -m privcalc`, and the installed `privcalc`."""

import os
import signal
import sys
from contextlib import suppress


def start() -> None:
    """Run the command line and end with its status: what an archive (zipapp) begins with."""
    sys.exit(main())


def main() -> int:
    """Run the command line on sys.argv; return the exit status."""
    # Ctrl-C while modules load: an exception would surface wherever the import machinery stands,
    # and nothing has been printed that could be lost. A caller's own handler is left alone.
    loading = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if loading:
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    try:
        # Answered before anything is imported: scripts ask for the version often, people for help.
        text = _written_down(sys.argv[1:])
        if text and sys.stdout is not None:
            sys.stdout.write(text)
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


def _written_down(arguments: list[str]) -> str:
    """Return the version, or the help as the generator of documents wrote it down; else ""."""
    match arguments:
        case ["--version"]:
            from privcalc import __version__

            return f"privcalc {__version__}\n"
        case ["-h" | "--help"]:
            name = "top-level"
        case [name, "-h" | "--help"] if name.isalpha():
            pass
        case _:
            return ""
    from privcalc.opened import package_text

    try:
        return package_text("cli", "help", f"{name}.txt")
    except OSError:
        return ""


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
    start()
