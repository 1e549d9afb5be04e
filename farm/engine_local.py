# SPDX-License-Identifier: MIT
"""Runs on this machine: as many side by side as processors and GPU memory allow, each a replay in a process group of its own."""

from __future__ import annotations

import os
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from farm import publish
from farm.engine import BARREN_ROUNDS, Engine, in_order
from farm.process import Stopped
from farm.work import Infrastructure, NoDevice, Work

UNKNOWN_SHARE = 2  # of runs whose memory is not known so many are played at a time on a device
LOOK_AHEAD = 100  # runs that are looked at for one that fits beside the others
CHECK_SECONDS = 1.0
MIB = 1 << 20


@dataclass
class LocalEngine(Engine):
    work: Work = field(kw_only=True)
    jobs: int = 0  # 0: as many as processors
    shift: bool = False  # another farm may be in this folder: begin elsewhere

    def play(self, runs: list[dict]) -> None:
        with ThreadPoolExecutor(self.jobs or os.cpu_count() or 1) as pool:
            try:
                _Session(self, pool, runs).play()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self.work.processes.stop()
                raise


class _Session:
    """What one call of play() has to remember."""

    def __init__(self, engine: LocalEngine, pool: ThreadPoolExecutor, runs: list[dict]) -> None:
        self.engine, self.pool = engine, pool
        self.jobs = engine.jobs or os.cpu_count() or 1
        ordered = in_order(runs, engine.history)
        start = time.time_ns() % len(ordered) if engine.shift and ordered else 0
        alone = {device.name for device in engine.work.matrix.device if device.alone}
        self.pending = sorted(ordered[start:] + ordered[:start], key=lambda run: run["device"] in alone)
        self.running: dict[Future, dict] = {}
        self.tries: Counter[str] = Counter()
        self.lost: list[str] = []
        self.full = ""  # why the results folder could not be written

    def play(self) -> None:
        barren = made = 0
        while self.pending or self.running:
            self.engine.check()
            if not self.full:
                self._start()
            finished, _ = wait(self.running, timeout=CHECK_SECONDS, return_when=FIRST_COMPLETED)
            made += sum(self._end(future, self.running.pop(future)) for future in finished)
            if self.full and not self.running:
                barren = 0 if made else barren + 1
                made = 0
                while barren < BARREN_ROUNDS and not self.engine.wait_for_room(barren):
                    barren += 1
                if barren >= BARREN_ROUNDS:
                    self.engine.note(f"{self.full}: given up after {BARREN_ROUNDS} rounds without a new file")
                    return
                self.full = ""
        if self.lost:
            self.engine.note(f"{len(self.lost)} runs had no result in {self.engine.attempts} attempts, the first because: {self.lost[0]}")

    def _fits(self, run: dict) -> bool:
        device = self.engine.work.device(run["device"])
        beside = list(self.running.values())
        if beside and (device.alone or self.engine.work.device(beside[0]["device"]).alone):
            return False
        if not device.memory_mib:
            return True
        memory = device.memory_mib * MIB
        here = [r for r in beside if r["device"] == device.name]
        return not here or sum(self.engine.history.peak_bytes(r) or memory // UNKNOWN_SHARE for r in [*here, run]) <= memory

    def _start(self) -> None:
        at = 0
        while at < min(len(self.pending), LOOK_AHEAD) and len(self.running) < self.jobs:
            run = self.pending[at]
            if self._fits(run):
                del self.pending[at]
                self.running[self.pool.submit(self.engine.work.perform, run)] = run
            elif self.engine.work.device(run["device"]).alone:
                return  # those come last, and wait for all others
            else:
                at += 1

    def _end(self, future: Future, run: dict) -> bool:
        """Whether a new file came of it."""
        try:
            line = future.result()
        except publish.NoRoom as error:
            self.full = str(error)
            self.pending.insert(0, run)
            return False
        except NoDevice as error:
            if str(error) not in self.engine.notes:
                self.engine.work.record_all([run, *(other for other in self.pending if other["device"] == run["device"])], error)
            self.engine.note(str(error))
            self.pending = [other for other in self.pending if other["device"] != run["device"]]
            return False
        except Infrastructure as error:
            self.engine.work.record(run, error)
            self.tries[run["key"]] += 1
            if self.tries[run["key"]] < self.engine.attempts:
                self.pending.append(run)
            else:
                self.lost.append(f"{run['trace']['name']!r}: {error}")
            return False
        except Stopped:
            return False
        line = line or publish.read_result(publish.result_path(self.engine.results, run["key"]))
        if line:
            self.engine.done(line)
        else:
            publish.set_aside(self.engine.results, run["key"])
            self.pending.append(run)
        return line is not None
