# SPDX-License-Identifier: Apache-2.0
"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from typing import IO


@contextlib.contextmanager
def whole_file(path: str | os.PathLike, mode: str = "w") -> Iterator[IO]:
    """Opens a file for writing that gets its name when the block ends well.

    The mode is `w`, for text in UTF-8, or `wb`.

    Until then, and after an exception, a reader of the path finds what was there
    before. A link keeps pointing where it points; a device or a pipe is written to
    as it is.

    Raises:
      PermissionError: the path leads through a link, or to a pipe, that another user
        has made in a folder where all may make files.
    """
    _check_links(os.fspath(path))
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


def make_private_folder(path: str | os.PathLike) -> None:
    """Makes a folder that no other user reads or writes, and those that it is in.

    Raises:
      PermissionError: it, or the folder that it is in, is another user's, who could
        read and replace what is written; or the path leads through a link of theirs.
    """
    _check_links(os.fspath(path))
    path = os.path.realpath(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    for folder, owners in ((os.path.dirname(path), (0,)), (path, ())):
        if os.stat(folder).st_uid not in (os.geteuid(), *owners):
            raise PermissionError(
                errno.EACCES,
                "a folder of another user, who could read and replace what is "
                "written; remove it, or give another one",
                folder,
            )


_MAX_LINKS = 40  # As the system follows.


def _check_links(path: str) -> None:
    """Refuses what would be written where another user says.

    It is the rule of Linux (`protected_symlinks`), which does not apply to links that
    are resolved here; `checkLinks` in meshwright/Text is the same in C++.
    """
    at, rest, links = "", _parts(path), 0
    while rest and links <= _MAX_LINKS:
        following = os.path.join(at, rest.pop())
        try:
            status = os.lstat(following)
        except OSError:  # Yet to be made, or an error that the writer reports.
            return
        is_link = stat.S_ISLNK(status.st_mode)
        if (is_link or stat.S_ISFIFO(status.st_mode)) and _is_of_other_user(
            following, status
        ):
            raise PermissionError(
                errno.EACCES,
                f"a {'link' if is_link else 'pipe'} of another user in a folder where "
                "all may make files; remove it, or write elsewhere",
                following,
            )
        if is_link:
            links += 1
            rest += _parts(os.readlink(following))
        else:
            at = following


def _parts(path: str) -> list[str]:
    """The parts of a path, the first last."""
    root = ["/"] if path.startswith("/") else []
    return [*reversed(list(filter(None, path.split("/")))), *root]


def _is_of_other_user(path: str, status: os.stat_result) -> bool:
    folder = os.stat(os.path.dirname(path) or ".")
    shared = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
    return bool(shared) and status.st_uid not in (os.geteuid(), folder.st_uid)


def _mode(path: str) -> int | None:
    """The permissions of the file that is replaced; None if there is none."""
    try:
        return os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        return None
