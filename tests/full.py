# SPDX-License-Identifier: MIT
"""Everything that can be checked, part by part: what the gate leaves out since it takes long, or fetches what changes from day to day.

What has passed is kept in build/full/state.json with a hash of the tree, and is not run again on the same tree: after an interrupt
the same command goes on. A part's output is in build/full/PART.log. A table with figures is the end.

Exit status: 0 every part that was asked for has passed on this tree; 1 one failed, or took too long; 2 usage; 130 interrupted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build/full"
STATE = FOLDER / "state.json"
COUNTS = re.compile(r"^(\d+ passed, \d+ failed(?:, \d+ skipped)?|lint: nothing found|\d+ programs, \d+ runs, \d+ reports|\d+ models, \d+ operations, \d+ failed|packages of [a-z,]+: \d+ failed)$", re.MULTILINE)
CHECKED = "WERROR=1 ASSERTS=1"


@dataclass
class Part:
    minutes: int  # after so many it has failed
    command: str


PARTS = {
    "lint": Part(5, "make lint"),
    "check": Part(150, f'scripts/install-deps.sh build check drivers && make {CHECKED} TIER=all TEST_ARGUMENTS="--strict --skips tests/skips.txt" check'),
    "null": Part(20, f"make {CHECKED} check-null"),
    "oldest": Part(20, "make check-oldest"),
    "newer": Part(40, "make check-newer"),
    "platforms": Part(30, "make check-platforms"),
    "future": Part(20, "make check-future"),
    "asan": Part(90, "make check-asan"),
    "tsan": Part(60, "make check-tsan"),
    "model": Part(20, f"make {CHECKED} check-model"),
    "m32": Part(60, f"make {CHECKED} check-m32"),
    "arm": Part(150, f"make {CHECKED} check-arm"),
    "matrix": Part(90, f"make {CHECKED} matrix"),
    "deb": Part(90, "make check-deb"),
    "suites": Part(90, "make check-suites"),
    "farm": Part(15, f"make {CHECKED} check-farm"),
    "valgrind": Part(120, "make check-valgrind"),
    "torture": Part(120, f'make {CHECKED} TORTURE="--points 100" torture'),
    "fuzz": Part(60, 'make FUZZ_SECONDS=60 FUZZ_ARGUMENTS="--jobs 1" fuzz'),
}


def tree_hash() -> str:
    """Of every file that is under version control, or would be added; in a source package of all that is not built."""
    result = hashlib.sha256()
    list_all = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"] if (ROOT / ".git").exists() else \
        ["find", ".", "(", "-path", "./build", "-o", "-name", "__pycache__", ")", "-prune", "-o", "-type", "f", "-print0"]
    names = subprocess.run(list_all, cwd=ROOT, capture_output=True, check=True).stdout
    for name in sorted(set(names.split(b"\0")) - {b""}):
        path = ROOT / os.fsdecode(name)
        content = path.read_bytes() if path.is_file() else b""
        result.update(name + b"\0" + hashlib.sha256(content).digest())
    return result.hexdigest()[:16]


def load() -> dict[str, dict]:
    try:
        return json.loads(STATE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def save(state: dict[str, dict]) -> None:
    new = STATE.with_suffix(".new")
    new.write_text(json.dumps(state, indent=1), encoding="utf-8")
    new.replace(STATE)


def run(name: str, part: Part, tree: str) -> dict:
    """What came of a part."""
    log = FOLDER / f"{name}.log"
    start = time.monotonic()
    with log.open("wb") as out, subprocess.Popen(["sh", "-c", part.command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                                 start_new_session=True) as process:
        try:
            status = process.wait(part.minutes * 60)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
    counts = COUNTS.findall(log.read_text(encoding="utf-8", errors="replace"))
    return {"tree": tree, "passed": status == 0, "seconds": round(time.monotonic() - start), "counts": counts[-1] if counts else "",
            "end": "passed" if status == 0 else f"no end after {part.minutes} min" if status is None else f"exit status {status}"}


def table(names: list[str], state: dict[str, dict], tree: str) -> str:
    lines = [f"{'part':10} {'result':20} {'time':>8}  figures"]
    for name in names:
        of = state.get(name)
        known = of is not None and of["tree"] == tree
        lines.append(f"{name:10} {of['end'] if known else 'not run on this tree':20} {of['seconds'] if known else 0:>6} s  {of['counts'] if known else ''}".rstrip())
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these, of {', '.join(PARTS)}")
    parser.add_argument("--from", dest="first", choices=PARTS, metavar="PART", help="this one and those after it")
    parser.add_argument("--again", action="store_true", help="also what has passed on this tree")
    parser.add_argument("--list", action="store_true", help="print the parts, what has come of them on this tree, and run none")
    options = parser.parse_args()
    unknown = sorted(set(options.parts) - set(PARTS))
    if unknown:
        parser.error(f"there is no part {unknown[0]}: {', '.join(PARTS)}")
    names = options.parts or list(PARTS)[list(PARTS).index(options.first) if options.first else 0:]
    tree, state = tree_hash(), load()
    if options.list:
        print(table(names, state, tree))
        return 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names, 1):
        if not options.again and state.get(name, {}).get("tree") == tree and state[name]["passed"]:
            print(f"[{number}/{len(names)}] {name}: has passed on this tree", flush=True)
            continue
        print(f"[{number}/{len(names)}] {name}: {PARTS[name].command}", flush=True)
        try:
            state[name] = run(name, PARTS[name], tree)
        except KeyboardInterrupt:
            print(f"interrupted in {name}; the same command goes on from there")
            return 130
        save(state)
        print(f"    {state[name]['end']} after {state[name]['seconds']} s {state[name]['counts']}".rstrip(), flush=True)
        if tree_hash() != tree:
            print("the tree has changed meanwhile: what is checked from now on is another one")
            tree = tree_hash()
    print(table(names, state, tree))
    bad = [name for name in names if not (state[name]["tree"] == tree and state[name]["passed"])]
    print(f"{len(names) - len(bad)} passed, {len(bad)} failed" + (f": {', '.join(bad)}" if bad else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
