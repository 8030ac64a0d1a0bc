# SPDX-License-Identifier: Apache-2.0
"""What the commands have in common that compile an export folder and run nothing."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import Any

from ..program.folder import read_folder
from ..program.schedule_form import check_form


def read_program(folder: str) -> tuple[dict[str, Any], dict[str, str]]:
    """A program and its fragments.

    Raises:
      ProgramError: the folder holds no program.
    """
    program, fragments = read_folder(folder)
    check_form(program)
    return program, fragments


def plain(text: str) -> str:
    """A text without what would command a terminal; names are those of a file."""
    return re.sub(
        r"[\x00-\x09\x0b-\x1f\x7f-\x9f]",
        lambda found: f"\\x{ord(found[0]):02X}",
        text,
    )


def fail(text: str) -> int:
    """Prints an error; returns the exit code."""
    print(f"error: {plain(text)}", file=sys.stderr)
    return 1


def run(main: Callable[..., int]) -> None:
    """Ends this process with what `main` returns for its arguments."""
    try:
        code = main(*sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough, as `head` has; nothing is flushed at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)
