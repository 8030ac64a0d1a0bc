# SPDX-License-Identifier: Apache-2.0
"""Portable artifacts of StableHLO, for `meshwright partition --portable`.

The command runs this file by its path: it imports nothing of JAX but the MLIR that
jaxlib contains, which knows in which version each operation has which form.
"""

from __future__ import annotations

import pathlib
import re
import sys
from typing import Any


def main(folder: str, version: str) -> str | None:
    """Writes `NAME.mlirbc` for each `NAME.mlir` of a folder.

    Args:
      version: of the StableHLO of the reader, such as ``"1.9.0"``; if empty, the one
        that was current 12 weeks before this jaxlib.

    Returns:
      What is wrong, as one sentence; None if everything is written.
    """
    try:
        from jaxlib.mlir import ir
        from jaxlib.mlir._mlir_libs import _jax_mlir_ext
        from jaxlib.mlir.dialects import chlo, sdy, stablehlo
    except ImportError as error:
        return (
            f"--portable: {sys.executable} has no jaxlib that writes portable "
            f"artifacts ({error}); `{sys.executable} -m pip install jax`, or name "
            "another Python with MESHWRIGHT_PYTHON"
        )
    newest = stablehlo.get_current_version()
    if version and (wrong := _refusal(version, stablehlo)):
        return wrong
    if not version:
        requirement = stablehlo.StablehloCompatibilityRequirement.WEEK_12
        version = stablehlo.get_version_from_compatibility_requirement(requirement)

    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    with ir.Context() as context:
        context.append_dialect_registry(registry)
        context.load_all_available_dialects()
        for dialect in (chlo, sdy, stablehlo):
            dialect.register_dialect(context)
        problems = []
        context.attach_diagnostic_handler(
            lambda diagnostic: problems.append(diagnostic.message) or True
        )
        for text in sorted(pathlib.Path(folder).glob("*.mlir")):
            name = text.name.removesuffix(".mlir")
            try:
                module = ir.Module.parse(text.read_bytes())
            except ir.MLIRError as error:
                return f"--portable: jaxlib does not read fragment {name}: {error}"

            def write(version: str, module=module) -> bytes | None:
                # Shardings stay as they are, for readers that know Shardy.
                has_mesh = any(op.operation.name == "sdy.mesh" for op in module.body)
                problems.clear()
                try:
                    return stablehlo.serialize_portable_artifact(
                        module, version, allow_other_dialects=has_mesh
                    )
                except ValueError:
                    return None

            artifact = write(version)
            if artifact is None:
                return _explain(name, version, newest, problems[:], write)
            text.with_suffix(".mlirbc").write_bytes(artifact)
    return None


def _refusal(version: str, stablehlo: Any) -> str | None:
    """What is wrong with a version that is asked for, if it is none or not written."""
    oldest = stablehlo.get_minimum_version()
    newest = stablehlo.get_current_version()
    parts = _parts(version)
    if not parts:
        return (
            f"--portable: expected a version of StableHLO such as {newest}, got "
            f"{version!r}"
        )
    if _parts(oldest) <= parts <= _parts(newest):
        return None
    advice = f"readers of newer versions read {newest}, too"
    if parts < _parts(oldest):
        advice = f"the reader has to be of {oldest} or newer"
    return (
        f"--portable: this jaxlib writes StableHLO {oldest} to {newest}, not "
        f"{version}; {advice}"
    )


def _parts(version: str) -> tuple[int, ...] | None:
    """The numbers of a version; None if it is none."""
    if not re.fullmatch(r"\d{1,9}\.\d{1,9}\.\d{1,9}", version, re.ASCII):
        return None
    return tuple(map(int, version.split(".")))


def _explain(name, version, newest, problems, write) -> str:
    """Why a fragment has no form of this version, and which version has one."""
    what = re.search(r"'vhlo\.(\w+)_v\d+'", "\n".join(problems))
    major, minor, _ = _parts(newest)
    own_major, own_minor, _ = _parts(version)
    first = own_minor + 1 if own_major == major else 0
    candidates = [f"{major}.{n}.0" for n in range(first, minor + 1)]
    for candidate in candidates:
        if write(candidate) is not None:
            subject = f"'stablehlo.{what[1]}'" if what else "what it computes"
            if what and what[1] in ("func", "return", "call"):
                subject = "a type of its arguments or results"
            return (
                f"--portable: fragment {name}: {subject} is newer than StableHLO "
                f"{version}; its reader has to be of {candidate} or newer: "
                f"--portable={candidate}"
            )
    return (
        f"--portable: fragment {name} has no portable form: "
        + (problems[0].splitlines()[0] if problems else "jaxlib gives no reason")
        + "; partition without --portable"
    )


if __name__ == "__main__":
    if problem := main(*sys.argv[1:]):
        sys.exit(f"error: {problem}")
