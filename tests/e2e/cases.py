# SPDX-License-Identifier: MIT
"""End-to-end cases: programs are recorded, their traces read, printed and replayed, as a user does it.

Every case runs in a folder of its own. Validation messages count as failures: on top of the layer (what the layer shows the
program), below it (what the layer tells the driver) and under the replayer.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable

LAYER = "VK_LAYER_LAPILLI_capture"
VALIDATION = "VK_LAYER_KHRONOS_validation"
INCOHERENT = "VK_LAYER_LAPILLI_TEST_incoherent"
SHAPE = "VK_LAYER_LAPILLI_TEST_shape"
QUEUES = "VK_LAYER_LAPILLI_TEST_queues"
ADDRESSES = "VK_LAYER_LAPILLI_TEST_addresses"
INTRUDER = "VK_LAYER_LAPILLI_TEST_intruder"
CRASH = "VK_LAYER_LAPILLI_TEST_crash"
STUCK = "VK_LAYER_LAPILLI_TEST_stuck"
TEST_LAYER = "VK_LAYER_LAPILLI_TEST_"
TIMEOUT = 240


class Failure(Exception):
    """What was expected and what came."""


class Skip(Exception):
    """What the machine lacks."""


@dataclass
class Case:
    name: str
    run: Callable[["Context"], None]


class Cases(dict[str, Callable[["Context"], None]]):
    """The cases of a file, named after their functions."""

    def add(self, run: Callable[["Context"], None]) -> Callable[["Context"], None]:
        self[run.__name__.replace("_", "-")] = run
        return run


@dataclass
class Done:
    status: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


@dataclass
class Context:
    root: Path
    build: Path
    folder: Path = Path(".")
    driver: Path | None = None  # an ICD manifest; None: what the loader finds
    driver_dir: Path | None = None  # scripts/fetch-driver.sh made it, and everything in build is linked for it
    other: Path | None = None  # another build, for words of another size (e2e/words)

    def in_folder(self, folder: Path) -> "Context":
        return replace(self, folder=folder)

    def on(self, driver: str | None) -> "Context":
        """With one of OTHER_DRIVERS; None: as it is."""
        if not driver:
            return self
        if not OTHER_DRIVERS[driver].exists():
            raise Skip(f"{OTHER_DRIVERS[driver]} is not there")
        return replace(self, driver=OTHER_DRIVERS[driver])

    def program(self, name: str) -> str:
        return str(self.build / "bin" / name)

    def app(self, name: str) -> str:
        return str(self.build / "tests/apps" / name)

    def run(self, command: list[str], env: dict[str, str] | None = None, expect: int | None = 0, timeout: float = TIMEOUT) -> Done:
        """Runs a command in the case's folder; another exit status than expected is a failure (None: any)."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("LAPILLI_", "VK_"))}
        driver = str(self.driver or os.environ.get("VK_DRIVER_FILES", ""))
        if driver:
            environment["VK_DRIVER_FILES"] = environment["VK_ICD_FILENAMES"] = driver
        # Windows are opened on the display that the tests run under.
        environment.pop("WAYLAND_DISPLAY", None)
        # The validation layer remembers there which shaders it has seen; every case is to be told everything.
        environment["XDG_CACHE_HOME"] = str(self.folder)
        environment.update(env or {})
        process = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, errors="replace",
                                 timeout=timeout, check=False)
        done = Done(process.returncode, process.stdout, process.stderr)
        if expect is not None and done.status != expect:
            raise Failure(f"{' '.join(command)}: exit status {done.status}, expected {expect}\n{done.text[-4000:]}")
        return done

    @property
    def validation_folder(self) -> Path:
        return self.driver_dir / "layers" if self.driver_dir else Path("/usr/share/vulkan/explicit_layer.d")

    def installed(self, name: str) -> list[str]:
        """A program of the system, as it has to be started to find the driver's libraries."""
        path = shutil.which(name)
        if not path:
            raise Skip(f"{name} is not installed")
        return [str(self.driver_dir / "ld.so"), "--library-path", str(self.driver_dir / "lib"), path] if self.driver_dir else [path]

    def layer_folder(self, name: str) -> Path:
        """Where the layer's manifest lies; for layers of tests/layers a folder of its own."""
        if name == LAYER:
            return self.build / "share/vulkan/explicit_layer.d"
        if not name.startswith(TEST_LAYER):
            return self.validation_folder
        name = name.removeprefix(TEST_LAYER)
        folder = self.folder / "layers" / name
        if not folder.exists():
            manifest = json.loads((self.build / f"tests/layers/VkLayer_{name}.json").read_text())
            manifest["layer"]["library_path"] = str(self.build / f"tests/layers/libVkLayer_{name}.so")
            folder.mkdir(parents=True)
            (folder / f"VkLayer_{name}.json").write_text(json.dumps(manifest))
        return folder

    def layer_env(self, *names: str, **more: str) -> dict[str, str]:
        """Explicit layers without the command-line tools, the nearest to the program first; by default ours alone."""
        names = names or (LAYER,)
        # Debian 12's loader orders layers by the folders of VK_LAYER_PATH, newer ones by VK_INSTANCE_LAYERS.
        path = dict.fromkeys(str(self.layer_folder(name)) for name in names)
        return {"VK_LAYER_PATH": ":".join(path), "VK_INSTANCE_LAYERS": ":".join(names), "LAPILLI_FILE": "out.lapilli", **more}

    def capture(self, command: list[str], file: str = "out.lapilli", **options) -> Done:
        return self.run([self.program("lapilli"), "capture", "--verify", "-o", file, "--", *command], **options)

    def replay(self, file: str = "out.lapilli", *arguments: str, **options) -> Done:
        return self.run([self.program("lapilli-replay"), "--verify", "--present", "headless", *arguments, file], **options)

    def info(self, file: str = "out.lapilli", expect: int | None = 0) -> dict:
        return json.loads(self.run([self.program("lapilli"), "info", "--json", file], expect=expect).out)

    def print_lines(self, file: str = "out.lapilli", *arguments: str) -> list[dict]:
        out = self.run([self.program("lapilli"), "print", "--json", *arguments, file]).out
        return [json.loads(line) for line in out.splitlines()]


def chunks_of(trace: bytes | bytearray, kind: int) -> list[int]:
    """Where the chunks of a kind begin (docs/format.md)."""
    at, found = 40, []
    while at + 72 <= len(trace):
        if trace[at + 4] == kind:
            found.append(at)
        at += 72 + int.from_bytes(trace[at + 16:at + 20], "little")
    return found


def check(condition: bool, what: str) -> None:
    if not condition:
        raise Failure(what)


def check_verified(done: Done, fewest: int = 1) -> int:
    """The contract of --verify: the last line, and how many checks there were."""
    lines = done.out.splitlines()
    found = re.fullmatch(r"verify: (\d+) checks, (\d+) different", lines[-1] if lines else "")
    check(found is not None, f"the last line is no verify line:\n{done.text[-2000:]}")
    count, different = int(found.group(1)), int(found.group(2))
    check(count >= fewest and different == 0, lines[-1] + "\n" + done.err[-2000:])
    return count


def check_no_validation_message(done: Done, where: str) -> None:
    if re.search(r"Validation (Error|Warning|Performance|Information)|VUID-|UNASSIGNED-", done.text):
        raise Failure(f"validation {where}:\n{done.text[-4000:]}")


def validation_layer(context: Context) -> None:
    if not (context.validation_folder / "VkLayer_khronos_validation.json").exists():
        raise Skip(f"{VALIDATION} is not installed")


def display() -> None:
    if not os.environ.get("DISPLAY"):
        raise Skip("there is no X display")


@dataclass
class Program:
    """A program to record: one line of tests/apps/list.txt, or a real one."""

    name: str
    command: list[str]
    needs_display: bool


def programs(context: Context) -> list[Program]:
    result = []
    for line in (context.root / "tests/apps/list.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, needs_display, *arguments = line.split("\t")
        words = arguments[0].split() if arguments else []
        label = "-".join([name] + [w.lstrip("-") for w in words])
        result.append(Program(label, [context.app(name), *words], needs_display == "1"))
    vkcube = context.installed("vkcube") if shutil.which("vkcube") else ["vkcube"]
    result.append(Program("vkcube", [*vkcube, "--c", "100"], True))
    return result


def prepare(context: Context, program: Program) -> None:
    """Skips what the machine or the driver lacks: programs of tests/apps then end with 77 and a reason."""
    if program.needs_display:
        display()
    if not shutil.which(program.command[0]):
        raise Skip(f"{program.command[0]} is not installed")
    done = context.run(program.command, expect=None)
    if done.status == 77:
        raise Skip(done.text.strip().splitlines()[-1] if done.text.strip() else "the driver lacks something")
    check(done.status == 0, f"without Lapilli the program itself ends with {done.status}:\n{done.text[-2000:]}")


# Drivers beside the one that the loader finds (lavapipe on Debian without a GPU): tested where they are installed.
OTHER_DRIVERS = {"swiftshader": Path("/usr/lib/chromium/vk_swiftshader_icd.json")}


def validating_shaders(context: Context) -> list[str]:
    """The option, where the build has it."""
    done = context.run([context.program("lapilli-replay"), "--validate-shaders", "there-is-no-such.lapilli"], expect=None)
    check(done.status in (2, 3), f"exit status {done.status}, expected 2 or 3\n{done.text}")
    return [] if "built without SPIRV-Tools" in done.err else ["--validate-shaders"]


def record_and_replay(program: Program, driver: str | None = None) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context = context.on(driver)
        prepare(context, program)
        context.capture(program.command)
        traces = sorted(p.name for p in context.folder.glob("*.lapilli"))
        check(bool(traces), "no trace was written")
        checks = 0
        for trace in traces:
            info = context.info(trace)
            check(info["complete"] is True and info["stopped"] is None, f"{trace} is not complete: {info['stopped']}")
            check(info["calls"] > 0, f"{trace} has no calls")
            names = [line["name"] for line in context.print_lines(trace)]
            check("vkCreateInstance" in names, f"{trace}: print shows no vkCreateInstance")
            if "vkQueueSubmit" in names or "vkQueueSubmit2" in names:
                # Several threads play command buffers where the trace lets them; validate/ plays without.
                checks += check_verified(context.replay(trace, "--threads", "3", "--validate-descriptors", "used", *validating_shaders(context)))
            # What was played here can be played here.
            report = json.loads(context.run([context.program("lapilli"), "check", "--json", trace]).out)
            check(report["can_replay"] is True and report["refusal"] is None, f"{trace} was played, but: {report['refusal']}")
        check(checks > 0, "nothing was checked")
        if program.name == "vkcube":
            check(context.info()["frames"] == 100, f"{context.info()['frames']} frames, not 100")
    return run


def all_cases(context: Context) -> list[Case]:
    from e2e import (address, backing, bench, bounded, contract, finish, imports, in_flight, incoherent, loader, matrix, memory, needs, order, planner,
                     present, process, queues, sandbox, stuck, torture, validation, verify, words)
    result = [Case(f"replay/{p.name}", record_and_replay(p)) for p in programs(context)]
    for name in OTHER_DRIVERS if not context.driver_dir else ():
        result += [Case(f"replay/{name}/{p.name}", record_and_replay(p, name)) for p in programs(context)]
    result += [Case(f"validate/{name}", run) for name, run in validation.cases(context).items()]
    result += [Case(f"verify/{name}", run) for name, run in verify.cases(context).items()]
    result += [Case(f"incoherent/{name}", run) for name, run in incoherent.cases().items()]
    result += [Case(f"queues/{name}", run) for name, run in queues.cases().items()]
    result += [Case(f"matrix/{name}", run) for name, run in matrix.cases(context).items()]
    result += [Case(f"present/{name}", run) for name, run in present.cases(context).items()]
    result += [Case(f"planner/{name}", run) for name, run in planner.cases(context).items()]
    result += [Case(f"memory/{name}", run) for name, run in memory.cases().items()]
    result += [Case(f"needs/{name}", run) for name, run in needs.cases().items()]
    result += [Case(f"backing/{name}", run) for name, run in backing.cases(context).items()]
    result += [Case(f"imports/{name}", run) for name, run in imports.cases().items()]
    result += [Case(f"address/{name}", run) for name, run in address.cases().items()]
    result += [Case(f"contract/{name}", run) for name, run in contract.cases().items()]
    result += [Case(f"loader/{name}", run) for name, run in loader.cases().items()]
    result += [Case(f"words/{name}", run) for name, run in words.cases(context).items()]
    result += [Case(f"order/{name}", run) for name, run in order.cases().items()]
    result += [Case(f"in-flight/{name}", run) for name, run in in_flight.cases().items()]
    result += [Case(f"sandbox/{name}", run) for name, run in sandbox.cases().items()]
    result += [Case(f"stuck/{name}", run) for name, run in stuck.cases().items()]
    result += bench.cases(context)
    result += [Case(f"bounded/{name}", run) for name, run in bounded.cases().items()]
    result += [Case(f"finish/{name}", run) for name, run in finish.cases().items()]
    result += [Case(f"process/{name}", run) for name, run in process.cases().items()]
    result += [Case(f"torture/{name}", run) for name, run in torture.cases().items()]
    return result
