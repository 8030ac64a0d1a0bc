"""Draws and side effects of random programs, through every pass and pipeline.

A program has as many as its author wrote, and those that end on one mesh are in
the order of the author, who here is represented by jaxlib: `numerics.strip_names`
inlines and unrolls what the author annotated. Erased, the program still has the
numbers of the original, with effects replaced by something that can be computed.
"""

import collections
import json
import re

import pytest
from support import numerics, random_programs

SEEDS = range(24)
SCHEDULES = [
    "1F1B",
    "CircularWithReversedBackward",
    "GPipe",
    "Interleaved1F1B",
    "LoopedBFS",
    "ZeroBubbleH1",
]

_FUNCTION = re.compile(r"^( *)func\.func (?:\w+ )?@([\w.$-]+)\(")
_FRAGMENT = re.compile(r'mpmd\.fragment(?:_call)?<mesh="([^"]*)"')
_EFFECT = re.compile(r"stablehlo\.custom_call @(effect_\d+)|stablehlo\.(rng) ")
_CALL = re.compile(r'(?<!custom_)call(?:<[^@]*>)? @([\w.$-]+|"[^"]*")\(')


def effects(text: str) -> list[tuple[str | None, str]]:
    """Each effect of @main in the order of the text, calls followed, and its mesh;
    no mesh where it has none yet."""
    functions: dict[str, tuple[int, list[str]]] = {}
    for line in text.splitlines():
        if found := _FUNCTION.match(line):
            functions[found[2]] = len(found[1]), []
            current = functions[found[2]][1]
        elif functions:
            current.append(line)

    def walk(name: str, mesh: str | None):
        indent, lines = functions[name]
        here = mesh
        for line in lines:
            if re.match(rf" {{{indent + 2}}}[^ }}]", line):  # Directly in the body.
                fragment = _FRAGMENT.search(line)
                here = fragment[1] if fragment else mesh
            if effect := _EFFECT.search(line):
                yield here, effect[1] or effect[2]
            elif call := _CALL.search(line):
                yield from walk(call[1].strip('"'), here)

    return list(walk("main", None))


def is_subsequence(part: list[str], whole: list[str]) -> bool:
    left = iter(whole)
    return all(name in left for name in part)


def check(written: list[str], text: str, where: str) -> None:
    found = effects(text)
    names = collections.Counter(name for _, name in found)
    assert names == collections.Counter(written), f"{where}\n{text}"
    for mesh in {mesh for mesh, _ in found}:
        on_mesh = [name for place, name in found if place == mesh]
        assert is_subsequence(on_mesh, written), f"{where}, mesh {mesh}\n{text}"


def without_effects(text: str) -> str:
    """Computes something instead: what is drawn, and what calls return."""
    call = r"stablehlo\.custom_call @effect_\d+\((%\S+)?\) \{[^}]*\} : \([^)]*\)"
    text = re.sub(rf"^ *{call} -> \(\)\n", "", text, flags=re.MULTILINE)

    def returned(found):
        if found[1]:
            return f"stablehlo.negate {found[1]} : {found[2]}"
        return f"stablehlo.constant dense<2.5e-01> : {found[2]}"

    text = re.sub(rf"{call} -> (\S+)", returned, text)
    return re.sub(
        r"stablehlo\.rng .* -> (\S+)",
        r"stablehlo.constant dense<5.0e-01> : \1",
        text,
    )


def passes(program: random_programs.Program, seed: int) -> str:
    """All phases, with what is optional, as single passes."""
    config = program.config
    names = ",".join(f"{name}@{mesh}" for name, mesh in config["assignment"].items())
    assignment = f"{{assignment={names}}}"
    on_entry, clone = (str(seed % n == 0).lower() for n in (2, 3))
    merging = (
        f"func.func(mpmd-absorb-inferred-fragments"
        f"{{absorb-on-entry-point-function={on_entry}}},"
        f"mpmd-merge-inferred-fragments{{clone-inferred-fragments={clone}}},"
        "mpmd-merge-inferred-fragments{merge-any-consumer=true},"
        "mpmd-merge-inferred-fragments{merge-sideways=true})"
    )
    schedule = SCHEDULES[seed % len(SCHEDULES)]
    stages = [
        "func.func(chlo-legalize-to-stablehlo),inline,func.func(cse,canonicalize)",
        "mpmd-copy-topology-from-main",
        "func.func(mpmd-unroll-for-loops,canonicalize,"
        "stablehlo-target-independent-optimization{fold-op-element-limit=0},"
        "mpmd-from-unroll-to-call-counter)",
        "mpmd-sink-negligible-ops-into-call-op",
        "func.func(mpmd-insert-nameless-clone-of-negligible-ops,"
        "mpmd-simplify-named-computations,"
        f"mpmd-inline-nested-user-exposed-ops{assignment},"
        f"mpmd-map-named-ops-to-mpmd-ops{assignment})",
        "mpmd-introduce-transfers,mpmd-erase-unused-callee-block-arguments",
        "mpmd-infer-mesh-pipeline{infer-transfers=true}",
        merging if seed % 2 else "func.func(canonicalize)",
        "func.func(mpmd-fragment-dedup,mpmd-fragment-dce,mpmd-remove-transfer-cycles)",
        "mpmd-call-inline,symbol-dce",
        "func.func(mpmd-merge-inferred-fragments,mpmd-move-transfers-to-producer,"
        "mpmd-merge-user-fragments-into-scheduling-units,mpmd-split-bwd-fragments,"
        "mpmd-split-and-prioritize-transfer-independent-computations,canonicalize,"
        "mpmd-fragment-dce)",
        f"func.func(mpmd-pipeline-scheduler{{must-happen-before={schedule}}},"
        "mpmd-remat-fragment,mpmd-verify-stage-merging)",
        merging,
        "func.func(mpmd-merge-forward-with-backward)",
        "func.func(mpmd-uniquify-function-inputs-outputs,mpmd-copy-constants,"
        "mpmd-merge-transfers,mpmd-delay-inferred-fragments,"
        "mpmd-delay-transfers-from-cpu,mpmd-simplify-program)",
        "mpmd-lower-to-fragment-calls",
    ]
    return f"builtin.module({','.join(stages)})"


def check_numbers(tools, same_numbers, program, text: str) -> None:
    original = numerics.strip_names(program.text)
    erased = tools.opt(text, "--mpmd-erase-partitioning")
    same_numbers(without_effects(original), without_effects(erased))


KINDS = [{}, {"with_mpmd_ops": True}, {"with_regions": True}]


@pytest.mark.parametrize("seed", SEEDS)
def test_each_pass_keeps_effects(tools, same_numbers, seed):
    kind = KINDS[seed % len(KINDS)]
    program = random_programs.generate(seed, with_effects=True, **kind)
    written = [name for _, name in effects(numerics.strip_names(program.text))]
    done = tools.run(
        "mpmd-opt",
        "-",
        f"--pass-pipeline={passes(program, seed)}",
        "--mlir-disable-threading",
        "--mlir-print-ir-module-scope",
        "--mlir-print-ir-after-all",
        stdin=program.with_topology(),
    )
    heads = r"// -----// IR Dump After (\w+)[^\n]*\n"
    _, *dumps = re.split(heads, done.stderr)
    assert len(dumps) >= 2 * 8
    for name, text in zip(dumps[::2], dumps[1::2], strict=True):
        module, *_ = text.split("\n}\n")  # Diagnostics follow.
        if "mpmd.for" not in module and '"builtin.module"' not in module:
            check(written, module, name)
    if done.returncode != 0:
        assert "error:" in done.stderr
        return
    text = done.stdout.decode()
    check(written, text, "at the end")
    check_numbers(tools, same_numbers, program, text)


def partition(tools, tmp_path, seed):
    """A program, and what came of partitioning it."""
    kind = KINDS[seed % len(KINDS)]
    program = random_programs.generate(100 + seed, with_effects=True, **kind)
    source, config = tmp_path / "program.mlir", tmp_path / "config.json"
    source.write_text(program.text)
    schedule = SCHEDULES[seed % len(SCHEDULES)]
    options = program.config["options"] | {"mpmd_pipeline_schedule": schedule}
    config.write_text(json.dumps(program.config | {"options": options}))
    arguments = "partition", source, f"--config={config}", "-o=-"
    return program, tools.run("meshwright", *arguments)


@pytest.mark.parametrize("seed", SEEDS)
def test_partitioning_keeps_effects(tools, same_numbers, tmp_path, seed):
    program, done = partition(tools, tmp_path, seed)
    written = [name for _, name in effects(numerics.strip_names(program.text))]
    if done.returncode != 0:
        assert "error:" in done.stderr
        return
    text = done.stdout.decode()
    check(written, text, "at the end")
    check_numbers(tools, same_numbers, program, text)


def test_most_programs_with_effects_can_be_partitioned(tools, tmp_path):
    def is_accepted(seed):
        program = random_programs.generate(seed, with_effects=True)
        done = tools.run(
            "mpmd-opt",
            "-",
            f"--pass-pipeline={passes(program, seed)}",
            stdin=program.with_topology(),
        )
        return done.returncode == 0

    assert sum(map(is_accepted, SEEDS)) >= len(SEEDS) // 2
    done = [partition(tools, tmp_path, seed)[1].returncode for seed in SEEDS]
    assert done.count(0) >= len(SEEDS) // 2
