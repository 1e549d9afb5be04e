# SPDX-License-Identifier: MIT
"""The matrix: devices, drivers and options that traces are played with. A TOML file; docs/farm.md describes it."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path

FLAGS = ("verify", "measure", "validate")
SCREENSHOTS = re.compile(r"(\d+(-\d+)?|last)(,(\d+(-\d+)?|last))*")


class MatrixError(Exception):
    """Why it can't be used, with the key."""


@dataclass(frozen=True)
class Device:
    name: str
    gpu: str = ""
    driver_files: str = ""
    memory_mib: int = 0
    alone: bool = False
    constraint: str = ""
    gres: str = ""
    options: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Skip:
    trace: str = "*"
    device: str = "*"
    reason: str = "the matrix leaves it out"

    def is_of(self, trace: str, device: str) -> bool:
        return fnmatch.fnmatchcase(trace, self.trace) and fnmatch.fnmatchcase(device, self.device)


@dataclass(frozen=True)
class Matrix:
    label: str = ""
    timeout_s: float = 600.0
    repeat: int = 1
    repeat_failures: int = 2
    options: list[str] = field(default_factory=lambda: ["verify", "screenshots=last"])
    cache: str = ""
    cache_gib: float = 100.0
    device: list[Device] = field(default_factory=list)
    skip: list[Skip] = field(default_factory=list)

    def options_of(self, device: Device) -> list[str]:
        """Of an option with a value the last one counts."""
        return list({option.partition("=")[0]: option for option in [*self.options, *device.options]}.values())


def _is(value: object, kind: str) -> bool:
    if kind == "bool" or isinstance(value, bool):
        return kind == "bool" and isinstance(value, bool)
    if kind in ("int", "float"):
        return isinstance(value, int if kind == "int" else (int, float)) and value >= 0
    if kind == "list[str]":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if kind == "dict[str, str]":
        return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
    return isinstance(value, str)


WANTED = {"bool": "true or false", "int": "a whole number", "float": "a number", "list[str]": "a list of texts", "dict[str, str]": "a table of texts", "str": "a text"}


def _table(kind: type, data: object, where: str) -> dict:
    """What a table of the file says, of keys that are known, each with a value of its kind."""
    if not isinstance(data, dict):
        raise MatrixError(f"{where}is no table")
    known = {each.name: each for each in fields(kind)}
    for key, value in data.items():
        if key not in known:
            raise MatrixError(f"{where}there is no key '{key}': {', '.join(known)}")
        if known[key].type in WANTED and not _is(value, known[key].type):
            raise MatrixError(f"{where}'{key}' wants {WANTED[known[key].type]}")
    for key, each in known.items():
        if each.default is MISSING and each.default_factory is MISSING and not data.get(key):
            raise MatrixError(f"{where}'{key}' is missing")
    return data


def _tables(kind: type, data: object, key: str) -> list:
    if not isinstance(data, list):
        raise MatrixError(f"'{key}' wants tables: [[{key}]]")
    return [kind(**_table(kind, item, f"[[{key}]] {number}: ")) for number, item in enumerate(data, 1)]


def _check_options(options: list[str], where: str) -> None:
    for option in options:
        name, _, value = option.partition("=")
        if option in FLAGS or (name == "tolerance" and value.isdecimal()) or (name == "screenshots" and SCREENSHOTS.fullmatch(value)):
            continue
        raise MatrixError(f"{where}there is no option '{option}': {', '.join(FLAGS)}, screenshots=1,60,last, tolerance=N")


def read(data: dict) -> Matrix:
    """Of the TOML as it was read."""
    matrix = Matrix(**{**_table(Matrix, data, ""), "device": _tables(Device, data.get("device", []), "device"), "skip": _tables(Skip, data.get("skip", []), "skip")})
    names = [device.name for device in matrix.device]
    if not names:
        raise MatrixError("there is no [[device]]")
    if len(set(names)) < len(names):
        raise MatrixError(f"two [[device]] are called '{next(name for name in names if names.count(name) > 1)}'")
    if matrix.repeat < 1 or matrix.timeout_s <= 0:
        raise MatrixError("'repeat' and 'timeout_s' are more than 0")
    _check_options(matrix.options, "")
    for device in matrix.device:
        if any(not file.startswith("/") for file in device.driver_files.split(":") if device.driver_files):
            raise MatrixError(f"[[device]] '{device.name}': 'driver_files' wants whole paths")
        _check_options(device.options, f"[[device]] '{device.name}': ")
    return matrix


def load(path: Path) -> dict:
    """The TOML of a file, which read() takes."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        read(data)
        return data
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, MatrixError) as error:
        raise MatrixError(f"{path}: {error}") from error
    except OSError as error:
        raise MatrixError(f"{path}: {error.strerror}") from error
