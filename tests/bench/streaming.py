# SPDX-License-Identifier: MIT
"""What streaming costs: the same workload recorded into a file, and to lapilli receive over a Unix socket and TCP's loopback.

The receiver writes to the folder where the file would be. Measured is the time until the trace is complete there, of a run of many
frames less that of one of few, and the bytes of one trace less those of the other. All ways are run in each round.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from recorders import SKIPPED, Driver, Recorder, Run, RunFailed, Unavailable, clean_environment
from report import BASE, Measured
from workloads import Figure

SHORT_FRAMES = 1
WAYS = ["file", "unix", "tcp"]


@dataclass
class Streaming:
    """Has what the report needs of a Workload."""

    name: str
    what: str
    command: list[str]  # the first word is a program of build/tests/bench
    quick: list[str]
    frames: int
    settings: dict[str, str]
    quick_frames: int = 4
    kind: str = "api"
    must_be_zero: list[str] = field(default_factory=list)

    @property
    def figures(self) -> list[Figure]:
        return FIGURES


def of_run(name: str):
    return lambda sample: sample.run.program.get(name)


def over_file(name: str):
    return lambda sample: sample.run.program[name] / sample.run.program["file"] if {name, "file"} <= set(sample.run.program) else None


FIGURES = [
    Figure("into a file", "MB/s", of_run("file")),
    Figure("over a Unix socket", "MB/s", of_run("unix")),
    Figure("over TCP's loopback", "MB/s", of_run("tcp")),
    Figure("a file's throughput is 1: Unix socket", "", over_file("unix")),
    Figure("a file's throughput is 1: TCP", "", over_file("tcp")),
]

STREAMINGS = [
    Streaming("streaming", "32 MiB of updates each frame, not compressed", ["stream", "--size-mib", "32"], ["--size-mib", "8"], 12,
              {"LAPILLI_COMPRESSION": "none"}),
    Streaming("streaming-lz4", "the same, compressed", ["stream", "--size-mib", "32"], ["--size-mib", "8"], 12, {}),
]


@dataclass
class Bench:
    build: Path
    folder: Path
    timeout: float

    def execute(self, recorder: Recorder, driver: Driver, command: list[str], settings: dict[str, str], way: str) -> tuple[float, int, dict]:
        """Seconds until the trace is complete, its bytes, the program's figures."""
        place = self.folder / way
        place.mkdir()
        receiver, address = None, str(place / "out.lapilli")
        try:
            if way != "file":
                listen = f"unix:{place}/socket" if way == "unix" else "tcp://127.0.0.1:0"
                receiver = subprocess.Popen([self.build / "bin/lapilli-receive", "--listen", listen, "--once", "--json", "-o", place], stdout=subprocess.PIPE, text=True)
                line = receiver.stdout.readline()
                if not line:
                    raise RunFailed("there is no receiver")
                address = json.loads(line)["listening"]
            environment = {**clean_environment(driver), **recorder.environment(Path("unused")), **settings, "LAPILLI_FILE": address}
            start = time.monotonic()
            done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, errors="replace", timeout=self.timeout, check=False)
            if done.returncode == SKIPPED:
                raise Unavailable(done.stdout.strip().splitlines()[-1])
            if done.returncode != 0:
                raise RunFailed(f"{way}: exit status {done.returncode}: {done.stderr.strip()[-300:]}")
            if receiver and receiver.wait(self.timeout) != 0:
                raise RunFailed(f"{way}: the receiver ended with {receiver.returncode}")
            seconds = time.monotonic() - start
            traces = list(place.glob("*.lapilli"))
            if len(traces) != 1:
                raise RunFailed(f"{way}: {len(traces)} traces: {done.stderr.strip()[-300:]}")
            figures = json.loads([text for text in done.stdout.splitlines() if text.startswith('{"workload"')][-1])
            return seconds, traces[0].stat().st_size, figures
        except subprocess.TimeoutExpired:
            raise RunFailed(f"{way}: no end after {self.timeout:.0f} s") from None
        finally:
            if receiver and receiver.poll() is None:
                receiver.kill()
                receiver.wait()
            shutil.rmtree(place, ignore_errors=True)


def measure_streaming(workload: Streaming, recorders: list[Recorder], driver: Driver, build: Path, folder: Path, options) -> Measured:
    measured = Measured(workload, driver.name)
    recorder = next((r for r in recorders if r.name == "lapilli"), None)
    if not recorder:
        raise Unavailable("only lapilli streams")
    frames = workload.quick_frames if options.quick else workload.frames
    place = folder / "streaming"
    place.mkdir()
    bench = Bench(build, place, options.timeout)
    program = [str(build / "tests/bench" / workload.command[0]), *workload.command[1:], *([] if driver.computes else ["--no-check"]),
               *(workload.quick if options.quick else []), "--frames"]
    settings = {**recorder.settings, **workload.settings}
    try:
        for number in range(options.runs):
            found, all_bytes, start = {}, 0, time.monotonic()
            for way in WAYS[number % len(WAYS):] + WAYS[:number % len(WAYS)]:
                short, short_bytes, _ = bench.execute(recorder, driver, [*program, str(SHORT_FRAMES)], settings, way)
                whole, all_bytes, figures = bench.execute(recorder, driver, [*program, str(frames)], settings, way)
                measured.device = figures["device"]
                if whole > short:
                    found[way] = (all_bytes - short_bytes) / (whole - short) / 1e6
            # Everything is compared with a run without a layer; here with the file.
            seconds = time.monotonic() - start
            measured.rounds.append({BASE: Run(BASE, frames, {}, seconds, None, None), "lapilli": Run("lapilli", frames, found, seconds, all_bytes, None)})
    except RunFailed as failed:
        measured.failures["lapilli"] = str(failed)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return measured
