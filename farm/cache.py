# SPDX-License-Identifier: MIT
"""What need not be done again: hashes of traces that did not change, and copies of traces on the node that plays them."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Iterator

from farm.publish import NoRoom, dumps, replace

KEPT_SECONDS = 90 * 86400
# A file that was written so lately may be written again within the same tick of its clock.
SETTLED_NS = 2_000_000_000
GIB = 1 << 30


class Changed(Exception):
    """The trace is another one than was planned."""

    def __init__(self, path: Path, planned: str, found: str) -> None:
        super().__init__(f"{path} is another trace than was planned: its SHA-256 is {found}, planned was {planned}")


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def signature(path: Path) -> tuple[int, int, int]:
    """What changes when the bytes of a file do."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns, found.st_ino


class Known:
    """Facts about files that have not changed since: a file in the user's cache, which nothing depends on."""

    def __init__(self, version: str, path: Path | None = None) -> None:
        self.version = version
        self.path = path or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lapilli/farm/traces.json"
        try:
            read = json.loads(self.path.read_bytes())
            self.entries = read["entries"] if read["version"] == version else {}
        except (OSError, ValueError, KeyError, TypeError):
            self.entries = {}

    def get(self, path: Path, now: tuple[int, int, int]) -> dict | None:
        entry = self.entries.get(str(path))
        if not isinstance(entry, dict) or entry.get("of") != list(now) or "facts" not in entry:
            return None
        entry["used"] = time.time()
        return entry["facts"]

    def put(self, path: Path, of: tuple[int, int, int], facts: dict) -> None:
        if of[1] + SETTLED_NS < time.time_ns():
            self.entries[str(path)] = {"of": of, "facts": facts, "used": time.time()}

    def save(self) -> None:
        """Of two farms that save at once one may lose what it found out: it finds it out again."""
        oldest = time.time() - KEPT_SECONDS
        kept = {path: entry for path, entry in self.entries.items() if entry.get("used", 0) > oldest}
        with contextlib.suppress(NoRoom):
            replace(self.path, dumps({"version": self.version, "entries": kept}).encode())


class Node:
    """Traces on a node, by content: a trace crosses the network once, whatever number of workers want it. Those that were used least
    lately go when there are more bytes than `most`; one that somebody plays stays."""

    def __init__(self, folder: str, most_gib: float) -> None:
        self.folder = Path(folder or Path(tempfile.gettempdir() if "TMPDIR" in os.environ else "/var/tmp") / f"lapilli-farm-{os.getuid()}")
        self.most = int(most_gib * GIB)

    def _lock(self, name: str, how: int) -> int:
        lock = os.open(self.folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, how)
        except OSError:
            os.close(lock)
            raise
        return lock

    @contextlib.contextmanager
    def hold(self, source: Path, sha: str) -> Iterator[Path]:
        """The copy, which stays as long as this lasts. OSError: it can't be made; Changed: the source is another trace."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.folder.stat().st_uid != os.getuid():
            raise PermissionError(1, "the cache belongs to another user", str(self.folder))
        copy = self.folder / f"{sha}.lapilli"
        lock = self._lock(sha, fcntl.LOCK_EX)
        try:
            if not copy.exists():
                self._make(source, sha, copy)
            os.utime(copy)
            fcntl.flock(lock, fcntl.LOCK_SH)
            yield copy
        finally:
            os.close(lock)

    def _make(self, source: Path, sha: str, copy: Path) -> None:
        self._shrink(source.stat().st_size)
        own = self.folder / f".{sha}.{os.getpid()}"
        try:
            shutil.copyfile(source, own)
            found = sha256(own)
            if found != sha:
                raise Changed(source, sha, found)
            os.rename(own, copy)
        finally:
            own.unlink(missing_ok=True)

    def _shrink(self, more: int) -> None:
        """Makes room for so many bytes more."""
        kept = sorted((path.stat().st_mtime_ns, path) for path in self.folder.glob("*.lapilli"))
        total = more + sum(path.stat().st_size for _, path in kept)
        for _, path in kept:
            if total <= self.most:
                return
            try:
                lock = self._lock(path.stem, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            total -= path.stat().st_size
            path.unlink()
            os.close(lock)


@contextlib.contextmanager
def in_place(source: Path, sha: str, planned: tuple[int, int, int] | None) -> Iterator[Path]:
    """The trace where it lies. Its bytes are read once more where it has changed since `planned`, and not trusted when it changes meanwhile."""
    before = signature(source)
    if before != planned:
        found = sha256(source)
        if found != sha:
            raise Changed(source, sha, found)
    yield source
    if signature(source) != before:
        raise Changed(source, sha, sha256(source))
