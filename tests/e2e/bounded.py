# SPDX-License-Identifier: MIT
"""What a replay needs of memory does not follow from how long the trace is: the same program is recorded twice, once for many more
frames, and each is played in a process of its own, whose largest resident size is looked at. And a recording whose disk is slow waits
for it once its queue is full, and says so."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import Callable

from e2e.cases import Context, Skip, check
from e2e.torture import LAYER_FILES, faults

MIB = 1 << 20
# What the allocator and the driver make of one more frame's timing; the long trace has several times as much to unpack.
NOISE_BYTES = 24 * MIB


@dataclass
class Kind:
    """A program of tests/bench and how many frames of it are a short trace (with all caches full) and a long one."""

    command: list[str]
    short: int
    long: int
    least_bytes: int  # that the long trace unpacks to beyond the short one


KINDS = {
    # 4 MiB of new bytes a frame: blobs (as command buffers are), read ahead, each needed once.
    "replay-memory-is-bounded-for-updates": Kind(["stream", "--size-mib", "4"], 12, 60, 180 * MIB),
    "replay-memory-is-bounded-for-packets": Kind(["descriptor_updates", "--updates", "10000"], 40, 300, 60 * MIB),
}


def peak_bytes(context: Context, command: list[str]) -> int:
    """Runs it; the most memory of the process that was resident at once."""
    with (context.folder / "out.txt").open("w+") as out:
        process = subprocess.Popen(command, cwd=context.folder, env=context.environment(), stdout=out, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        check(process.returncode == 0, f"{' '.join(command)}: exit status {process.returncode}\n{out.read()[-2000:]}")
    return used.ru_maxrss << 10


def bounded(kind: Kind) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        program = [str(context.build / "tests/bench" / kind.command[0]), *kind.command[1:], "--frames"]
        peaks, raw = [], []
        for frames in (kind.short, kind.long):
            done = context.run([context.program("lapilli"), "capture", "-o", "out.lapilli", "--", *program, str(frames)], expect=None)
            if done.status == 77:
                raise Skip(done.text.strip().splitlines()[-1])
            check(done.status == 0, done.text[-2000:])
            raw.append(context.info()["bytes"]["raw"])
            replay = [context.program("lapilli-replay"), "--quiet", "--present", "off", "--ahead", "4", "out.lapilli"]
            peaks.append(peak_bytes(context, replay))
            (context.folder / "out.lapilli").unlink()
        check(raw[1] - raw[0] > kind.least_bytes, f"the long trace is no long one: {raw}")
        check(peaks[1] - peaks[0] < NOISE_BYTES, f"{(raw[1] - raw[0]) / MIB:.0f} MiB more to unpack take "
              f"{(peaks[1] - peaks[0]) / MIB:.0f} MiB more memory: {[peak // MIB for peak in peaks]} MiB")
    return run


def waiting(context: Context) -> None:
    program = [str(context.build / "tests/bench/stream"), "--size-mib", "16", "--frames", "6"]
    waited: list[int] = []
    for queue, disk in (("16", faults(context, LAYER_FILES, "files", how="slow", on="ever", at="1")), ("256", {})):
        done = context.run(program, context.layer_env(LAPILLI_QUEUE=queue, LAPILLI_COMPRESSION="none", **disk), expect=None)
        if done.status == 77:
            raise Skip(done.text.strip().splitlines()[-1])
        check(done.status == 0, done.text[-2000:])
        info = context.info()
        check(info["bytes"]["raw"] > 80 * MIB, f"there is little to wait for: {info['bytes']}")
        waited.append(info["waited_us"])
        told = "waited" in context.run([context.program("lapilli"), "info", "out.lapilli"]).out
        check(told == (waited[-1] > 0), "lapilli info says in text what it says as JSON")
        (context.folder / "out.lapilli").unlink()
    check(waited[0] > 0, "a full queue, and nobody waited")
    check(waited[1] == 0, f"a queue that has room for all of it, and {waited[1]} us were waited")


def cases() -> dict[str, Callable[[Context], None]]:
    return {**{name: bounded(kind) for name, kind in KINDS.items()}, "recording-memory-is-bounded-on-a-slow-disk": waiting}
