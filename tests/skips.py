# SPDX-License-Identifier: MIT
"""Skips that are foreseen: a list says under which condition which tests are skipped, and for what reason (skips.txt).

Conditions are looked up here, by other means than the tests have: a test that skips since its driver has broken is found out.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path


# Numbers of system calls that a kernel, or a container, may not have.
CALLS = {"x86_64": {"userfaultfd": 323, "kcmp": 312, "landlock_create_ruleset": 444},
         "aarch64": {"userfaultfd": 282, "kcmp": 272, "landlock_create_ruleset": 444}}


def answers(name: str, *arguments: int) -> int:
    """What a system call returns; -1 where its number is not known."""
    number = CALLS.get(os.uname().machine, {}).get(name)
    return -1 if number is None else ctypes.CDLL(None).syscall(number, *arguments)


def has_userfaultfd() -> bool:
    descriptor = answers("userfaultfd", os.O_CLOEXEC | os.O_NONBLOCK | 1)  # UFFD_USER_MODE_ONLY
    if descriptor >= 0:
        os.close(descriptor)
    return descriptor >= 0


def can_mount() -> bool:
    command = ["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    return shutil.which("unshare") is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0


@dataclass
class Foreseen:
    place: str
    conditions: list[str]
    name: re.Pattern
    reason: re.Pattern


@dataclass
class Machine:
    build: Path
    driver_dir: Path | None = None

    @functools.cached_property
    def gpus(self) -> str:
        """What a replay lists, on the driver that the tests run on."""
        done = subprocess.run([str(self.build / "bin/lapilli-replay"), "--list-gpus"], capture_output=True, text=True, timeout=60, check=False)
        return done.stdout

    @functools.cached_property
    def registry(self) -> str:
        """The version that the build was generated from."""
        return re.search(r'GEN_REGISTRY_VERSION "([\d.]+)"', (self.build / "gen/gen_ids.h").read_text(encoding="utf-8"))[1]

    @functools.cached_property
    def instrumented(self) -> bool:
        program = (self.build / "bin/lapilli-replay").read_bytes()
        return any(name in program for name in (b"__asan_init", b"__tsan_init", b"__gcov_"))

    def has(self, condition: str) -> bool:
        """Whether a condition of skips.txt holds. One that is not known is an error."""
        if condition.startswith("not "):
            return not self.has(condition.removeprefix("not "))
        word, _, value = condition.partition("=")
        known = {"always": lambda: True,
                 "display": lambda: bool(os.environ.get("DISPLAY")),
                 "sdk": lambda: os.environ.get("VULKAN_SDK", "/usr") != "/usr",
                 "root": lambda: os.geteuid() == 0,
                 "driver-dir": lambda: self.driver_dir is not None,
                 "instrumented": lambda: self.instrumented,
                 "pagemap": lambda: version(os.uname().release) >= (6, 7) and has_userfaultfd(),
                 "sandbox": lambda: answers("landlock_create_ruleset", 0, 0, 1) > 0,
                 "kcmp": lambda: answers("kcmp", os.getpid(), os.getpid(), 0, 0, 0) == 0,
                 "mount": can_mount,
                 "machine": lambda: os.uname().machine == value,
                 "registry-before": lambda: version(self.registry) < version(value),
                 "gpu": lambda: re.search(value, self.gpus) is not None,
                 "program": lambda: shutil.which(value) is not None,
                 "file": lambda: Path(value).exists()}
        if word not in known:
            raise ValueError(f"{condition!r} is no condition")
        return known[word]()


def version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])


def read(path: Path) -> list[Foreseen]:
    """The lines of a list. A line that is not as it should be is an error with its place."""
    result = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field for field in line.split("\t") if field]
        place = f"{path.name}:{number}"
        if len(fields) != 3:
            raise ValueError(f"{place}: {len(fields)} fields, not 3")
        result.append(Foreseen(place, fields[0].split(", "), re.compile(fields[1]), re.compile(fields[2])))
    return result


def skips_in(name: str, output: str) -> list[tuple[str, str]]:
    """Name and reason of each skip that a test, or a program of several, has reported."""
    found = re.findall(r"^skip ([^:]*): (.*)$", output, re.MULTILINE)
    return [(part if part == name else f"{name}/{part}", reason) for part, reason in found]


def report(foreseen: list[Foreseen], skipped: list[tuple[str, str]], names: list[str], machine: Machine) -> int:
    """Prints the skips that no line foresees, and the lines of which none came; returns how many the former are."""
    here = [line for line in foreseen if all(machine.has(condition) for condition in line.conditions)]
    met, unforeseen = set(), 0
    for name, reason in skipped:
        lines = [line.place for line in here if line.name.fullmatch(name) and line.reason.search(reason)]
        met.update(lines)
        if not lines:
            unforeseen += 1
            print(f"FAIL {name}: a skip that is not foreseen: {reason}")
    for line in here:
        # Of programs with several tests only those names are known that were skipped.
        if line.place not in met and any(line.name.fullmatch(name) or line.name.pattern.startswith(f"{name}/") for name in names):
            print(f"{line.place}: {line.name.pattern} is foreseen to skip here, and did not")
    return unforeseen
