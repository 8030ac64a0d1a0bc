"""The rooms of the source tree, and whether they keep their order.

A room is a folder; in C++, a folder with a library. It takes from rooms below it
only, so that there are no circles, and a reader of a room needs to know nothing
of those above. A Python room says in the first line of its `__init__.py` what it
imports; a C++ room says so by what it links.
"""

import ast
import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent

# From top to bottom. "" are the modules beside the rooms.
PYTHON = (
    "",
    "launching",
    "elastic",
    "distributed",
    "frontend",
    "layers",
    "lowering",
    "pipeline",
    "programs",
    "staging",
    "config",
    "schedules",
    "shardings",
    "runtime",
    "runtime.run",
    "runtime.watch",
    "runtime.processes",
    "runtime.load",
    "runtime.program",
    "tracing",
    "aot",
    "compiler",
    "jaxapi",
    "core",
)
CPP = (
    "Planning",
    "Draw",
    "Simulator",
    "CAPI",
    "Partitioner",
    "Inspection",
    "Erase",
    "Export",
    "Optimize",
    "Optimize/Rules",
    "Optimize/Scheduler",
    "Sharding",
    "Import",
    "Import/Locality",
    "Import/Units",
    "Import/Prepare",
    "Import/Inline",
    "Import/InferMesh",
    "Import/Place",
    "Import/Conditionals",
    "Import/MeshSets",
    "Cost",
    "Fragments/Split",
    "Fragments/Simplify",
    "Fragments/Share",
    "Fragments/Merge",
    "Fragments",
    "Order",
    "Dialect/Mpmd",
    "Files",
    "Dialect/Sdy/Propagation",
    "Dialect/Sdy/Calls",
    "Dialect/Sdy/Transforms",
    "Dialect/Sdy/Rules",
    "Dialect/Sdy/Factors",
    "Dialect/Sdy",
    "Dialect/StableHLO/Transforms",
    "Dialect/CHLO/Transforms",
    "Dialect/CHLO",
    "Dialect/StableHLO",
    "Schedule",
    "Calls",
    "IR",
    "Text",
)
# What users import: their first lines are for them.
_FACES = ("", "aot", "distributed", "elastic")
# Headers beside the rooms: what registers all there is belongs to those who do.
_CPP_HEADERS = {"InitAll.h": "Partitioner", "InitDialects.h": "Dialect/Mpmd"}

# Where each room takes something from another: (file, what it takes).
Arrows = dict[tuple[str, str], list[tuple[str, str]]]


def check_rooms() -> list[str]:
    cpp = _cpp_arrows()
    found = _check_order("C++", CPP, cpp) + _check_cmake_order(cpp)
    python, modules = _python_arrows()
    found += _check_order("Python", PYTHON, python)
    found += [f"circle of modules: {' -> '.join(c)}" for c in _circles(modules)]
    return found + _check_first_lines(python)


def _check_order(language: str, rooms: tuple[str, ...], arrows: Arrows) -> list[str]:
    rank = {room: position for position, room in enumerate(rooms)}
    found = []
    for (room, other), places in sorted(arrows.items()):
        file, what = places[0]
        for name in (room, other):
            if name not in rank:
                found.append(
                    f"{file}: {language} room {name!r} has no place in the order of "
                    "scripts/check_rooms.py; give it one below all that take from it"
                )
        if rank.get(room, -1) > rank.get(other, len(rooms)):
            found.append(
                f"{file}: takes {what} from {other!r}, which is above {room!r} in "
                "scripts/check_rooms.py"
            )
    return list(dict.fromkeys(found))


def _check_cmake_order(arrows: Arrows) -> list[str]:
    """Whether meshwright/CMakeLists.txt lists each folder after those it takes from."""
    lists = (ROOT / "meshwright/CMakeLists.txt").read_text()
    order = re.findall(r"^add_subdirectory\((\w+)\)", lists, re.MULTILINE)
    found = []
    for (room, other), places in sorted(arrows.items()):
        lower, upper = other.partition("/")[0], room.partition("/")[0]
        if lower != upper and order.index(lower) > order.index(upper):
            found.append(
                f"meshwright/CMakeLists.txt: {upper} comes before {lower}, from which "
                f"{places[0][0]} takes {places[0][1]}"
            )
    return found


def _circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """One circle for each group of modules that import each other."""
    found, done = [], set()

    def visit(name: str, path: list[str]) -> None:
        for other in sorted(arrows.get(name, ())):
            if other in path:
                found.append([*path[path.index(other) :], other])
            elif other not in done:
                visit(other, [*path, other])
        done.add(name)

    for name in sorted(arrows):
        if name not in done:
            visit(name, [name])
    return found


def _cpp_room(path: pathlib.Path, homes: set[pathlib.Path]) -> str | None:
    top = ROOT / "meshwright"
    if path.parent == top:
        return _CPP_HEADERS.get(path.name)
    home = next((folder for folder in path.parents if folder in homes), path.parent)
    return home.relative_to(top).as_posix()


def _cpp_arrows() -> Arrows:
    homes = {
        lists.parent
        for lists in (ROOT / "meshwright").rglob("CMakeLists.txt")
        if "meshwright_library(" in lists.read_text()
    }
    arrows: Arrows = collections.defaultdict(list)
    for path in sorted((ROOT / "meshwright").rglob("*")):
        if path.suffix not in (".cpp", ".h"):
            continue
        room = _cpp_room(path, homes)
        headers = re.findall(
            r'^#include "(meshwright/.*)"', path.read_text(), re.MULTILINE
        )
        for header in headers:
            other = _cpp_room(ROOT / header, homes)
            if room and other and room != other:
                where = path.relative_to(ROOT).as_posix()
                arrows[room, other].append((where, header))
    return arrows


def _python_modules() -> dict[str, pathlib.Path]:
    top, found = ROOT / "python/meshwright", {}
    for path in sorted(top.rglob("*.py")):
        parts = path.relative_to(top).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _imported(module: str, path: pathlib.Path, known: dict) -> set[tuple[str, str]]:
    """Modules of the package that one imports anywhere, and what of them."""
    found = set()
    package = module.split(".") if module else []
    if path.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top, _, rest = alias.name.partition(".")
                if top == "meshwright":
                    found.add((rest, "all"))
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level:
            base = package[: len(package) - node.level + 1]
            source = ".".join([*base, *filter(None, [node.module])])
        elif (node.module or "").partition(".")[0] == "meshwright":
            source = node.module.partition(".")[2]
        else:
            continue
        for alias in node.names:
            inner = ".".join(filter(None, [source, alias.name]))
            found.add((inner if inner in known else source, alias.name))
    return found


def _python_room(module: str, path: pathlib.Path) -> str:
    return module if path.name == "__init__.py" else module.rpartition(".")[0]


def _python_arrows() -> tuple[Arrows, dict[str, set[str]]]:
    """Between rooms, and between modules."""
    modules = _python_modules()
    arrows: Arrows = collections.defaultdict(list)
    inner: dict[str, set[str]] = collections.defaultdict(set)
    for module, path in modules.items():
        room = _python_room(module, path)
        for source, name in sorted(_imported(module, path, modules)):
            if source not in modules:
                continue
            inner[module].add(source)
            other = _python_room(source, modules[source])
            if room != other:
                where = path.relative_to(ROOT).as_posix()
                arrows[room, other].append((where, name))
    return arrows, inner


def _check_first_lines(arrows: Arrows) -> list[str]:
    """Whether each room says what it imports; a room includes those in it."""
    found = []
    for room in PYTHON:
        if room in _FACES:
            continue
        path = ROOT / "python/meshwright" / room.replace(".", "/") / "__init__.py"
        where = path.relative_to(ROOT)
        text = ast.get_docstring(ast.parse(path.read_text())) or ""
        first = text.partition("\n")[0]
        imported = {other for one, other in arrows if one == room}
        if not first.startswith("Imports ") or not first.endswith("."):
            found.append(f'{where}: does not begin with "Imports ROOM ROOM."')
            continue
        claimed = set(first.removesuffix(".").split()[1:]) - {"nothing"}

        def covers(name: str, other: str) -> bool:
            return other == name or other.startswith(name + ".")

        for other in sorted(imported):
            if not any(covers(name, other) for name in claimed):
                found.append(f"{where}: says nothing of {other}, which is imported")
        for name in sorted(claimed):
            if not any(covers(name, other) for other in imported):
                found.append(f"{where}: says that it imports {name}, which it does not")
    return found
