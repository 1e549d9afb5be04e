# SPDX-License-Identifier: MIT
"""Words of other sizes: what a 32-bit program recorded is played by 64-bit programs, and the reverse.

For a build of `make M32_DIR=...` with, beside it, one for this machine (tests/run.py --other).
"""

from __future__ import annotations

import os
import signal
import struct
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Callable

from e2e.cases import OTHER_DRIVERS, VALIDATION, Cases, Context, Program, Skip, check, check_no_validation_message, check_verified, prepare, programs

CASES = Cases()
case = CASES.add
# Of these, other drivers show the same bytes.
ANYWHERE = {"compute", "triangle-offscreen", "headless"}


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    if not context.other:
        return {}
    both = {f"both/{p.name}": cross(p) for p in programs(context) if p.name != "vkcube"}
    return dict(CASES) | both


def beside(context: Context) -> Context:
    """The other build, on the software driver of the system."""
    drivers = sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))
    if not drivers:
        raise Skip("there is no software driver for words of this machine's own size (Debian package mesa-vulkan-drivers)")
    return replace(context, build=context.other, driver=drivers[0], driver_dir=None, other=None)


def bits(program: str) -> int:
    """By the class in its ELF header."""
    with Path(program).open("rb") as file:
        return {1: 32, 2: 64}[struct.unpack("4xB", file.read(5))[0]]


def silent_replay(context: Context, trace: str) -> int:
    done = context.replay(trace, env=context.layer_env(VALIDATION))
    check_no_validation_message(done, f"of the replay of {trace} in {bits(context.program('lapilli-replay'))} bits")
    return check_verified(done)


def cross(program: Program) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        prepare(context, program)
        other = beside(context)
        context.capture(program.command, "small.lapilli")
        other.capture([other.app(Path(program.command[0]).name), *program.command[1:]], "large.lapilli")
        traces = sorted(p.name for p in context.folder.glob("*.lapilli"))
        check(len(traces) >= 2, f"{traces}")
        for trace in traces:
            names = [line["name"] for line in context.print_lines(trace)]
            check(names == [line["name"] for line in other.print_lines(trace)], f"{trace} has other calls in 32 bits")
            if not any(name.startswith("vkQueueSubmit") for name in names):
                continue
            counts = {check_verified(player.replay(trace)) for player in (context, other)}
            check(len(counts) == 1, f"{trace}: {counts} checks")
        if program.name in ANYWHERE:
            for driver in OTHER_DRIVERS.values():
                if driver.exists():
                    check_verified(replace(other, driver=driver).replay("small.lapilli"))
            for player in (context, other):
                silent_replay(player, "small.lapilli")
                silent_replay(player, "large.lapilli")
    return run


@case
def the_builds_have_the_words_of_their_names(context: Context) -> None:
    check(bits(context.program("lapilli-replay")) == bits(context.app("compute")) == 32, "this is no build for 32 bits")
    check(bits(str(context.build / "lib/libVkLayer_lapilli.so")) == 32, "the layer is not for 32 bits")
    check(bits(beside(context).program("lapilli-replay")) == 64, "the other build is not for 64 bits")


@case
def both_words_have_the_same_write_watch(context: Context) -> None:
    """The kernel's interfaces are there for 32-bit programs, too."""
    watches = []
    for each in (context, beside(context)):
        each.capture([each.app("compute")], f"{bits(each.app('compute'))}.lapilli")
        info = each.info(f"{bits(each.app('compute'))}.lapilli")
        watches.append((info["write_watch"], info["backing"]))
    check(watches[0] == watches[1], f"{watches}")
    for watch in ("mprotect", "compare"):
        context.capture([context.app("compute")], f"{watch}.lapilli", env={"LAPILLI_WRITE_WATCH": watch})
        check_verified(beside(context).replay(f"{watch}.lapilli"))


@case
def a_tail_file_of_the_other_word_size_is_read(context: Context) -> None:
    """A tail file is written as it lies in memory: by a program of 32 bits, read by one of 64."""
    other = beside(context)
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
    for reader in (context, other):
        check_verified(reader.replay("killed.lapilli", expect=4))
        info = reader.info("killed.lapilli", expect=None)
        check(info["frames"] >= told.count(b"frame\n") > 0, f"{info['frames']} frames, but {told.count(b'frame')} were told")
