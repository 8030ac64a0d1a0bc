# SPDX-License-Identifier: Apache-2.0
"""Compiled programs, as users call them; `stages` has them by their public name."""

from __future__ import annotations

import os
from typing import Any, TextIO

import jax

from ..core import interrupts
from ..core.config import PyTree
from ..core.tracebacks import at_users_line
from ..runtime.watch.traffic import Traffic
from ..tracing import checkify, static_leaves
from .argument_errors import tree_error
from .executable import Executable, Ready, results_info
from .saving import fit_as_json, save


class Compiled(jax.stages.Compiled):
    """A program whose fragments are compiled; call it with arrays."""

    def __init__(self, executable: Executable, args_info: PyTree, out_tree: Any):
        super().__init__(executable, [], args_info, out_tree, no_kwargs=True)
        tree = executable.signature.output_tree
        self._has_static = static_leaves.occur_in(tree)
        self._has_errors = checkify.has_errors(tree)

    @property
    def mpmd_executable(self) -> Executable:
        """The executable, which takes and gives flat lists of arrays."""
        return self._executable

    @property
    def ifrt_ir_program_memory_stats(self) -> Any:
        """Memory of the whole program; the same as `memory_analysis()`."""
        return self._executable.memory_analysis()

    @property
    def ifrt_ir_program_memory_xprof(self) -> None:
        """Always None: there is no xprof page of the program."""
        return None

    @property
    def peak_memory_bytes(self) -> int:
        """Most bytes that any device holds at one time."""
        return self._executable.peak_memory_bytes

    @property
    def in_avals(self) -> PyTree:
        """Types of the arguments: a pair of positional and keyword arguments."""
        signature = self._executable.signature
        return jax.tree.unflatten(signature.call_tree, signature.input_avals)

    @property
    def out_info(self) -> PyTree:
        """Shapes, dtypes and shardings of the result."""
        executable = self._executable
        return results_info(executable.signature, executable.output_shardings())

    @property
    def input_shardings(self) -> PyTree:
        """Shardings of the arguments: a pair of positional and keyword ones."""
        executable = self._executable
        return jax.tree.unflatten(
            executable.signature.call_tree, executable.input_shardings()
        )

    @property
    def output_shardings(self) -> PyTree:
        """Shardings of the result."""
        return self._executable.output_shardings_tree

    @property
    def input_formats(self) -> PyTree:
        """Formats of the arguments: a pair of positional and keyword ones."""
        tree = self._executable.signature.call_tree
        return jax.tree.unflatten(tree, self._executable.input_formats())

    @property
    def output_formats(self) -> PyTree:
        """Formats of the result."""
        tree = self._executable.signature.output_tree
        return jax.tree.unflatten(tree, self._executable.output_formats())

    def place(self, *args: Any) -> Any:
        """Puts arguments where the program expects them: on their meshes, split.

        Args:
          *args: pytrees of arrays, wherever they are, numpy arrays and scalars: one
            or some of the arguments, each with the tree of the one that it is.

        Returns:
          The same pytrees of `jax.Array`s: a tuple if there are several.

        Raises:
          TypeError: a tree or shapes that no argument has.

        Example: a state from a checkpoint, before the first call.

          state = compiled.place(state)
        """
        wrapped = static_leaves.wrap(args, static_leaves.is_equinox_module)
        place = self._executable.place_argument
        placed = tuple(
            static_leaves.unwrap(place(arg, position))
            for position, arg in enumerate(wrapped)
        )
        return placed if len(placed) != 1 else placed[0]

    def as_text(self, dialect: str = "hlo") -> str:
        """The program as text.

        Args:
          dialect: `hlo`, the optimized code of each fragment, or `mpmd`, the
            partitioned module.

        Returns:
          The text; for `hlo` that of all fragments which this process runs, each
          under a line with its name and mesh.

        Raises:
          ValueError: an unknown dialect.
        """
        if dialect == "mpmd":
            return self._executable.as_text()
        if dialect != "hlo":
            raise ValueError(f"unknown dialect {dialect!r}, known are 'hlo', 'mpmd'")
        program = self._executable.runtime_executable()
        texts = program.hlo_texts()
        return "\n\n".join(
            f'// fragment "{found.name}" on mesh "{found.mesh}"\n{texts[found.name]}'
            for found in program.fragments
            if found.name in texts
        )

    def traffic(self) -> Traffic:
        """What one step sends, counted from the optimized code of its fragments.

        Returns:
          `collectives`: by mesh name, a tuple of `kind`, `axes`, `count` and `bytes`
          on each device, the largest first; and `edges`, a tuple of `source`,
          `target`, `count` and `bytes` of transfers between meshes. Of several
          processes, each counts the fragments that it runs.
        """
        return self._executable.runtime_executable().traffic()

    @property
    def figures(self) -> dict[str, Any]:
        """What compilers say of fragments and meshes, as `meshwright compile` prints.

        Keys `target`, the device as the cost model calls it or nothing, `fragments`
        and `meshes`; of several processes, each has the fragments that it runs and its
        own meshes.
        """
        program = self._executable.runtime_executable()
        return fit_as_json(program)

    def report(self, file: TextIO | None = None) -> None:
        """Prints whether the program fits, and what its compiler says of it.

        The most that the devices of each mesh hold, beside their memory; arguments,
        results, temporaries, code and estimated seconds of each fragment; and, of
        what does not fit, when it does not and what the peak is made of.

        Args:
          file: where to print, the terminal by default.
        """
        print(self._executable.runtime_executable().fit(), file=file)

    @at_users_line
    def save(self, folder: str | os.PathLike) -> None:
        """Writes the program into a folder, for `meshwright.load` (docs/saved.md).

        Executables, what they run in which order, constants, and what they depend on.
        Of several processes all call it, with one folder on a file system that they
        share; it returns when the folder is whole.

        Args:
          folder: a new one, or one that a program was saved in before, which is
            replaced.

        Raises:
          ValueError: a fragment calls Python functions, or has no code that its
            compiler gives; a structure of the arguments or results has parts that
            another process could not find by name; or the folder holds what was not
            saved here, or is another user's.
          OSError: it cannot be written.
        """
        save(self._executable, folder)

    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        """Runs the program.

        Args:
          *args: `jax.Array`s in the pytrees that the function was lowered for,
            with the shardings of `input_shardings`. Donated arrays are gone after
            the call.
          **kwargs: the same, those that it was lowered for by keyword.

        Returns:
          The result, a pytree of arrays on the meshes of the topology. They may
          still be being computed.

        Raises:
          TypeError: other pytrees, shapes or dtypes than the program was lowered
            for.
          ValueError: an argument is no `jax.Array` or has another sharding.
          RuntimeError: an argument was deleted.
        """
        executable = self._executable
        leaves, tree = jax.tree.flatten((args, kwargs))
        if tree != executable.signature.call_tree:
            # Functions, strings and the like are part of the structure.
            given = static_leaves.wrap((args, kwargs), static_leaves.is_equinox_module)
            leaves, tree = jax.tree.flatten(given)
        if tree != executable.signature.call_tree:
            raise TypeError(tree_error(executable.signature, tree))
        with interrupts.scope():
            return self._result(executable.call(*leaves))

    def run(self, ready: Ready) -> Any:
        """Runs the program with what its executable's `prepare` gave."""
        with interrupts.scope():
            return self._result(self._executable.run(ready))

    def _result(self, outs: list[jax.Array]) -> Any:
        result = jax.tree.unflatten(self._executable.signature.output_tree, outs)
        if self._has_errors:
            result = checkify.gather_codes(result)
        return static_leaves.unwrap(result) if self._has_static else result

    @at_users_line
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Runs the program; see `call`."""
        return self.call(*args, **kwargs)
