"""Every import points down: envs > render > games > foundation, agents > env, lab > env.

The sources are read, not run, so an import inside a function counts as well as one at the top.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("tricktable_env", "agents", "tricktable_lab")

ENV = "tricktable_env"
FOUNDATION = tuple(f"{ENV}.{room}" for room in ("jit", "bits", "cards", "files", "game"))
GAMES = (f"{ENV}.tableau", f"{ENV}.honors")
RENDER, ENVS, INTEROP = f"{ENV}.render", f"{ENV}.envs", f"{ENV}.interop"
TRAINING = ("torch", "stable_baselines3", "sb3_contrib", "tensorboard")
LIGHT = ("numpy", "numba", "llvmlite", "gymnasium", "pettingzoo", "typing_extensions")
DYNAMIC = ("import_module", "__import__")


class Import(NamedTuple):
    """One thing that a module imports."""

    names: tuple[str, ...]  # what is surely or perhaps a module: `from a import b` is a and a.b
    line: int
    at_import: bool  # runs when the module is imported, so neither in a function nor for types


class Rule(NamedTuple):
    """Modules below `rooms` (but not below `except_in`) never import anything of `forbidden`."""

    rooms: tuple[str, ...]
    forbidden: tuple[str, ...]
    except_in: tuple[str, ...] = ()
    only_at_import: bool = False


RULES = (
    Rule((ENV,), ("agents", "tricktable_lab", "train")),
    Rule(("agents",), ("tricktable_lab", "train")),
    # Agents are found by name, so that one package in their way is named; see `opponents`.
    Rule(("tricktable_lab",), ("train", "agents")),
    # Training libraries: in interop's own modules alone, and those are imported when asked for.
    Rule((ENV,), TRAINING, except_in=(INTEROP,)),
    Rule((ENV,), (INTEROP,), except_in=(INTEROP,), only_at_import=True),
    # Inside tricktable_env.
    Rule((*FOUNDATION, *GAMES), (RENDER, ENVS, INTEROP)),
    Rule((RENDER,), (ENVS, INTEROP)),
    Rule(tuple(room for room in FOUNDATION if room != f"{ENV}.game"), (*GAMES, f"{ENV}.game")),
    Rule((GAMES[0],), (GAMES[1],)),
    Rule((GAMES[1],), (GAMES[0],)),
)


def is_below(name: str, rooms: tuple[str, ...]) -> bool:
    return any(name == room or name.startswith(f"{room}.") for room in rooms)


def imports(source: str, module: str, is_package: bool = False) -> list[Import]:
    """Everything `source` imports, with relative names resolved against `module`."""
    package = module if is_package else module.rpartition(".")[0]
    return list(_imports(ast.parse(source), package, at_import=True))


def _imports(node: ast.AST, package: str, at_import: bool) -> Iterator[Import]:
    match node:
        case ast.Import(names=names):
            for alias in names:
                yield Import((alias.name,), node.lineno, at_import)
        case ast.ImportFrom(module=name, names=names, level=level):
            parts = package.split(".")
            above = parts[: len(parts) - level + 1] if level else []
            base = ".".join([*above, *([name] if name else [])])
            found = (base, *(f"{base}.{alias.name}" for alias in names))
            yield Import(found, node.lineno, at_import)
        case ast.Call(func=f, args=[ast.Constant(value=str(name)), *_]) if _last_word(f) in DYNAMIC:
            yield Import((name,), node.lineno, at_import)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            at_import = False
        case ast.If(test=test) if _last_word(test) == "TYPE_CHECKING":
            for unseen in node.body:
                yield from _imports(unseen, package, at_import=False)
            for seen in node.orelse:
                yield from _imports(seen, package, at_import)
            return
    for child in ast.iter_child_nodes(node):
        yield from _imports(child, package, at_import)


def _last_word(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


def faults(source: str, module: str, is_package: bool = False) -> list[str]:
    """What in `source` breaks a rule, one line each."""
    found = []
    for used in imports(source, module, is_package):
        for rule in RULES:
            if not is_below(module, rule.rooms) or is_below(module, rule.except_in):
                continue
            if rule.only_at_import and not used.at_import:
                continue
            for name in used.names:
                if is_below(name, rule.forbidden):
                    found.append(f"{module}:{used.line} imports {name}")
                    break
        if is_below(module, (ENV,)) and not is_below(module, (INTEROP,)) and used.at_import:
            top = used.names[0].partition(".")[0]
            if top not in (ENV, *LIGHT, *sys.stdlib_module_names):
                found.append(f"{module}:{used.line} imports {top} at import")
    return found


def sources() -> list[Path]:
    return sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))


def test_there_are_sources_to_check() -> None:
    assert any(file.is_relative_to(ROOT / ENV) for file in sources())


@pytest.mark.parametrize("file", sources(), ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_point_down(file: Path) -> None:
    is_package = file.name == "__init__.py"
    parts = file.relative_to(ROOT).with_suffix("").parts
    module = ".".join(parts[:-1] if is_package else parts)
    assert faults(file.read_text(encoding="utf-8"), module, is_package) == []


def test_importing_the_environment_stays_light() -> None:
    heavy = (*TRAINING, "matplotlib", "pandas", "agents", "tricktable_lab")
    program = f"import sys, {ENV}; print(*sorted(set(sys.modules) & set({heavy!r})))"
    shown = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert shown.stdout.split() == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("tricktable_env.spec", "import agents"),
        ("tricktable_env.spec", "import numpy, agents.greedy"),
        ("tricktable_env.spec", "def load():\n    from agents import greedy"),
        ("tricktable_env.spec", "class A:\n    async def f(self):\n        import agents"),
        ("tricktable_env.spec", "import importlib\nm = importlib.import_module('agents.policy')"),
        ("tricktable_env.spec", "try:\n    import tricktable_lab\nexcept ImportError:\n    pass"),
        ("tricktable_env.envs.gym", "if TYPE_CHECKING:\n    from agents.protocol import Agent"),
        ("tricktable_env.envs.gym", "def f():\n    import torch.nn as nn"),
        ("tricktable_env.envs.gym", "from tricktable_env.interop.sb3 import make_vec_env"),
        ("tricktable_env.envs.gym", "from ..interop import sb3"),
        ("tricktable_env.interop.sb3", "def f():\n    from agents.random import RandomAgent"),
        ("tricktable_env.render.text", "import rich"),
        ("tricktable_env.render.text", "from ..envs import aec"),
        ("tricktable_env.tableau.rules", "from .. import envs"),
        ("tricktable_env.tableau.rules", "from tricktable_env import render"),
        ("tricktable_env.tableau.rules", "def f():\n    from ..render.text import picture"),
        ("tricktable_env.tableau.rules", "from ..honors.rules import score"),
        ("tricktable_env.cards", "from .tableau import notation"),
        ("tricktable_env.cards", "from . import interop"),
        ("tricktable_env.jit", "import tricktable_env.envs.vector"),
        ("tricktable_env.game", "from tricktable_env.envs.aec import raw_env"),
        ("agents.greedy", "def f():\n    from tricktable_lab.match import play"),
        ("agents.training.loop", "import train"),
        ("tricktable_lab.cli", "from train import main"),
        ("tricktable_lab.match", "from agents.random import RandomAgent"),
    ],
)
def test_an_import_that_points_up_is_found(module: str, source: str) -> None:
    assert faults(source, module) != []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("tricktable_env.tableau.rules", "from __future__ import annotations\nimport numpy as np"),
        ("tricktable_env.tableau.rules", "from .. import cards\nfrom ..jit import kernel"),
        ("tricktable_env.tableau.rules", "from . import state\nfrom .envsomething import x"),
        ("tricktable_env.envs.gym", "from ..render import text\nfrom ..tableau import rules"),
        ("tricktable_env.envs.gym", "def f():\n    from tricktable_env.interop import sb3"),
        ("tricktable_env.interop.sb3", "import torch\nfrom ..envs.vector import VectorEnv"),
        ("agents.policy", "import torch\nfrom tricktable_env.tableau import rules"),
        ("tricktable_lab.match", "from tricktable_env.opponents import make_agent\nimport torch"),
        ("tricktable_env.spec", "'''import agents'''\nagents = 1\nprint('from agents import x')"),
    ],
)
def test_an_import_that_points_down_is_not_found(module: str, source: str) -> None:
    assert faults(source, module) == []


def test_relative_imports_are_resolved_from_a_package_and_from_a_module() -> None:
    package = faults("from .envs import aec", "tricktable_env.render", is_package=True)
    assert package == []  # tricktable_env.render.envs
    module = faults("from .envs import aec", "tricktable_env.cards")
    assert module == ["tricktable_env.cards:1 imports tricktable_env.envs"]
