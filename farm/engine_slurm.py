# SPDX-License-Identifier: MIT
"""Runs on the nodes of Slurm: arrays of jobs, each element a chunk of runs for one device.

What is lost is found from files, never from Slurm's memory: no element of this farm's name that waits or runs has the run in its chunk, and
the result is not there. An error of squeue never means that. What is lost goes into a new array. Jobs are never requeued by Slurm: that takes
minutes. The comment of a job is the folder of its chunks, so that any farm in the results folder knows the elements of the others. An
element that Slurm takes for running although all of its runs have results, as happens when a controller was killed, is not waited for.
"""

from __future__ import annotations

import functools
import hashlib
import re
import shlex
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from farm import publish
from farm.engine import BARREN_ROUNDS, Engine, History, Refused
from farm.matrix import Device, Matrix
from farm.plan import PlanError, read_lines

CHUNK_SECONDS = 120.0  # an element costs half a second by itself
FEWEST_ELEMENTS = 32  # where there is that much to do: few runs are spread, too
SPARE_SECONDS = 30.0  # for each run in the time limit of a job, which is the last net
POLL_SECONDS, IDLE_SECONDS, LONGEST_POLL = 1.0, 4.0, 30.0
GATHER_SECONDS = 60.0  # so long lost runs are gathered, as long as others are played
SHOWN_NODES = 20


def ask(*command: str) -> subprocess.CompletedProcess[str]:
    """A program of Slurm; one that is not there is a failure like others."""
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False)
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, "", f"{command[0]}: {error.strerror}")


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return re.sub(r"^\w+: (error: )?", "", lines[-1]) if lines else f"{done.args[0]} ends with {done.returncode}"


def job_name(results: Path) -> str:
    """The same for all farms in a folder, from wherever they see it."""
    return "farm-" + hashlib.sha256((results / "farm.json").read_bytes()).hexdigest()[:12]


def elements(name: str) -> list[tuple[str, str]] | None:
    """Elements that wait or run: the folder of their chunks, and the chunk. Those that end are gone. None: Slurm does not answer."""
    done = ask("squeue", "-h", "-r", "-n", name, "-t", "PD,R,CF,S", "-o", "%K %k")
    return [(folder, index) for index, _, folder in (line.strip().partition(" ") for line in done.stdout.splitlines())] if done.returncode == 0 else None


def drained() -> list[str]:
    """Nodes that take no jobs, and why."""
    found = {}
    for line in ask("sinfo", "-h", "-N", "-o", "%N|%T|%E").stdout.splitlines():
        name, state, reason = (line.split("|", 2) + ["", ""])[:3]
        if re.match(r"drain|down|fail", state):
            found[name] = f"{name} is {state.rstrip('*')}" + (f" ({reason})" if reason not in ("", "none") else "")
    return list(found.values())


def chunks(runs: list[dict], history: History) -> list[list[dict]]:
    """Runs of some seconds together. Repetitions of a trace are neighbours: their node needs one copy."""
    ordered = sorted(runs, key=lambda run: (run["trace"]["sha256"], run["repetition"]))
    size = min(CHUNK_SECONDS, sum(map(history.seconds, ordered)) / FEWEST_ELEMENTS)
    found: list[list[dict]] = []
    filled = size
    for run in ordered:
        if filled >= size:
            found.append([])
            filled = 0.0
        found[-1].append(run)
        filled += history.seconds(run)
    return found


@dataclass
class SlurmEngine(Engine):
    matrix: Matrix = field(kw_only=True)
    program: str = field(kw_only=True)  # lapilli-farm, where the nodes have it, too
    goes_on = "; its jobs go on in Slurm, and lapilli farm cancel ends them"
    jobs: int = 0  # elements of a device at a time; 0: as many as Slurm starts
    chunks: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    tries: Counter[str] = field(default_factory=Counter)

    @functools.cached_property
    def name(self) -> str:
        return job_name(self.results)

    @functools.cached_property
    def most_elements(self) -> int:
        found = re.search(r"^MaxArraySize\s*=\s*(\d+)", ask("scontrol", "show", "config").stdout, re.M)
        return max(int(found.group(1)) - 1, 1) if found else 1000

    def play(self, runs: list[dict]) -> None:
        left = {run["key"]: run for run in runs}
        self.tries.clear()
        try:
            self._play(left)
        finally:
            for node in drained()[:SHOWN_NODES]:
                self.note(f"node {node}: it takes no jobs; 'scontrol update nodename=NODE state=resume' is a person's to call")
        if left:
            self._explain(left)

    def _play(self, left: dict[str, dict]) -> None:
        tested = False
        barren = made = rounds = 0
        while True:
            new, lost, others = self._wait_for_loss(left)
            made += new
            given = [run for run in lost if self.tries[run["key"]] < self.attempts]
            if not given:
                if not others:
                    return
                continue
            if not tested:
                for name in {run["device"] for run in left.values()}:
                    self._test(self._device(name))
                tested = True
            barren = 0 if made or not rounds else barren + 1
            full = publish.has_room(self.results)
            if full:
                self.tries.subtract(run["key"] for run in given if self.tries[run["key"]])  # not lost with their machine
            while barren < BARREN_ROUNDS and not self.wait_for_room(barren if full else 0):
                barren += 1
            if barren >= BARREN_ROUNDS:
                self.note(f"given up after {BARREN_ROUNDS} rounds without a new file")
                return
            self._submit(given)
            self.tries.update(run["key"] for run in given)
            made, rounds = 0, rounds + 1

    def _device(self, name: str) -> Device:
        return next(device for device in self.matrix.device if device.name == name)

    def _explain(self, left: dict[str, dict]) -> None:
        said: Counter[str] = Counter()
        for path in sorted((self.results / "attempts").glob("[!.]*")):
            if path.name.partition(".")[0] in left:
                try:
                    said[publish.read_object(path)["text"]] += 1
                except (OSError, ValueError, KeyError, TypeError):
                    said["an attempt whose file can't be read"] += 1
        self.note(f"{len(left)} runs have no result in up to {max(self.tries.values(), default=0)} attempts" + (f"; {len(said)} reasons are in attempts/, the most frequent ones:" if said else ""))
        if not said:
            self.note(f"if no job could begin: each node has to see {self.results} and {self.program}")
        for text, count in said.most_common(5):
            self.note(f"{count} times: {text}")

    def _options(self, device: Device, count: int, most_runs: int) -> list[str]:
        minutes = int(most_runs * (self.matrix.timeout_s + SPARE_SECONDS) / 60) + 2
        options = [f"--job-name={self.name}", "--no-requeue", f"--array=0-{count - 1}" + (f"%{self.jobs}" if self.jobs else ""), f"--time={minutes}",
                   "--chdir=/", "--output=/dev/null", "--ntasks=1"]
        options += [f"--constraint={device.constraint}"] if device.constraint else []
        options += [f"--gres={device.gres}"] if device.gres else []
        options += [f"--mem={device.memory_mib}"] if device.memory_mib else []
        options += ["--exclusive"] if device.alone else []
        return options

    def _sbatch(self, device: Device, *arguments: str) -> None:
        """A controller that is away is waited for; an answer of another kind is a refusal."""
        said = False
        while True:
            done = ask("sbatch", *arguments)
            if done.returncode == 0:
                return
            if done.returncode == 127 or ask("squeue", "-h", "-n", self.name).returncode == 0:
                raise Refused(f"Slurm refuses the runs of device '{device.name}': {sentence(done)}")
            if not said:
                self.say(f"{sentence(done)}; waiting for Slurm")
            said = True
            self.check()
            time.sleep(POLL_SECONDS)

    def _test(self, device: Device) -> None:
        """Before anything is submitted, whether Slurm would take each device."""
        self._sbatch(device, "--test-only", *self._options(device, 1, 1), "--wrap", "true")

    def _submit(self, runs: list[dict]) -> None:
        for number, device in enumerate(self.matrix.device):
            parts = chunks([run for run in runs if run["device"] == device.name], self.history)
            for start in range(0, len(parts), self.most_elements):
                self._submit_array(device, number, parts[start:start + self.most_elements])

    def _submit_array(self, device: Device, number: int, parts: list[list[dict]]) -> None:
        folder = self._folder(number)
        for index, part in enumerate(parts):
            publish.replace(folder / str(index), "".join(publish.dumps(run) + "\n" for run in part).encode())
        work = " ".join(map(shlex.quote, (self.program, "work", str(self.results), str(folder)))) + '/"$SLURM_ARRAY_TASK_ID"'
        self._sbatch(device, "--parsable", f"--comment={folder.name}", *self._options(device, len(parts), max(map(len, parts))), "--wrap", f"exec {work}")

    def _folder(self, number: int) -> Path:
        """A new one; another farm may make some, too."""
        attempt = 0
        while True:
            folder = self.results / "chunks" / f"{attempt}-{number}"
            try:
                folder.mkdir(parents=True)
                return folder
            except FileExistsError:
                attempt += 1
            except OSError as error:
                raise publish.NoRoom(error) from error

    def _keys(self, element: tuple[str, str]) -> set[str] | None:
        """The runs of an element; None: it is not ours, or its chunk can't be read now, so it may have any."""
        if element not in self.chunks:
            try:
                folder, index = element
                self.chunks[element] = {line["key"] for line in read_lines(self.results / "chunks" / Path(folder).name / str(int(index)))}
            except (OSError, ValueError, PlanError):
                return None
        return self.chunks[element]

    def _wait_for_loss(self, left: dict[str, dict]) -> tuple[int, list[dict], bool]:
        """Until runs are lost, or none is left: new results, lost runs, and whether other runs are still played. A result may be seen a moment
        after its element has gone, so a run is lost that two looks miss."""
        pause, made, start = POLL_SECONDS, 0, time.monotonic()
        missed = set() if (self.results / "chunks").exists() else set(left)  # nothing was ever submitted
        while True:
            self.check()
            found = elements(self.name)
            look = time.monotonic()
            new = self.collect(left)
            made += new
            if found is not None:
                held = [self._keys(element) for element in found]
                alive = {key for keys in held for key in (left if keys is None else keys)} & set(left)
                lost = {key for key in left if key not in alive and self.tries[key] < self.attempts}
                ready = lost & missed
                if ready == lost and (not alive or (lost and time.monotonic() - start > GATHER_SECONDS)):
                    return made, [run for key, run in left.items() if key in lost], bool(alive)
                missed = lost
            # A look at many files on a network takes its time, and is to take little of the network's.
            pause = POLL_SECONDS if new else min(pause * 1.2, IDLE_SECONDS)
            time.sleep(min(max(pause, 10 * (time.monotonic() - look)), LONGEST_POLL))
