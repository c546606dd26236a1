"""Files that are whole or not there, and errors that say which file they are of."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Lets errors of the system name a file: a full disk does not say where.

    Raises:
        OSError: as raised inside, with the path.
    """
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def write_whole(files: Mapping[Path, bytes]) -> None:
    """Writes files under other names and renames them, so that each is whole or not there.

    Nothing is renamed before all are on the disk.

    Raises:
        OSError: one can't be written; it is named, and the files that there were are as before.
    """
    temporaries = {path: path.with_name(f".{path.name}.tmp") for path in files}
    try:
        for path, content in files.items():
            with naming(path), temporaries[path].open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())  # or a power cut may keep the name and lose the content
        for path, temporary in temporaries.items():
            os.replace(temporary, path)
    finally:
        for temporary in temporaries.values():
            temporary.unlink(missing_ok=True)
