# SPDX-License-Identifier: MIT
"""Runs fuzz targets, several at a time, and says what each did.

run.py --build DIR --seconds N [--seed N] [--jobs N] TARGET...

A line for each target: executions, the time they took on the clock and of a processor, covered edges, inputs that are kept, and the finding, if there is one: then the exit status is 1,
and the input is named. Inputs that bring something new are kept in DIR/corpus/TARGET, and the next run goes on from there. With the
seed that is printed, and without that folder, a run does the same again.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
# Which inputs a target begins with; those in tests/fuzz/corpus/TARGET go with them.
SEEDS = {"container": ["trace"], "print": ["trace", "calls"], "rewrite": ["trace"], "trim": ["trace"], "compile": ["trace"], "edit": ["trace"], "replay": ["trace"], "decoder": ["decoder"]}
LONGEST = {"container": 131072, "print": 131072, "rewrite": 131072, "trim": 131072, "compile": 131072, "edit": 131072, "replay": 131072, "program": 65536}
MEMORY_MIB = 2560
SLOWEST_SECONDS = 20


@dataclass
class Result:
    target: str
    executions: int
    edges: int
    inputs: int
    seconds: float
    cpu_seconds: float
    finding: str
    log: Path


def command(target: str, options: argparse.Namespace, artifacts: Path) -> list[str]:
    build = Path(options.build)
    folders = [build / "corpus" / target]
    folders[0].mkdir(parents=True, exist_ok=True)
    folders += [f for f in (*(build / "seeds" / name for name in SEEDS.get(target, [])), HERE / "corpus" / target) if f.is_dir()]
    return [str(build / "targets" / target), f"-max_total_time={options.seconds}", f"-seed={options.seed}",
            f"-max_len={LONGEST.get(target, 8192)}", f"-rss_limit_mb={MEMORY_MIB}", f"-timeout={SLOWEST_SECONDS}",
            "-print_final_stats=1", "-close_fd_mask=3", f"-artifact_prefix={artifacts}/", *map(str, folders)]


def run(target: str, options: argparse.Namespace) -> Result:
    build = Path(options.build)
    artifacts = build / "findings" / target
    artifacts.mkdir(parents=True, exist_ok=True)
    log = build / "findings" / f"{target}.log"
    environment = dict(os.environ, ASAN_OPTIONS="allocator_may_return_null=1:detect_odr_violation=0:" + os.environ.get("ASAN_OPTIONS", ""),
                       UBSAN_OPTIONS="print_stacktrace=1", LSAN_OPTIONS=f"suppressions={HERE.parent / 'lsan.supp'}:print_suppressions=0")
    before, began = set(artifacts.iterdir()), time.monotonic()
    with open(log, "wb") as out:
        process = subprocess.Popen(command(target, options, artifacts), stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        code = process.returncode = os.waitstatus_to_exitcode(status)
    text = log.read_text(errors="replace")
    found = sorted(p for p in set(artifacts.iterdir()) - before if not p.name.startswith("slow-unit"))
    finding = str(found[0]) if found else f"exit status {code}" if code else ""
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
    lines = re.findall(r"^#(\d+)\s.*?cov: (\d+).*?corp: (\d+)/", text, re.M)
    count, edges, inputs = map(int, lines[-1]) if lines else (0, 0, 0)
    return Result(target, int(executed.group(1)) if executed else count, edges, inputs, time.monotonic() - began,
                  used.ru_utime + used.ru_stime, finding, log)


def show(result: Result) -> None:
    print(f"fuzz: {result.target:10} {result.executions:10} executions in {result.seconds:.0f} s ({result.cpu_seconds:.0f} s of CPU), "
          f"{result.edges} edges, {result.inputs} inputs, {'found ' + result.finding if result.finding else 'nothing found'}", flush=True)
    if result.finding:
        text = result.log.read_text(errors="replace").splitlines()
        start = next((i for i, line in enumerate(text) if "ERROR:" in line or "runtime error" in line), max(0, len(text) - 30))
        print("\n".join(text[start:start + 30]))
        print(f"fuzz: {shlex.quote(str(result.log.parent.parent / 'targets' / result.target))} {shlex.quote(result.finding)}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs fuzz targets.")
    parser.add_argument("--build", required=True)
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=random.randrange(1, 1 << 31))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("targets", nargs="+")
    options = parser.parse_args()
    print(f"fuzz: seed {options.seed}", flush=True)
    failed = False
    with ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda target: run(target, options), options.targets):
            show(result)
            failed |= bool(result.finding)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
