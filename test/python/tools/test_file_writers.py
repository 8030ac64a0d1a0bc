"""Every writer of files: where the new file does not fit, the old one stays."""

import json
import os
import pathlib
import shlex
import subprocess
import sys

import pytest
from support.tools import ROOT

# In the folder $1, a file system with room for `file` alone. $2 is how it is mounted
# when the commands come, one a line on standard input; then what is left is printed.
SCRIPT = """
cd "$1" && echo old >file && mount -o remount,"$2" "$1" || exit 9
while IFS= read -r line; do
  eval "$line" >/dev/null 2>../said && echo "wrote it: $line"
  grep -q "$3" ../said || { echo "does not say $3: $line"; cat ../said; }
  [ "$(ls -A)" = file ] && [ "$(cat file)" = old ] || { echo "left: $line"; ls -A; }
done
"""
PLACES = {"rw": "No space left on device", "ro": "Read-only file system"}

PROGRAM = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mpmd.named_computation<"a"> (%x) (%y: tensor<4xf32>) {
    %1 = stablehlo.sine %y : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
CONFIG = {"topology": {"m": {"x": 1}}, "assignment": {"a": "m"}}
LAYER = {"name": "a", "repeat": 4, "flops": 1e9, "parameter_bytes": 4e6}
LAYERS = {"batch": 8, "layers": [LAYER | {"activation_bytes": 8e3}]}

PYTHON = """
import sys, types, warnings
from bench import report
from meshwright.planning import Plan
from meshwright.runtime.load import cache
from meshwright.runtime.program import python_calls
from meshwright.runtime.watch.profile import Recording
from meshwright.simulation import draw

recording = Recording()
plan = types.SimpleNamespace(config={"topology": {}})
source = types.SimpleNamespace(
    callbacks=python_calls.find_python_calls([]), key=1, describe=lambda: "a fragment"
)
executable = types.SimpleNamespace(serialize=lambda: b"code")
kept = cache.FragmentCache(cache.pathlib.Path("."))
kept._path = lambda digest: cache.pathlib.Path("file")
cache._digest = lambda source: "digest"
report.BASELINE, report.read_baseline = cache.pathlib.Path("file"), dict
text = open("../simulation.json").read()
warnings.simplefilter("error")
writers = [
    lambda: recording.save("file"),
    lambda: recording.save_profile("file"),
    lambda: recording.save_chrome_trace("file"),
    lambda: Plan.save(plan, "file"),
    lambda: draw(text, "file", "svg", None, None),
    lambda: kept.write(source, executable),
    lambda: report.update_baseline([], {}),
]
errors = []
for write in writers:
    try:
        write()
    except (OSError, RuntimeWarning) as error:
        errors.append(str(error))
print(*errors, sep="\\n", file=sys.stderr)
assert len(errors) in (0, len(writers))
sys.exit(bool(errors))
"""


@pytest.fixture
def writers(tools, tmp_path) -> list[str]:
    """Commands that write `file` in a folder beside their inputs."""
    (tmp_path / "p.mlir").write_text(PROGRAM)
    (tmp_path / "c.json").write_text(json.dumps(CONFIG))
    (tmp_path / "layers.json").write_text(json.dumps(LAYERS))
    (tmp_path / "write.py").write_text(PYTHON)
    (tmp_path / "yes.sh").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "yes.sh").chmod(0o755)
    partition = ["partition", tmp_path / "p.mlir", "--config", tmp_path / "c.json"]
    tools.check("meshwright", *partition, "-o", tmp_path / "out")
    simulated = tools.check(
        "meshwright", "simulate", tmp_path / "out", "--device=h100", "--json", "--items"
    )
    (tmp_path / "simulation.json").write_text(simulated)
    commands = [
        "mpmd-opt ../p.mlir -o file",
        "mpmd-opt ../p.mlir --emit-bytecode -o file",
        "mpmd-reduce ../p.mlir --mpmd-reduce-program=test=../yes.sh -o file",
        "meshwright erase ../p.mlir -o file",
        "meshwright plan ../layers.json --devices 8 -o file",
        "meshwright partition ../p.mlir --config ../c.json -o - "
        "--set mpmd_reproducer=file",
        *(
            f"meshwright draw ../simulation.json --format {format} -o file"
            for format in ("html", "svg", "perfetto", "dot", "text")
        ),
    ]
    python = shlex.join([sys.executable, str(tmp_path / "write.py")])
    return [*(f"{tools.folder}/{command}" for command in commands), python]


def environment(tools) -> dict[str, str]:
    paths = [ROOT / "python", tools.folder.parent / "python", ROOT]
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}


@pytest.mark.parametrize("place", PLACES)
def test_where_there_is_no_room_the_old_file_stays(
    tools, tmp_path, mounted, writers, place
):
    script: pathlib.Path = tmp_path / "place.sh"
    script.write_text(SCRIPT)
    folder = tmp_path / "full"
    folder.mkdir()
    done = subprocess.run(
        [*mounted(folder, "size=4k"), "bash", script, folder, place, PLACES[place]],
        input="".join(f"{command}\n" for command in writers),
        capture_output=True,
        text=True,
        env=environment(tools),
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_all_of_them_write_where_there_is_room(tools, tmp_path, writers):
    """Or else the test above would say nothing."""
    (tmp_path / "full").mkdir()
    for command in writers:
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path / "full",
            capture_output=True,
            text=True,
            env=environment(tools),
        )
        assert done.returncode == 0, (command, done.stderr)
        if "mpmd_reproducer" not in command:  # Removed when all went well.
            (tmp_path / "full" / "file").unlink()
        assert not os.listdir(tmp_path / "full"), command


# In the folder $1, a dump beside what is the user's; then the error, and what is left.
DUMP = """
cd "$1" && mkdir main && echo mine >main/program.mlir && echo mine >other || exit 9
if [ "$2" = ro ]; then mount -o remount,ro "$1" || exit 9; fi
"$3/meshwright" partition "$4/p.mlir" --config "$4/c.json" -o "$4/out" \\
  --set mpmd_dump="$1" >/dev/null 2>"$4/said"
echo "code $?" && cat main/program.mlir other && find . -name '*.tmp'
find . -type f -name '*.mlir' -empty
"""


def _dump(tools, tmp_path, command, place):
    (tmp_path / "p.mlir").write_text(PROGRAM)
    (tmp_path / "c.json").write_text(json.dumps(CONFIG))
    (tmp_path / "dump").mkdir(exist_ok=True)
    (tmp_path / "dump.sh").write_text(DUMP)
    done = subprocess.run(
        [*command, "bash", tmp_path / "dump.sh", tmp_path / "dump", place]
        + [tools.folder, tmp_path],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), (tmp_path / "said").read_text()


@pytest.mark.parametrize(
    ("options", "place", "text"),
    [
        ("size=8k", "rw", "main.1/program.mlir: cannot be written: No space left"),
        ("size=40k", "rw", "No space left on device"),
        ("size=64k", "ro", "options.mpmd_dump: cannot make a folder in "),
    ],
    ids=["no room for the program", "no room for what passes leave", "read-only"],
)
def test_a_dump_without_room_is_an_error(
    tools, tmp_path, mounted, options, place, text
):
    command = mounted(tmp_path / "dump", options)
    (tmp_path / "dump").mkdir()
    printed, said = _dump(tools, tmp_path, command, place)
    # Nothing of the user's is gone, nothing half is there, and nothing crashed.
    assert printed == ["code 1", "mine", "mine"], said
    assert text in said
    assert said.count("error:") == 1 and "bug in Meshwright" not in said
    assert not (tmp_path / "out").exists()
    if options == "size=40k":
        assert "options.mpmd_dump: " in said and "main.1/" in said


def test_a_dump_leaves_files_of_the_user_alone(tools, tmp_path):
    printed, said = _dump(tools, tmp_path, [], "rw")
    assert printed == ["code 0", "mine", "mine"], said
    dump = tmp_path / "dump" / "main.1"
    assert (dump / "program.mlir").read_text().startswith("#loc")
    assert list(
        dump.glob("2-import/builtin_module_no-symbol-name/func_func_main/*.mlir")
    )
