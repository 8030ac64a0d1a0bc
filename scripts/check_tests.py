"""Whether each Python test can fail: whether it comes to an assertion at all."""

import ast
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What raises by itself if something is not as expected.
_CHECKS = ("raises", "fail", "warns", "testmod")


def check_tests() -> list[str]:
    """Names tests without an assertion, in themselves or in what they call."""
    trees = {
        path: ast.parse(path.read_text())
        for folder in ("test/python", "scripts", "bench")
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    functions = [
        (path, node, *_looks_at(node))
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    ]
    checking = {node.name for _, node, asserts, _ in functions if asserts}
    grows = True
    while grows:
        more = {node.name for _, node, _, called in functions if called & checking}
        grows, checking = not more <= checking, checking | more
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name} asserts nothing"
        for path, node, asserts, called in functions
        if node.name.startswith("test_")
        and path.name.startswith("test_")
        and not asserts
        and not called & checking
    ]


def _looks_at(function: ast.FunctionDef) -> tuple[bool, set[str]]:
    """Whether it checks something by itself, and the names of what it calls."""
    asserts, called = False, set()
    for node in ast.walk(function):
        if isinstance(node, (ast.Assert, ast.Raise)):
            asserts = True
        if isinstance(node, ast.Call):
            name = node.func
            called.add(getattr(name, "attr", None) or getattr(name, "id", ""))
    checks = any(name in _CHECKS or name.startswith("assert_") for name in called)
    return asserts or checks, called
