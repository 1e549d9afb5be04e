# SPDX-License-Identifier: MIT
"""The results folder, which several machines share: files that appear whole, once, or not at all. Which files are there is all the state
that a farm has.

A file is written under a name of its own, fsync'ed, and linked to its final name: the first one stays. On NFS link() may report a failure
although it worked; the own file then has two links. A name of its own is removed also when its write fails, on a full disk.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import json
import os
import shutil
import socket
import time
from pathlib import Path
from typing import Iterator

HOST = socket.gethostname()
PROBE_BYTES = 1 << 16


class NoRoom(Exception):
    """The results folder could not be written: no result, and no fault of a run."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"{error.filename or 'the results folder'}: {error.strerror}")
        self.errno = error.errno


def result_path(results: Path, key: str) -> Path:
    return results / "runs" / key[:2] / f"{key}.ndjson"


def dumps(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


@contextlib.contextmanager
def _own(path: Path, data: bytes | Path) -> Iterator[Path]:
    """A whole copy of the data, under a name of its own beside the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    own = path.parent / f".{path.name}.{HOST}.{os.getpid()}.{time.time_ns()}"
    try:
        with own.open("xb") as file:
            if isinstance(data, Path):
                with data.open("rb") as source:
                    shutil.copyfileobj(source, file, 1 << 20)
            else:
                file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield own
    finally:
        with contextlib.suppress(FileNotFoundError):
            own.unlink()


def publish(path: Path, data: bytes) -> bool:
    """Makes a file; False: it was there before, and stays."""
    if path.exists():
        return False
    try:
        with _own(path, data) as own:
            try:
                os.link(own, path)
            except OSError as error:
                if own.stat().st_nlink == 2:
                    return True
                if error.errno == errno.EEXIST:
                    return False
                raise
            return True
    except OSError as error:
        raise NoRoom(error) from error


def replace(path: Path, data: bytes | Path) -> None:
    """Writes a file anew, or copies one there."""
    try:
        with _own(path, data) as own:
            os.rename(own, path)
    except OSError as error:
        raise NoRoom(error) from error


def publish_result(results: Path, line: dict) -> bool:
    """The first result of a run stays; one that comes second goes into twice/."""
    data, key = (dumps(line) + "\n").encode(), line["key"]
    if publish(result_path(results, key), data):
        return True
    replace(results / "twice" / f"{key}.{HOST}.{time.time_ns()}", data)
    return False


def publish_hashes(results: Path, lines: bytes) -> str:
    """By their content, so that repetitions share one file. The same lines are the same bytes: no time is in them."""
    name = hashlib.sha256(lines).hexdigest()
    path = results / "hashes" / name[:2] / f"{name}.ndjson.gz"
    if not path.exists():
        publish(path, gzip.compress(lines, mtime=0))
    return name


def read_object(path: Path) -> dict:
    """Of a file of JSON. OSError, ValueError: it can't be read."""
    found = json.loads(path.read_bytes())
    if not isinstance(found, dict):
        raise ValueError("no object")
    return found


def read_result(path: Path) -> dict | None:
    """None: there is none, or it is not whole."""
    try:
        line = json.loads(path.read_bytes().splitlines()[-1])
    except (OSError, ValueError, IndexError):
        return None
    return line if isinstance(line, dict) and line.get("end") is True else None


def present(results: Path, keys: set[str]) -> dict[str, dict]:
    """The results that are there, of these runs. A file that is not whole (a file system that crashed) is put aside."""
    found = {}
    for folder in {key[:2] for key in keys}:
        try:
            names = os.listdir(results / "runs" / folder)
        except OSError:  # of a network: the next look has it
            continue
        for key in {name.removesuffix(".ndjson") for name in names} & keys:
            line = read_result(result_path(results, key))
            if line:
                found[key] = line
            else:
                set_aside(results, key)
    return found


def set_aside(results: Path, key: str) -> None:
    try:
        (results / "twice").mkdir(exist_ok=True)
        os.rename(result_path(results, key), results / "twice" / f"{key}.damaged.{time.time_ns()}")
    except FileNotFoundError:
        pass
    except OSError as error:
        raise NoRoom(error) from error


def record_attempt(results: Path, key: str, text: str, number: int | None, host: str) -> None:
    """An infrastructure failure, for people. Where even this can't be written the caller still ends with it."""
    line = {"key": key, "host": host, "errno": number, "text": text, "time": time.time()}
    with contextlib.suppress(NoRoom):
        replace(results / "attempts" / f"{key}.{time.time_ns()}", (dumps(line) + "\n").encode())


def has_room(results: Path) -> str | None:
    """None, or the sentence why nothing can be made there by link()."""
    path = results / f".room.{HOST}.{os.getpid()}"
    try:
        publish(path, os.urandom(PROBE_BYTES))
        path.unlink()
    except NoRoom as error:
        return str(error)
    except OSError as error:
        return f"{results}: {error.strerror}"
    return None
