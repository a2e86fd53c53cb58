"""The program `octavo`: `python -m octavo serve model.gguf`."""
from __future__ import annotations

import os
import signal
import sys

from .llm import run_program


def main() -> int:
    """Runs the program with the arguments of this process; returns its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python would see Ctrl-C only when the program has ended
    return run_program([b"octavo", *map(os.fsencode, sys.argv[1:])])


if __name__ == "__main__":
    sys.exit(main())
