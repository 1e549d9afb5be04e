# SPDX-License-Identifier: MIT
"""What replaying costs: a workload is recorded once by each recorder, and each replayer plays its own recording of it.

Measured is the CPU time of whole processes, all threads, as the kernel counts it. What belongs to the frames is that of a run of
many frames less that of one with few; the program's own, without a layer, stands beside it.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from recorders import SKIPPED, Driver, Recorder, Run, RunFailed, Unavailable, clean_environment
from report import BASE, Measured
from workloads import Figure, Sample

SHORT_FRAMES = 1


@dataclass
class Replay:
    """Has what the report needs of a Workload."""

    name: str
    what: str
    command: list[str]  # the first word is a program of build/tests/bench
    quick: list[str]
    frames: int
    quick_frames: int = 5
    calls: bool = True  # its program counts the calls that it is about
    threads: bool = False  # it is about what several threads play
    tree: bool = False  # its recording is also looked at
    floor: str = ""  # the CPU time in the program's own figures that nobody who replays a frame can do without
    kind: str = "api"
    must_be_zero: list[str] = field(default_factory=list)

    @property
    def figures(self) -> list[Figure]:
        figures = [*FIGURES, *([ONE_THREAD] if self.threads else []), *([*TREE, *PROGRAM] if self.tree else []), *([OVER_FLOOR] if self.floor else [])]
        return figures if self.calls else [figure for figure in figures if figure.name != "CPU time, a call"]


def of_run(name: str, scale: float):
    return lambda sample: sample.run.program[name] / scale


def over_program(sample: Sample) -> float | None:
    return sample.run.program["frame"] / sample.base.program["frame"] if sample.base and sample.base.program["frame"] > 0 else None


FIGURES = [
    Figure("CPU time, all of it", "ms", of_run("whole", 1e6)),
    Figure("CPU time, a frame", "ms", of_run("frame", 1e6)),
    Figure("CPU time, a call", "ns", lambda s: s.run.program["frame"] / s.run.program["calls"] if s.run.program["calls"] else None),
    Figure("the program's own is 1", "", over_program),
    Figure("CPU time of a run of one frame", "ms", of_run("short", 1e6)),
    Figure("from start to end", "ms", lambda s: s.run.seconds * 1e3),
]

# lapilli only: from start to end with --threads 1, in the same round.
ONE_THREAD = Figure("one thread's time / all threads'", "", lambda s: s.run.program.get("one_thread"))

# lapilli only: CPU time of tree and print for each call.
TREE = [Figure(f"lapilli {verb}, a call", "ns", lambda s, verb=verb: s.run.program.get(verb)) for verb in ("tree", "print")]

# The same of lapilli compile, and of a replay of the program that it makes; and the program beside the trace.
PROGRAM = [Figure("lapilli compile, a call", "ns", lambda s: s.run.program.get("compile")),
           Figure("replay of the program, a call", "ns", lambda s: s.run.program.get("program")),
           Figure("the program / the trace", "", lambda s: s.run.program.get("program_bytes"))]

# What the program measured of it when it ran without a layer.
OVER_FLOOR = Figure("CPU time, a frame / LZ4 decompression + memcpy of it", "",
                    lambda s: s.run.program["frame"] / s.run.program["floor"] if s.run.program.get("floor") else None)

REPLAYS = [
    Replay("replay-draws", "5,000 draws a frame, each with descriptor set, dynamic offset, push constants and vertex buffer: 4 calls each",
           ["draws"], ["--draws", "500"], 200, tree=True),
    Replay("replay-draws-threads", "the same in 4 secondary command buffers that 4 threads recorded", ["draws", "--threads", "4"],
           ["--draws", "500"], 200, threads=True),
    Replay("replay-descriptor-updates", "10,000 calls of vkUpdateDescriptorSets a frame", ["descriptor_updates"], ["--updates", "1000"], 200),
    Replay("replay-object-churn", "2,000 objects created and destroyed each frame", ["object_churn"], ["--objects", "200"], 400),
    Replay("replay-stream", "64 MiB of updates each frame", ["stream"], ["--size-mib", "8"], 6, quick_frames=3, calls=False,
           floor="unpack_cpu"),
]


@dataclass
class Player:
    """What plays the recordings of a recorder; for the program itself, that."""

    recorder: Recorder
    build: Path

    def command(self, trace: Path) -> list[str]:
        if self.recorder.name == "lapilli":
            return [str(self.build / "bin/lapilli-replay"), "--quiet", str(trace)]
        program = shutil.which("gfxrecon-replay")
        if not program:
            raise Unavailable("gfxrecon-replay is not installed (Debian package gfxreconstruct)")
        return [program, "--log-level", "error", str(trace)]


@dataclass
class Bench:
    build: Path
    folder: Path
    timeout: float

    def execute(self, command: list[str], environment: dict[str, str]) -> tuple[float, float, str]:
        """CPU time of the process in ns, seconds, what it wrote on stdout."""
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        try:
            done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, errors="replace",
                                  timeout=self.timeout, check=False)
        except subprocess.TimeoutExpired:
            raise RunFailed(f"no end after {self.timeout:.0f} s") from None
        after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - start
        if done.returncode == SKIPPED:
            raise Unavailable(done.stdout.strip().splitlines()[-1])
        if done.returncode != 0:
            text = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise RunFailed(f"exit status {done.returncode}" + (f": {text[-1][:300]}" if text else ""))
        return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e9, seconds, done.stdout

    def record(self, recorder: Recorder, driver: Driver, command: list[str], trace: Path) -> dict:
        _, _, out = self.execute(command, {**clean_environment(driver), **recorder.environment(trace)})
        if recorder.layer and (not trace.exists() or trace.stat().st_size < 4096):
            raise RunFailed("it recorded nothing")
        return json.loads([line for line in out.splitlines() if line.startswith('{"workload"')][-1])


def compile_and_play(bench: Bench, build: Path, driver: Driver, trace: Path, calls: float) -> dict[str, float]:
    program = trace.with_suffix(".lapvm")
    program.unlink(missing_ok=True)
    compiled, _, _ = bench.execute([str(build / "bin/lapilli-compile"), "--quiet", "-o", str(program), str(trace)], clean_environment(driver))
    played, _, _ = bench.execute([str(build / "bin/lapilli-replay"), "--quiet", str(program)], clean_environment(driver))
    return {"compile": compiled / calls, "program": played / calls, "program_bytes": program.stat().st_size / trace.stat().st_size}


def measure_replay(workload: Replay, recorders: list[Recorder], driver: Driver, build: Path, folder: Path, options) -> Measured:
    measured = Measured(workload, driver.name)
    frames = workload.quick_frames if options.quick else workload.frames
    place = folder / "replay"
    place.mkdir()
    bench = Bench(build, place, options.timeout)
    program = [str(build / "tests/bench" / workload.command[0]), *workload.command[1:], *([] if driver.computes else ["--no-check"]),
               *(workload.quick if options.quick else []), "--frames"]
    commands: dict[str, list[list[str]]] = {}  # for a run of few frames, and for one of all
    calls, floor, sizes = 0.0, 0.0, {}
    try:
        for recorder in recorders:
            traces = [place / f"{recorder.name}-{count}.{recorder.extension or 'none'}" for count in (SHORT_FRAMES, frames)]
            try:
                for trace, count in zip(traces, (SHORT_FRAMES, frames)):
                    figures = bench.record(recorder, driver, [*program, str(count)], trace)
                if recorder.name == BASE:
                    measured.device = figures["device"]
                    calls = figures["counts"].get("calls", 0) / figures["frames_with_warm_up"]
                    floor = figures["series"][workload.floor]["median_ns"] if workload.floor else 0.0
                    commands[BASE] = [[*program, str(count)] for count in (SHORT_FRAMES, frames)]
                else:
                    commands[recorder.name] = [Player(recorder, build).command(trace) for trace in traces]
                    sizes[recorder.name] = traces[1].stat().st_size
            except (RunFailed, Unavailable) as failed:
                measured.failures[recorder.name] = str(failed)
        for number in range(options.runs):
            runs: dict[str, Run] = {}
            names = [name for name in commands if name not in measured.failures]
            for name in names[number % len(names):] + names[:number % len(names)] if names else []:
                try:
                    short, _, _ = bench.execute(commands[name][0], clean_environment(driver))
                    whole, seconds, _ = bench.execute(commands[name][1], clean_environment(driver))
                    a_frame = (whole - short) / (frames - SHORT_FRAMES)
                    figures = {"short": short, "whole": whole, "frame": a_frame, "calls": calls, "floor": floor if name != BASE else 0.0}
                    if workload.threads and name == "lapilli":
                        _, alone, _ = bench.execute([*commands[name][1], "--threads", "1"], clean_environment(driver))
                        figures["one_thread"] = alone / seconds
                    for verb in ("tree", "print") if workload.tree and name == "lapilli" else ():
                        looked, _, _ = bench.execute([str(build / f"bin/lapilli-{verb}"), commands[name][1][-1]], clean_environment(driver))
                        figures[verb] = looked / (calls * frames)
                    if workload.tree and name == "lapilli":
                        figures |= compile_and_play(bench, build, driver, Path(commands[name][1][-1]), calls * frames)
                    runs[name] = Run(name, frames, figures, seconds, sizes.get(name), None)
                except RunFailed as failed:
                    measured.failures[name] = str(failed)
            measured.rounds.append(runs)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return measured
