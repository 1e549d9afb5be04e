# SPDX-License-Identifier: MIT
"""What a recording and a replay go through when the machine fails them, one point at a time.

A *torture* names its points and has one of them run. At each the rules are the same: the program ends as it would without the layer or
with an error that Vulkan knows, nobody crashes or hangs, and what was recorded before is whole. tests/torture.py runs all points,
the cases below a few of each.
"""

from __future__ import annotations

import collections
import errno
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import threading
import time
from contextlib import ExitStack, contextmanager
from ctypes.util import find_library
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Callable, Iterator

from e2e.cases import CRASH, LAYER, TIMEOUT, Context, Done, Failure, Skip, check, check_verified, crashing, patience
from e2e.in_flight import has_arguments_of, read

FRAMES = 100
STARTING = 0.2  # this share of the points lies before the first frame
LEAVES_WITH = 7  # tests/faults/faults.c
LAYER_FILES = "libVkLayer_lapilli:libcjson"
REPLAY_FILES = "main:liblapilli:libcjson:liblz4:libzstd"
FILE_FAULTS = {"no-space": str(int(errno.ENOSPC)), "io-error": str(int(errno.EIO)), "interrupted": str(int(errno.EINTR)), "short": "short"}
HARMLESS = ("interrupted", "short")  # the layer does the rest
OUT_OF_MEMORY = " gives -1"  # VK_ERROR_OUT_OF_HOST_MEMORY, as tests/apps say it
REPLAY_ENDS = (0, 1)  # the trace is good


@dataclass(frozen=True)
class Program:
    name: str
    command: tuple[str, ...]  # the first is a program of tests/apps
    presents: bool = False
    ordered: bool = True  # whether it makes the same calls in each run


# Each prints "frame" behind each present, or each submit.
PROGRAMS = (
    Program("presents", ("triangle", "--present", "--tell", "--frames", str(FRAMES)), presents=True),
    Program("submits", ("triangle", "--offscreen", "--tell", "--frames", str(FRAMES))),
    Program("threads", ("threads", "--tell"), ordered=False),
    Program("stores", ("memory", "--tell")),
)
# As few that every call of theirs can fail in each way.
FILE_FRAMES = 12
FILE_PROGRAMS = (
    Program("presents", ("triangle", "--present", "--frames", str(FILE_FRAMES)), presents=True),
    Program("submits", ("triangle", "--offscreen", "--frames", str(FILE_FRAMES))),
)


@dataclass(frozen=True)
class Point:
    program: Program
    name: str
    settings: tuple[tuple[str, str], ...] = ()
    way: str = ""
    moment: float = 0  # of a run, 0 to 1


@dataclass
class Plan:
    points: list[Point]
    counts: str = ""  # of how much these are how much
    left_out: list[str] = field(default_factory=list)  # what this machine lacks


Outcomes = collections.Counter[tuple[str, str]]  # of ways and what came of them, in a word or two


@dataclass(frozen=True)
class Torture:
    name: str
    what: str
    plan: Callable[[Context, int, int], Plan]  # how many points at most, seed
    run: Callable[[Context, Point], str | Outcomes]  # what came of it; or a Failure
    sample: int = 12  # how many points make check takes
    faults: bool = True  # whether it takes tests/faults/libfaults.so, which programs of 32 bits on a machine of 64 have not
    claim: str = ""  # only what came to this counts as a point; there are more in the plan, to be tried until there are enough


# ---- running what fails


def command(context: Context, program: Program) -> list[str]:
    name, *arguments = program.command
    return [context.app(name), *arguments]


def able(programs: tuple[Program, ...] = PROGRAMS) -> list[Program]:
    """The programs that can run here."""
    return [program for program in programs if not program.presents or os.environ.get("DISPLAY")]


def unable(programs: tuple[Program, ...] = PROGRAMS) -> list[str]:
    return [f"{program.name}: there is no X display" for program in programs if program not in able(programs)]


def faults(context: Context, files: str, what: str, behind: str = "", **more: str) -> dict[str, str]:
    """behind: a library that is loaded next."""
    return {"LD_PRELOAD": f"{context.build / 'tests/faults/libfaults.so'} {behind}".strip(), "FAULTS_FILES": files, "FAULTS_WHAT": what,
            **{f"FAULTS_{name.upper()}": value for name, value in more.items()}}


def recording(context: Context, **more: str) -> dict[str, str]:
    return context.layer_env(LAPILLI_VERIFY="1", **more)


@dataclass(frozen=True)
class Calls:
    total: int
    firsts: dict[str, int]  # of each way that leads to one


def calls(context: Context, run: Callable[[dict[str, str]], object], files: str, what: str) -> Calls:
    """The calls that can fail."""
    count = context.folder / "count"
    run(faults(context, files, what, count=str(count)))
    total, *firsts = count.read_text().splitlines()
    return Calls(int(total), {way: int(number) for way, number in map(str.split, firsts)})


def even(things: list[tuple[Program, int]], most: int) -> list[tuple[Program, int]]:
    return things if len(things) <= most else [things[i * len(things) // most] for i in range(most)]


def chosen(found: dict[Program, Calls], most: int) -> list[tuple[Program, int]]:
    """The first call on each way, in whichever program, and others that lie evenly between, as far as there may be more."""
    ways: dict[str, tuple[Program, int]] = {}
    for program, counted in found.items():
        for way, number in counted.firsts.items():
            ways.setdefault(way, (program, number))
    firsts = even(sorted(ways.values(), key=lambda first: (first[0].name, first[1])), most)
    others = [(program, number) for program, counted in found.items() for number in range(1, counted.total + 1)]
    taken = set(firsts)
    return firsts + even([other for other in others if other not in taken], most - len(firsts))


def check_alive(status: int, err: str) -> None:
    check(status >= 0, f"killed by {signal.Signals(-status).name if status < 0 else status}\n{err[-2000:]}")


def frames_of_what_is_left(context: Context, complete: bool | None) -> tuple[int, int]:
    """Reads and plays what was recorded: its frames, and the checks of them. Whether it is complete is checked unless None is given."""
    if not (context.folder / "out.lapilli").exists():
        check(complete is not True, "there is no trace")
        return 0, 0
    done = context.run([context.program("lapilli"), "info", "--json", "out.lapilli"], expect=None)
    check(done.status in (0, 3), f"info ends with {done.status}:\n{done.text[-2000:]}")
    if done.status == 3:
        check(complete is not True, done.text)
        return 0, 0
    info = context.info()
    check(complete is None or info["complete"] is complete, f"complete: {info['complete']}, stopped: {info['stopped']}")
    if not info["frames"]:
        return 0, 0
    done = context.replay(expect=0 if info["complete"] else 4)
    made = check_verified(done, fewest=1 if info["complete"] else 0)
    return int(info["frames"]), made


# ---- a process that is killed

ENDS = {"kill": signal.SIGKILL, "segv": signal.SIGSEGV, "abort": signal.SIGABRT, "term": signal.SIGTERM, "exit": None, "exec": None,
        "memory": None}  # the last: the kernel's own kill, of a group of processes that has no memory left
GROUPS = {Path("/sys/fs/cgroup/memory"): ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
          Path("/sys/fs/cgroup"): ("memory.max", "memory.swap.max")}
GROUP_BYTES = {"memory.swap.max": 0}  # the others:
ROOM = 512 << 20  # for a program and its recording


@contextmanager
def memory_group() -> Iterator[Path | None]:
    """A control group with little memory; None where no such group can be made."""
    for parent, limits in GROUPS.items():
        group = parent / f"lapilli-{os.getpid()}-{threading.get_ident()}"
        try:
            if not (parent / "cgroup.procs").exists():
                continue
            group.mkdir()
            if not (group / limits[0]).exists():
                group.rmdir()
                continue
            for limit in limits:
                if (group / limit).exists():
                    (group / limit).write_text(str(GROUP_BYTES.get(limit, ROOM)))
        except OSError:
            continue
        try:
            yield group
        finally:
            for _ in range(100):
                try:
                    group.rmdir()
                    break
                except OSError:  # what the group had is still being given back
                    time.sleep(0.05)
        return
    yield None


def ends() -> list[str]:
    """The ways that there are here."""
    with memory_group() as group:
        return [way for way in ENDS if way != "memory" or group]


# How a program is recorded that is killed, in turn.
RECORDINGS = ({"LAPILLI_COMPRESSION": "lz4"}, {"LAPILLI_COMPRESSION": "none"}, {"LAPILLI_COMPRESSION": "lz4hc"}, {"LAPILLI_QUEUE": "0"},
              {"LAPILLI_WRITE_WATCH": "mprotect"}, {"LAPILLI_BACKING": "host"})


def kill_plan(context: Context, most: int, seed: int) -> Plan:
    """Twice as many as are wanted, for some come too early or too late to say anything of frames."""
    chance, programs, ways = random.Random(seed), able(), ends()
    points = []
    for i in range(2 * most):
        program, way = programs[i % len(programs)], ways[i // len(programs) % len(ways)]
        moment, settings = (i + chance.random()) / (2 * most), RECORDINGS[chance.randrange(len(RECORDINGS))]
        name = f"{way} {program.name} at {moment:.4f}, " + " ".join(f"{key}={value}" for key, value in settings.items())
        points.append(Point(program, name, tuple(settings.items()), way, moment))
    chance.shuffle(points)
    return Plan(points, left_out=unable() + [f"{way}: no control group for memory can be made" for way in ENDS if way not in ways])


LENGTHS: dict[str, tuple[float, float]] = {}  # seconds to the first frame, and from there to the end


def start_in_group(context: Context, program: Program, environment: dict[str, str], group: Path | None) -> subprocess.Popen[bytes]:
    def prepare() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if group:
            (group / "cgroup.procs").write_text(str(os.getpid()))

    return subprocess.Popen(command(context, program), cwd=context.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            preexec_fn=prepare)


def start(context: Context, program: Program, way: str, settings: dict[str, str], group: Path | None = None) -> subprocess.Popen[bytes]:
    environment = context.environment()
    environment.update(recording(context, **settings),
                       **faults(context, "nobody", "files", leave=way if way in ("exec", "memory") else "exit"))
    return start_in_group(context, program, environment, group)


def first_frame(process: subprocess.Popen[bytes]) -> bytes:
    """What the program says up to its first frame, or to its end."""
    out, piece = b"", b"."
    while piece and b"frame\n" not in out:
        piece = os.read(process.stdout.fileno(), 4096)
        out += piece
    return out


def lengths(context: Context, program: Program) -> tuple[float, float]:
    if program.name not in LENGTHS:
        begin = time.monotonic()
        with start(context, program, "kill", {}) as process:
            first_frame(process)
            middle = time.monotonic()
            process.communicate(timeout=patience(TIMEOUT))
        LENGTHS[program.name] = middle - begin, time.monotonic() - middle
        for file in context.folder.glob("*.lapilli*"):
            file.unlink()
    return LENGTHS[program.name]


FRAMES_KEPT = "frames kept"


def kill(context: Context, point: Point) -> str:
    number, said = ENDS[point.way], b""
    before, after = lengths(context, point.program)
    with ExitStack() as stack:
        group = stack.enter_context(memory_group()) if point.way == "memory" else None
        process = stack.enter_context(start(context, point.program, point.way, dict(point.settings), group))
        if point.moment < STARTING:
            time.sleep(point.moment / STARTING * before)
        else:
            said = first_frame(process)
            time.sleep((point.moment - STARTING) / (1 - STARTING) * after)
        process.send_signal(number or signal.SIGUSR1)
        out, err = process.communicate(timeout=patience(TIMEOUT))
    out = said + out
    ended_before = process.returncode == 0 and b"\nok " in b"\n" + out
    # Before faults.c has its handler the signal itself ends the process.
    left_by = {"exit": LEAVES_WITH, "exec": 0, "memory": -signal.SIGKILL}
    expected = {-number if number else left_by[point.way], -signal.SIGUSR1}
    check(ended_before or process.returncode in expected, f"exit status {process.returncode}\n{err.decode(errors='replace')[-2000:]}")
    told = out.count(b"frame\n")
    # /bin/true ends with 0, too, and may have come between the program's last word and its end.
    left, checks = frames_of_what_is_left(context, True if ended_before and point.way != "exec" else None)
    check(left >= told, f"{told} frames were told, {left} are there")
    check(not point.program.presents or checks >= told, f"{told} frames were told, {checks} were compared")
    return "had ended" if ended_before else FRAMES_KEPT if told else "before the first frame"


# ---- a process that is killed, whatever it has presented

LOADS = ("", "--threads 1", "--threads 4", "--threads 4 --masked", "--threads 12", "--offscreen", "--offscreen --threads 4")
LOADING = 0.6  # seconds
LOADS_LOST = 3  # submits and copies that may be there too early
# Several traces have all that one thread does, where frames end with submits: none of what returned around the end of one is lost. What others
# do between two of them is in none.
LOADS_IN_PARTS = {"LAPILLI_FRAMES": "1-3,4-20,21-60,61-150,151-1000000000"}


def returned_plan(context: Context, most: int, seed: int) -> Plan:
    chance, ways = random.Random(seed), [way for way, number in ENDS.items() if number]
    recordings = [settings for settings in RECORDINGS if "LAPILLI_QUEUE" not in settings]  # where there is no tail file there is no journal
    points = []
    for i in range(most):
        options, way = LOADS[i % len(LOADS)], ways[i // len(LOADS) % len(ways)]
        moment, settings = (i + chance.random()) / most, recordings[chance.randrange(len(recordings))]
        if options == "--offscreen" and i // len(LOADS) % 2 == 0:
            settings = {**settings, **LOADS_IN_PARTS}
        name = f"{way} loads {options} at {moment:.4f}, " + " ".join(f"{key}={value}" for key, value in settings.items())
        points.append(Point(Program(f"loads {options}", ("loads", *options.split()), "--offscreen" not in options), name, tuple(settings.items()), way, moment))
    chance.shuffle(points)
    return Plan(points)


def keep_returned(context: Context, point: Point) -> str:
    """Each call that had returned is in the trace, and nothing but what was made."""
    environment = context.environment()
    environment.update(recording(context, LOADS_RETURNED="returned", **dict(point.settings)))
    counts = context.folder / "returned"
    with subprocess.Popen([context.app(point.program.command[0]), "--frames", "1000000", *point.program.command[1:]], cwd=context.folder, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(point.moment * LOADING)
        process.send_signal(ENDS[point.way])
        process.communicate(timeout=patience(TIMEOUT))
    check(process.returncode == -ENDS[point.way], f"exit status {process.returncode}")
    traces = sorted(context.folder.glob("*.lapilli"), key=lambda path: path.stat().st_mtime_ns)
    if not traces or not counts.exists() or not counts.stat().st_size:
        return "before there was a trace"
    data = counts.read_bytes()
    numbers = struct.unpack(f"<{len(data) // 8}Q", data)
    printed = [context.run([context.program("lapilli"), "print", trace.name], expect=None).out for trace in traces]
    out = "".join(text[max(0, text.rfind("lapilliState(")):] for text in printed)
    for name, least, threads in (("vkQueueSubmit", numbers[0], 1), ("vkCreateBuffer", sum(numbers[1:]), 12)):
        found = len(re.findall(rf"\b{name}\b", out))
        # A thread's call under way may have been made, and be printed once more as the call in flight.
        check(least <= found <= least + LOADS_LOST + 2 * threads, f"{least} calls of {name} had returned, {found} are there")
    for trace in traces:
        # The last part may have ended, and any may have nothing to compare.
        done = context.replay(trace.name, expect=None if LOADS_IN_PARTS.items() <= dict(point.settings).items() else 4)
        check("differs" not in done.err and done.status in (0, 1, 4), done.text[-2000:])
    return RETURNED_KEPT if numbers[0] else "before the first submit"


RETURNED_KEPT = "calls kept"


# ---- a process that ends in a call

# tests/layers/crash.c, and the exit status.
CALL_ENDS = {"kill": -signal.SIGKILL, "segv": -signal.SIGSEGV, "abort": -signal.SIGABRT, "term": -signal.SIGTERM, "leave": 7, "exec": 0,
             "memory": -signal.SIGKILL}
CALL_TOLD = "the call is told"
MADE: dict[str, list[dict]] = {}  # the calls of each program


def calls_made(context: Context, program: Program) -> list[dict]:
    context.run(command(context, program), context.layer_env(LAYER))
    made = [line for line in context.print_lines() if not line["name"].startswith("lapilli")]
    (context.folder / "out.lapilli").unlink()
    return made


ADDRESS, NUMBER = "^0x[0-9a-f]+$", "(?<=:)[0-9]+$"


def comparable(program: Program, value: object) -> object:
    """Arguments without addresses, which are others in each run, and where threads race, without the numbers of objects and data."""
    if isinstance(value, dict):
        return {key: comparable(program, inner) for key, inner in value.items() if program.ordered or key != "hash"}
    if isinstance(value, list):
        return [comparable(program, inner) for inner in value]
    if not isinstance(value, str):
        return value
    return re.sub(ADDRESS if program.ordered else f"{ADDRESS}|{NUMBER}", "", value)


def is_of(program: Program, call: dict, made: dict) -> bool:
    return has_arguments_of(*({**one, "args": comparable(program, one["args"])} for one in (call, made)))


def call_plan(context: Context, most: int, seed: int) -> Plan:
    """Twice as many as are wanted, for in some it is the layer that makes the call, within one of the program's."""
    crashing(context)
    chance, programs = random.Random(seed), able()
    ways = [way for way in CALL_ENDS if way in ends() or way == "leave"]
    points = []
    for program in programs:
        MADE[program.name] = calls_made(context, program)
    for i in range(2 * most):
        program, way = programs[i % len(programs)], ways[i // len(programs) % len(ways)]
        made = MADE[program.name]
        name = chance.choice(sorted({call["name"] for call in made}))
        number = chance.randrange(sum(call["name"] == name for call in made)) + 1
        points.append(Point(program, f"{way} {program.name} in {name}, for the {number}. time", (("call", f"{name}:{number}"),), way))
    left_out = unable() + [f"{way}: no control group for memory can be made" for way in CALL_ENDS if way not in ways]
    return Plan(points, f"calls of {sum(map(len, MADE.values()))}", left_out)


def end_in_call(context: Context, point: Point) -> str:
    name = dict(point.settings)["call"].split(":")[0]
    environment = context.environment(context.layer_env(LAYER, CRASH, LAPILLI_CRASH=f"{dict(point.settings)['call']}:{point.way}"))
    with ExitStack() as stack:
        group = stack.enter_context(memory_group()) if point.way == "memory" else None
        process = stack.enter_context(start_in_group(context, point.program, environment, group))
        out, err = process.communicate(timeout=patience(TIMEOUT))
    status = process.returncode
    if status == 0 and b"\nok " in b"\n" + out:
        return "it was not reached"  # what looks whether something is ready looks now more often, now less
    check(status == CALL_ENDS[point.way], f"exit status {status}\n{err.decode(errors='replace')[-2000:]}")
    told, info = out.count(b"frame\n"), context.info()
    check(info["frames"] >= told and not info["complete"], f"{told} frames were told, and now: {info}")
    found = read(context)
    check(bool(found), f"no call is told: {info}")
    check(all(call["args"] is not None for call in found), f"arguments are missing: {found}")
    for call in found:
        if call["name"] == name and any(is_of(point.program, call, made) for made in MADE[point.program.name] if made["name"] == name):
            return CALL_TOLD
    check(not any(call["name"] == name for call in found), f"other arguments than those of any call: {found}")
    return "the call around it"


# ---- files that can't be written


def calls_of_recordings(context: Context, programs: list[Program], what: str) -> dict[Program, Calls]:
    found = {}
    for program in programs:
        def run(env: dict[str, str], program: Program = program) -> None:
            context.run(command(context, program), {**recording(context, LAPILLI_FILE="count.lapilli"), **env})
        found[program] = calls(context, run, LAYER_FILES, what)
    return found


def how_many(found: dict[Program, Calls], taken: list[tuple[Program, int]]) -> str:
    ways = {way for counted in found.values() for way in counted.firsts}
    return f"{len(taken)} of {sum(counted.total for counted in found.values())} calls, which are reached on {len(ways)} ways"


def file_plan(context: Context, most: int, seed: int) -> Plan:
    points: list[Point] = []
    found = calls_of_recordings(context, able(FILE_PROGRAMS), "files")
    taken = chosen(found, max(1, most // (2 * len(FILE_FAULTS) - 1)))
    for program, number in taken:
        for way, value in FILE_FAULTS.items():
            for on in ("once", "ever"):
                if way == "interrupted" and on == "ever":
                    continue  # no machine interrupts for ever
                points.append(Point(program, f"{way} {on} at call {number} of {found[program].total}, {program.name}",
                                    (("how", value), ("on", on), ("at", str(number))), way))
    return Plan(points, how_many(found, taken), unable(FILE_PROGRAMS))


def fail_files(context: Context, point: Point) -> str:
    settings = dict(point.settings)
    done = context.run(command(context, point.program), {**recording(context), **faults(context, LAYER_FILES, "files", **settings)})
    check(done.out.endswith(f"ok {point.program.command[0]}\n"), done.text)
    messages = [line for line in done.err.splitlines() if line.startswith("lapilli")]
    left, checks = frames_of_what_is_left(context, True if point.way in HARMLESS else None)
    if point.way in HARMLESS:
        check(not messages, done.err)
        check(left >= FILE_FRAMES and checks >= FILE_FRAMES, f"{left} frames, {checks} checks")
        return "whole"
    complete = left and context.info()["complete"]
    check(len(messages) == (0 if complete else 1), f"{len(messages)} messages:\n{done.err}")
    if complete:
        return "whole"  # it was the tail's, or what is done without
    why = os.strerror(int(settings["how"]))
    check(why in messages[0], messages[0])
    if left:
        stopped = str(context.info()["stopped"])
        # Where nothing more can be written, the reason can't either.
        check(why in stopped or (settings["on"] == "ever" and "offset" in stopped), f"info gives as the reason: {stopped}")
    return "stopped" if left else "nothing recorded"


def slow_plan(context: Context, most: int, seed: int) -> Plan:
    return Plan([Point(program, f"slow, {program.name}", (("how", "slow"), ("on", "ever"), ("at", "1"))) for program in able()],
                left_out=unable())


def slow_files(context: Context, point: Point) -> str:
    done = context.run(command(context, point.program), {**recording(context, LAPILLI_QUEUE="16"),
                                                         **faults(context, LAYER_FILES, "files", **dict(point.settings))})
    check(done.out.endswith(f"ok {point.program.command[0]}\n"), done.text)
    left, _ = frames_of_what_is_left(context, True)
    check(left >= done.out.count("frame\n"), f"{left} frames")
    return "whole"


# ---- memory that can't be had


LEAK_FINDER = find_library("lsan")  # gcc's, for programs that are not built for it
LEAK_OPTIONS = {"LSAN_OPTIONS": "intercept_tls_get_addr=0:malloc_context_size=8:symbolize=0:exitcode=0"}
FRAME = re.compile(r"^ +#\d+ 0x[0-9a-f]+ +\((.*)\+(0x[0-9a-f]+)\)$", re.MULTILINE)
STANDS_IN = ("liblsan", "libfaults", "libc.so")


def leak_finder(context: Context) -> str:
    """Of this system's C library, so not for programs that run on another one."""
    return "" if context.driver_dir else LEAK_FINDER or ""


def finding_leaks(context: Context, files: str, **more: str) -> dict[str, str]:
    return {**faults(context, files, "memory", behind=leak_finder(context), **more), **LEAK_OPTIONS}


def check_no_leak(done: Done, files: str) -> Done:
    """What these files have allocated is not lost when the process ends. Returns what was said without that."""
    said, *report = re.split(r"\n=+\n==\d+==ERROR: LeakSanitizer", done.err, maxsplit=1)
    check("LeakSanitizer" not in said, f"leaks can't be looked for:\n{done.err[-2000:]}")
    for leak in re.split(r"\n\n", report[0] if report else ""):
        frames = [(file, place) for file, place in FRAME.findall(leak) if not any(name in file for name in STANDS_IN)]
        wanted = [name if name != "main" else "bin/lapilli" for name in files.split(":")]
        check(not frames or not any(name in frames[0][0] for name in wanted), f"a leak:\n{leak}\n{said[-2000:]}")
    return replace(done, err=said)


def starved(context: Context, found: dict[Program, Calls], most: int, what: str) -> Plan:
    taken = chosen(found, max(1, most // 2))
    points = [Point(program, f"no memory {on} from call {number} of {found[program].total}, {what}{program.name}", (("on", on), ("at", str(number))), on)
              for program, number in taken for on in ("once", "ever")]
    return Plan(points, how_many(found, taken), [] if leak_finder(context) else ["leaks: there is no liblsan"])


def memory_plan(context: Context, most: int, seed: int) -> Plan:
    plan = starved(context, calls_of_recordings(context, able(), "memory"), most, "")
    return replace(plan, left_out=plan.left_out + unable())


def starve_layer(context: Context, point: Point) -> str:
    done = context.run(command(context, point.program), {**recording(context), **finding_leaks(context, LAYER_FILES, **dict(point.settings))},
                       expect=None)
    check_alive(done.status, done.err)
    done = check_no_leak(done, LAYER_FILES)
    passed = done.status == 0 and done.out.endswith(f"ok {point.program.command[0]}\n")
    check(passed or OUT_OF_MEMORY in done.err, f"exit status {done.status}:\n{done.text[-2000:]}")
    left, _ = frames_of_what_is_left(context, None)
    return ("passed" if passed else "the program was told") + (", recorded" if left else ", nothing recorded")


IN_SANDBOX = 4  # one of so many


def replay_plan(context: Context, most: int, seed: int) -> Plan:
    found = {}
    for program in (p for p in PROGRAMS if not p.presents):
        record_for_replay(context, program)
        def run(env: dict[str, str]) -> None:
            context.replay("out.lapilli", "--sandbox=off", env=env)  # or the number could not be written
        found[program] = calls(context, run, REPLAY_FILES, "memory")
        (context.folder / "out.lapilli").unlink()
    return starved(context, found, most, "replay of ")


def record_for_replay(context: Context, program: Program) -> None:
    context.run(command(context, program), recording(context))


def starve_replay(context: Context, point: Point) -> str:
    """In the sandbox nobody can look for leaks."""
    record_for_replay(context, point.program)
    settings = dict(point.settings)
    if int(settings["at"]) % IN_SANDBOX == 0:
        done = context.replay("out.lapilli", expect=None, env=faults(context, REPLAY_FILES, "memory", **settings))
        check_alive(done.status, done.err)
    else:
        done = context.replay("out.lapilli", "--sandbox=off", expect=None, env=finding_leaks(context, REPLAY_FILES, **settings))
        check_alive(done.status, done.err)
        done = check_no_leak(done, REPLAY_FILES)
    check(done.status in REPLAY_ENDS, f"exit status {done.status}:\n{done.text[-2000:]}")
    if done.status == 0:
        check_verified(done)
        return "played"
    check(bool(done.err.strip()), f"exit status {done.status} without a word:\n{done.text[-2000:]}")
    return "said so"


# Programs that read a trace and play none.
TOOLS = (
    Program("info", ("lapilli-info",)),
    Program("info --json", ("lapilli-info", "--json")),
    Program("print", ("lapilli-print",)),
    Program("print --json", ("lapilli-print", "--json")),
    Program("check", ("lapilli-replay", "--check", "--json", "--sandbox=off")),
)
READ: dict[str, bytes] = {}  # the trace
SAID: dict[str, str] = {}  # what each says of it


def read_trace(context: Context, program: Program, env: dict[str, str], expect: int | None = 0) -> Done:
    name, *arguments = program.command
    (context.folder / "read.lapilli").write_bytes(READ["trace"])
    return context.run([context.program(name), *arguments, "read.lapilli"], env, expect=expect)


def tool_plan(context: Context, most: int, seed: int) -> Plan:
    found = {}
    record_for_replay(context, PROGRAMS[1])
    READ["trace"] = (context.folder / "out.lapilli").read_bytes()
    for program in TOOLS:
        SAID[program.name] = read_trace(context, program, {}).out
        def run(env: dict[str, str], program: Program = program) -> None:
            read_trace(context, program, env)
        found[program] = calls(context, run, REPLAY_FILES, "memory")
    return replace(starved(context, found, most, "lapilli "), left_out=["leaks: in a sandbox nobody can look for them"])


def starve_tool(context: Context, point: Point) -> str:
    done = read_trace(context, point.program, faults(context, REPLAY_FILES, "memory", **dict(point.settings)), expect=None)
    check_alive(done.status, done.err)
    check(done.status in REPLAY_ENDS, f"exit status {done.status}:\n{done.text[-2000:]}")
    if done.status == 0:
        check(done.out == SAID[point.program.name], f"it says something else:\n{done.text[-2000:]}")
        return "said all"
    check(bool(done.err.strip()), f"exit status {done.status} without a word:\n{done.text[-2000:]}")
    return "said so"


# ---- files that are damaged

DAMAGED = Program("damage", ("triangle", "--offscreen", "--frames", "30"))
OTHER = Program("other", ("triangle", "--offscreen", "--frames", "30", "--srgb"))  # has pieces that do not belong into the first one's trace
# What is damaged, recorded once: as it is recorded; as `lapilli compress` makes it; and as a process that was killed leaves it, without an
# end and an index.
TRACES: dict[str, bytes] = {}
END_BYTES, INDEX_OFFSET_AT = 456, 72  # docs/format.md, "END"


def without_end(trace: bytes) -> bytes:
    (index,) = struct.unpack_from("<Q", trace, len(trace) - END_BYTES + INDEX_OFFSET_AT)
    return trace[:index]


def damage_plan(context: Context, most: int, seed: int) -> Plan:
    """Shares of all the ways, of each trace as many; each process reads some hundred damaged traces."""
    if not (context.build / "tests/fuzz/damage").exists():
        raise Skip("there is no tests/fuzz/damage")
    for name, program in (("recorded", DAMAGED), ("other", OTHER)):
        record_for_replay(context, program)
        TRACES[name] = (context.folder / "out.lapilli").read_bytes()
        if program is DAMAGED:
            context.run([context.program("lapilli"), "compress", "-o", "smaller.lapilli", "out.lapilli"])
            TRACES["compressed"] = (context.folder / "smaller.lapilli").read_bytes()
        (context.folder / "out.lapilli").unlink()
    TRACES["unended"] = without_end(TRACES["recorded"])
    names = [name for name in TRACES if name != "other"]
    shares = max(1, most // len(names))
    points = [Point(DAMAGED, f"share {i} of {shares} of all damage to the {name} trace", (("share", str(i)), ("shares", str(shares))), name)
              for i in range(shares) for name in names]
    return Plan(points, "shares of all damage to " + ", ".join(f"a trace as {name} of {len(TRACES[name])} bytes" for name in names))


DAMAGE_LINE = re.compile(r"^(.+?) +\d+: (.*)$", re.MULTILINE)


def damage(context: Context, point: Point) -> Outcomes:
    settings = dict(point.settings)
    (context.folder / "whole.lapilli").write_bytes(TRACES[point.way])
    (context.folder / "other.lapilli").write_bytes(TRACES["other"])
    done = context.run([context.build / "tests/fuzz/damage", "whole.lapilli", "other.lapilli", settings["share"], settings["shares"]], expect=None)
    check(done.status == 0, f"exit status {done.status}:\n{done.text[-4000:]}")
    outcomes: Outcomes = collections.Counter()
    for way, counts in DAMAGE_LINE.findall(done.out):
        outcomes.update({(way, name): int(count) for count, name in re.findall(r"(\d+) ([a-z ]+)", counts) if int(count)})
    check(bool(outcomes), f"nothing was tried:\n{done.text[-4000:]}")
    return outcomes


TORTURES = (
    Torture("kill", "processes that are killed (for want of memory, too), crash, leave by _exit or become another program, at any moment",
            kill_plan, kill, claim=FRAMES_KEPT),
    Torture("returned", "processes that are killed or crash before they have presented anything, at any moment: every call that had returned is there",
            returned_plan, keep_returned, faults=False),
    Torture("call", "processes that end in the same ways, in any call of the driver: the call is told with its arguments", call_plan, end_in_call,
            faults=False, claim=CALL_TOLD),
    Torture("files", "every write, reservation, opening and closing of a recording's files fails, is interrupted or short", file_plan, fail_files),
    Torture("slow", "every write of a recording takes 5 ms, with the smallest queue", slow_plan, slow_files),
    Torture("damage", "every bit of a trace is flipped, it is cut at every byte, blocks and chunks are zeroed, left out, doubled and swapped at any distance, "
            "and replaced by another trace's; it is replayed, and given to info, print, check and compress", damage_plan, damage, sample=3, faults=False),
    Torture("memory", "every allocation and thread of the layer fails, once and from then on", memory_plan, starve_layer),
    Torture("replay-memory", "every allocation and thread of a replay fails, once and from then on", replay_plan, starve_replay),
    Torture("tool-memory", "every allocation of what reads a trace (info, print, check) fails, once and from then on", tool_plan, starve_tool),
)


# ---- samples

# Of so many points a sample is taken: as tests/torture.py has them. Those of damage share what there is to do, so more are smaller.
ALL = int(os.environ.get("TORTURE_POINTS", "1000"))


def draw(points: list[Point], most: int, seed: int) -> list[Point]:
    """Some of all the points, from everywhere, with as many as can be of the ways and programs that there are."""
    chance, seen, drawn = random.Random(seed), collections.Counter(), []
    points = chance.sample(points, len(points))
    while points and len(drawn) < most:
        kinds = [(point.way, dict(point.settings).get("on", ""), point.program.name) for point in points]
        best = min(range(len(points)), key=lambda i: (seen[kinds[i][:1]], seen[kinds[i][:2]], seen[kinds[i][2]]))
        for kind in (kinds[best][:1], kinds[best][:2], kinds[best][2]):
            seen[kind] += 1
        drawn.append(points.pop(best))
    return drawn


def sample(torture: Torture, most: int) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        if torture.faults and not (context.build / "tests/faults/libfaults.so").exists():
            raise Skip("there is no tests/faults/libfaults.so")
        for number, point in enumerate(draw(torture.plan(context, ALL, 1).points, most, 1)):
            folder = context.folder / str(number)
            folder.mkdir()
            try:
                torture.run(context.in_folder(folder), point)
            except Failure as failure:
                raise Failure(f"{point.name}: {failure}") from failure
    return run


def leaks_are_found(context: Context) -> None:
    """What shows that a search that finds nothing would have: one block of each is lost."""
    if not (context.build / "tests/faults/libfaults.so").exists():
        raise Skip("there is no tests/faults/libfaults.so")
    if not leak_finder(context):
        raise Skip("there is no liblsan")
    lost = (("on", "lost"), ("at", "101"))
    for run, program in ((starve_layer, PROGRAMS[1]), (starve_replay, PROGRAMS[1])):
        folder = context.folder / run.__name__
        folder.mkdir()
        try:
            run(context.in_folder(folder), Point(program, "one block is lost", lost))
        except Failure as failure:
            check(str(failure).startswith("a leak:") and " 1 object(s)" in str(failure), str(failure))
        else:
            raise Failure(f"{run.__name__}: nobody noticed")


def only_the_program_is_the_program(context: Context) -> None:
    """What lies in a folder of that name is not, and neither is what libfaults itself calls for a driver."""
    there = context.build / "tests/faults/libfaults.so"
    if not there.exists():
        raise Skip("there is no tests/faults/libfaults.so")
    counted = []
    for folder in ("main", "elsewhere"):
        library = context.folder / folder / "tests/faults/libfaults.so"
        library.parent.mkdir(parents=True)
        shutil.copy(there, library)
        of_folder = replace(context, build=context.folder / folder)
        counted.append(calls(of_folder, lambda env: context.run([context.program("lapilli-replay"), "--list-gpus"], env), "main", "memory").total)
    check(counted[0] == counted[1] > 0, f"{counted[0]} calls of the program, and {counted[1]} from another folder")


def cases() -> dict[str, Callable[[Context], None]]:
    return {**{torture.name: sample(torture, torture.sample) for torture in TORTURES}, "leaks-are-found": leaks_are_found,
            "only-the-program-is-the-program": only_the_program_is_the_program}
