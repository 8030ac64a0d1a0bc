# SPDX-License-Identifier: Apache-2.0
"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import IO


@contextlib.contextmanager
def whole_file(path: str | os.PathLike, mode: str = "w") -> Iterator[IO]:
    """Opens a file for writing that gets its name when the block ends well.

    The mode is `w`, for text in UTF-8, or `wb`.

    Until then, and after an exception, whoever reads the path finds what was there
    before. A link keeps pointing where it points; a device or a pipe is written to
    as it is.
    """
    path, encoding = os.path.realpath(path), None if "b" in mode else "utf-8"
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, mode, encoding=encoding) as file:
            yield file
        return
    folder, name = os.path.split(path)
    descriptor, aside = tempfile.mkstemp(
        prefix=f".{name}.", suffix=".tmp", dir=folder or "."
    )
    try:
        with open(descriptor, mode, encoding=encoding) as file:
            yield file
        os.chmod(aside, _mode(path))
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside)
        raise


def _mode(path: str) -> int:
    """The permissions of the file that is replaced, or those of a new one."""
    try:
        return os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
