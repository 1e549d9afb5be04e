#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces of at least 1 GiB: how long until the first frame has been played, and with how little memory all of it can be played.

Two are recorded: one that is mostly what the host wrote (few packets, large blobs), and one of nothing but packets, which the replay
looks through before it places objects. `make bench-large` runs it; both lie in a temporary folder, one after the other.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from recorders import Driver, Unavailable, clean_environment, find_driver, lapilli

MIB = 1 << 20
ROUNDS = 3
WORKLOADS = {
    # Program, the option and MiB or calls a frame, bytes a frame in the trace (about), more of the layer's settings.
    "updates": (["stream", "--size-mib", "64"], 38 * MIB, {}),
    "packets": (["descriptor_updates", "--updates", "100000"], 2500000, {"LAPILLI_COMPRESSION": "none"}),
}


def evict(path: Path) -> None:
    """Out of the page cache, so that the next one who reads it reads the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def play(command: list[str], environment: dict[str, str], limit_bytes: int = 0) -> tuple[float, float, int]:
    """Seconds, seconds of CPU time, most resident bytes. limit_bytes: what the process may have of private memory."""
    def limit() -> None:
        if limit_bytes:
            resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, limit_bytes))

    start = time.monotonic()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=limit)
    error = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}\n{error[-2000:]}")
    return time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss << 10


def measure(name: str, build: Path, driver: Driver, folder: Path, options: argparse.Namespace) -> dict:
    program, frame_bytes, settings = WORKLOADS[name]
    trace = folder / f"{name}.lapilli"
    frames = options.size_mib * MIB // frame_bytes + 1
    environment = clean_environment(driver)
    subprocess.run([str(build / "tests/bench" / program[0]), *program[1:], *([] if driver.computes else ["--no-check"]), "--frames", str(frames)],
                   env={**environment, **lapilli(build, {}).environment(trace), **settings}, stdout=subprocess.DEVNULL, check=True)
    info = json.loads(subprocess.run([str(build / "bin/lapilli"), "info", "--json", trace], capture_output=True, check=True).stdout)
    replay = [str(build / "bin/lapilli-replay"), "--quiet", "--present", "off"]
    first = [*replay, "--last-frame", "1", str(trace)]
    found = {"file_bytes": trace.stat().st_size, "raw_bytes": info["bytes"]["raw"], "frames": info["frames"],
             "warm_s": sorted(play(first, environment)[0] for _ in range(ROUNDS))[ROUNDS // 2]}
    cold = []
    for _ in range(ROUNDS):
        evict(trace)
        cold.append(play(first, environment)[0])
    found["cold_s"] = sorted(cold)[ROUNDS // 2]
    found["whole_s"], found["whole_cpu_s"], found["peak_bytes"] = play([*replay, str(trace)], environment)
    found["limit_bytes"] = options.limit_mib * MIB
    found["limited_s"], _, found["limited_peak_bytes"] = play([*replay, "--ahead", "8", str(trace)], environment, found["limit_bytes"])
    trace.unlink()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parents[2] / "build", help="the build folder")
    parser.add_argument("--driver", default="mock", metavar="NAME", help="as in run.py (%(default)s)")
    parser.add_argument("--size-mib", type=int, default=1100, metavar="N", help="of each trace, at least (%(default)s)")
    parser.add_argument("--limit-mib", type=int, default=320, metavar="N", help="what a replay may take at most (%(default)s)")
    options = parser.parse_args()
    build = options.build.resolve()
    with tempfile.TemporaryDirectory(prefix="lapilli-large-") as folder:
        try:
            driver = find_driver(options.driver, Path(folder))
        except Unavailable as unavailable:
            sys.exit(str(unavailable))
        for name in WORKLOADS:
            found = measure(name, build, driver, Path(folder), options)
            print(f"{name}: {found['file_bytes'] / MIB:.0f} MiB, {found['raw_bytes'] / MIB:.0f} MiB unpacked, {found['frames']} frames\n"
                  f"  from start to end of a replay of the first frame: {found['warm_s']:.2f} s, with the file not in memory {found['cold_s']:.2f} s\n"
                  f"  all of it: {found['whole_s']:.1f} s, {found['whole_cpu_s']:.1f} s of CPU time, {found['peak_bytes'] / MIB:.0f} MiB resident\n"
                  f"  with at most {found['limit_bytes'] / MIB:.0f} MiB of memory: {found['limited_s']:.1f} s, "
                  f"{found['limited_peak_bytes'] / MIB:.0f} MiB resident", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
