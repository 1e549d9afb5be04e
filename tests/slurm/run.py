# SPDX-License-Identifier: MIT
"""lapilli farm on a Slurm of real daemons that break: a node is lost, the controller killed, elements cancelled, the farm killed and two
started at once, the results folder full. Each run has one result, the same as undisturbed. Root only.

Exit status: 0 all is as it should be; 1 it is not; 2 there is no Slurm here, or no root.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]
sys.dont_write_bytecode = True

import surroundings  # noqa: E402
from slurm.cluster import DAEMONS, Broken, Cluster, until  # noqa: E402

REPEAT = 2
FULL_MIB = 8
NOISE = re.compile("(?i)pmix|mailprog|MPI:|state file|backup state")  # of a Slurm without these, that begins


def check(condition: bool, what: str) -> None:
    if not condition:
        raise Broken(what)


def is_done(key: str, results: Path) -> bool:
    return (results / "runs" / key[:2] / f"{key}.ndjson").exists()


@dataclass
class Farm:
    """A farm that runs, and what it says."""

    process: subprocess.Popen
    log: Path

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def wait(self) -> int:
        try:
            return self.process.wait(120)
        except subprocess.TimeoutExpired:
            raise Broken(f"the farm has no end: {self.said()}") from None


@dataclass
class Place:
    cluster: Cluster
    build: Path
    folder: Path
    apps: list[str]
    farms: int = 0

    def record(self) -> None:
        (self.folder / "traces").mkdir()
        for app in self.apps:
            done = subprocess.run([self.build / "bin/lapilli", "capture", "--quiet", "--verify", "-o", self.folder / f"traces/{app}.lapilli", "--",
                                   self.build / "tests/apps" / app], capture_output=True, text=True, check=False)
            check(done.returncode == 0, f"{app}: {done.stderr}")

    def matrix(self, *devices: str) -> None:
        devices = devices or ('[[device]]\nname = "first"\nconstraint = "first"\ngres = "gpu:first:1"', '[[device]]\nname = "second"\nconstraint = "second"\nmemory_mib = 500')
        (self.folder / "matrix.toml").write_text(f'repeat = {REPEAT}\nrepeat_failures = 0\ncache = "{self.folder}/cache/%N"\n' + "\n".join(devices))

    def farm(self, results: Path, *more: str, verb: str = "run", traces: str = "traces") -> Farm:
        self.farms += 1
        log = self.folder / f"farm{self.farms}.log"
        options = ["--engine", "slurm", "--traces", str(self.folder / traces), "--matrix", str(self.folder / "matrix.toml")] if verb == "run" else []
        with log.open("wb") as out:
            return Farm(subprocess.Popen([str(self.build / "bin/lapilli"), "farm", verb, "--results", str(results), *options, *more], env=self.cluster.env,
                                         stdin=subprocess.DEVNULL, stdout=out, stderr=out), log)

    def lines(self, results: Path) -> list[dict]:
        found = []
        for path in results.glob("runs/*/*.ndjson"):
            found.append(json.loads(path.read_text()))
            check(found[-1]["end"] is True, f"{path} is not whole")
        return found


def outcomes(lines: list[dict]) -> dict[tuple, tuple]:
    """What a result says of its run, without times and places."""
    found = {(line["trace"]["name"], line["device"], line["repetition"]): (line["outcome"], line["verify"], line["hashes"]) for line in lines}
    check(len(found) == len(lines), "a run has two results")
    return found


def count(results: Path) -> int:
    return sum(1 for _ in results.glob("runs/*/*.ndjson"))


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """A file system of some MiB in a folder; False: it can't be mounted here."""
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={FULL_MIB}m", "lapilli-test", str(folder)], capture_output=True, text=True, check=False)
    try:
        yield done.returncode == 0
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def undisturbed(place: Place) -> dict[tuple, tuple]:
    """Three nodes play; an element that runs is cancelled, and one that waits; traces reach a node once."""
    results = place.folder / "the results"
    farm = place.farm(results)
    until("an element runs", lambda: place.cluster.jobs("R"))
    for states in ("R", "PD"):
        for element, _ in place.cluster.jobs(states)[-1:]:
            place.cluster.ask("scancel", element)
    check(farm.wait() in (0, 1), farm.said())
    lines = place.lines(results)
    wanted = {line["key"] for line in map(json.loads, (results / "plan.ndjson").read_text().splitlines())}
    check({line["key"] for line in lines} == wanted and len(lines) == len(place.apps) * 2 * REPEAT, f"{len(lines)} results: {farm.said()}")
    check({line["node"] for line in lines} >= {"node3"} and all(line["job"] for line in lines), "nodes or jobs are missing")
    check(all((line["device"] == "second") == (line["node"] == "node3") for line in lines), "a device was played on a node of another one")
    check({line["outcome"] for line in lines} == {"same"}, f"{[line['outcome'] for line in lines]}")
    for cache in (place.folder / "cache").iterdir():
        check(len(list(cache.glob("*.lapilli"))) <= len(place.apps) and not list(cache.glob(".*")), f"{cache} has other files")
    refused = place.folder / "refused"
    place.matrix('[[device]]\nname = "of nobody"\nconstraint = "of-nobody"')
    farm = place.farm(refused)
    check(farm.wait() == 2 and "'of nobody'" in farm.said() and not list(refused.glob("chunks/*")), farm.said())
    place.matrix('[[device]]\nname = "gone"\nconstraint = "second"\ndriver_files = "/there/is/no/driver.json"')
    gone = place.folder / "gone"
    farm = place.farm(gone, "--attempts", "2", traces="traces/compute.lapilli")
    check(farm.wait() in (1, 4) and "device 'gone' on node3: the driver's file /there/is/no/driver.json is not there" in farm.said(), farm.said())
    check(count(gone) == 0, farm.said())
    place.matrix()
    return outcomes(lines)


def disturbed(place: Place, wanted: dict[tuple, tuple]) -> None:
    """A node is lost, the controller killed, the farm killed and two started at once, the folder full, an element cancelled."""
    cluster = place.cluster
    with small_disk(place.folder / "small disk") as is_small:
        results = place.folder / "small disk/results"
        farm = place.farm(results)
        until("three results", lambda: count(results) >= 3)
        lost = until("a node with the first device plays", lambda: [node for _, node in cluster.jobs() if node in ("node1", "node2")])[0]
        cluster.lose(lost)
        before = count(results)
        until("a result after a node was lost", lambda: count(results) > before)
        cluster.stop("slurmctld")
        cluster.start_controller()
        farm.process.send_signal(signal.SIGKILL)
        farm.process.wait()
        farms = [place.farm(results), place.farm(results)]
        cluster.start_node(lost)
        if is_small:
            full(place, results, farms)
        for element, _ in cluster.jobs("R,PD")[:1]:
            cluster.ask("scancel", element)
        until("the farms end", lambda: cluster.resume() and all(farm.process.poll() is not None for farm in farms), 120)
        ended = [farm.wait() for farm in farms]
        said = "\n".join(farm.said() for farm in farms)
        check(set(ended) <= {0, 1}, f"{ended}: {said}")
        found = outcomes(place.lines(results))
        check(found == wanted, f"{len(found)} results, {sum(found.get(key) != value for key, value in wanted.items())} are others: {said}")
        check(not is_small or "No space left" in said, f"the full folder was not seen: {said}")
        second = len(list(results.glob("twice/*")))
        print(f"     {len(found)} results, {second} came second" + ("" if is_small else "; no file system could be mounted"))


def full(place: Place, results: Path, farms: list[Farm]) -> None:
    """Until a farm has seen it: no round is over before all of its elements have failed."""
    filler = results / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1 << 16))
    until("a farm waits for room", lambda: place.cluster.resume() and (any("No space left" in farm.said() for farm in farms) or all(farm.process.poll() is not None for farm in farms)))
    filler.unlink()


def ended(place: Place) -> None:
    """A cancelled farm ends with its jobs. The next start plays the rest, and names a node that takes none."""
    results = place.folder / "cancelled"
    farm = place.farm(results)
    until("a result", lambda: count(results))
    check(place.farm(results, verb="cancel").wait() == 0, "cancel failed")
    check(farm.wait() == 4 and "cancelled" in farm.said(), farm.said())
    until("no job of it is left", lambda: not place.cluster.jobs("PD,R,CF,S"))
    missing = len(place.apps) * 2 * REPEAT - count(results)
    check(missing > 0, "all was played before")
    place.cluster.ask("scontrol", "update", "nodename=node2", "state=drain", "reason=a fan is loud")
    farm = place.farm(results)
    check(farm.wait() in (0, 1) and count(results) == len(place.apps) * 2 * REPEAT, farm.said())
    check("node2 is drained (a fan is loud)" in farm.said(), farm.said())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("apps", nargs="+", metavar="APP", help="programs of tests/apps")
    options = parser.parse_args()
    surroundings.clean()
    lacking = [name for name in (*DAEMONS, "sbatch", "setpriv") if not shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")]
    if lacking or os.getuid():
        print(f"check-farm: {', '.join(lacking)} is not there (scripts/install-deps.sh farm)" if lacking else "check-farm: only root can start the daemons")
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    passed = failed = 0
    wanted: dict[tuple, tuple] = {}
    with tempfile.TemporaryDirectory(prefix="lapilli-slurm-") as name:
        folder = Path(name)
        os.environ.update({"XDG_CACHE_HOME": f"{name}/user-cache", "LC_ALL": "C"})
        for case in (undisturbed, disturbed, ended):
            start = time.monotonic()
            own = folder / case.__name__
            own.mkdir()
            try:
                with Cluster(own / "slurm") as cluster:
                    place = Place(cluster, options.build.resolve(), own, options.apps)
                    place.record()
                    place.matrix()
                    wanted = (case(place, wanted) if case is disturbed else case(place)) or wanted
                passed += 1
                print(f"ok   {case.__name__} ({time.monotonic() - start:.1f} s)", flush=True)
            except Exception as error:
                failed += 1
                print(f"FAIL {case.__name__} ({time.monotonic() - start:.1f} s)\n{error if isinstance(error, Broken) else traceback.format_exc()}", flush=True)
                for log in sorted((own / "slurm/log").glob("*")):
                    print(f"--- {log.name}\n" + "\n".join([line for line in log.read_text(errors="replace").splitlines() if re.search("error|fatal|Duplicate", line) and not NOISE.search(line)][-8:]))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
