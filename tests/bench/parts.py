# SPDX-License-Identifier: MIT
"""What it costs to record a few frames in the middle of a run: each program runs without a recorder, with Lapilli (--frames) and with
gfxreconstruct (GFXRECON_CAPTURE_FRAMES), all for the same frames. A layer on top of all (tests/layers/frames.c) measures the time
between presents: what frames take while the recorder waits for its part, and how long the part's beginning stops the program.

The rows named trim-* compare gfxreconstruct's part with the same frames of Lapilli's recording of the whole run, which lapilli trim cuts out.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from recorders import SKIPPED, Driver, Recorder, Run, RunFailed, Unavailable, clean_environment
from report import BASE, Measured
from workloads import Figure, Sample

PROBE = "VK_LAYER_LAPILLI_TEST_frames"
NO_CONTENTS = 5  # the exit status of lapilli trim --gpu
WARM = 5  # frames of the beginning that don't count
WRITTEN = re.compile(r"the living objects were written in (\d+) ms")


@dataclass
class Parting:
    """Has what the report needs of a Workload."""

    name: str
    what: str
    command: list[str]  # a program of build/tests/bench, a script here, or a program of the machine
    first: int  # frame that the part begins with
    frames: int = 10
    quick: list[str] = field(default_factory=list)
    kind: str = "memory"
    trims: bool = False  # Lapilli records the whole run, and the part is cut out
    must_be_zero: list[str] = field(default_factory=list)

    @property
    def figures(self) -> list[Figure]:
        return TRIM_FIGURES if self.trims else FIGURES


def of_run(name: str):
    return lambda sample: (sample.run.program or {}).get(name)


def added_while_waiting(sample: Sample) -> float | None:
    own, base = (run and (run.program or {}).get("waiting_us") for run in (sample.run, sample.base))
    return own if own is not None and not sample.base else own - base if own is not None and base is not None else None


FIGURES = [
    Figure("a frame before the part", "µs", added_while_waiting, added=True),
    Figure("longest frame around the part's beginning", "ms", of_run("longest_ms")),
    Figure("of it the state", "ms", of_run("state_ms")),
    Figure("trace", "MiB", of_run("trace_mib")),
]

WAYS = {"--no-gpu": "earlier work makes contents", "--gpu": "contents from a replay"}


def of_part(way: str):
    """gfxreconstruct has one way."""
    return lambda sample: (sample.run.program or {}).get(f"part_mib{way}", of_run("trace_mib")(sample) if sample.run.recorder == "gfxreconstruct" else None)


TRIM_FIGURES = [
    Figure("trace of the whole run", "MiB", lambda sample: of_run("trace_mib")(sample) if sample.run.recorder == "lapilli" else None),
    *[Figure(f"the part, {what}", "MiB", of_part(way)) for way, what in WAYS.items()],
    *[Figure(f"lapilli trim {way}", "ms", of_run(f"trim_ms{way}")) for way in WAYS],
]

PARTINGS = [
    Parting("part-state", "10 frames in the middle of a program with 256 MiB in the device's buffers and images",
            ["device_state", "--present", "--frames", "60", "--size-mib", "256"], 30, quick=["--size-mib", "32"]),
    Parting("part-vkcube", "10 frames of vkcube, from the 200th on", ["vkcube", "--c", "300"], 200),
    Parting("part-ddnet", "10 frames of a game's menu, from the 300th on", ["ddnet.py", "--shaders", "{folder}/ddnet-shaders"], 300),
    Parting("part-supertuxkart", "10 frames of a race, from the 100th on",
            ["supertuxkart", "--render-driver=vulkan", "--track=olivermath", "--numkarts=2", "--profile-time=10", "--seed=1", "--screensize=640x360",
             "--windowed", "--log=0"], 100),
]
PARTINGS += [replace(parting, name=parting.name.replace("part-", "trim-"), what=f"{parting.what}, cut out of a trace of the whole run", trims=True)
             for parting in PARTINGS[1:]]


def find(build: Path, folder: Path, parting: Parting, driver: Driver, quick: bool) -> list[str]:
    name, *arguments = (word.format(folder=folder) for word in parting.command)
    script = Path(__file__).parent / name
    if (build / "tests/bench" / name).exists():
        command = [str(build / "tests/bench" / name), *arguments, *([] if driver.computes else ["--no-check"]), *(parting.quick if quick else [])]
    elif script.suffix == ".py":
        command = [sys.executable, str(script), *arguments]
    else:
        found = shutil.which(name) or shutil.which(name, path="/usr/games")
        if not found:
            raise Unavailable(f"{name} is not there")
        command = [found, *arguments]
    if not shutil.which("xvfb-run"):
        raise Unavailable("there is no xvfb-run (Debian package xvfb)")
    return ["xvfb-run", "-a", "-s", "-screen 0 1280x720x24 -nolisten tcp -noreset", *command]


def environment_of(recorder: Recorder, driver: Driver, build: Path, place: Path, frames: str | None) -> dict[str, str]:
    own = recorder.environment(place / f"out.{recorder.extension}")
    layers = [PROBE, *([own["VK_INSTANCE_LAYERS"]] if own else [])]
    folders = [str(build / "tests/layers"), *([own["VK_LAYER_PATH"]] if own else [])]
    part = {"LAPILLI_FRAMES": frames, "LAPILLI_LOG": "info"} if recorder.name == "lapilli" else {"GFXRECON_CAPTURE_FRAMES": frames}
    part = part if frames else {}
    return {**clean_environment(driver), "HOME": str(place), "ALSOFT_DRIVERS": "null", "SDL_AUDIODRIVER": "dummy", **own, **(part if own else {}),
            "VK_INSTANCE_LAYERS": ":".join(layers), "VK_LAYER_PATH": ":".join(folders), "LAPILLI_FRAME_TIMES": str(place / "times")}


def trim(driver: Driver, build: Path, trace: Path, frames: str, timeout: float) -> dict[str, float]:
    """Where no replay here reads the contents, one way has no figures."""
    found = {}
    for way in WAYS:
        part = trace.with_suffix(f".{way}")
        start = time.monotonic()
        done = subprocess.run([build / "bin/lapilli", "trim", way, "--frames", frames, "--quiet", "-o", part, trace], env=clean_environment(driver),
                              capture_output=True, text=True, errors="replace", timeout=timeout, check=False)
        if done.returncode == 0:
            found |= {f"trim_ms{way}": (time.monotonic() - start) * 1e3, f"part_mib{way}": part.stat().st_size / 2 ** 20}
        elif done.returncode != NO_CONTENTS:
            raise RunFailed(f"lapilli trim {way} ends with {done.returncode}: {done.stderr.strip()[-300:]}")
    return found


def run_one(recorder: Recorder, driver: Driver, command: list[str], parting: Parting, build: Path, folder: Path, timeout: float) -> Run:
    place = folder / "part"
    place.mkdir()
    frames = f"{parting.first}-{parting.first + parting.frames - 1}"
    start = time.monotonic()
    try:
        whole = parting.trims and recorder.name == "lapilli"
        environment = environment_of(recorder, driver, build, place, None if whole else frames)
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, errors="replace", timeout=timeout, check=False)
        seconds = time.monotonic() - start
        if done.returncode == SKIPPED:
            raise Unavailable(done.stdout.strip().splitlines()[-1])
        if done.returncode != 0:
            raise RunFailed(f"exit status {done.returncode}: {done.stderr.strip()[-300:]}")
        times = [int(line) / 1000 for line in (place / "times").read_text().split()] if (place / "times").exists() else []
        if len(times) < parting.first + parting.frames:
            raise RunFailed(f"the program has {len(times) + 1} frames, and the part would begin with frame {parting.first}")
        around = times[parting.first - 3:parting.first + 2]
        found = {"waiting_us": statistics.median(times[WARM:parting.first - 3]), "longest_ms": max(around) / 1000}
        traces = sorted(place.glob(f"*.{recorder.extension}")) if recorder.layer else []
        if recorder.layer and len(traces) != 1:
            raise RunFailed(f"{len(traces)} traces were written, expected one: {done.stderr.strip()[-300:]}")
        if traces:
            found["trace_mib"] = traces[0].stat().st_size / 2 ** 20
        written = WRITTEN.search(done.stderr)
        if written:
            found["state_ms"] = float(written[1])
        if whole:
            found |= trim(driver, build, traces[0], frames, timeout)
        return Run(recorder.name, parting.frames, found, seconds, traces[0].stat().st_size if traces else None, None)
    except subprocess.TimeoutExpired:
        raise RunFailed(f"no end after {timeout:.0f} s") from None
    finally:
        shutil.rmtree(place, ignore_errors=True)


def measure_parts(parting: Parting, recorders: list[Recorder], driver: Driver, build: Path, folder: Path, options) -> Measured:
    measured = Measured(parting, driver.name)
    command = find(build, folder, parting, driver, options.quick)
    for number in range(options.runs):
        runs: dict[str, Run] = {}
        for recorder in recorders[number % len(recorders):] + recorders[:number % len(recorders)]:
            if recorder.name in measured.failures:
                continue
            try:
                runs[recorder.name] = run_one(recorder, driver, command, parting, build, folder, options.timeout)
            except RunFailed as failed:
                measured.failures[recorder.name] = str(failed)
        measured.rounds.append(runs)
        if BASE in measured.failures:
            break
    return measured
