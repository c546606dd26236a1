"""An installation of the wheel, apart from the sources, for the tests of packaging to use."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PACKAGES = ("tricktable_env", "agents", "tricktable_lab")
_OF_A_CHECKOUT = (".*", "*.egg-info", "__pycache__", "build", "dist", "out", "runs", "venv")


def build(folder: Path) -> tuple[Path, Path]:
    """Builds the source distribution, and the wheel from it, of a copy of the sources."""
    sources = folder / "sources"
    shutil.copytree(ROOT, sources, ignore=shutil.ignore_patterns(*_OF_A_CHECKOUT))
    options = ["--no-isolation", "--outdir", str(folder)]  # needs no network
    checked([sys.executable, "-m", "build", *options, str(sources)], cwd=folder)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


@dataclass(frozen=True)
class Installation:
    """A virtual environment that holds the wheel."""

    folder: Path
    """The environment."""
    outside: Path
    """A folder in which its programs run, with nothing of ours in it."""
    kernels: Path
    """Where its programs find compiled kernels, unless a test says otherwise."""
    root: Path = field(default=ROOT)
    """The sources, which none of its programs may read."""

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.folder / "bin" / "python")

    @property
    def packages(self) -> Path:
        """Its site-packages."""
        (found,) = self.folder.glob("lib/python3.*/site-packages")
        return found

    def run(self, *command: str, fails: int = 0, **environment: str) -> Any:
        """Runs a program: its output and errors, of which nobody is warned.

        Args:
            *command: a script of the environment, or its `python`, and arguments.
            fails: the exit code expected.
            **environment: variables to set.
        """
        program = [str(self.folder / "bin" / command[0]), *command[1:]]
        return checked(program, fails, self.outside, self.environment(**environment))

    def environment(self, **more: str) -> dict[str, str]:
        """The variables that its programs see."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        return {**inherited, "TRICKTABLE_CACHE_DIR": str(self.kernels), **more}

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Takes away the right to write to our packages, for a while."""
        ours = [self.packages / name for name in PACKAGES]
        folders = [f for top in ours for f in (top, *top.rglob("*")) if f.is_dir()]
        for one in folders:
            one.chmod(0o555)
        try:
            yield
        finally:
            for one in folders:
                one.chmod(0o755)


def install_with_core(wheel: Path, folder: Path, kernels: Path) -> Installation:
    """Installs the wheel beside what its own requirements name, links to what is here already.

    What no requirement leads to, torch for one, is not there to be imported.
    """
    venv.create(folder, with_pip=False)
    (folder / "outside").mkdir()
    made = Installation(folder, folder / "outside", kernels)
    pip = [sys.executable, "-m", "pip", "--python", made.python, "--disable-pip-version-check"]
    checked([*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)], cwd=folder)
    (info,) = made.packages.glob("tricktable-*.dist-info")
    for needed in _closure(Distribution.at(info)).values():
        tops = {file.parts[0] for file in needed.files or () if file.parts[0] != ".."}
        for top in tops - {"__pycache__"}:
            link = made.packages / top
            if not link.exists():
                link.symlink_to(needed.locate_file(top))  # type: ignore[arg-type]
    return made


def _closure(top: Distribution) -> dict[str, Distribution]:
    """All distributions that one needs, without its extras."""
    found: dict[str, Distribution] = {}
    todo = [top]
    while todo:
        for text in todo.pop().requires or ():
            needed = Requirement(text)
            if needed.name not in found and (
                needed.marker is None or needed.marker.evaluate({"extra": ""})
            ):
                found[needed.name] = distribution(needed.name)
                todo.append(found[needed.name])
    return found


def checked(
    command: list[str],
    fails: int = 0,
    cwd: Path | None = None,
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a command and compares its exit code."""
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == fails, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done
