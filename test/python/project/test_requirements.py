"""What requirements/*.txt pin is what pyproject.toml asks for, with hashes."""

import re
import tomllib

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from support.tools import ROOT

GROUPS = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]


def pinned(group: str) -> list[tuple[Requirement, int]]:
    """The entries of a list, and how many hashes each has."""
    text = (ROOT / "requirements" / f"{group}.txt").read_text()
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    found = [
        (Requirement(line.partition("--hash")[0]), line.count("--hash=sha256:"))
        for line in text.splitlines()
    ]
    assert found, f"requirements/{group}.txt pins nothing"
    return found


def asked_for(group: str) -> list[Requirement]:
    """What a group lists, and what the groups list that it includes."""
    found = []
    for entry in GROUPS[group]:
        if isinstance(entry, dict):
            found += asked_for(entry["include-group"])
        else:
            found.append(Requirement(entry))
    return found


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("group", GROUPS)
def test_every_entry_is_one_version_with_hashes(group):
    for requirement, hashes in pinned(group):
        assert [s.operator for s in requirement.specifier] == ["=="], requirement
        assert hashes, requirement
        assert requirement.url is None


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
@pytest.mark.parametrize("group", GROUPS)
def test_pins_are_what_is_asked_for(group, python):
    machine = default_environment() | {
        "python_version": python,
        "python_full_version": f"{python}.2",
        "sys_platform": "linux",
        "platform_machine": "x86_64",
    }

    def applies(requirement: Requirement) -> bool:
        return requirement.marker is None or requirement.marker.evaluate(machine)

    known = {}
    for requirement, _ in pinned(group):
        if applies(requirement):
            # A name has one version on one machine.
            assert normal(requirement.name) not in known, requirement
            version = next(iter(requirement.specifier)).version
            known[normal(requirement.name)] = version
    for asked in asked_for(group):
        if applies(asked):
            assert asked.specifier.contains(known[normal(asked.name)]), asked
