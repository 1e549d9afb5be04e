# SPDX-License-Identifier: MIT
"""What recording and replaying cost: runs workloads without a layer, with Lapilli and, where it is installed, with gfxreconstruct;
those named replay-* measure what plays the recordings (replay.py), streaming* what receives them (streaming.py), part-* recordings of a
few frames in the middle, and trim-* what cuts them out of a recording of the whole run (parts.py).

Every round runs each of them once, in turn, so that whatever else the machine does hits all alike. Printed are medians over the
rounds, and the smallest and largest value in brackets; `+` is what a recorder adds to the run without a layer of the same round.
The exit status is 1 if a workload failed without a layer or under Lapilli, if a figure that must be 0 is not, or if nothing was run.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import shutil
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from parts import PARTINGS, Parting, measure_parts
from recorders import Driver, Recorder, Run, RunFailed, Runner, Unavailable, find_driver, gfxreconstruct, lapilli
from replay import REPLAYS, Replay, measure_replay
from report import BASE, Measured, as_json, compute, text, wrong
from streaming import STREAMINGS, Streaming, measure_streaming
from workloads import WORKLOADS, Workload

ROOT = Path(__file__).resolve().parent.parent.parent
RECORDERS = [BASE, "lapilli", "gfxreconstruct"]
SHORT_FRAMES = 1
# The first driver that is there; the mock driver does nothing, so that only the recorders are left to be measured.
DRIVERS = {"memory": ["lavapipe", "system"], "api": ["mock", "lavapipe", "system"]}


def read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def machine(folder: Path) -> dict:
    cpu = re.search(r"^model name\s*: (.*)$", read("/proc/cpuinfo"), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s*(\d+) kB", read("/proc/meminfo"), re.MULTILINE)
    mounts = [line.split()[:3] for line in read("/proc/mounts").splitlines()]
    place = max((m for m in mounts if folder.is_relative_to(m[1])), key=lambda m: len(m[1]), default=["", "", "unknown"])
    return {"cpu": cpu.group(1) if cpu else platform.machine(), "processors": os.cpu_count(), "kernel": platform.release(),
            "memory_bytes": int(memory.group(1)) * 1024 if memory else 0, "python": platform.python_version(),
            "load_at_start": os.getloadavg()[0], "traces_on": place[2],
            "transparent_hugepages": read("/sys/kernel/mm/transparent_hugepage/enabled")}


def choose_driver(workload: Workload | Replay | Streaming | Parting, wanted: str, folder: Path) -> Driver:
    why = None
    for name in [wanted] if wanted else DRIVERS[workload.kind]:
        try:
            return find_driver(name, folder)
        except Unavailable as missing:
            why = why or missing
    raise why


def command_of(workload: Workload, build: Path, driver: Driver, folder: Path, frames: int, quick: bool) -> list[str]:
    program, *arguments = (word.format(folder=folder) for word in workload.command)
    own, script = build / "tests/bench" / program, ROOT / "tests/bench" / program
    if own.exists() or script.suffix == ".py":
        arguments += [] if driver.computes else ["--no-check"]
        command = [str(own)] if own.exists() else [sys.executable, str(script)]
    elif shutil.which(program):
        command = [program]
    else:
        raise Unavailable(f"{program} is not there")
    command += [*arguments, *(workload.quick if quick else []), workload.frames_option, str(frames)]
    if workload.display and not os.environ.get("DISPLAY"):
        if not shutil.which("xvfb-run"):
            raise Unavailable("there is no X display, and no xvfb-run (Debian package xvfb)")
        command = ["xvfb-run", "-a", "-s", "-screen 0 1280x720x24 -nolisten tcp -noreset", *command]
    return command


def recorder_of(workload: Workload, recorder: Recorder, frames: int) -> Recorder:
    """With the workload's own settings."""
    settings = {name: value.format(frames=frames) for name, value in workload.settings.items()}
    return replace(recorder, settings={**recorder.settings, **settings}, traces=workload.traces) if recorder.name == "lapilli" else recorder


def measure(workload: Workload | Replay | Streaming | Parting, recorders: list[Recorder], runner: Runner, options: argparse.Namespace) -> Measured:
    measured = Measured(workload, "")
    try:
        if isinstance(workload, Replay):
            return measure_replay(workload, recorders, choose_driver(workload, options.driver, options.folder), options.build,
                                  options.folder, options)
        if isinstance(workload, Streaming):
            return measure_streaming(workload, recorders, choose_driver(workload, options.driver, options.folder), options.build,
                                     options.folder, options)
        if isinstance(workload, Parting):
            return measure_parts(workload, recorders, choose_driver(workload, options.driver, options.folder), options.build, options.folder, options)
        driver = choose_driver(workload, options.driver, options.folder)
        measured.driver = driver.name
        frames = workload.quick_frames if options.quick else workload.frames
        command = command_of(workload, options.build, driver, options.folder, frames, options.quick)
        short = command_of(workload, options.build, driver, options.folder, SHORT_FRAMES, options.quick)
        for number in range(1 if workload.once else options.runs):
            runs: dict[str, Run] = {}
            # Each begins a round in turn.
            for recorder in recorders[number % len(recorders):] + recorders[:number % len(recorders)]:
                if recorder.name in measured.failures or (workload.settings and recorder.name == "gfxreconstruct"):
                    continue
                try:
                    if number == 0:
                        measured.short[recorder.name] = runner.run(recorder_of(workload, recorder, SHORT_FRAMES), driver, short, SHORT_FRAMES, True)
                    runs[recorder.name] = runner.run(recorder_of(workload, recorder, frames), driver, command, frames, number == 0)
                except RunFailed as failed:
                    measured.failures[recorder.name] = str(failed)
            measured.rounds.append(runs)
            base = runs.get(BASE)
            if base and base.program:
                measured.device = base.program["device"]
    except Unavailable as missing:
        measured.skipped = str(missing)
    return measured


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build folder")
    parser.add_argument("--workload", default="", metavar="REGEX", help="only workloads whose name matches")
    parser.add_argument("--list", action="store_true", help="list the workloads")
    parser.add_argument("--runs", type=int, metavar="N", help="rounds (5; with --quick 1)")
    parser.add_argument("--driver", default="", metavar="NAME",
                        help="lavapipe, swiftshader, mock, system (what the loader finds), or the path of a driver's manifest; by default "
                             "lavapipe for memory and, where it is installed, the mock driver for the cost of calls")
    parser.add_argument("--recorders", default=",".join(RECORDERS), metavar="LIST", help="by default %(default)s")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings",
                        help="an option of a recorder, as its environment variable: LAPILLI_WRITE_WATCH=compare; no others are passed on")
    parser.add_argument("--quick", action="store_true", help="small sizes, few frames, one round: shows that everything works, no more")
    parser.add_argument("--timeout", type=float, default=180, metavar="SECONDS", help="of one run of a program (%(default)s)")
    parser.add_argument("--folder", type=Path, help="where traces are written and removed again (a new one under TMPDIR)")
    parser.add_argument("--out", type=Path, help="every figure as JSON (BUILD/bench.json)")
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.runs = options.runs or (1 if options.quick else 5)
    options.out = options.out or options.build / "bench.json"
    unknown = set(options.recorders.split(",")) - set(RECORDERS)
    for setting in options.settings:
        if not re.fullmatch(r"(LAPILLI|GFXRECON)_\w+=.*", setting):
            parser.error(f"--set takes LAPILLI_NAME=VALUE or GFXRECON_NAME=VALUE, not {setting}")
    if unknown or options.runs < 1:
        parser.error(f"there is no recorder {', '.join(sorted(unknown))}" if unknown else "--runs needs a number above 0")
    return options


def find_recorders(wanted: list[str], build: Path, settings: dict[str, str]) -> tuple[list[Recorder], list[str]]:
    found, missing = [], []
    for name in RECORDERS:
        if name == BASE:  # everything is compared with it
            found.append(Recorder(BASE, ""))
        elif name in wanted:
            try:
                own = {key: value for key, value in settings.items() if key.startswith("LAPILLI_") == (name == "lapilli")}
                found.append(lapilli(build, own) if name == "lapilli" else gfxreconstruct(own))
            except Unavailable as why:
                missing.append(str(why))
    return found, missing


def main() -> int:
    options = parse()
    # Whoever ends the harness ends the program that it runs, and leaves no trace of gigabytes behind.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    chosen = [w for w in [*WORKLOADS, *REPLAYS, *STREAMINGS, *PARTINGS] if re.search(options.workload, w.name)]
    if options.list:
        print("\n".join(f"{w.name:24} {w.what}" for w in chosen))
        return 0
    if not chosen:
        print(f"no workload matches {options.workload}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="lapilli-bench-", dir=options.folder) as folder:
        options.folder = Path(folder).resolve()
        recorders, missing = find_recorders(options.recorders.split(","), options.build, dict(s.split("=", 1) for s in options.settings))
        about = {"when": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "machine": machine(options.folder),
                 "recorders": {r.name: r.version for r in recorders if r.name != BASE}, "missing": missing,
                 "options": {"runs": options.runs, "quick": options.quick, "workload": options.workload, "driver": options.driver,
                             "set": options.settings}}
        host = about["machine"]
        print(f"{about['when']}, {host['cpu']}, {host['processors']} processors, Linux {host['kernel']}, load {host['load_at_start']:.1f}, "
              f"traces on {host['traces_on']}")
        print(", ".join(f"{name} {version}" for name, version in about["recorders"].items()) + f"; {options.runs} rounds" + "".join(f", {setting}" for setting in options.settings)
              + ("; --quick: sizes and frames are smaller than said below, and the figures mean nothing" if options.quick else ""))
        print("".join(f"{line}\n" for line in missing))
        runner = Runner(options.build, options.folder, options.timeout)
        results, problems = [], []
        for workload in chosen:
            measured = measure(workload, recorders, runner, options)
            lines = [line for line in (compute(measured, figure) for figure in workload.figures) if line.spreads]
            print(text(measured, lines, [r.name for r in recorders]), flush=True)
            problems += wrong(measured, lines)
            problems += [f"{workload.name}: {name}: {why}" for name, why in measured.failures.items() if name != "gfxreconstruct"]
            results.append(as_json(measured, lines))
    host["load_at_end"] = os.getloadavg()[0]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({**about, "problems": problems, "workloads": results}, indent=1) + "\n", encoding="utf-8")
    print("".join(f"problem: {problem}\n" for problem in problems) + f"every run: {options.out}")
    return 1 if problems or all(result["skipped"] for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
