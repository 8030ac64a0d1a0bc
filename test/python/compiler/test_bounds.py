# SPDX-License-Identifier: Apache-2.0
"""Programs of sizes that are not written by hand: they work, or a diagnostic names the
bound, within seconds and little memory (docs/limits.md)."""

import os
import resource
import subprocess

import pytest

T = "tensor<4xf32>"
CONFIG = '{"topology": {"m": {"x": 2}}, "assignment": {"enc": "m"}}'
# What starts up takes 0.1 s and 100 MiB; a sanitizer some times that.
SECONDS, MEMORY = 60, 2 << 30
INFER_MESH = [
    f"-mpmd-infer-mesh-{name}"
    for name in (
        "assign-mesh-func-leaves",
        "assign-using-input-output-constraints",
        "convert-reduce-ops",
        "finalize",
        "pipeline",
        "populate-src-set",
        "populate-use-set",
        "rewrite-using-analysis",
        "validate-no-additional-transfers-needed",
        "validate-src-set-not-empty",
    )
]
RECURSIVE = "error: recursive call of @"


def main(lines, result, signature=f"%x: {T}"):
    """A program that names a computation, so that it can be partitioned."""
    return f"""func.func @main({signature}) -> {T} {{
%e = mpmd.named_computation<"enc"> (%x) (%a: {T}) {{
  mpmd.return %a : {T}
}} : ({T}) -> {T}
{lines}
return {result} : {T}
}}
"""


def calls(count, op="func.call", last=None):
    """Functions that each call the next one; the last one calls `last`."""
    functions = [main(f"%0 = {op} @f1(%e) : ({T}) -> {T}", "%0")]
    for index in range(1, count):
        callee = f"f{index + 1}" if index < count - 1 else last
        call = (
            f"%0 = {op} @{callee}(%x) : ({T}) -> {T} return %0"
            if callee
            else "return %x"
        )
        functions.append(
            f"func.func private @f{index}(%x: {T}) -> {T} {{ {call} : {T} }}"
        )
    return "\n".join(functions)


def branches(depth):
    begin = [f'%a{i} = "stablehlo.case"(%i) ({{' for i in range(depth)]
    inner = [*(f"%a{i}" for i in range(1, depth)), "%e"]
    end = [
        f"stablehlo.return {value} : {T} }}) : (tensor<i32>) -> {T}"
        for value in reversed(inner)
    ]
    return main("\n".join(begin + end), "%a0", f"%x: {T}, %i: tensor<i32>")


def loops(depth):
    begin, end = [], []
    for i in range(depth):
        outer = f"%b{i - 1}" if i else "%e"
        begin.append(
            f'%w{i} = "stablehlo.while"({outer}) ({{ ^bb0(%c{i}: {T}):\n'
            "%p = stablehlo.constant dense<false> : tensor<i1>\n"
            f"stablehlo.return %p : tensor<i1> }}, {{ ^bb0(%b{i}: {T}):"
        )
        inner = f"%w{i + 1}" if i < depth - 1 else f"%b{i}"
        end.append(f"stablehlo.return {inner} : {T} }}) : ({T}) -> {T}")
    return main("\n".join(begin + end[::-1]), "%w0")


def computations(depth):
    outer = ["%e", *(f"%b{i}" for i in range(depth))]
    begin = [
        f'%w{i} = mpmd.named_computation<"enc"> ({outer[i]}) (%b{i}: {T}) {{'
        for i in range(depth)
    ]
    inner = [*(f"%w{i}" for i in range(1, depth)), f"%b{depth - 1}"]
    end = [f"mpmd.return {v} : {T} }} : ({T}) -> {T}" for v in reversed(inner)]
    return main("\n".join(begin + end), "%w0")


def repeat(iterations):
    lines = f"""%0 = mpmd.for (%e) {{
  iterations = {iterations} : ui32, unroll_factor = {iterations} : ui32
}} (%b: {T}, %i: tensor<ui32>) {{
  %1 = stablehlo.sine %b : {T}
  mpmd.return %1 : {T}
}} : {T}"""
    return main(lines, "%0")


def splats(element, value):
    """Terabytes, if a constant were made of what is computed from it."""
    huge = f"tensor<1000000x1000000x{element}>"
    lines = f"""%c = stablehlo.constant dense<{value}> : {huge}
%n = stablehlo.negate %c : {huge}
%s = stablehlo.add %n, %c : {huge}
%i = stablehlo.iota dim = 0 : {huge}
%m = stablehlo.multiply %s, %i : {huge}
%t = stablehlo.slice %m [0:1, 0:4] : ({huge}) -> tensor<1x4x{element}>
%r = stablehlo.reshape %t : (tensor<1x4x{element}>) -> tensor<4x{element}>
%f = stablehlo.convert %r : (tensor<4x{element}>) -> {T}
%y = stablehlo.add %e, %f : {T}"""
    return main(lines, "%y")


DEEP = "regions are nested more than 1000 deep; move inner ones to functions"
UNREADABLE = (
    "nested more than 10000 deep here, too deep to read the program; close those that "
    "are left open, or nest fewer"
)
UNROLLED = "more than 524288 operations"
OPTION = "allow more by the option mpmd_max_inlined_ops of a configuration"
PROGRAMS = {
    "branches": (branches(900), None),
    "too deep branches": (branches(1001), DEEP),
    "loops": (loops(900), None),
    "too deep loops": (loops(1100), DEEP),
    "computations": (computations(900), None),
    "too deep computations": (computations(1500), DEEP),
    "regions that are not read": (branches(6000), UNREADABLE),
    "calls": (calls(10_000), None),
    "mpmd calls": (calls(10_000, "mpmd.call"), None),
    "a function that calls itself": (calls(2, last="f1"), RECURSIVE),
    "an mpmd function that does": (calls(2, "mpmd.call", last="f1"), RECURSIVE),
    "functions that call each other": (calls(4, last="f2"), RECURSIVE),
    "mpmd functions that do": (calls(4, "mpmd.call", last="f2"), RECURSIVE),
    "a million iterations": (repeat(10**6), (UNROLLED, OPTION)),
    "iterations beyond 32 bits": (repeat(4 * 10**9), (UNROLLED, OPTION)),
    "floats": (splats("f32", "1.0"), None),
    "integers": (splats("i8", "1"), None),
}


@pytest.fixture
def bounded(monkeypatch):
    """Processes that are started have little time. Memory is asked for afterwards: what
    is mapped says nothing where sanitizers run."""
    start = subprocess.Popen

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    monkeypatch.setattr(
        subprocess, "Popen", lambda *a, **k: start(*a, preexec_fn=limit, **k)
    )


def ends(done, error):
    """Whether a tool ended as it must, without a signal; its error, if there is one."""
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
    assert peak < MEMORY  # Of the largest process that has ended so far.
    if error is None:
        assert done.returncode == 0, done.stderr[:2000]
    else:
        assert done.returncode == 1, done.stderr[:2000]
        for part in (error,) if isinstance(error, str) else error:
            assert part in done.stderr, done.stderr[:2000]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_partitioned_or_refused(tools, tmp_path, bounded, name):
    text, error = PROGRAMS[name]
    config = tmp_path / "config.json"
    config.write_text(CONFIG)
    args = ("partition", "-", "--config", config, "-o", tmp_path / "out")
    ends(tools.run("meshwright", *args, stdin=text), error)
    assert os.path.exists(tmp_path / "out") == (error is None)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_read_and_printed(tools, bounded, name):
    """As text and as bytecode, by passes that look at everything."""
    text, error = PROGRAMS[name]
    if error != UNREADABLE:
        error = None  # It is a bound of phases.
    passes = "-canonicalize", "-cse", "-stablehlo-target-independent-optimization"
    ends(tools.run("mpmd-opt", "-", "--verify-roundtrip", *passes, stdin=text), error)


NAMED = f"""%e = mpmd.named_computation<"enc"> (%0) (%a: {T}) {{
  mpmd.return %a : {T}
}} : ({T}) -> {T}
"""
DECLARED = f"\nfunc.func private @declared({T}) -> {T}\n"


@pytest.mark.parametrize("name", ["calls", "mpmd calls"])
def test_inference_leaves_plain_functions_alone(tools, bounded, name):
    done = tools.run("mpmd-opt", "-", *INFER_MESH, stdin=PROGRAMS[name][0] + DECLARED)
    ends(done, None)


@pytest.mark.parametrize(
    "name", [n for n, (_, e) in PROGRAMS.items() if e == RECURSIVE]
)
@pytest.mark.parametrize("flag", INFER_MESH)
def test_inference_leaves_recursion_alone(tools, bounded, flag, name):
    ends(tools.run("mpmd-opt", "-", flag, stdin=PROGRAMS[name][0] + DECLARED), None)


@pytest.mark.parametrize("flag", INFER_MESH)
def test_inference_looks_at_declarations_and_recursion(tools, bounded, flag):
    """In functions with meshes, too."""
    topology = 'topology = #mpmd.topology<<"m": <["x"=2]>>>'
    mesh = f'!mpmd.mesh_tensor<"m", {T}>'
    text = f"""func.func private @declared({mesh}) -> {mesh} attributes {{{topology}}}
func.func private @again(%x: {mesh}) -> {mesh} attributes {{{topology}}} {{
  %0 = mpmd.call @again(%x) : ({mesh}) -> {mesh}
  %1 = mpmd.call @declared(%0) : ({mesh}) -> {mesh}
  return %1 : {mesh}
}}
"""
    done = tools.run("mpmd-opt", "-", flag, stdin=text)
    ends(done, None if done.returncode == 0 else "error: ")


def split_calls(count, call="func.call"):
    """Functions that negate and then call the next one; what goes in is split."""
    types = f"({T}) -> {T}"
    functions = [
        'sdy.mesh @mesh = <["x"=2]>',
        f'func.func @main(%x: {T} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}) '
        f"-> {T} {{ %0 = {call} @f0(%x) : {types} return %0 : {T} }}",
    ]
    for index in range(count):
        op = f"{call} @f{index + 1}" if index < count - 1 else "stablehlo.tanh"
        operand = "(%v)" if index < count - 1 else " %v"
        kind = types if index < count - 1 else T
        functions.append(
            f"func.func private @f{index}(%x: {T}) -> {T} {{\n"
            f"  %v = stablehlo.negate %x : {T}\n"
            f"  %w = {op}{operand} : {kind}\n  return %w : {T}\n}}"
        )
    return "\n".join(functions)


def test_a_long_way_of_a_sharding_is_reported_in_part(tools):
    """That of each value through all functions would be a million lines."""
    text = tools.check(
        "meshwright", "explain-sharding", "-", "--value=%v", stdin=split_calls(800)
    )
    ways = [way.splitlines()[1:] for way in text.split("\n  dimension ")[1:]]
    ways = [[line for line in way if line.startswith("    ")] for way in ways]
    assert len(ways) == 800
    assert len(ways[0]) < len(ways[1]) < len(ways[10]) <= 64
    assert max(map(len, ways)) == 65
    (left,) = (line for line in ways[-1] if line.endswith(" steps more"))
    assert ways[-1].index(left) == 32 and int(left.split()[1]) > 800
    assert "    stablehlo.negate" in ways[-1][-1]


@pytest.mark.parametrize("call", ["func.call", "mpmd.call"])
def test_values_are_followed_through_many_calls(tools, tmp_path, bounded, call):
    """What each of these functions returns is what the last one returns."""
    text, options = split_calls(4_000, call), []
    if call == "mpmd.call":
        config = tmp_path / "config.json"
        config.write_text(CONFIG)
        text = text.replace("return %0", f"{NAMED}return %e", 1)
        options = ["--config", config]
    args = ("explain-sharding", "-", *options, "--value=%w")
    done = tools.run("meshwright", *args, stdin=text)
    ends(done, None)
    shown = [line for line in done.stdout.decode().splitlines() if line[0] != " "]
    assert len(shown) == 1 and shown[0].startswith("stablehlo.tanh, ")
