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
        (path, node)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    ]
    checking: set[str] = set()
    grows = True
    while grows:
        more = {node.name for _, node in functions if _asserts(node, checking)}
        grows, checking = not more <= checking, checking | more
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name} asserts nothing"
        for path, node in functions
        if node.name.startswith("test_")
        and path.name.startswith("test_")
        and not _asserts(node, checking)
    ]


def _asserts(function: ast.FunctionDef, checking: set[str]) -> bool:
    for node in ast.walk(function):
        if isinstance(node, (ast.Assert, ast.Raise)):
            return True
        if isinstance(node, ast.Call):
            called = node.func
            name = getattr(called, "attr", None) or getattr(called, "id", "")
            if name in checking or name in _CHECKS or name.startswith("assert_"):
                return True
    return False
