#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the models (tests/model/model.h). run.py --build DIR [--match REGEX]

Each model has to find nothing in the sources as they are. Then every operation of the sources that is not relaxed is made relaxed,
one at a time, and the model runs again; a lock then only excludes. That must fail for the operations in NEEDED: so a model is known to
see its faults. Others are listed, and the model does not need their order. The last line counts models, operations and failures."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SITE = re.compile(r"^site (0x[0-9a-f]+) (\d)$", re.MULTILINE)
ORDERS = {2: "acquire", 3: "release", 4: "acq_rel", 5: "seq_cst"}
# Parts of lines, by model. The weakening of such a line, or of one of them, must be found.
NEEDED: dict[str, list[str]] = {
    "map": ["atomic_store_explicit(&map->table, table, memory_order_release)", "*table = atomic_load_explicit(&map->table, memory_order_acquire)",
            "atomic_store_explicit(&slot->key, inverted, memory_order_release)",
            "atomic_load_explicit(&slot->key, memory_order_acquire) == ~key, 1)) {", "found = atomic_load_explicit(&table->slots[at].key",
            "atomic_store_explicit(&slot->key, EMPTY, memory_order_release)", "atomic_store_explicit(&table->version, version + 2",
            "version = atomic_load_explicit(&table->version, memory_order_acquire)"],
    "watch": ["atomic_thread_fence(memory_order_release)", "atomic_thread_fence(memory_order_acquire)"],
    "journal": ["__atomic_store_n((uint64_t *)(void *)(half + USED_AT), both, __ATOMIC_RELEASE)"],
    "notes": ["atomic_thread_fence(memory_order_seq_cst)"],
    "queue": ["pthread_mutex_unlock(&queue->mutex);"],
}

EXECUTIONS = {"queue": 4000}  # 20,000 of the others


def run(program: Path, *arguments: str) -> tuple[int, str]:
    try:
        done = subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return -1, "no end\n"
    return done.returncode, done.stdout + done.stderr


def places(program: Path, addresses: list[str]) -> list[tuple[str, str]]:
    """File and line of each address, and the line's text. Where a function is inline, its own line."""
    done = subprocess.run(["addr2line", "-e", str(program), *addresses], capture_output=True, text=True, check=True)
    found = []
    for line in done.stdout.splitlines():
        file, _, number = line.split(" ")[0].rpartition(":")
        path = Path(file).resolve()
        text = path.read_text(encoding="utf-8").splitlines()[int(number) - 1].strip() if path.is_file() and number.isdigit() else ""
        name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else file
        found.append((f"{name}:{number}", text))
    return found


def check(name: str, folder: Path) -> tuple[int, bool]:
    """How many operations were weakened, and whether all is well."""
    program, executions = folder / f"{name}_model", str(EXECUTIONS.get(name, 20000))
    status, text = run(program, "--executions", executions)
    print(f"{'ok  ' if status == 0 else 'FAIL'} {program.name}: {text.splitlines()[-1] if text else status}", flush=True)
    if status:
        return 0, False
    sites = SITE.findall(text)
    needed = dict.fromkeys(NEEDED[name], 0)
    good, weakened = True, 0
    for (address, order), (place, line) in zip(sites, places(program, [address for address, _ in sites])):
        if place.startswith("tests/model/"):
            continue
        weakened += 1
        status, text = run(program, "--executions", executions, "--weaken", address)
        for key in needed:
            needed[key] += status != 0 and key in line
        print(f"ok   {program.name}, relaxed in place of {ORDERS.get(int(order), order)}, {place}: "
              f"{text.splitlines()[-1] if status else 'no difference'}\n         {line}", flush=True)
    for key, count in needed.items():
        if not count:
            print(f"FAIL {program.name} does not need the order of {key!r}")
            good = False
    return weakened, good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--match", default="")
    arguments = parser.parse_args()
    names = [name for name in NEEDED if re.search(arguments.match, name)]
    results = [check(name, arguments.build / "tests/model") for name in names]
    print(f"{len(results)} models, {sum(count for count, _ in results)} operations, {sum(not good for _, good in results)} failed")
    return 0 if results and all(good for _, good in results) else 1


if __name__ == "__main__":
    sys.exit(main())
