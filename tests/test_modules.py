"""The modules of the tests: what several share is a helper, and a long one says why it is long."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parent
MODULES = {path: ast.parse(path.read_text()) for path in sorted(TESTS.rglob("*.py"))}
LONG = 400


def imported(module: ast.Module) -> list[str]:
    """The modules that a module imports from, anywhere in it."""
    nodes = list(ast.walk(module))
    names = [name.name for node in nodes if isinstance(node, ast.Import) for name in node.names]
    return names + [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]


def test_no_module_imports_from_a_module_of_tests() -> None:
    found = {
        str(path.relative_to(TESTS)): name
        for path, module in MODULES.items()
        for name in imported(module)
        if name.startswith("tests.") and ".test_" in name
    }

    assert found == {}


def test_a_module_of_over_400_lines_says_why_and_no_other_does() -> None:
    sizes = {path: len(path.read_text().splitlines()) for path in MODULES}
    reasons = {
        path: "Over 400 lines, because" in " ".join((ast.get_docstring(module) or "").split())
        for path, module in MODULES.items()
    }

    wrong = [str(path) for path in MODULES if reasons[path] != (sizes[path] > LONG)]
    assert wrong == []
