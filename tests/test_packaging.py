"""The distributions, and what is installed from them, far from the sources."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from installation import PACKAGES, ROOT, Installation, build, checked, install_with_core

from tricktable_env import __version__, bits

pytestmark = pytest.mark.skipif(os.name == "nt", reason="paths of POSIX")
RECORDS = ROOT / "tests" / "data" / "tableau-games.jsonl"
COMPILING = "tricktable: compiling kernels"
EPISODE = """
import gymnasium, numpy as np
env = gymnasium.make("tricktable_env:TrickTable/Tableau-v0", opponent="greedy")
observation, info = env.reset(seed=5)
ended, total = False, 0
while not ended:
    action = int(np.flatnonzero(info["action_mask"])[0])
    observation, reward, ended, _, info = env.step(action)
    total += int(observation.sum())
print(total, info["winner"], info["tricks"].tolist())
"""
MANY = """
import sys
import gymnasium, numpy as np, tricktable_env
from gymnasium.vector import AsyncVectorEnv

def make():
    return gymnasium.make("TrickTable/Tableau-v0", opponent="greedy", seat="caller")

if __name__ == "__main__":
    make().reset(seed=0)  # the parent has run kernels before it starts others
    envs = AsyncVectorEnv([make] * 2, context=sys.argv[1])
    observations, infos = envs.reset(seed=3)
    for _ in range(30):
        observations, *_, infos = envs.step(infos["action_mask"].argmax(1))
    envs.close()
    print(int(observations.sum()))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution and the wheel."""
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def installed(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The wheel and its core requirements; it uses the kernels compiled for this process."""
    bits.stream(bits.ONE, 0, 0)
    kernels = Path(bits.stream._cache.cache_path)  # type: ignore[attr-defined]
    return install_with_core(built[1], tmp_path_factory.mktemp("installed"), kernels.parent)


# -- distributions ---------------------------------------------------------------------------
def sources(*suffixes: str) -> set[str]:
    """The files of our packages with these suffixes."""
    files = (file for name in PACKAGES for file in (ROOT / name).rglob("*"))
    return {str(file.relative_to(ROOT)) for file in files if file.suffix in suffixes}


def test_the_wheel_holds_the_packages_whole_and_nothing_else(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as wheel:
        names = set(wheel.namelist())
    about = {name for name in names if name.startswith(f"tricktable-{__version__}.dist-info/")}
    assert names - about == sources(".py", ".typed", ".safetensors", ".json")
    assert {f"{name}/py.typed" for name in PACKAGES} <= names
    assert any(name.endswith("/licenses/LICENSE") for name in about)
    assert built[1].name == f"tricktable-{__version__}-py3-none-any.whl"


def test_the_source_distribution_holds_what_builds_tests_and_trains(
    built: tuple[Path, Path],
) -> None:
    with tarfile.open(built[0]) as sdist:
        names = {member.name.partition("/")[2] for member in sdist if member.isfile()}
    rooms = ("tests", "docs", "benchmarks", "notebooks")
    wanted = {str(f.relative_to(ROOT)) for room in rooms for f in (ROOT / room).rglob("*.*")}
    wanted |= {file.name for suffix in ("md", "cff", "toml") for file in ROOT.glob(f"*.{suffix}")}
    wanted |= {"LICENSE", "constraints.txt", "train.py"} | sources(".py", ".typed")
    left_out = {name for name in wanted - names if not re.search(r"__pycache__|/\.", name)}
    assert left_out == set()
    assert not [name for name in names if re.search(r"__pycache__|\.(pyc|nbc|nbi)$", name)]


def test_citation_names_this_version() -> None:
    said = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", said, re.MULTILINE) == [__version__]


# -- the core, without torch -----------------------------------------------------------------
def test_environments_work_by_name_and_nothing_comes_from_the_sources(
    installed: Installation,
) -> None:
    program = """
import importlib.util, sys
import gymnasium, numpy as np, pettingzoo
sys.modules["torch"] = sys.modules["stable_baselines3"] = None  # importing one of them fails
import tricktable_env
from tricktable_env import tableau_v0

vector = gymnasium.make_vec("TrickTable/Tableau-v0", num_envs=3, opponent="greedy")
observations, infos = vector.reset(seed=0)
print(observations.shape, *infos["action_mask"].sum(1))
aec = tableau_v0.env()
aec.reset(seed=0)
for agent in aec.agent_iter():
    observation, reward, termination, truncation, info = aec.last()
    aec.step(None if termination else int(observation["action_mask"].argmax()))
import agents, tricktable_lab
print(*sorted({name for name in sys.modules if name.partition(".")[0] == "torch"} - {"torch"}))
for module in (tricktable_env, agents, tricktable_lab):
    print(module.__version__, module.__file__)
"""
    shape, torch, *places = installed.run("python", "-c", program).stdout.splitlines()
    assert shape.startswith("(3, 609) ")
    assert torch == ""
    for place in places:
        version, file = place.split(" ", 1)
        assert version == __version__
        assert Path(file).is_relative_to(installed.folder)


def test_the_training_libraries_are_not_there_at_all(installed: Installation) -> None:
    program = (
        "from importlib.util import find_spec as f; "
        "print(*map(f, ('torch', 'stable_baselines3', 'sb3_contrib', 'safetensors', 'pytest')))"
    )
    assert set(installed.run("python", "-c", program).stdout.split()) == {"None"}


def test_the_console_script_works_outside_the_sources(installed: Installation) -> None:
    assert installed.run("tricktable", "--version").stdout == f"tricktable {__version__}\n"
    match = ["match", "greedy", "random", "--deals", "20", "--seed", "1", "--json"]
    results = []
    installed.run("tricktable", *match)  # the first may compile, and says so
    for workers in ("1", "2"):
        done = installed.run("tricktable", *match, "--workers", workers)
        assert done.stderr == ""
        results.append(json.loads(done.stdout) | {"seconds": 0})
    assert results[0] == results[1]
    assert results[0]["games"] == 40
    replayed = installed.run("tricktable", "replay", str(RECORDS), "--json").stdout.splitlines()
    assert len(replayed) == len(RECORDS.read_text(encoding="utf-8").splitlines())


def test_specs_are_found_and_what_needs_torch_says_so(installed: Installation) -> None:
    listed = json.loads(installed.run("tricktable", "agents", "--json").stdout)
    about = {agent["name"]: agent.get("error") for agent in listed}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(about) == set(project["entry-points"]["tricktable.agents"])
    assert about["random"] is None
    assert about["greedy"] is None
    done = installed.run("tricktable", "match", "policy:here", "random", fails=2)
    (line,) = done.stderr.splitlines()
    assert "No module named 'torch'" in line


@pytest.mark.parametrize(
    "arguments",
    [
        ("match", "greedy", "random"),
        ("play", "--opponent", "random"),
        ("bench", "--no-starts", "--seconds", "0.01"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_foreign_package_named_agents_is_named_in_one_line(
    installed: Installation, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    foreign = tmp_path / "agents" / "__init__.py"
    foreign.parent.mkdir()
    foreign.touch()
    command = ("python", "-m", "tricktable_lab.cli", *arguments)
    done = installed.run(*command, fails=2, PYTHONPATH=str(tmp_path))
    (line,) = (line for line in done.stderr.splitlines() if COMPILING not in line)
    assert str(foreign) in line


@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_processes_may_be_spawned_or_forked(
    installed: Installation, tmp_path: Path, start: str
) -> None:
    program = tmp_path / "many.py"
    program.write_text(MANY, encoding="utf-8")
    done = installed.run("python", str(program), start)
    assert int(done.stdout) > 0
    assert COMPILING not in done.stderr


def test_a_type_checker_sees_the_types(installed: Installation, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "typed.py"
    program.write_text(
        "from agents.random import RandomAgent\n"
        "from tricktable_env import make_game\n"
        "reveal_type(make_game('tableau').num_actions)\n"
        "RandomAgent(make_game(3))\n",
        encoding="utf-8",
    )
    options = ["--strict", "--python-executable", installed.python, "--cache-dir"]
    command = [sys.executable, "-m", "mypy", *options, str(tmp_path / "cache"), str(program)]
    said = checked(command, 1, tmp_path, installed.environment()).stdout
    assert 'note: Revealed type is "int"' in said.replace("builtins.", "")
    assert said.count("error:") == 1
    assert 'incompatible type "int"; expected "str"' in said


# -- kernels ---------------------------------------------------------------------------------
def unprivileged() -> list[str]:
    """What to put before a command so that permissions bind the superuser too."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("the superuser writes everywhere, and there is no setpriv to stop that")
    return ["setpriv", "--bounding-set=-dac_override"]


@pytest.mark.parametrize("cache", ["filled", "home", "nowhere"])
def test_a_read_only_installation_runs(installed: Installation, tmp_path: Path, cache: str) -> None:
    before = unprivileged()
    name = Path(bits.stream._cache.cache_path).name  # type: ignore[attr-defined]
    own = installed.packages / "tricktable_env" / "__pycache__"
    home = tmp_path / "home"
    (home / "tricktable").mkdir(parents=True)
    if cache != "nowhere":
        target = {"filled": own, "home": home / "tricktable"}[cache]
        for kernels in installed.kernels.glob("kernels-*"):
            shutil.copytree(kernels, target / kernels.name)
    home.chmod(0o555)
    if cache != "home":
        (home / "tricktable").chmod(0o555)
    program = (
        EPISODE
        if cache != "nowhere"
        else ("from tricktable_env import bits; print(bits.stream(bits.ONE, 0, 0))")
    )
    environment = installed.environment(XDG_CACHE_HOME=str(home), HOME=str(home))
    del environment["TRICKTABLE_CACHE_DIR"]
    environment.pop("NUMBA_CACHE_DIR", None)
    try:
        with installed.read_only():
            command = [*before, installed.python, "-c", program]
            done = checked(command, 0, installed.outside, environment)
            assert (COMPILING in done.stderr) == (cache == "nowhere")
            if cache != "filled":
                assert not (own / name).exists()
    finally:
        for kernels in own.glob("kernels-*"):
            shutil.rmtree(kernels)


@pytest.mark.long
def test_eight_processes_may_start_at_once_on_an_empty_cache(
    installed: Installation, tmp_path: Path
) -> None:
    def play(_: int) -> subprocess.CompletedProcess[str]:
        done = installed.run("python", "-c", EPISODE, TRICKTABLE_CACHE_DIR=str(tmp_path))
        assert isinstance(done, subprocess.CompletedProcess)
        return done

    with ThreadPoolExecutor(8) as pool:
        games = list(pool.map(play, range(8)))
    assert len({game.stdout for game in games}) == 1
    assert COMPILING in games[0].stderr
    kinds = {file.suffix for file in tmp_path.rglob("*") if file.is_file()}
    assert kinds == {".nbc"}, "nothing half-written"
    assert play(0).stderr == ""


# -- versions of Python and of what we need ----------------------------------------------------
def lower_bounds() -> list[str]:
    """The oldest version allowed of everything that the core needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [needed.replace(">=", "==") for needed in project["dependencies"]]


@pytest.mark.long
@pytest.mark.parametrize(
    ("python", "pins"),
    [("3.11", "oldest"), ("3.11", "newest"), ("3.12", "pinned"), ("3.13", "pinned")],
)
def test_the_core_passes_its_tests_with(
    built: tuple[Path, Path], tmp_path: Path, python: str, pins: str
) -> None:
    program = shutil.which(f"python{python}") or ""
    found = subprocess.run([program or "false", "--version"], capture_output=True, text=True)
    if not found.stdout.startswith(f"Python {python}."):
        pytest.skip(f"no python{python} on the path")
    checked([program, "-m", "venv", str(tmp_path / "venv")])
    with tarfile.open(built[0]) as sdist:
        sdist.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("tricktable-*")
    install = [str(tmp_path / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    pinned = {
        "oldest": lower_bounds(),
        "newest": [],
        "pinned": ["-c", str(ROOT / "constraints.txt")],
    }
    checked([*install, str(built[1]), "pytest", "hypothesis", "packaging", *pinned[pins]])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    left_out = [f"--ignore=tests/test_{name}.py" for name in ("docs", "packaging", "jit")]
    # The script, not `python -m`, which would put the sources on the path.
    command = [str(tmp_path / "venv" / "bin" / "pytest"), "-q", *left_out]
    checked(command, 0, unpacked, environment)
