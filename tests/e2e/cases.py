# SPDX-License-Identifier: MIT
"""End-to-end cases: programs are recorded, their traces read, printed and replayed, as a user does it.

Every case runs in a folder of its own. Validation messages count as failures: on top of the layer (what the layer shows the
program), below it (what the layer tells the driver) and under the replayer.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import shutil
import subprocess
import threading
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
TEXEL = "VK_LAYER_LAPILLI_TEST_texel"
TEST_LAYER = "VK_LAYER_LAPILLI_TEST_"
TIMEOUT = 240
PATIENCE = 1.0  # tests/run.py: by how much this machine is slower, now, than the one that limits were set on


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
        name = run.__name__.replace("_", "-")
        if name in self:
            raise ValueError(f"there are two cases {name}")
        self[name] = run
        return run


@dataclass
class Done:
    status: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


def patience(seconds: float) -> float:
    """A time limit, on this machine."""
    return seconds * PATIENCE


def private(folder: Path) -> dict[str, str]:
    """Variables that keep a test's own files in a folder, which is there."""
    places = {"HOME": folder / "home", "TMPDIR": folder / "tmp", "XDG_RUNTIME_DIR": folder / "run", "XDG_CACHE_HOME": folder / "cache"}
    for place in places.values():
        place.mkdir(mode=0o700, exist_ok=True)
    return {name: str(place) for name, place in places.items()}


@dataclass
class Context:
    root: Path
    build: Path
    folder: Path = Path(".")
    home: Path | None = None  # where HOME, TMPDIR and the like are; None: as the environment says, but for the cache
    driver: Path | None = None  # an ICD manifest; None: what the loader finds
    driver_dir: Path | None = None  # scripts/fetch-driver.sh made it, and everything in build is linked for it
    others: tuple[Path, ...] = ()  # builds for other machines (e2e/words)

    def in_folder(self, folder: Path, home: Path | None = None) -> "Context":
        return replace(self, folder=folder, home=home)

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

    def environment(self, env: dict[str, str] | None = None) -> dict[str, str]:
        """What programs of this case get: nothing of the tests' own, the case's driver and folders, and what is asked for."""
        result = {k: v for k, v in os.environ.items() if not k.startswith(("LAPILLI_", "VK_"))}
        driver = str(self.driver or os.environ.get("VK_DRIVER_FILES", ""))
        if driver:
            result["VK_DRIVER_FILES"] = result["VK_ICD_FILENAMES"] = driver
        # Windows are opened on the display that the tests run under.
        result.pop("WAYLAND_DISPLAY", None)
        # Of its own for each case: the validation layer remembers in the cache which shaders it has seen.
        return {**result, **(private(self.home) if self.home else {"XDG_CACHE_HOME": str(self.folder)}), **(env or {})}

    def run(self, command: list[str], env: dict[str, str] | None = None, expect: int | None = 0, timeout: float = TIMEOUT) -> Done:
        """Runs a command in the case's folder; another exit status than expected is a failure (None: any)."""
        process = subprocess.run(command, cwd=self.folder, env=self.environment(env), capture_output=True, text=True, errors="replace",
                                 timeout=patience(timeout), check=False)
        done = Done(process.returncode, process.stdout, process.stderr)
        if expect is not None and done.status != expect:
            raise Failure(f"{' '.join(command)}: exit status {done.status}, expected {expect}\n{done.text[-4000:]}")
        return done

    def has(self, verb: str) -> bool:
        """Whether this build can do it: replay programs are of 64-bit machines."""
        return verb not in ("compile", "disasm", "asm", "export", "run") or Path(self.program("lapilli")).read_bytes()[4] == 2

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


FILE_HEADER_BYTES = 40


def is_finished(trace: Path) -> bool:
    """Whether a recording is over: the file has more than its header, and no tail file. One that only begins has neither yet."""
    return trace.stat().st_size > FILE_HEADER_BYTES and not Path(f"{trace}.tail").exists()


def chunks_of(trace: bytes | bytearray, kind: int) -> list[int]:
    """Where the chunks of a kind begin (docs/format.md)."""
    at, found = FILE_HEADER_BYTES, []
    while at + 72 <= len(trace):
        if trace[at + 4] == kind:
            found.append(at)
        at += 72 + int.from_bytes(trace[at + 16:at + 20], "little")
    return found


def check(condition: bool, what: str) -> None:
    if not condition:
        raise Failure(what)


def name_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:  # it has ended meanwhile
        return ""


def children_of(process: subprocess.Popen | int, name: str = "") -> list[int]:
    """Processes that it has started and that have not ended; with a name only those."""
    found = []
    for task in Path(f"/proc/{process if isinstance(process, int) else process.pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # the thread has ended
            found += map(int, task.read_text().split())
    found.sort()
    return [number for number in found if not name or name_of(number) == name]


def child_of(process: subprocess.Popen, name: str = "") -> int:
    found = children_of(process, name)
    check(bool(found), f"{process.args} has no child {name}")
    return found[0]


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


def crashing(context: Context) -> None:
    """tests/layers/crash does nothing on other processors, nor in programs of 32 bits."""
    if platform.machine() != "x86_64" or Path(context.program("lapilli")).read_bytes()[4] != 2:
        raise Skip("the layer that crashes is for x86-64")


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


class Alone:
    """Programs without Lapilli: how each ends on each driver, found out once for all cases."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.ends: dict[tuple[object, ...], tuple[threading.Lock, list[Done]]] = {}

    def end(self, context: Context, command: list[str]) -> Done:
        with self.lock:
            lock, found = self.ends.setdefault((*command, context.driver, context.driver_dir), (threading.Lock(), []))
        with lock:
            if not found:
                found.append(context.run(command, expect=None))
            return found[0]


ALONE = Alone()


def skip_lacking(done: Done) -> None:
    if done.status == 77:
        raise Skip(done.text.strip().splitlines()[-1] if done.text.strip() else "the driver lacks something")


def prepare(context: Context, program: Program) -> None:
    """Skips what the machine or the driver lacks: programs of tests/apps then end with 77 and a reason."""
    if program.needs_display:
        display()
    if not shutil.which(program.command[0]):
        raise Skip(f"{program.command[0]} is not installed")
    done = ALONE.end(context, program.command)
    skip_lacking(done)
    if "wrong ELF class" in done.err:
        raise Skip(f"{program.command[0]} is a program of another word size")
    check(done.status == 0, f"without Lapilli the program itself ends with {done.status}:\n{done.text[-2000:]}")


def prepare_on(context: Context, program: Program, driver: str | None) -> tuple[Context, list[str]]:
    """The context and the command of a program on the usual driver (None), another one, or "null", where nothing is computed."""
    command = program.command
    if driver == "null":
        context = replace(context, driver=context.build / "tests/null/null_icd.json")
        command = [command[0], "--no-check", *command[1:]]
    else:
        context = context.on(driver)
    prepare(context, replace(program, command=command))
    return context, command


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
                done = context.replay(trace, "--threads", "3", *validating_shaders(context), expect=None)
                if done.status == 5 and "is newer than the SPIRV-Tools of this build" in done.err:
                    done = context.replay(trace, "--threads", "3")
                check(done.status == 0, f"the replay ends with {done.status}:\n{done.text}")
                checks += check_verified(done)
                check(done.err.count("playing on ") == 1, f"the GPU is not named once:\n{done.err}")
            # What was played here can be played here.
            report = json.loads(context.run([context.program("lapilli"), "check", "--json", trace]).out)
            check(report["can_replay"] is True and report["refusal"] is None, f"{trace} was played, but: {report['refusal']}")
        check(checks > 0, "nothing was checked")
        if program.name == "vkcube":
            check(context.info()["frames"] == 100, f"{context.info()['frames']} frames, not 100")
    return run


def all_cases(context: Context) -> list[Case]:
    from e2e import (address, after, android, app, asserts, backing, bench, bionic, blocks, bounded, conformance, contents, contract, debug, descriptor_buffers, dist, dmabuf, draws, each, elsewhere, experiments, export, farm, find, finish, gfxr, golden, gpus, hardware, imports, in_flight, incoherent, installed, instrument,
                     keys, loader, matrix, mcp, memory, mesh, needs, order, outcomes, page, page_access, page_messages, page_state, page_tasks, page_tree, page_views, parts, parts_in_flight, pictures, pixel, planner, present, process, profile, program, queues, rates, rays, report, reports, runs, sandbox, server, shaders, stamps, state, states, streaming, streaming_control, stuck, tables, torture, transforms, trees, trim, validation,
                     verify, waiting, words)
    # The longest come first, so that no processor waits for them in the end.
    result = [Case(f"torture/{name}", run) for name, run in torture.cases().items()]
    result += [Case(f"replay/{p.name}", record_and_replay(p)) for p in programs(context)]
    for name in OTHER_DRIVERS if not context.driver_dir else ():
        result += [Case(f"replay/{name}/{p.name}", record_and_replay(p, name)) for p in programs(context)]
    result += [Case(f"validate/{name}", run) for name, run in validation.cases(context).items()]
    result += [Case(f"verify/{name}", run) for name, run in verify.cases(context).items()]
    result += [Case(f"each/{name}", run) for name, run in each.cases(context).items()]
    result += [Case(f"outcomes/{name}", run) for name, run in outcomes.CASES.items()]
    result += [Case(f"incoherent/{name}", run) for name, run in incoherent.cases().items()]
    result += [Case(f"queues/{name}", run) for name, run in queues.cases().items()]
    result += [Case(f"matrix/{name}", run) for name, run in matrix.cases(context).items()]
    result += [Case(f"trim/{name}", run) for name, run in trim.cases(context).items()]
    result += [Case(f"draws/{name}", run) for name, run in draws.cases(context).items()]
    result += [Case(f"states/{name}", run) for name, run in states.cases(context).items()]
    result += [Case(f"trees/{name}", run) for name, run in trees.cases(context).items()]
    result += [Case(f"stamps/{name}", run) for name, run in stamps.cases(context).items()]
    result += [Case(f"state/{name}", run) for name, run in state.cases(context).items()]
    result += [Case(f"contents/{name}", run) for name, run in contents.cases(context).items()]
    result += [Case(f"program/{name}", run) for name, run in program.cases(context).items()]
    result += [Case(f"installed/{name}", run) for name, run in installed.CASES.items()]
    result += [Case(f"export/{name}", run) for name, run in export.cases().items()]
    result += [Case(f"farm/{name}", run) for name, run in farm.cases().items()]
    result += [Case(f"android/{name}", run) for name, run in android.cases().items()]
    result += [Case(f"find/{name}", run) for name, run in find.cases(context).items()]
    result += [Case(f"shaders/{name}", run) for name, run in shaders.cases(context).items()]
    result += [Case(f"server/{name}", run) for name, run in server.cases(context).items()]
    result += [Case(f"page/{name}", run) for name, run in page.cases(context).items()]
    result += [Case(f"page/{name}", run) for name, run in page_access.CASES.items()]
    result += [Case(f"page/{name}", run) for name, run in page_messages.CASES.items()]
    result += [Case(f"page/{name}", run) for name, run in page_state.CASES.items()]
    result += [Case(f"page/{name}", run) for name, run in page_tasks.CASES.items()]
    result += [Case(f"page/{name}", run) for name, run in page_views.CASES.items()]
    result += [Case(f"page/{name}", run) for name, run in page_tree.CASES.items()]
    result += [Case(f"server/{name}", run) for name, run in gpus.SERVER.items()]
    result += [Case(f"page/{name}", run) for name, run in gpus.PAGE.items()]
    result += [Case(f"after/{name}", run) for name, run in after.cases(context).items()]
    result += [Case(f"pixel/{name}", run) for name, run in pixel.cases(context).items()]
    result += [Case(f"debug/{name}", run) for name, run in debug.cases(context).items()]
    result += [Case(f"mesh/{name}", run) for name, run in mesh.cases(context).items()]
    result += [Case(f"waiting/{name}", run) for name, run in waiting.cases(context).items()]
    result += [Case(f"transforms/{name}", run) for name, run in transforms.cases(context).items()]
    result += [Case(f"experiments/{name}", run) for name, run in experiments.cases(context).items()]
    result += [Case(f"pictures/{name}", run) for name, run in pictures.cases(context).items()]
    result += [Case(f"present/{name}", run) for name, run in present.cases(context).items()]
    result += [Case(f"planner/{name}", run) for name, run in planner.cases(context).items()]
    result += [Case(f"memory/{name}", run) for name, run in memory.cases().items()]
    result += [Case(f"needs/{name}", run) for name, run in needs.cases().items()]
    result += [Case(f"blocks/{name}", run) for name, run in blocks.cases().items()]
    result += [Case(f"backing/{name}", run) for name, run in backing.cases(context).items()]
    result += [Case(f"imports/{name}", run) for name, run in imports.cases().items()]
    result += [Case(f"assert/{name}", run) for name, run in asserts.cases().items()]
    result += [Case(f"profile/{name}", run) for name, run in profile.cases().items()]
    result += [Case(f"report/{name}", run) for name, run in report.cases().items()]
    result += [Case(f"instrument/{name}", run) for name, run in instrument.CASES.items()]
    result += [Case(f"gfxr/{name}", run) for name, run in gfxr.cases().items()]
    result += [Case(f"dmabuf/{name}", run) for name, run in dmabuf.cases().items()]
    result += [Case(f"hardware/{name}", run) for name, run in hardware.cases().items()]
    result += [Case(f"elsewhere/{name}", run) for name, run in elsewhere.cases().items()]
    result += [Case(f"address/{name}", run) for name, run in address.cases().items()]
    result += [Case(f"rays/{name}", run) for name, run in rays.cases().items()]
    result += [Case(f"tables/{name}", run) for name, run in tables.cases().items()]
    result += [Case(f"descriptor-buffers/{name}", run) for name, run in descriptor_buffers.cases().items()]
    result += [Case(f"rates/{name}", run) for name, run in rates.cases().items()]
    result += [Case(f"contract/{name}", run) for name, run in contract.cases().items()]
    result += [Case(f"bionic/{name}", run) for name, run in bionic.cases().items()]
    result += [Case(f"mcp/{name}", run) for name, run in mcp.cases().items()]
    result += [Case(f"dist/{name}", run) for name, run in dist.cases().items()]
    result += [Case(f"golden/{name}", run) for name, run in golden.cases(context).items()]
    result += [Case(f"loader/{name}", run) for name, run in loader.cases().items()]
    result += [Case(f"words/{name}", run) for name, run in words.cases(context).items()]
    result += [Case(f"order/{name}", run) for name, run in order.cases().items()]
    result += [Case(f"reports/{name}", run) for name, run in reports.cases().items()]
    result += [Case(f"in-flight/{name}", run) for name, run in in_flight.cases().items()]
    result += [Case(f"run/{name}", run) for name, run in runs.cases().items()]
    result += [Case(f"streaming/{name}", run) for name, run in streaming.cases().items()]
    result += [Case(f"control/{name}", run) for name, run in streaming_control.cases(context).items()]
    result += [Case(f"parts/{name}", run) for name, run in parts.cases(context).items()]
    result += [Case(f"parts/in-flight/{name}", run) for name, run in parts_in_flight.cases().items()]
    result += [Case(f"app/{name}", run) for name, run in app.cases().items()]
    result += [Case(f"keys/{name}", run) for name, run in keys.cases(context).items()]
    result += [Case(f"sandbox/{name}", run) for name, run in sandbox.cases().items()]
    result += [Case(f"stuck/{name}", run) for name, run in stuck.cases().items()]
    result += [Case(f"conformance/{name}", run) for name, run in conformance.cases().items()]
    result += bench.cases(context)
    result += [Case(f"bounded/{name}", run) for name, run in bounded.cases().items()]
    result += [Case(f"finish/{name}", run) for name, run in finish.cases().items()]
    result += [Case(f"process/{name}", run) for name, run in process.cases().items()]
    return result
