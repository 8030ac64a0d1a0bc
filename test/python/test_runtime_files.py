"""Files that Python writes appear whole or not at all."""

import os

import pytest
from meshwright.runtime.files import whole_file


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


def test_device_is_written_to_as_it_is():
    with pytest.raises(OSError, match="No space"), whole_file("/dev/full") as file:
        file.write("text")
        file.flush()
    with whole_file("/dev/null") as file:
        file.write("text")
