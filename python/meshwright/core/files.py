# SPDX-License-Identifier: Apache-2.0
"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from typing import IO


@contextlib.contextmanager
def whole_file(path: str | os.PathLike, mode: str = "w") -> Iterator[IO]:
    """Opens a file for writing that gets its name when the block ends well.

    The mode is `w`, for text in UTF-8, or `wb`.

    Until then, and after an exception, a reader of the path finds what was there
    before. A link keeps pointing where it points; a device or a pipe is written to
    as it is.
    """
    path, encoding = os.path.realpath(path), None if "b" in mode else "utf-8"
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, mode, encoding=encoding) as file:
            yield file
        return
    folder, name = os.path.split(path)
    aside = os.path.join(folder or ".", f".{name}.{secrets.token_hex(8)}.tmp")
    known = _mode(path)
    # The system takes off what the umask says. To ask for the umask is to set it,
    # for all threads, and two that do so at once leave none.
    wanted = 0o666 if known is None else known
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, wanted)
    try:
        with open(descriptor, mode, encoding=encoding) as file:
            yield file
        if known is not None:
            os.chmod(aside, known)
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside)
        raise


def _mode(path: str) -> int | None:
    """The permissions of the file that is replaced; None if there is none."""
    try:
        return os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        return None
