# SPDX-License-Identifier: MIT
"""One run: a replay, and the result that comes of it. A result is whatever the replay itself did, also a crash or no end. Anything else
is infrastructure: no result, and the run may be tried again, here or elsewhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, ContextManager

from farm import publish
from farm.cache import Changed, Node, in_place
from farm.matrix import Device, Matrix, read
from farm.plan import read_lines
from farm.process import Ended, Processes, environment

GOOD = ("played", "same", "within")
OUTCOMES = (*GOOD, "different", "nothing_to_verify", "failed", "unsupported", "incomplete", "unreadable")
# No replay ends itself by them: somebody else did, or the kernel that was out of memory.
FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PROBE_SECONDS = 60
TEXT_CHARACTERS = 1000
KEPT_STDERR = 1 << 16
EX_TEMPFAIL = 75


class Infrastructure(Exception):
    """No result came, for a reason that is none of the trace's or the driver's."""

    def __init__(self, text: str, number: int | None = None) -> None:
        super().__init__(text)
        self.errno = number


class NoDevice(Infrastructure):
    """This machine does not have what the matrix says of a device: no run of it can be played here."""


class Interrupted(BaseException):
    """A signal that wants the program to end."""


@dataclass
class Tools:
    """The programs, beside this one or in PATH."""

    replay: str
    info: str
    farm: str

    @classmethod
    def beside(cls, folder: Path) -> Tools:
        def at(name: str) -> str:
            return str(folder / name) if (folder / name).exists() else shutil.which(name) or name
        return cls(at("lapilli-replay"), at("lapilli-info"), str(folder / "lapilli-farm"))

    def version(self) -> str:
        """OSError: it can't be started."""
        return subprocess.run([self.replay, "--version"], capture_output=True, text=True, check=False).stdout.split()[-1]


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return re.sub(r"^lapilli-replay: (error: )?", "", lines[-1])[:TEXT_CHARACTERS] if lines else ""


def _json(path: Path) -> dict | None:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def given_gpu(wanted: str, gpus: list[dict], variables: dict[str, str]) -> str:
    """The UUID of the GPU that Slurm gave this job, of those that Vulkan lists; "": that can't be told. Vulkan heeds no
    CUDA_VISIBLE_DEVICES. Its numbers are those of nvidia-smi, which shows what the job's cgroup lets it."""
    first = variables.get("CUDA_VISIBLE_DEVICES", "").split(",")[0]
    if "SLURM_JOB_ID" not in variables or not first or wanted.isdecimal() or re.fullmatch(r"[0-9a-fA-F-]{32,36}", wanted):
        return ""
    if first.isdecimal():
        try:
            listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=PROBE_SECONDS, check=False).stdout
        except (OSError, subprocess.TimeoutExpired):
            return ""
        found = re.search(rf"^GPU {first}: .*\(UUID: (GPU-[0-9a-f-]+)\)", listed, re.M)
        first = found.group(1) if found else ""
    uuid = first.removeprefix("GPU-").replace("-", "").lower()
    for gpu in gpus:
        if gpu.get("uuid") == uuid:
            if wanted.lower() not in gpu["name"].lower():
                raise NoDevice(f"Slurm gave this job the GPU {gpu['name']!r}, and not {wanted!r}")
            return uuid
    return ""


@dataclass
class Work:
    """Plays runs of one farm on this machine; any thread may call."""

    results: Path
    matrix: Matrix
    version: str
    tools: Tools
    node: str
    job: str | None = None
    cache: Node | None = None
    planned: dict[str, tuple[int, int, int]] = field(default_factory=dict)  # traces that were hashed here: path and signature
    processes: Processes = field(default_factory=Processes)
    lock: threading.Lock = field(default_factory=threading.Lock)
    probed: dict[str, str | NoDevice] = field(default_factory=dict)

    def device(self, name: str) -> Device:
        return next(device for device in self.matrix.device if device.name == name)

    def environment(self, device: Device) -> dict[str, str]:
        return environment(device.driver_files or None, device.environment)

    def _watch(self, command: list[str], folder: Path, device: Device, seconds: float) -> Ended:
        return self.processes.watch(command, folder, self.environment(device), folder, seconds)

    def _look(self, device: Device) -> str:
        """The GPU to ask for. NoDevice: it is not here, or its driver."""
        for file in filter(None, device.driver_files.split(":")):
            if not Path(file).is_file():
                raise NoDevice(f"the driver's file {file} is not there")
        with tempfile.TemporaryDirectory(prefix="lapilli-farm-") as folder:
            def ask(gpu: str) -> list[dict]:
                done = self._watch([self.tools.replay, "--list-gpus", "--json", *(["--gpu", gpu] if gpu else [])], Path(folder), device, PROBE_SECONDS)
                if done.late or done.status:
                    raise NoDevice("its driver does not answer" if done.late else last_line(done.err) or f"lapilli-replay --list-gpus ends with {done.status}")
                return json.loads(done.out)["gpus"]
            given = given_gpu(device.gpu, ask(""), dict(os.environ)) if self.job else ""
            if not ask(given or device.gpu):
                raise NoDevice("there is no GPU")
        return given or device.gpu

    def probe(self, device: Device, again: bool = False) -> str:
        """The same, looked up once."""
        with self.lock:
            if again or device.name not in self.probed:
                try:
                    self.probed[device.name] = self._look(device)
                except NoDevice as error:
                    self.probed[device.name] = NoDevice(f"device '{device.name}' on {self.node}: {error}")
            found = self.probed[device.name]
        if isinstance(found, NoDevice):
            raise found
        return found

    def _command(self, device: Device, gpu: str, trace: Path, scratch: Path, frame: int | None) -> list[str]:
        command = [self.tools.replay, "--quiet", "--present", "off", "--report", str(scratch / "report.json")]
        options = {option.partition("=")[0]: option.partition("=")[2] for option in self.matrix.options_of(device)}
        shots = ",".join(filter(None, [options.get("screenshots", ""), str(frame) if frame else ""]))
        if "verify" in options:
            command += ["--verify", "--hashes", str(scratch / "hashes.ndjson"), "--mismatch-dir", str(scratch / "mismatch")]
            command += ["--tolerance", options["tolerance"]] if "tolerance" in options else []
        if "measure" in options:
            command.append(f"--measure={scratch / 'measure.json'}")
        if "validate" in options:
            command.append("--validate")
        if shots:
            command += ["--screenshot", shots, "--screenshot-dir", str(scratch / "shots")]
        return [*command, *(["--gpu", gpu] if gpu else []), str(trace)]

    def perform(self, run: dict) -> dict | None:
        """Plays a run and publishes its result, which it returns; None: there is one already. Infrastructure, publish.NoRoom: there is none."""
        if publish.result_path(self.results, run["key"]).exists():
            return None
        device = self.device(run["device"])
        gpu = self.probe(device)
        source, sha = Path(run["trace"]["path"]), run["trace"]["sha256"]
        held: ContextManager[Path] = self.cache.hold(source, sha) if self.cache else in_place(source, sha, self.planned.get(str(source)))
        try:
            with tempfile.TemporaryDirectory(prefix="lapilli-farm-", ignore_cleanup_errors=True) as folder:
                scratch, start = Path(folder), time.time()
                with held as trace:
                    done = self._watch(self._command(device, gpu, trace, scratch, run.get("frame")), scratch, device, self.matrix.timeout_s)
                line = self._line(run, device, done, _json(scratch / "report.json"), scratch)
                line |= {"node": self.node, "job": self.job, "start": start, "seconds": round(done.seconds, 3), "end": True}
                publish.publish_result(self.results, line)
                return line
        except Changed as error:
            raise Infrastructure(str(error)) from error
        except OSError as error:
            raise Infrastructure(f"{error.filename}: {error.strerror}" if error.filename else str(error), error.errno) from error

    def _line(self, run: dict, device: Device, done: Ended, report: dict | None, scratch: Path) -> dict:
        if not (report and report.get("end") is True and report.get("outcome") in OUTCOMES):
            report = None
        killed = -done.status if done.status < 0 and not done.late else 0
        if killed in FROM_OUTSIDE:
            raise Infrastructure(f"the replay was ended from outside, by {signal.Signals(killed).name}" + (" (out of memory?)" if killed == signal.SIGKILL else ""))
        if not (report or killed or done.late):
            raise Infrastructure(f"the replay ends with {done.status}, and reports nothing: {last_line(done.err)}")
        outcome = "timeout" if done.late else "crashed" if killed else report["outcome"]
        error = {"text": last_line(done.err), "packet": None, "frame": None} if killed or done.late else report.get("error")
        report = report or {}
        if outcome in ("failed", "unsupported") and not report.get("gpu"):
            self.probe(device, again=True)  # is it the GPU that is gone?
        hashes = (scratch / "hashes.ndjson").read_bytes() if report and (scratch / "hashes.ndjson").exists() else b""
        measured = (_json(scratch / "measure.json") or {}).get("frames")
        return {
            "key": run["key"], "label": self.matrix.label, "version": self.version, "trace": {k: run["trace"][k] for k in ("name", "sha256", "bytes")},
            "device": device.name, "driver_files": device.driver_files, "options": self.matrix.options_of(device), "repetition": run["repetition"],
            "outcome": outcome, "exit": done.status if not (killed or done.late) else None, "signal": signal.Signals(killed).name if killed else None, "error": error,
            "gpu": report.get("gpu"), "frames": report.get("frames", 0), "verify": report.get("verify"),
            "hashes": {"sha256": publish.publish_hashes(self.results, hashes), "lines": hashes.count(b"\n")} if hashes else None,
            "peak_bytes": report.get("peak_bytes"), "host_peak_bytes": report.get("host_peak_bytes"), "wall_ms": report.get("wall_ms"),
            "measure": {**{k: measured[k] for k in ("wall_ms", "gpu_ms") if k in measured}, "frames": measured["count"]} if measured else None,
            "files": self._files(run["key"], outcome, done.err, scratch), "recorded_on": run["trace"].get("recorded_on")}

    def _files(self, key: str, outcome: str, err: str, scratch: Path) -> dict:
        """Keeps what the replay wrote, under names that the result has."""
        def keep(path: Path) -> str:
            name = f"files/{key[:2]}/{key}/{path.name}"
            publish.replace(self.results / name, path)
            return name

        def frames(folder: str, begin: str) -> list[tuple[int, Path]]:
            found = ((re.fullmatch(rf"{begin}_(\d+)\.png", path.name), path) for path in (scratch / folder).glob("*.png"))
            return sorted((int(match.group(1)), path) for match, path in found if match)

        screenshots = [{"frame": frame, "path": keep(path)} for frame, path in frames("shots", "frame")]
        mismatches = [{"frame": frame, "path": keep(path)} for frame, path in frames("mismatch", "mismatch_frame")]
        stderr = None
        if outcome not in GOOD and err.strip():
            (scratch / "stderr.txt").write_text(err[-KEPT_STDERR:], errors="replace")
            stderr = keep(scratch / "stderr.txt")
        return {"screenshots": screenshots, "mismatch": mismatches[0] if mismatches else None, "stderr": stderr}

    def record(self, run: dict, error: Infrastructure) -> None:
        publish.record_attempt(self.results, run["key"], str(error), error.errno, self.node)

    def record_all(self, runs: list[dict], error: Infrastructure) -> None:
        """Of a device that is not here: for one run of each trace, and once."""
        known = {path.name.partition(".")[0] for path in (self.results / "attempts").glob("[!.]*")}
        for run in {run["trace"]["name"]: run for run in reversed(runs)}.values():
            if run["key"] not in known:
                self.record(run, error)


@contextlib.contextmanager
def signals(handler: Callable[[int, object], None]):
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def interrupt(number: int, frame: object) -> None:
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise Interrupted(number)


def main(results: Path, chunk: Path, tools: Tools) -> int:
    """lapilli farm work: the runs of a chunk, one after the other, on a node of Slurm."""
    farm = json.loads((results / "farm.json").read_bytes())
    matrix = read(farm["matrix"])
    node = os.environ.get("SLURMD_NODENAME", publish.HOST)
    work = Work(results, matrix, farm["version"], tools, node, os.environ.get("SLURM_JOB_ID"), Node(matrix.cache.replace("%N", node), matrix.cache_gib))
    status = 0
    try:
        with signals(interrupt):
            found = tools.version()
            runs = read_lines(chunk)
            for run in runs:
                try:
                    if found != farm["version"]:
                        raise NoDevice(f"{node} has Lapilli {found}, and the farm is of {farm['version']}")
                    work.perform(run)
                except publish.NoRoom as error:
                    print(f"lapilli-farm: {error}", file=sys.stderr)
                    return EX_TEMPFAIL
                except Infrastructure as error:
                    print(f"lapilli-farm: {run['key']}: {error}", file=sys.stderr)
                    if isinstance(error, NoDevice):
                        work.record_all(runs, error)
                        return EX_TEMPFAIL
                    work.record(run, error)
                    status = EX_TEMPFAIL
    except Interrupted as interrupted:
        return 128 + interrupted.args[0]
    return status
