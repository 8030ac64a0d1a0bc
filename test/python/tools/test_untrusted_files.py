"""A file from elsewhere runs no code, and writes nowhere but into the output."""

import json
import os
import subprocess
import xml.etree.ElementTree

import pytest

TEXT = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mpmd.named_computation<"f"> (%x) (%a: tensor<4xf32>) {
    %1 = stablehlo.tanh %a : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
NAMES = ["../up", "/absolute", "a/b", "..", "$(touch pwned)", "`touch pwned`", "-o"]
NAMES += ["; touch pwned", "pwned\n.", "|touch pwned"]


def listing(folder) -> set[str]:
    found = set()
    for root, folders, files in os.walk(folder):
        found |= {os.path.relpath(os.path.join(root, f), folder) for f in files}
        found |= {os.path.relpath(os.path.join(root, f), folder) for f in folders}
    return found


class Place:
    """A folder to work in, of which commands may change `work/out` alone."""

    def __init__(self, tools, root):
        self.tools, self.root = tools, root
        self.work = root / "work"
        self.work.mkdir()

    def write(self, name: str, text: str) -> str:
        (self.work / name).write_text(text)
        return name

    def run(self, *arguments):
        """Runs a command there; returns it, once nothing else is found changed."""
        before = listing(self.root)
        done = subprocess.run(
            [self.tools.folder / "meshwright", *arguments],
            cwd=self.work,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
        )
        assert done.returncode in (0, 1), done.stderr
        new = listing(self.root) - before
        assert all(f == "work/out" or f.startswith("work/out/") for f in new), new
        return done


@pytest.fixture
def place(tools, tmp_path):
    return Place(tools, tmp_path)


def config(**entries) -> str:
    known = {"topology": {"m": {"x": 1}}, "assignment": {"f": "m"}}
    return json.dumps(known | entries)


def partition(place, text: str, settings: str):
    place.write("p.mlir", text)
    place.write("c.json", settings)
    return place.run("partition", "p.mlir", "--config=c.json", "-o", "out")


@pytest.mark.parametrize("name", NAMES)
def test_names_do_not_leave_the_output(place, name):
    quoted = json.dumps(name)
    escaped = name.replace("\n", "\\0A")
    named = TEXT.replace('<"f">', f'<"{escaped}">')
    renamed = TEXT.replace("@main", f'@"{escaped}"')
    for text, settings in (
        (TEXT, config(topology={name: {"x": 1}}, assignment={"f": name})),
        (named, config(assignment={name: "m"})),
        (renamed, config(function=name)),
    ):
        done = partition(place, text, settings)
        if text is TEXT and "\n" in name:
            assert "a mesh name is not empty" in done.stderr
            continue
        assert done.returncode == 0, done.stderr
        files = listing(place.work / "out" / "fragments")
        assert files
        for file in files:
            assert "/" not in file and not file.startswith("."), quoted


@pytest.mark.parametrize("option", ["mpmd_dump", "mpmd_reproducer"])
def test_configuration_does_not_say_where_to_write(place, option):
    target = place.root / "elsewhere"
    settings = config(options={option: os.fspath(target)})
    done = partition(place, TEXT, settings)
    assert done.returncode == 1
    assert f"c.json: options.{option} says where to write" in done.stderr
    assert f"--set {option}={target}" in done.stderr
    assert not target.exists() and not (place.work / "out").exists()


def test_links_in_the_output_are_not_followed(place):
    partition(place, TEXT, config())
    target = place.root / "target"
    target.mkdir()
    # Someone who may write there puts links where files will be.
    for name in ("fragments", "schedule.json"):
        out = place.work / "out" / name
        if out.is_dir():
            for file in out.iterdir():
                file.unlink()
            out.rmdir()
        else:
            out.unlink()
        out.symlink_to(target / name if name == "schedule.json" else target)
        done = partition(place, TEXT, config())
        assert done.returncode == 1
        assert f"{name} " in done.stderr
        assert not listing(target)
        out.unlink()
        partition(place, TEXT, config())


def test_pickles_are_no_files_of_ours(place):
    class Payload:
        def __reduce__(self):
            return os.system, ("touch pwned",)

    import pickle

    for name in ("p.mlir", "c.json", "plan.csv", "schedule.json"):
        (place.work / name).write_bytes(pickle.dumps(Payload()))
    for command in (
        ["partition", "p.mlir", "--config=c.json", "-o", "out"],
        ["check", "p.mlir"],
        ["erase", "p.mlir"],
        ["schedule", "file:plan.csv", "--meshes=2", "--microbatches=2"],
        ["simulate", "."],
        ["draw", ".", "-o", "out"],
        ["plan", "c.json", "--devices=8"],
    ):
        assert place.run(*command).returncode == 1, command


def test_programs_that_are_compiled_are_not_run(place):
    call = 'stablehlo.custom_call @system(%a) {backend_config = "touch pwned"} : '
    text = TEXT.replace("stablehlo.tanh %a :", call + "(tensor<4xf32>) ->")
    assert partition(place, text, config()).returncode == 0


@pytest.mark.parametrize("field", ["name", "mesh"])
def test_folder_of_an_export_is_not_left_when_it_is_read(place, field):
    from meshwright.runtime import read_folder

    import meshwright as mw

    partition(place, TEXT, config())
    path = place.work / "out" / "schedule.json"
    program = json.loads(path.read_text())
    program["fragments"][0][field] = "../../secret"
    path.write_text(json.dumps(program))
    (place.root / "secret.mlir").write_text("module {}")
    if field == "name":
        with pytest.raises(mw.ProgramError, match="cannot be read"):
            read_folder(place.work / "out")
    for command in (["simulate", "out", "--device=h100"], ["draw", "out"]):
        place.run(*command)


def test_names_do_not_command_a_terminal(place):
    done = partition(place, 'module @"red\\1B[31m" {' + TEXT + "}", config())
    assert done.returncode == 0, done.stderr
    table = place.run("simulate", "out", "--device=h100").stdout
    drawn = place.run("draw", "out", "--title=red\x1b[31m").stdout
    assert "\x1b" not in table + drawn
    assert "red\\x1B[31m" in table
    assert drawn.startswith("red\\x1B[31m: makespan")


def test_images_of_files_with_any_name_are_read(place):
    assert partition(place, TEXT, config()).returncode == 0
    (place.work / "out").rename(os.fsdecode(os.fsencode(place.work) + b"/a\xffb"))
    image = place.run("draw", os.fsdecode(b"a\xffb"), "--format=svg").stdout
    texts = [element.text for element in xml.etree.ElementTree.fromstring(image).iter()]
    assert any(text and text.startswith("a\\xFFb: makespan") for text in texts)
    graph = place.run("draw", os.fsdecode(b"a\xffb"), "--format=dot").stdout
    assert graph.startswith('digraph "a\\\\xFFb" {')
