# SPDX-License-Identifier: Apache-2.0
"""The compiler: texts in, texts out.

What it is asked without a program of its own to partition, `extension` answers:
python/Extension.cpp says what each of its functions takes and gives.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..core import progress
from ..core.config import Config
from ..core.fragments import FragmentInfo, FragmentOrigin, SplitFragmentType
from ..core.phases import phase
from ..core.version import __version__
from . import diagnostics

_PACKAGE = os.path.dirname(os.path.dirname(__file__))

# Of a program that is partitioned with all of its microbatches.
_MOST_ITEMS = 4_000

_SPLIT_TYPES = {
    "keep_transferred": SplitFragmentType.KEEP_TRANSFERRED,
    "drop_transferred": SplitFragmentType.DROP_TRANSFERRED,
}


def extension() -> Any:
    """The compiler. Raises ImportError, with a remedy, if it is not there, cannot be
    loaded, or belongs to another release."""
    try:
        import _meshwright
    except ImportError as error:
        advice = (
            "install the wheel, or build it and put build/python on PYTHONPATH; "
            "`meshwright doctor` says more"
        )
        if sys.platform == "linux" and platform.libc_ver()[0] != "glibc":
            advice = (
                "it needs a Linux with glibc, and this one has another C library "
                "(musl?); use an image of Debian, Ubuntu, Fedora or the like"
            )
        raise ImportError(
            f"meshwright's compiler cannot be loaded: {error}; {advice}"
        ) from error
    if _meshwright.version != __version__:
        raise ImportError(
            f"meshwright {__version__} in {_PACKAGE} has found the "
            f"compiler of meshwright {_meshwright.version} in {_meshwright.__file__}: "
            "two copies are installed; uninstall one, or take it off PYTHONPATH"
        )
    return _meshwright


class Session:
    """A program on its way through the compiler: read, imported, finished, each once.

    All steps raise RuntimeError if the program cannot be partitioned. The text is the
    first error with its place in the user's source.
    """

    def __init__(self, module: str | bytes, config: Config | None = None):
        """Reads a program.

        Args:
          module: text or bytecode of a module, with locations.
          config: what errors are explained for.
        """
        self._config = config
        self._session = self._explained(extension().Session, module)

    @property
    def names(self) -> list[str]:
        """Those of all computations and tensors of the program that was read."""
        return self._session.names

    def import_program(self, request: Mapping[str, Any], repeats: bool = False) -> None:
        """Imports it.

        Args:
          request: keys of the configuration file (docs/config.md).
          repeats: a large program may be partitioned for few microbatches, and the
            result repeated; there are no rules then.
        """
        most = _MOST_ITEMS if repeats else 0
        with progress.waiting("partitioning"):
            self._explained(self._session.import_program, json.dumps(request), most)

    def fragment_infos(self) -> list[FragmentInfo]:
        """Descriptions of the fragments that the imported program has."""
        # Thousands of fragments have the same ones.
        make_origins = functools.cache(
            lambda pairs: tuple(itertools.starmap(FragmentOrigin, pairs))
        )
        return [
            FragmentInfo(
                origins=make_origins(origins),
                stage_id=stage_id,
                call_counter=call_counter,
                split_type=_SPLIT_TYPES.get(split_type),
                mesh_name=mesh_name,
            )
            for origins, stage_id, call_counter, split_type, mesh_name in (
                self._session.fragment_info
            )
        ]

    def finish(
        self, merge_rules: Iterable[str] = (), schedule_rules: Iterable[str] = ()
    ) -> Any:
        """Does the rest.

        Returns:
          The extension's result: `bytecode`, `module` (the text of it, printed
          each time), `io`, `messages`, `remarks`, `few_remarks`, `program` and
          `fragments`.
        """
        with progress.waiting("partitioning"):
            return self._explained(
                self._session.finish, list(merge_rules), list(schedule_rules)
            )

    def _explained(self, step: Callable[..., Any], *args: Any) -> Any:
        """Runs a step, whose errors are explained for the config."""
        compiler = extension()
        try:
            with phase("partition"):
                return step(*args)
        except compiler.PartitionError as error:
            explained = compiler.PartitionError(
                diagnostics.explain(error.messages, self._config) or str(error)
            )
            explained.diagnostics = error.messages
            explained.meshwright_place = diagnostics.place_of_error(error.messages)
            raise explained from None


def partition(module: str | bytes, request: Mapping[str, Any]) -> Any:
    """All steps of a session, without rules, a large program by few microbatches; see
    there."""
    session = Session(module)
    session.import_program(request, repeats=True)
    return session.finish()


def explain_sharding(
    module: str,
    config: Mapping[str, Any],
    value: str,
    merge_rules: Sequence[str] = (),
    schedule_rules: Sequence[str] = (),
) -> tuple[str, str]:
    """Which annotations the shardings of a value come from, or of all if it is empty.

    Args:
      value: what `meshwright explain-sharding` takes as `--value`.

    Returns:
      An array of values as JSON, and a text for people.
    """
    compiler = extension()
    try:
        return compiler.explain_sharding(
            module, json.dumps(config), value, list(merge_rules), list(schedule_rules)
        )
    except compiler.PartitionError as error:
        raise ValueError(str(error)) from None
