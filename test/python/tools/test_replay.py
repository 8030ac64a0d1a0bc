"""A printed pipeline makes mpmd-opt do what `meshwright partition` does."""

import json
import re

import pytest
from support.tools import PROGRAMS, ROOT

# What the model of test/programs has, not the largest ones of it.
SHIPPED = {
    "first": (ROOT / "docs" / "first.mlir", ROOT / "docs" / "first.json"),
    **{
        path.stem: (path, path.with_suffix(".json"))
        for path in sorted((PROGRAMS / "mpmd").glob("gpt_*.mlir"))
        if path.stem != "gpt_32_8_32"
    },
}
# A pass of each folder that counts something in gpt_4_4_4.
COUNTED = [
    r"^prepare: mpmd-apply-configuration\n +1 num-functions ",
    r"^import: stablehlo-target-independent-optimization\n +\d+ num-functions ",
    r"^import: mpmd-copy-topology-from-main\n +\d+ num-calls ",
    r"^import: mpmd-introduce-transfers\n +\d+ num-assigns ",
    r"^import: mpmd-infer-mesh-assign-mesh-func-leaves\n +\d+ num-assigned ",
    r"^import: mpmd-infer-mesh-populate-use-set\n +\d+ num-sets ",
    r"^import: mpmd-infer-mesh-populate-src-set\n +\d+ num-sets ",
    r"^import: mpmd-infer-mesh-rewrite-using-analysis\n +\d+ num-ops ",
    r"^import: mpmd-infer-mesh-finalize\n +\d+ num-arguments ",
    r"^import: mpmd-call-inline\n +\d+ num-calls ",
    r"^import: mpmd-merge-inferred-fragments\n +\d+ num-merged ",
    r"^import: mpmd-merge-user-fragments-into-scheduling-units\n +\d+ num-merged ",
    r"^optimize: mpmd-pipeline-scheduler\n +\d+ num-units .*\n +\d+ num-moved ",
    r"^shard: sdy-add-data-flow-edges\n +\d+ num-edges ",
    r"^shard: mpmd-optimize-distinct-bodies\n(?: .*\n)* +\d+ num-bodies ",
    r"^export: mpmd-mark-fragment-reserved-memory\n +\d+ num-fragments ",
]
OURS = ("mpmd-", "sdy-", "stablehlo-", "chlo-")
PLAIN = sorted(PROGRAMS.glob("*.mlir"))


def replay(tools, tmp_path, program, config, *options):
    """The module of both ways."""
    command = [program, "--config", config, *options]
    pipeline = tools.check("meshwright", "partition", *command, "--print-pipeline")
    wanted = tools.check("meshwright", "partition", *command, "-o", "-")
    replayed = tools.check("mpmd-opt", program, f"--pass-pipeline={pipeline.strip()}")
    return wanted, replayed


@pytest.mark.parametrize("name", SHIPPED)
def test_programs_we_ship_with_a_configuration(tools, tmp_path, name):
    wanted, replayed = replay(tools, tmp_path, *SHIPPED[name])
    assert replayed == wanted


def split(pipeline: str) -> list[str]:
    """What is between the commas of a pipeline that are not within anything."""
    parts, depth, quoted = [""], 0, False
    for sign in pipeline.replace("->", "\0"):
        quoted ^= sign == '"'
        if not quoted:
            depth += (sign in "({[<") - (sign in ")}]>")
        if sign == "," and not quoted and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.replace("\0", "->") for part in parts]


def single_passes(pipeline: str) -> list[str]:
    """A pipeline for each of the passes, in their order."""
    passes = []
    for part in split(pipeline):
        anchor, paren, nested = part.partition("(")
        if paren and "{" not in anchor:
            passes += [f"{anchor}({one})" for one in single_passes(nested[:-1])]
        else:
            passes.append(part)
    return passes


# Warms up by two microbatches at once. The merge comes in the order of the schedule,
# which is kept in the program until then.
MERGED = [
    f'FragmentInfo(origins=["stage0"],call_counter={counter},mesh_name="mesh0")'
    for counter in range(2)
]
MERGE = f"FragmentMergeRule(sources=[{','.join(MERGED)}],target={MERGED[0]})"


@pytest.mark.parametrize("rules", [[], [MERGE]], ids=["no_rules", "merge_rules"])
def test_pass_by_pass(tools, tmp_path, rules):
    program, shipped = SHIPPED["gpt_4_4_4"]
    config = tmp_path / "config.json"
    values = json.loads(shipped.read_text()) | {"merge_rules": rules}
    config.write_text(json.dumps(values))
    command = ("partition", program, "--config", config)
    command += ("--set", "mpmd_verify_each=true")
    pipeline = tools.check("meshwright", *command, "--print-pipeline").strip()
    wanted = tools.check("meshwright", *command, "-o", "-")
    passes = single_passes(pipeline)
    assert len(passes) > 90
    module = tmp_path / "module.mlirbc"
    module.write_bytes(program.read_bytes())
    for one in passes[:-1]:
        options = (f"--pass-pipeline={one}", "--emit-bytecode", "-o", module)
        tools.check("mpmd-opt", module, *options)
        if "mpmd-pipeline-scheduler" in one:
            kept = "mpmd.control_after" in tools.check("mpmd-opt", module)
            assert kept == bool(rules)
    last = tools.check("mpmd-opt", module, f"--pass-pipeline={passes[-1]}")
    assert last == wanted


@pytest.mark.parametrize("program", PLAIN, ids=lambda path: path.stem)
def test_plain_programs_on_one_mesh(tools, tmp_path, program):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"topology": {"m": {"x": 4, "y": 2}}}))
    wanted, replayed = replay(tools, tmp_path, program, config)
    assert replayed == wanted


PROGRAM = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mpmd.named_computation<"NAME"> (%x) (%a: tensor<4xf32>) {
    %2 = stablehlo.tanh %a : tensor<4xf32>
    mpmd.return %2 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mpmd.named_computation<"g"> (%0) (%a: tensor<4xf32>) {
    %2 = stablehlo.sine %a : tensor<4xf32>
    mpmd.return %2 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""


@pytest.mark.parametrize(
    "name", ["a@b", "3", 'say "hi"', "it's", "{x", "x}", "a,b", "f(", "p['w']", " x "]
)
@pytest.mark.parametrize("mesh", ["m 1", "1/2", "it's {m"])
def test_names_that_mean_something_to_a_pipeline(tools, tmp_path, name, mesh):
    program = tmp_path / "program.mlir"
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    program.write_text(PROGRAM.replace("NAME", escaped))
    config = tmp_path / "config.json"
    info = f'FragmentInfo(origins=["{quoted(name)}"],mesh_name="{quoted(mesh)}")'
    values = {
        "topology": {mesh: {"x": 2}, "other": {"x": 2}},
        "assignment": {name: [mesh, 0], "g": "other"},
        "input_meshes": [mesh, mesh],
        "donate": [0],
        "schedule_rules": [f"FragmentScheduleRule(ordered_fragments=[{info}])"],
        "options": {"mpmd_param_transfer_pattern": name, "mpmd_infer_transfers": True},
    }
    config.write_text(json.dumps(values))
    wanted, replayed = replay(tools, tmp_path, program, config)
    assert replayed == wanted


def quoted(name: str) -> str:
    return re.sub(r"""["'{}\\]""", lambda match: f"\\{ord(match[0]):02X}", name)


def test_a_dump_has_what_replays_it(tools, tmp_path):
    program, config = SHIPPED["gpt_4_4_4"]
    tools.check(
        *("meshwright", "partition", program, "--config", config),
        *("--set", f"mpmd_dump={tmp_path / 'dump'}", "-o", tmp_path / "out"),
    )
    (folder,) = (tmp_path / "dump").iterdir()
    pipeline = (folder / "pipeline.txt").read_text().strip()
    replayed = tools.check(
        "mpmd-opt", folder / "program.mlir", f"--pass-pipeline={pipeline}"
    )
    assert replayed == (tmp_path / "out" / "partitioned.mlir").read_text()
    phases = sorted(path.name for path in folder.iterdir() if path.is_dir())
    expected = ["1-prepare", "2-import", "3-optimize", "4-shard", "5-export"]
    assert phases == expected
    assert list((folder / "2-import").rglob("*mpmd-map-named-ops-to-mpmd-ops.mlir"))
    statistics = (folder / "statistics.txt").read_text()
    if "builds without assertions" not in statistics:
        for counted in COUNTED:
            assert re.search(counted, statistics, re.M), counted
        # What else has changed anything is a pass of MLIR, or its greedy driver,
        # which moves constants silently (COMPAT(greedy-cleanup)).
        uncounted = re.findall(r"^\w+: (\S+)\n.*Functions or modules", statistics, re.M)
        assert {name for name in uncounted if name.startswith(OURS)} <= {
            "mpmd-absorb-inferred-fragments",
            "mpmd-canonicalize",
        }
    changed = r"^export: cse\n +\d+ num-changed .*\n +0 num-more "
    assert re.search(changed, statistics, re.M)
    # What has changed the program has counted something.
    counted = set(re.findall(r"^\w+: (\S+)$", statistics, re.M))
    assert {
        re.sub(r"^[\d_]+", "", path.stem) for path in folder.glob("*/**/*.mlir")
    } <= (counted)
    times = (folder / "time.txt").read_text()
    assert "LowerToFragmentCallsPass" in times
    assert re.search(r"^ +\d+\.\d+ s  Dump, in the lines of phases", times, re.M)
    remarks = (folder / "remarks.txt").read_text()
    assert re.search(r"^\[merge\] \S+:\d+:\d+: .* were merged into one$", remarks, re.M)
    assert re.search(r"^\[absorb, not done\] .* is not merged: ", remarks, re.M)


def test_compiles_do_not_share_a_folder(tools, tmp_path):
    command = ("partition", *SHIPPED["first"][:1], "--config", SHIPPED["first"][1])
    for _ in range(2):
        tools.check(
            *("meshwright", *command, "-o", "-"),
            *("--set", f"mpmd_dump={tmp_path}"),
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["main", "main.1"]


def test_what_fails_leaves_a_reproducer(tools, tmp_path):
    program = tmp_path / "program.mlir"
    program.write_text(PROGRAM.replace("NAME", "f"))
    config = tmp_path / "config.json"
    topology = {"m": {"x": 2}, "n": {"x": 2}}
    config.write_text(json.dumps({"topology": topology, "assignment": {"g": "n"}}))
    crash = tmp_path / "crash.mlir"
    done = tools.run(
        *("meshwright", "partition", program, "--config", config),
        *("--set", f"mpmd_reproducer={crash}", "-o", "-"),
        *("--set", f"mpmd_dump={tmp_path / 'dump'}"),
    )
    assert done.returncode == 1
    message = "'f' is not assigned to a mesh"
    assert message in done.stderr
    # A dump has what failed, though that has changed nothing.
    last = max(
        (tmp_path / "dump").rglob("*.mlir"), key=lambda path: path.stat().st_mtime_ns
    )
    assert "Failed" in last.read_text().splitlines()[0]
    again = tools.run("mpmd-opt", crash, "--run-reproducer")
    assert again.returncode == 1
    assert message in again.stderr
    crash.unlink()
    config.write_text(
        json.dumps({"topology": topology, "assignment": {"f": "m", "g": "m"}})
    )
    tools.check(
        *("meshwright", "partition", program, "--config", config),
        *("--set", f"mpmd_reproducer={crash}", "-o", "-"),
    )
    assert not crash.exists()


def test_remarks_of_the_kinds_that_were_asked_for(tools):
    program, config = SHIPPED["gpt_4_4_4"]

    def remarks(*settings):
        command = ("partition", program, "--config", config, "-o", "-")
        done = tools.run("meshwright", *command, *settings)
        assert done.returncode == 0
        return re.findall(r"remark: (.*)", done.stderr)

    assert remarks() == []
    everything = remarks("--set", "mpmd_remarks=.*")
    merges = remarks("--set", "mpmd_remarks=merge")
    assert any(text.endswith("were merged into one") for text in merges)
    assert any(text.startswith("the transfer to mesh") for text in everything)
    assert 0 < len(merges) < len(everything)
