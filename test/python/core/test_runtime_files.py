"""Files that Python writes appear whole or not at all."""

import concurrent.futures
import multiprocessing
import os
import signal
import sys

import pytest
from meshwright.core.files import make_private_folder, whole_file
from support.launching import LIMIT

import meshwright as mw


def test_error_leaves_what_was_there(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="half way"), whole_file(path) as file:
        file.write("ne")
        file.flush()
        assert path.read_text() == "old"
        raise RuntimeError("half way")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_file_is_replaced_with_its_permissions_and_links(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(path)
    with whole_file(link) as file:
        file.write("new")
    assert link.is_symlink() and path.read_text() == "new"
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask
    path.chmod(0o640)
    with whole_file(link) as file:
        file.write("newer")
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["file", "link"]


def test_threads_that_write_at_once_keep_the_umask(tmp_path):
    def write(name):
        for number in range(200):
            with whole_file(tmp_path / f"{name}{number}") as file:
                file.write("new")

    interval, mask = sys.getswitchinterval(), os.umask(0o027)
    sys.setswitchinterval(1e-6)
    try:
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(write, "abcdefgh"))
    finally:
        sys.setswitchinterval(interval)
        left = os.umask(mask)
    assert left == 0o027
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o640}


def test_device_is_written_to_as_it_is():
    with pytest.raises(OSError, match="No space"), whole_file("/dev/full") as file:
        file.write("text")
        file.flush()
    with whole_file("/dev/null") as file:
        file.write("text")


def write_and_die(path):
    with whole_file(path) as file:
        file.write("ne")
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)


def write_often(path, text, ready):
    ready.wait()
    for _ in range(200):
        with whole_file(path) as file:
            file.write(text)


# JAX may have threads in this process, which a fork would not have.
SPAWNING = multiprocessing.get_context("spawn")


def start(*arguments) -> multiprocessing.Process:
    process = SPAWNING.Process(target=arguments[0], args=arguments[1:])
    process.start()
    return process


def test_who_is_killed_half_way_leaves_what_was_there(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    process = start(write_and_die, path)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert path.read_text() == "old"


def test_of_two_writers_one_wins(tmp_path):
    path, texts = tmp_path / "file", ["a" * 100_000, "b" * 50_000]
    path.write_text(texts[0])
    # To read while they import the package would take as much as they do.
    ready = SPAWNING.Barrier(len(texts) + 1, timeout=LIMIT)
    processes = [start(write_often, path, text, ready) for text in texts]
    ready.wait()
    while any(process.is_alive() for process in processes):
        assert path.read_text() in texts
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert os.listdir(tmp_path) == ["file"]


@pytest.fixture
def shared(tmp_path):
    """A folder where all may make files, as /tmp."""
    if os.geteuid():
        pytest.skip("only root makes files of another user")
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@pytest.mark.parametrize("kind", ["link", "dangling", "folder", "chain", "pipe"])
def test_what_another_user_has_put_there_is_not_followed(kind, shared, tmp_path):
    mine, trap = tmp_path / "mine", shared / "out"
    mine.mkdir()
    (mine / "file").write_text("mine")
    path, other = trap, 12345
    if kind == "pipe":
        os.mkfifo(trap)
    elif kind == "folder":
        trap.symlink_to(mine)
        path = trap / "file"
    elif kind == "chain":
        trap.symlink_to(mine / "file")
        path = tmp_path / "own"
        path.symlink_to(trap)
    else:
        trap.symlink_to(mine / ("file" if kind == "link" else "new"))
    os.lchown(trap, other, other)
    with (
        pytest.raises(PermissionError, match="of another user in a folder where all"),
        whole_file(path) as file,
    ):
        file.write("theirs")
    assert (mine / "file").read_text() == "mine"
    assert os.listdir(mine) == ["file"]
    os.lchown(trap, os.geteuid(), os.getegid())  # One's own is followed.
    if kind != "pipe":
        with whole_file(path) as file:
            file.write("own")
        assert "own" in [entry.read_text() for entry in mine.iterdir()]


def test_a_private_folder_is_for_its_owner_alone(tmp_path):
    path = tmp_path / "job" / "0"
    for _ in range(2):
        make_private_folder(path)
        assert path.stat().st_mode & 0o777 == 0o700


def test_copies_are_not_kept_where_another_user_could_change_them(
    tmp_path, monkeypatch
):
    (tmp_path / "job" / "0").mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(PermissionError, match="a folder of another user, who could"):
        mw.elastic.Copies(folder=tmp_path / "job")


def test_copies_are_not_kept_through_a_link_of_another_user(shared, tmp_path):
    trap = shared / "job"
    trap.symlink_to(tmp_path / "mine")
    os.lchown(trap, 12345, 12345)
    with pytest.raises(PermissionError, match="a link of another user in a folder"):
        mw.elastic.Copies(folder=trap)
    assert not (tmp_path / "mine").exists()
