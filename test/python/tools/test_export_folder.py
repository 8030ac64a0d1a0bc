"""An export is there as a whole or not at all, and removes nothing but exports."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest
from meshwright.runtime import read_folder

MANIFEST = ".meshwright-manifest.json"


def program(parts: int) -> str:
    """A chain of named computations, each a fragment of its own."""
    lines = ["func.func @main(%v0: tensor<4xf32>) -> tensor<4xf32> {"]
    for i in range(parts):
        shift = ", ".join(f"{i}.{k}" for k in range(4))
        lines += [
            f'  %v{i + 1} = mpmd.named_computation<"n{i}"> (%v{i})',
            "      (%a: tensor<4xf32>) {",
            f"    %c = stablehlo.constant dense<[{shift}]> : tensor<4xf32>",
            "    %0 = stablehlo.add %a, %c : tensor<4xf32>",
            "    mpmd.return %0 : tensor<4xf32>",
            "  } : (tensor<4xf32>) -> tensor<4xf32>",
        ]
    return "\n".join([*lines, f"  return %v{parts} : tensor<4xf32>", "}"])


def config(parts: int) -> str:
    return json.dumps(
        {
            "topology": {"m0": {"x": 1}, "m1": {"x": 1}},
            "assignment": {f"n{i}": f"m{i % 2}" for i in range(parts)},
            "options": {"mpmd_infer_transfers": True},
        }
    )


class Exporter:
    """Exports programs of a number of parts into one folder."""

    def __init__(self, tools, folder):
        self.tools, self.folder, self.out = tools, folder, folder / "exports" / "out"

    def arguments(self, parts: int, *options) -> list:
        for name, text in (("mlir", program(parts)), ("json", config(parts))):
            path = self.folder / f"p{parts}.{name}"
            if not path.exists():  # Another process may read it just now.
                path.write_text(text)
        source, settings = (self.folder / f"p{parts}.{e}" for e in ("mlir", "json"))
        # Later options win.
        options = options if "-o" in options else (*options, "-o", self.out)
        return ["partition", source, "--config", settings, *options]

    def start(
        self, parts: int, *options, prefix=(), stdout=subprocess.DEVNULL
    ) -> subprocess.Popen:
        command = [*prefix, self.tools.folder / "meshwright"]
        command += self.arguments(parts, *options)
        return subprocess.Popen(
            [os.fspath(part) for part in command],
            stdout=stdout,
            stderr=subprocess.PIPE,
        )

    def run(self, parts: int, *options):
        return self.tools.run("meshwright", *self.arguments(parts, *options))

    def check(self, parts: int, *options) -> None:
        done = self.run(parts, *options)
        assert done.returncode == 0, done.stderr

    def refuses(self, parts: int, *options) -> str:
        before = contents(self.out)
        done = self.run(parts, *options)
        assert done.returncode == 1
        assert done.stderr.count("error:") == 1, done.stderr
        assert contents(self.out) == before
        assert not self.leftovers()
        return done.stderr

    def leftovers(self) -> list[str]:
        parent = self.out.parent
        return [] if not parent.exists() else sorted(set(os.listdir(parent)) - {"out"})


def contents(folder) -> dict[str, str]:
    """Path to hash of everything below a folder."""
    return {
        os.path.relpath(path, folder): hashlib.sha1(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def export(tools, tmp_path):
    return Exporter(tools, tmp_path)


def test_manifest_lists_what_was_written(export):
    export.check(3)
    files = json.loads((export.out / MANIFEST).read_text())["files"]
    assert set(files) == set(contents(export.out)) - {MANIFEST}
    assert len(read_folder(export.out)[1]) == 3
    assert not export.leftovers()


def test_nothing_of_the_former_run_is_left(export):
    export.check(5)
    export.check(2)
    assert len(os.listdir(export.out / "fragments")) == 2
    export.check(2, "--emit-bytecode")
    assert (export.out / "partitioned.mlirbc").exists()
    assert not list(export.out.rglob("*.mlir"))
    export.check(2, "--until=import")
    assert set(contents(export.out)) == {"partitioned.mlir", MANIFEST}
    assert not (export.out / "fragments").exists()


def test_files_of_others_stay(export):
    export.check(2)
    (export.out / "fragments" / "hand_written.mlir").write_text("module {}")
    (export.out / "notes.txt").write_text("keep me")
    (export.out / "link").symlink_to("notes.txt")
    (export.out / "fragments" / "gone").symlink_to("nowhere")
    inode = os.stat(export.out / "notes.txt").st_ino
    for options in ((), ("--until=import",), ()):
        export.check(3, *options)
        assert (export.out / "fragments" / "hand_written.mlir").read_text()
        assert os.stat(export.out / "notes.txt").st_ino == inode
        assert os.readlink(export.out / "link") == "notes.txt"
        assert os.readlink(export.out / "fragments" / "gone") == "nowhere"
    assert len(list((export.out / "fragments").iterdir())) == 5
    assert not export.leftovers()


def test_input_may_lie_in_the_folder(export, tools):
    export.out.mkdir(parents=True)
    (export.out / "fragments").mkdir()
    source = export.out / "fragments" / "input.mlir"
    settings = export.out / "config.json"
    source.write_text(program(2))
    settings.write_text(config(2))
    arguments = ["partition", source, "--config", settings, "-o", export.out]
    tools.check("meshwright", *arguments)
    tools.check("meshwright", *arguments)
    assert source.read_text() == program(2)
    assert settings.read_text() == config(2)


def test_result_of_an_earlier_phase_may_be_its_own_input(export, tools):
    export.check(2, "--until=import")
    settings = export.folder / "p2.json"
    arguments = ["--config", settings, "--from=optimize", "-o", export.out]
    tools.check("meshwright", "partition", export.out / "partitioned.mlir", *arguments)
    assert len(read_folder(export.out)[1]) == 2


def test_file_of_others_in_the_way_is_refused(export):
    export.out.mkdir(parents=True)
    (export.out / "partitioned.mlir").write_text("mine")
    error = export.refuses(2)
    assert "out: partitioned.mlir is in the way" in error
    assert "move it, or name another folder" in error
    (export.out / "partitioned.mlir").unlink()
    (export.out / "fragments").write_text("a file")
    assert "fragments is in the way" in export.refuses(2)


def test_file_changed_by_hand_is_refused(export):
    export.check(2)
    path = export.out / "partitioned.mlir"
    path.write_text(path.read_text() + "// tuned\n")
    error = export.refuses(2)
    assert "partitioned.mlir was changed since meshwright wrote it" in error


def test_folder_of_others_is_refused(export):
    export.check(2)
    (export.out / "mine").mkdir()
    (export.out / "mine" / "file").write_text("")
    assert "the folder mine in it is not part of an export" in export.refuses(2)


def test_current_folder_is_refused(export, tools):
    export.check(2)
    before = contents(export.out)
    arguments = map(os.fspath, export.arguments(3, "-o", "."))
    done = subprocess.run(
        [os.fspath(tools.folder / "meshwright"), *arguments],
        cwd=export.out,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "while it is the current one" in done.stderr
    assert contents(export.out) == before


def test_folder_may_be_given_in_any_way(export, tmp_path):
    export.check(2, "-o", f"{tmp_path}/new/deep//out/")
    (tmp_path / "link").symlink_to(tmp_path / "new" / "deep" / "out")
    export.check(3, "-o", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert len(read_folder(tmp_path / "new" / "deep" / "out")[1]) == 3
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    done = export.run(2, "-o", tmp_path / "dangling")
    assert done.returncode == 1 and "or remove the link" in done.stderr


# Runs a command whose files may grow to two kilobytes.
LIMITED = ["bash", "-c", 'ulimit -f 2; exec "$@"', "bash"]


def test_file_that_cannot_be_written_leaves_the_old_folder(export):
    export.check(2)
    before = contents(export.out)
    process = export.start(40, prefix=LIMITED)
    error = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 1
    assert "cannot be written" in error and "PLEASE" not in error
    assert contents(export.out) == before
    assert not export.leftovers()
    # Nor is a new one half made.
    shutil.rmtree(export.out)
    process = export.start(40, prefix=LIMITED)
    process.communicate(timeout=60)
    assert process.returncode == 1
    assert not export.out.exists() and not export.leftovers()


def test_full_disk_is_an_error_without_half_a_folder(export, mounted):
    export.out.parent.mkdir()
    # A folder and its files are listed when the command has ended.
    listed = ["bash", "-c", '"$@"; echo "code $?"; find . -type f; ls -A', "bash"]
    command = mounted(export.out.parent, "size=32k")
    command += ["env", "-C", export.out.parent, *listed]
    process = export.start(40, prefix=command, stdout=subprocess.PIPE)
    listing, error = (text.decode() for text in process.communicate(timeout=60))
    assert "cannot be written: No space left on device" in error
    assert listing == "code 1\n"


def test_folder_that_is_only_read_is_an_error(export, mounted):
    export.out.parent.mkdir()
    process = export.start(2, prefix=mounted(export.out.parent, "ro"))
    error = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 1
    assert error.count("error:") == 1 and "Read-only file system" in error


def test_killed_at_any_moment_old_or_new_is_whole(export):
    known = []
    seconds = 0.0
    for parts in (30, 20):
        start = time.monotonic()
        export.check(parts)
        seconds = max(seconds, time.monotonic() - start)
        known.append(contents(export.out))
    (export.out / "notes.txt").write_text("keep me")
    notes = {"notes.txt": contents(export.out)["notes.txt"]}
    known = [{**files, **notes} for files in known]
    chance = random.Random(5)
    # Most moments are in the compile; half of the kills come when files appear.
    for trial in range(20):
        process = export.start((30, 20)[trial % 2])
        if trial % 2 or trial < 4:
            deadline = time.monotonic() + 10
            while process.poll() is None and time.monotonic() < deadline:
                if len(os.listdir(export.out.parent)) > 1:
                    break
            time.sleep(chance.uniform(0, 0.02))
        else:
            time.sleep(chance.uniform(0, seconds))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert contents(export.out) in known
    export.check(20)
    assert contents(export.out) == known[1]
    assert not export.leftovers()


def test_of_two_writers_one_wins(export):
    known = []
    for parts in (25, 15):
        export.check(parts)
        known.append(contents(export.out))
    (export.out / "notes.txt").write_text("keep me")
    notes = {"notes.txt": contents(export.out)["notes.txt"]}
    known = [{**files, **notes} for files in known]
    for trial in range(4):
        if trial == 3:
            shutil.rmtree(export.out)
            known = [{k: f[k] for k in f if k != "notes.txt"} for f in known]
        processes = [export.start(parts) for parts in (25, 15, 25)]
        for process in processes:
            error = process.communicate(timeout=120)[1].decode()
            assert process.returncode == 0, error
        assert contents(export.out) in known
        assert not export.leftovers()


def test_reader_sees_one_program_while_others_come(export):
    export.check(10)
    processes = [export.start(parts) for parts in (20, 10, 20)]
    running = True
    while running:  # Once more when they are done.
        running = any(process.poll() is None for process in processes)
        schedule, modules = read_folder(export.out)
        assert len(schedule["fragments"]) == len(modules)
        assert len(modules) in (10, 20)
    for process in processes:
        error = process.communicate()[1].decode()
        assert process.returncode == 0, error


@pytest.mark.parametrize("tool", ["meshwright", "mpmd-opt"])
def test_output_file_is_old_or_new_as_a_whole(tools, tmp_path, tool):
    verb = ["erase"] if tool == "meshwright" else []
    path = tmp_path / "p.mlir"
    text = program(200)
    path.write_text(text)
    os.chmod(path, 0o640)
    command = [*LIMITED, tools.folder / tool, *verb, path, "-o", path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "p.mlir: cannot be written" in done.stderr
    assert path.read_text() == text
    assert os.listdir(tmp_path) == ["p.mlir"]
    # Its input may be its output, also through a link.
    (tmp_path / "link").symlink_to(path)
    tools.check(tool, *verb, path, "-o", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert path.read_text() == tools.check(tool, *verb, path)
    assert os.stat(path).st_mode & 0o777 == 0o640


def test_full_device_is_an_error(tools, tmp_path):
    (tmp_path / "p.mlir").write_text(program(2))
    for command in (["mpmd-opt"], ["meshwright", "erase"]):
        tool, *verb = command
        done = tools.run(tool, *verb, tmp_path / "p.mlir", "-o", "/dev/full")
        assert done.returncode == 1
        assert "/dev/full: cannot be written: No space left" in done.stderr


def test_names_that_are_not_utf8_are_escaped(tools, tmp_path):
    folder = os.fsencode(tmp_path)
    source = folder + b"/p\xff.mlir"
    with open(source, "w") as file:
        file.write(
            "func.func @main(%x: tensor<f32>)"
            ' -> (tensor<f32> {jax.result_info = "\\FFr\\C3\\A9"}) {\n'
            '  %0 = mpmd.named_computation<"n\\FE"> (%x) (%a: tensor<f32>) {\n'
            "    %1 = stablehlo.tanh %a : tensor<f32>\n"
            "    mpmd.return %1 : tensor<f32>\n"
            "  } : (tensor<f32>) -> tensor<f32>\n"
            "  return %0 : tensor<f32>\n}"
        )
    (tmp_path / "c.json").write_text('{"topology": {"m": {"x": 1}}}')
    command = [tools.folder / "meshwright", "partition", source]
    options = ["--config", tmp_path / "c.json", "-o", tmp_path / "out"]
    done = subprocess.run([*command, *options], capture_output=True, timeout=60)
    assert done.returncode == 1  # The name has no mesh, and cannot be given one.
    assert b"p\xff.mlir" in done.stderr and b"PLEASE" not in done.stderr
    with open(source, "r+") as file:
        text = file.read().replace("n\\FE", "n")
        file.seek(0)
        file.truncate()
        file.write(text)
    (tmp_path / "c.json").write_text(
        '{"topology": {"m": {"x": 1}}, "assignment": {"n": "m"}}'
    )
    done = subprocess.run([*command, *options], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    schedule = json.loads((tmp_path / "out" / "schedule.json").read_bytes())
    assert schedule["outputs"][0]["name"] == "\\xFFré"
    assert "p\\xFF.mlir:" in json.dumps(schedule, ensure_ascii=False).replace(
        "\\\\", "\\"
    )
    assert len(read_folder(tmp_path / "out")[1]) == 1


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_all_of_a_folder_has_the_permissions_of_the_umask(mask, export):
    before = os.umask(mask)
    try:
        export.check(2)
    finally:
        os.umask(before)
    for path in [export.out.parent, export.out, *export.out.rglob("*")]:
        wanted = (0o777 if path.is_dir() else 0o666) & ~mask
        assert path.stat().st_mode & 0o777 == wanted, path


@pytest.mark.parametrize("kind", ["folder", "file", "chain"])
def test_links_of_another_user_in_a_shared_folder_are_not_followed(kind, export):
    if os.geteuid():
        pytest.skip("only root makes links of another user")
    shared, mine = export.folder / "shared", export.folder / "mine"
    mine.mkdir()
    shared.mkdir()
    shared.chmod(0o1777)
    trap = shared / "trap"
    trap.symlink_to(mine)
    os.lchown(trap, 12345, 12345)
    path = {"folder": trap, "file": trap / "out.mlir", "chain": export.folder / "own"}
    path["chain"].symlink_to(trap)
    # A folder with everything, or one file.
    options = ["--until=import"] if kind == "file" else []
    done = export.run(2, *options, "-o", path[kind])
    assert done.returncode == 1
    assert "is a link of another user in a folder where all may make" in done.stderr
    assert not contents(mine)
    os.lchown(trap, os.geteuid(), os.getegid())
    export.check(2, *options, "-o", path[kind])
    assert contents(mine)
