# SPDX-License-Identifier: Apache-2.0
"""Folders of files named by what they hold, beside one that says what they are.

  index.json        written last: without it the folder is none
  files/SHA256      never changed, so a reader of the old index finds the old files

A file that is damaged has lost its name, and the index has a digest of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import re
import stat
from collections.abc import Iterable, Mapping
from typing import Any

from .files import whole_file

_FILES = "files"
_NAME = re.compile(r"[0-9a-f]{64}")
_UNFINISHED = re.compile(r"\.(?:[0-9a-f]{64}|[\w.-]+\.json)\.[0-9a-f]{16}\.tmp")


class ContentsError(ValueError):
    """A folder is not one of these, is damaged, or belongs to another user."""


class Contents:
    """A folder of this form.

    Args:
      index: the name of the file that says what the others are.
      format: what that file calls itself.
      what: what messages call the folder.
    """

    def __init__(self, folder: str | os.PathLike, index: str, format: str, what: str):
        self.folder = pathlib.Path(folder)
        self._index, self._format, self._what = index, format, what

    def prepare(self) -> None:
        """Makes the folder, or finds that it may be written to.

        Raises:
          ContentsError: it is another user's, or holds what was not written here.
          OSError: it cannot be made.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in (self.folder, self.folder / _FILES):
            if path.is_symlink() and path is not self.folder:
                raise self._refusal(f"{path} is a link")
            if path.exists() and path.stat().st_uid != os.geteuid():
                raise self._refusal(f"{path} belongs to another user")
        self._check_unknown_files(self.folder, {self._index, _FILES})
        (self.folder / _FILES).mkdir(exist_ok=True)
        self._check_unknown_files(self.folder / _FILES, set())

    def _check_unknown_files(self, folder: pathlib.Path, known: set[str]) -> None:
        for entry in sorted(os.listdir(folder)):
            is_ours = entry in known or _UNFINISHED.fullmatch(entry)
            if not (is_ours or (folder.name == _FILES and _NAME.fullmatch(entry))):
                raise self._refusal(f"{folder / entry} was not written by meshwright")

    def _refusal(self, why: str) -> ContentsError:
        return ContentsError(
            f"{why}; {self._what} goes into a folder of its own, a new one, or one "
            "that an earlier one was written to"
        )

    def add(self, data: bytes) -> str:
        """Writes a file; returns its name."""
        name = hashlib.sha256(data).hexdigest()
        with whole_file(self.folder / _FILES / name, "wb") as file:
            file.write(data)
        return name

    def has(self, name: str) -> bool:
        return (self.folder / _FILES / name).is_file()

    def finish(self, body: Mapping[str, Any], names: Iterable[str]) -> None:
        """Writes the index, and removes files that only an earlier one had."""
        text = json.dumps(body)
        index = {
            "format": self._format,
            "digest": hashlib.sha256(text.encode()).hexdigest(),
            "body": body,
        }
        with whole_file(self.folder / self._index) as file:
            json.dump(index, file)
        kept = set(names)
        for folder in (self.folder, self.folder / _FILES):
            for entry in os.listdir(folder):
                is_old = folder.name == _FILES and entry not in kept
                if _UNFINISHED.fullmatch(entry) or (is_old and _NAME.fullmatch(entry)):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(folder / entry)

    def read_index(self) -> dict[str, Any]:
        """What the index says.

        Raises:
          ContentsError: there is none, or it is damaged.
        """
        try:
            found = json.loads(self._read(self.folder / self._index))
            body, digest = found["body"], found["digest"]
            is_ours = found["format"] == self._format
        except FileNotFoundError:
            raise ContentsError(
                f"{self.folder} holds no {self._what}: it has no {self._index}, which "
                "is written last"
            ) from None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._damaged(self._index, error) from None
        if not is_ours:
            raise ContentsError(
                f"{self.folder} holds no {self._what} of this form: the format of "
                f"{self._index} is {found['format']!r:.60}, expected {self._format!r}; "
                "save it again with this release"
            )
        if hashlib.sha256(json.dumps(body).encode()).hexdigest() != digest:
            raise self._damaged(self._index, "it is not what was written")
        return body

    def read(self, name: str) -> bytes:
        """What a file holds.

        Raises:
          ContentsError: it is missing, or damaged.
        """
        try:
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r:.80} is no name of a file")
            data = self._read(self.folder / _FILES / name)
        except (OSError, ValueError, TypeError) as error:
            raise self._damaged(f"{_FILES}/{name}", error) from None
        if hashlib.sha256(data).hexdigest() != name:
            raise self._damaged(f"{_FILES}/{name}", "it is not what was written")
        return data

    @staticmethod
    def _read(path: pathlib.Path) -> bytes:
        # To open a pipe would wait for who writes to it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ValueError("it is no file")
            return file.read()

    def _damaged(self, name: str, why: Any) -> ContentsError:
        why = getattr(why, "strerror", None) or why
        return ContentsError(
            f"{self.folder} holds no whole {self._what}: {name}: {why}; save it again"
        )
