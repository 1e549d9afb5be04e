# SPDX-License-Identifier: MIT
"""Other machines: each build records, and each plays what every other one recorded.

For a build of `make FOREIGN_DIR=...` with others beside it, one of them for this machine (tests/run.py --other).
"""

from __future__ import annotations

import os
import signal
import struct
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Callable

from e2e.cases import ALONE, OTHER_DRIVERS, VALIDATION, Cases, Context, Program, Skip, check, check_no_validation_message, check_verified, prepare, programs

CASES = Cases()
case = CASES.add
# Of these, other drivers show the same bytes.
ANYWHERE = {"compute", "triangle-offscreen", "headless"}
# Of these, lavapipe filters block-compressed texels otherwise on ARM than on x86: by 1 of 255 in 12 of 196,608 values.
ROUNDED = {"compressed", "compressed-read"}
# e_machine of the ELF header: the System V ABI's supplements.
MACHINES = {3: "i386", 40: "armhf", 62: "amd64", 183: "arm64"}


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    if not context.others:
        return {}
    both = {f"both/{p.name}": cross(p) for p in programs(context) if p.name != "vkcube"}
    return dict(CASES) | both


def machine(program: str) -> str:
    with Path(program).open("rb") as file:
        return MACHINES[struct.unpack("18xH", file.read(20))[0]]


def name_of(context: Context) -> str:
    return machine(context.program("lapilli-replay"))


def is_x86(name: str) -> bool:
    return name.startswith(("i386", "amd64"))


def with_others(context: Context) -> list[Context]:
    """This build and the others, each on the software driver of its architecture."""
    result = [context]
    for build in context.others:
        folder = build.with_name(f"{machine(str(build / 'bin/lapilli-replay'))}-root")
        if (folder / "icd.json").exists():
            result.append(replace(context, build=build, driver=folder / "icd.json", driver_dir=folder, others=()))
            continue
        drivers = sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))
        if not drivers:
            raise Skip("there is no software driver for this machine's own architecture (Debian package mesa-vulkan-drivers)")
        result.append(replace(context, build=build, driver=drivers[0], driver_dir=None, others=()))
    return result


def native(builds: list[Context]) -> Context:
    return next(build for build in builds if not build.driver_dir)


def silent_replay(context: Context, trace: str) -> int:
    done = context.replay(trace, env=context.layer_env(VALIDATION))
    check_no_validation_message(done, f"of the replay of {trace} on {name_of(context)}")
    return check_verified(done)


def cross(program: Program) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        prepare(context, program)
        builds, failing = with_others(context), {}
        for build in builds[1:]:
            alone = ALONE.end(build, [build.app(Path(program.command[0]).name), *program.command[1:]])
            if alone.status != 0:
                failing[name_of(build)] = alone.text.strip().splitlines()[-1]
        builds = [build for build in builds if name_of(build) not in failing]
        for build in builds:
            build.capture([build.app(Path(program.command[0]).name), *program.command[1:]], f"{name_of(build)}.lapilli")
        traces = sorted(p.name for p in context.folder.glob("*.lapilli"))
        check(len(traces) >= len(builds), f"{traces}")
        for trace in traces:
            names = [[line["name"] for line in build.print_lines(trace)] for build in builds]
            check(all(found == names[0] for found in names), f"{trace} has other calls on another machine")
            if not any(name.startswith("vkQueueSubmit") for name in names[0]):
                continue
            players = [build for build in builds if program.name not in ROUNDED or is_x86(name_of(build)) == is_x86(trace)]
            counts = {name_of(build): check_verified(build.replay(trace)) for build in players}
            check(len(set(counts.values())) == 1, f"{trace}: {counts} checks")
        if program.name in ANYWHERE:
            for driver in OTHER_DRIVERS.values():
                if driver.exists():
                    check_verified(replace(native(builds), driver=driver).replay(f"{name_of(context)}.lapilli"))
            for build in builds:
                for recorded in builds if build == native(builds) else [native(builds)]:
                    silent_replay(build, f"{name_of(recorded)}.lapilli")
        if failing:
            raise Skip(f"the others agree; without Lapilli the program itself fails on {failing}")
    return run


@case
def the_builds_are_for_the_machines_of_their_names(context: Context) -> None:
    expected = (context.driver_dir / "architecture").read_text().strip()
    for file in (context.program("lapilli-replay"), context.app("compute"), str(context.build / "lib/libVkLayer_lapilli.so")):
        check(machine(file) == expected, f"{file} is not for {expected}")
    check(len({name_of(build) for build in with_others(context)}) == 1 + len(context.others), "two builds are for one machine")


@case
def every_machine_has_a_write_watch(context: Context) -> None:
    """The kernel's interfaces are there for 32-bit programs, too; an emulator hands on fewer of them."""
    builds, watches = with_others(context), {}
    for build in builds:
        build.capture([build.app("compute")], f"{name_of(build)}.lapilli")
        info = build.info(f"{name_of(build)}.lapilli")
        watches[name_of(build)] = (info["write_watch"], info["backing"])
    check(watches.get("i386") in (None, watches["amd64"]), f"{watches}")
    for watch in ("mprotect", "compare"):
        context.capture([context.app("compute")], f"{watch}.lapilli", env={"LAPILLI_WRITE_WATCH": watch})
        check_verified(native(builds).replay(f"{watch}.lapilli"))


@case
def a_tail_file_of_another_machine_is_read(context: Context) -> None:
    """A tail file is written as it lies in memory: by a program of one word size, read by one of another."""
    environment = context.environment(context.layer_env(LAPILLI_VERIFY="1", LAPILLI_FILE="killed.lapilli"))
    process = subprocess.Popen([context.app("triangle"), "--offscreen", "--frames", "100000", "--tell"], cwd=context.folder, env=environment,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    told = b""
    while told.count(b"frame\n") < 40:
        piece = os.read(process.stdout.fileno(), 4096)
        check(bool(piece), "the program ended by itself")
        told += piece
    process.send_signal(signal.SIGKILL)
    told += process.stdout.read()
    process.wait()
    for reader in with_others(context):
        check_verified(reader.replay("killed.lapilli", expect=4))
        info = reader.info("killed.lapilli", expect=None)
        check(info["frames"] >= told.count(b"frame\n") > 0, f"{info['frames']} frames, but {told.count(b'frame')} were told")
