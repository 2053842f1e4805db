"""Writing folders as a whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from pezo_hw.errors import PezoError


def part_prefix(name: str) -> str:
    """Return what the temporary name of a file begins with while it is written."""
    # What is added must fit the longest name of a file.
    return f".{name[:32]}."


def parts(directory: Path, *, known: Collection[str]) -> list[Path]:
    """Return what writers of known files, of which the end came too soon, left in a folder."""
    found = []
    for path in directory.iterdir():
        # As `tempfile` makes them.
        name, _, end = path.name.rpartition(".")
        ours = f"{name}." in map(part_prefix, known) and re.fullmatch("[a-z0-9_]{8}", end)
        if ours and path.is_file() and not path.is_symlink():
            found.append(path)
    return found


def check_folder(directory: Path, *, known: Collection[str], hint: str = "") -> None:
    """Refuse a folder that holds files which writing it would lose.

    Parameters
    ----------
    directory : Path
        Need not exist.
    known : collection of str
        Files, relative to the folder, that may be replaced; so may their `parts`.
    hint : str
        Added to the advice.

    Raises
    ------
    PezoError
        If it is a file, or holds a file that is not known.
    """
    if not os.path.lexists(directory):
        return
    if not directory.is_dir():
        raise PezoError(
            f"--output {directory} must be a folder, but it is a file; choose another name"
        )
    present = {
        path.relative_to(directory).as_posix() for path in directory.rglob("*") if not path.is_dir()
    }
    foreign = sorted(present - set(known) - {path.name for path in parts(directory, known=known)})
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise PezoError(
            f"--output {directory} must be empty or a folder of this command, but it holds "
            f"{foreign[0]}{more}; choose another folder{hint}"
        )


def write_folder(directory: Path, files: Mapping[str, bytes]) -> None:
    """Put a folder with the given files in the place of what is there.

    Parameters
    ----------
    directory : Path
        Made, with its parents. In an existing folder everything is replaced.
    files : mapping of str to bytes
        Contents by path in the folder.

    Raises
    ------
    PezoError
        If it cannot be written; everything is as before then.
    """
    try:
        # Links and ".." are followed first: what they go through may be moved below.
        directory = directory.resolve()
        existed = directory.exists()
        if not existed:
            directory.parent.mkdir(parents=True, exist_ok=True)
        # Within an existing folder, which may be a mount point or somebody's current directory.
        place = directory if existed else directory.parent
        work = Path(tempfile.mkdtemp(prefix=".pezo-", dir=place))
    except (OSError, RuntimeError) as error:
        raise _not_writable(directory, error) from None
    new, old = work / "new", work / "old"
    try:
        new.mkdir()
        write_into(new, files)
        if existed:
            _exchange(directory, new=new, old=old, keep=work.name)
        else:
            new.rename(directory)
    except OSError as error:
        raise _not_writable(directory, error) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _exchange(directory: Path, *, new: Path, old: Path, keep: str) -> None:
    """Move a folder's entries to `old` and those of `new` into it, or change nothing."""
    old.mkdir()
    moved: list[tuple[Path, Path]] = []
    try:
        for source, target in ((directory, old), (new, directory)):
            for entry in sorted(source.iterdir()):
                if entry.name != keep:
                    entry.rename(target / entry.name)
                    moved.append((entry, target / entry.name))
    except BaseException:
        for before, after in reversed(moved):
            after.rename(before)
        raise


def write_into(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write files below a folder that exists."""
    for path, content in files.items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _not_writable(directory: Path, error: OSError | RuntimeError) -> PezoError:
    reason = (getattr(error, "strerror", None) or str(error)).lower()
    return PezoError(f"--output {directory} must be writable, but: {reason}; choose another place")


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that any reader, at any moment, finds the old or the new one whole.

    Raises
    ------
    PezoError
        If it cannot be written; what is there stays.
    """
    path = Path(path)
    try:
        _write(path, content)
    except OSError as error:
        if not path.parent.is_dir():
            raise PezoError(
                f"{path}: the folder {path.parent} must exist to write there; create it first"
            ) from None
        reason = (error.strerror or str(error)).lower()
        raise PezoError(f"{path} must be writable, but: {reason}; choose another place") from None


def _write(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=part_prefix(path.name))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            # Or a power failure could leave the new name with old or no contents.
            os.fsync(file.fileno())
        # A temporary file is private; the result gets the permissions of any new file.
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


def _umask() -> int:
    # There is no way to read it but to set it.
    umask = os.umask(0)
    os.umask(umask)
    return umask
