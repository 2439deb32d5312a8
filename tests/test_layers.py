"""The import rule: values, state, actions, edge; imports run down only, at the top of a file."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "playground"

VALUES, STATE, ACTIONS, EDGE = "values", "state", "actions", "edge"

# Module or package → (layer, family). A family may import itself; the families of one layer do not
# know each other. `settings` is read through Django by whoever may import Django.
MAP = {
    "playground": (VALUES, "version"),
    "playground.parameters": (VALUES, "values"),
    "playground.completion": (VALUES, "values"),
    "playground.outcome": (VALUES, "values"),
    "playground.costs": (VALUES, "values"),
    "playground.addresses": (VALUES, "values"),
    "playground.lessons": (VALUES, "values"),
    "playground.changes": (VALUES, "values"),
    "playground.query": (VALUES, "values"),
    "playground.words": (VALUES, "values"),
    "playground.excerpts": (VALUES, "values"),
    "playground.figures": (VALUES, "values"),
    "playground.periods": (VALUES, "values"),
    "playground.agreement": (VALUES, "values"),
    "playground.answers": (VALUES, "values"),
    "playground.axes": (VALUES, "values"),
    "playground.tables": (VALUES, "values"),
    "playground.alignment": (VALUES, "values"),
    "playground.branch": (VALUES, "values"),
    "playground.ranking": (VALUES, "ranking"),
    "playground.logs": (VALUES, "values"),
    "playground.fields": (STATE, "fields"),
    "playground.embedded": (STATE, "embedded"),
    "playground.sessions": (STATE, "sessions"),
    "playground.models": (STATE, "models"),
    "playground.migrations": (STATE, "models"),
    "playground.providers": (STATE, "providers"),
    "playground.database": (ACTIONS, "runner"),
    "playground.aftermath": (ACTIONS, "runner"),
    "playground.attendance": (ACTIONS, "runner"),
    "playground.background": (ACTIONS, "runner"),
    "playground.execution": (ACTIONS, "runner"),
    "playground.heartbeat": (ACTIONS, "runner"),
    "playground.hub": (ACTIONS, "runner"),
    "playground.presence": (ACTIONS, "runner"),
    "playground.pulse": (ACTIONS, "runner"),
    "playground.following": (ACTIONS, "runner"),
    "playground.forwarding": (ACTIONS, "runner"),
    "playground.metrics": (ACTIONS, "runner"),
    "playground.lines": (ACTIONS, "runner"),
    "playground.log": (ACTIONS, "runner"),
    "playground.writer": (ACTIONS, "runner"),
    "playground.relay": (ACTIONS, "runner"),
    "playground.recorder": (ACTIONS, "runner"),
    "playground.reaper": (ACTIONS, "runner"),
    "playground.runner": (ACTIONS, "runner"),
    "playground.probe": (ACTIONS, "runner"),
    "playground.targets": (ACTIONS, "runner"),
    "playground.listed": (ACTIONS, "runner"),
    "playground.upkeep": (ACTIONS, "runner"),
    "playground.exchange": (ACTIONS, "runner"),
    "playground.checkup": (ACTIONS, "runner"),
    "playground.forms": (ACTIONS, "forms"),
    "playground.building": (ACTIONS, "forms"),
    "playground.cells": (ACTIONS, "forms"),
    "playground.rows": (ACTIONS, "forms"),
    "playground.plan": (ACTIONS, "forms"),
    "playground.inputs": (ACTIONS, "forms"),
    "playground.doubts": (ACTIONS, "forms"),
    "playground.panel": (ACTIONS, "panel"),
    "playground.documents": (ACTIONS, "panel"),
    "playground.keymap": (VALUES, "values"),
    "playground.first_steps": (VALUES, "values"),
    "playground.probabilities": (ACTIONS, "probabilities"),
    "playground.schema": (ACTIONS, "schema"),
    "playground.markdown": (ACTIONS, "markdown"),
    "playground.structured": (VALUES, "values"),
    "playground.diff": (VALUES, "values"),
    "playground.timeline": (VALUES, "values"),
    "playground.pasted": (ACTIONS, "pasted"),
    "playground.reference": (ACTIONS, "reference"),
    "playground.snippets": (ACTIONS, "snippets"),
    "playground.admin": (EDGE, "edge"),
    "playground.apps": (EDGE, "edge"),
    "playground.asgi": (EDGE, "edge"),
    "playground.assets": (EDGE, "edge"),
    "playground.bodies": (EDGE, "edge"),
    "playground.consumers": (EDGE, "edge"),
    "playground.formats": (EDGE, "edge"),
    "playground.management": (EDGE, "edge"),
    "playground.memory": (EDGE, "edge"),
    "playground.oidc": (EDGE, "edge"),
    "playground.probes": (EDGE, "edge"),
    "playground.security": (EDGE, "edge"),
    "playground.settings": (EDGE, "edge"),
    "playground.site": (EDGE, "edge"),
    "playground.templatetags": (EDGE, "edge"),
    "playground.timezones": (EDGE, "edge"),
    "playground.urls": (EDGE, "edge"),
    "playground.views": (EDGE, "edge"),
}
ORDER = [VALUES, STATE, ACTIONS, EDGE]
# Within the bottom two layers: what a family may use of its own layer.
BELOW = {"models": {"fields", "embedded", "sessions"}}
# Families that import nothing of the playground, so that everything may stand on them.
BOTTOM = ("fields", "embedded", "sessions", "version", "ranking")


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


PATHS = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
MODULES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in PATHS.items()}


def imports(tree: ast.AST) -> set[str]:
    """Full names: of the module in `import a.b`, of module and name in `from a import b`."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def ours(tree: ast.AST) -> set[str]:
    """The modules of the playground that are imported."""
    wanted = {name for name in imports(tree) if name.split(".")[0] == "playground"}
    return {name if name in MODULES else name.rpartition(".")[0] for name in wanted}


NOWHERE = ("", "")


def place(module: str) -> tuple[str, str]:
    """The layer and family: of the module, or of the package in the map that holds it."""
    name = module
    while name not in MAP and name.count(".") > 1:
        name = name.rpartition(".")[0]
    return MAP.get(name, NOWHERE)


def outsiders(tree: ast.AST) -> set[str]:
    """Top-level packages that are neither ours nor of the standard library."""
    tops = {name.split(".")[0] for name in imports(tree)}
    return tops - sys.stdlib_module_names - {"playground"}


@pytest.mark.parametrize("module", MODULES)
def test_it_has_a_place(module: str) -> None:
    assert place(module) != NOWHERE, f"give {module} a layer and a family in MAP"


def test_the_map_names_only_what_is_there() -> None:
    assert set(MAP) <= set(MODULES) | {"playground.migrations"}


@pytest.mark.parametrize("module", MODULES)
def test_it_imports_downward_only(module: str) -> None:
    layer, family = place(module)
    for name in ours(MODULES[module]):
        other_layer, other_family = place(name)
        if other_family == family or other_family == "version":
            continue
        assert family not in BOTTOM, f"{module} imports {name}"
        if other_layer == layer:
            assert other_family in BELOW.get(family, set()), f"{module} imports {name}"
        assert ORDER.index(other_layer) <= ORDER.index(layer), f"{module} imports {name}"
        assert other_layer != EDGE, f"{module} imports {name}"


def test_nobody_imports_the_program_that_needs_numpy() -> None:
    assert not [name for name, tree in MODULES.items() if "playground.ranking" in ours(tree)]


VALUE_MODULES = [name for name in MODULES if place(name)[0] == VALUES]


@pytest.mark.parametrize("module", [n for n in VALUE_MODULES if n != "playground.ranking"])
def test_values_need_the_standard_library_only(module: str) -> None:
    assert outsiders(MODULES[module]) == set()


def test_the_table_stands_below_the_request() -> None:
    assert ours(MODULES["playground.parameters"]) == set()
    assert ours(MODULES["playground.completion"]) == {"playground.parameters"}


@pytest.mark.parametrize("module", [name for name in MODULES if place(name)[1] == "providers"])
def test_providers_know_no_django(module: str) -> None:
    assert not outsiders(MODULES[module]) & {"django", "channels", "daphne", "asgiref"}


@pytest.mark.parametrize("module", MODULES)
def test_it_imports_at_the_top_only(module: str) -> None:
    for node in ast.walk(MODULES[module]):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = [
                each for each in ast.walk(node) if isinstance(each, ast.Import | ast.ImportFrom)
            ]
            assert not inner, f"{module}: an import inside {node.name}"
    assert "typing.TYPE_CHECKING" not in imports(MODULES[module])


LONG = 300  # lines: what a reader keeps in the head
READ = [path for name, path in PATHS.items() if name != "playground.parameters"]
SCRIPTS = sorted((ROOT / "static" / "js").glob("*.js"))


@pytest.mark.parametrize("path", [*READ, *SCRIPTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_it_is_no_longer_than_a_reader_can_hold(path: Path) -> None:
    """The table of parameters aside, which is data."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONG
