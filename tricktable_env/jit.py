"""The one decorator that compiles kernels, and the cache that keeps them between processes.

numba's own cache looks at one source file only: a kernel keeps its old answer after a helper in
another file is edited. Here the cache is keyed by a digest of every source file with kernels, of
the kernel's package and of `tricktable_env`, and of whatever those files import, so any edit of a
rule is seen. Each compiled overload is one file, written under a temporary name and renamed, so
any number of processes may start at once. Set `TRICKTABLE_CACHE_DIR` to choose the folder.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import os
import pickle
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, overload

import numba
from numba.core import compiler
from numba.core.caching import _Cache
from numba.core.serialize import dumps

Function = TypeVar("Function", bound=Callable[..., Any])

_KEPT_VERSIONS = 8
_DIGEST_SIZE = hashlib.sha256().digest_size
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+)?import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE
)
_announced = False


class JitDisabledError(ValueError):
    """Kernels can't run as plain Python: they rely on the arithmetic of machine words."""


if numba.config.DISABLE_JIT:
    raise JitDisabledError("NUMBA_DISABLE_JIT is set, but the kernels run compiled only: unset it")


@overload
def kernel(function: Function) -> Function: ...
@overload
def kernel(*, allocates: bool) -> Callable[[Function], Function]: ...
def kernel(function: Any = None, *, allocates: bool = False) -> Any:
    """Compiles a function to machine code at its first call and caches the result on disk.

    Every kernel gets the same options: no Python objects, the GIL released, IEEE division, and no
    count of who refers to an array: keeping it takes as long as many a kernel itself, and threads
    that step rows of one batch would wait for each other. A kernel must be a module-level function:
    one made inside another function is compiled again by every process.

    Args:
        function: the function to compile, in numba's subset of Python.
        allocates: whether it makes arrays itself, which have to be counted. numba says so where
            it is missing: "NRT required but not enabled".

    Returns:
        The compiled function; its source stays at `.py_func`.
    """
    if function is None:
        return functools.partial(kernel, allocates=allocates)
    options = {"nogil": True, "error_model": "numpy", "forceinline": True, "_nrt": allocates}
    compiled: Any = numba.njit(**options)(function)
    compiled._cache = KernelCache(function)
    return compiled


def kernel_address(compiled: Any, arguments: tuple[Any, ...], result: Any) -> int:
    """Where in this process a kernel's machine code is, for a call from another one.

    Args:
        compiled: a kernel.
        arguments: numba's types of its arguments.
        result: numba's type of what it returns.

    Raises:
        TypeError: it returns something else, or is no kernel.
    """
    if not hasattr(compiled, "overloads"):
        raise TypeError(f"{compiled!r} is no kernel")
    compiled.compile(arguments)
    found = compiled.overloads[arguments]
    returned = numba.types.unliteral(found.signature.return_type)
    if returned != result:
        raise TypeError(f"{compiled!r} returns {returned}, not {result}")
    return int(found.library.get_pointer_to_function(found.fndesc.llvm_cfunc_wrapper_name))


class KernelCache(_Cache):  # type: ignore[misc]
    """The compiled overloads of one kernel, a file each, in the folder of its source digest.

    Args:
        function: the kernel's Python function.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The folder, made if need be."""
        return str(_folder(_root_package(self._function)))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Returns the overload compiled for `sig` by this or another process, or None."""
        if not self._enabled:
            return None
        target_context.refresh()
        with contextlib.suppress(OSError):
            content = self._file(sig, target_context.codegen()).read_bytes()
            digest, data = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
            if hashlib.sha256(data).digest() == digest:  # else a full disk or the like damaged it
                return compiler.CompileResult._rebuild(target_context, *pickle.loads(data))
        _announce(self._function.__module__)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Writes a freshly compiled overload; a folder that can't be written is no error."""
        if not self._enabled:
            return
        target = self._file(sig, data.codegen)
        with contextlib.suppress(OSError):
            handle, temporary = tempfile.mkstemp(dir=target.parent, suffix=".tmp")
            try:
                content = dumps(data._reduce())
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(content).digest() + content)
                os.replace(temporary, target)
            except BaseException:
                os.unlink(temporary)
                raise

    def enable(self) -> None:
        """Switches the cache on."""
        self._enabled = True

    def disable(self) -> None:
        """Switches the cache off."""
        self._enabled = False

    def flush(self) -> None:
        """Forgets every overload of this kernel."""
        for file in Path(self.cache_path).glob(f"{self._stem()}-*.nbc"):
            file.unlink(missing_ok=True)

    def _stem(self) -> str:
        return f"{self._function.__module__}.{self._function.__qualname__}"

    def _file(self, sig: Any, codegen: Any) -> Path:
        key = repr((sig, codegen.magic_tuple(), self._function.__code__.co_firstlineno))
        name = f"{self._stem()}-{hashlib.sha256(key.encode()).hexdigest()[:20]}.nbc"
        return Path(self.cache_path) / name


def source_digest(package: str) -> str:
    """Returns the key of the cache: a digest of all sources that a kernel of `package` may use.

    It covers what else changes the machine code too: the versions of Python and numba, and numba's
    bounds checking.

    Args:
        package: name of an imported top-level package or module.
    """
    digest = hashlib.sha256()
    for name, text in sorted(_kernel_sources({package, __name__.partition(".")[0]}).items()):
        digest.update(f"{name}\0{text}\0".encode())
    digest.update(repr((sys.version_info, numba.__version__, numba.config.BOUNDSCHECK)).encode())
    return digest.hexdigest()[:16]


def _kernel_sources(packages: set[str]) -> dict[str, str]:
    """The sources that hold kernels, and those they import, by module name."""
    modules = {name: file for package in sorted(packages) for name, file in _modules(package)}
    texts = {name: file.read_text(encoding="utf-8") for name, file in modules.items()}
    todo = [name for name, text in texts.items() if "@kernel" in text]
    found: dict[str, str] = {}
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found[name] = texts[name]
        is_package = modules[name].name == "__init__.py"
        todo += [used for used in _imports(name, texts[name], is_package) if used in texts]
    return found


def _modules(package: str) -> Iterator[tuple[str, Path]]:
    module = sys.modules[package]
    origin = Path(inspect.getfile(module))
    if not hasattr(module, "__path__"):
        yield package, origin
        return
    for file in sorted(origin.parent.rglob("*.py")):
        parts = file.relative_to(origin.parent).with_suffix("").parts
        yield ".".join((package, *(part for part in parts if part != "__init__"))), file


def _imports(module: str, text: str, is_package: bool) -> Iterator[str]:
    """Names of all modules that a source text may import, in any form of the statement."""
    for dots, source, names in _IMPORT.findall(text):
        if dots:
            up = len(dots) - is_package
            base = module.split(".")[:-up] if up else module.split(".")
            source = ".".join([*base, source] if source else base)
        yield source
        yield from (f"{source}.{name}" for name in re.findall(r"\w+", names))


def _root_package(function: Callable[..., Any]) -> str:
    return function.__module__.partition(".")[0]


@functools.cache
def _folder(package: str) -> Path:
    name = f"kernels-{source_digest(package)}"
    for base in _bases():
        folder = base / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError:
            if folder.is_dir():  # filled at installation, read-only since
                return folder
            continue
        _forget_old_versions(base, folder)
        return folder
    return Path(tempfile.mkdtemp(prefix="tricktable-"))


def _bases() -> Iterator[Path]:
    chosen = os.environ.get("TRICKTABLE_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        yield Path(chosen)
    yield Path(__file__).parent / "__pycache__"
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    yield Path(home) / "tricktable"


def _forget_old_versions(base: Path, current: Path) -> None:
    def age(folder: Path) -> float:
        try:
            return folder.stat().st_mtime
        except OSError:
            return 0.0

    versions = sorted(base.glob("kernels-*"), key=age, reverse=True)
    for folder in versions[_KEPT_VERSIONS:]:
        if folder != current:
            shutil.rmtree(folder, ignore_errors=True)


def _announce(module: str) -> None:
    global _announced
    if not _announced:
        _announced = True
        print(
            f"tricktable: compiling kernels ({module} first), which are kept for the next time",
            file=sys.stderr,
            flush=True,
        )
