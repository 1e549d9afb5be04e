#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records the programs of tests/apps under valgrind: nothing that a trace is made of may be memory that nobody wrote.

Memcheck follows each bit that was never written to where something depends on it: a number's length in a packet, a hash, a
comparison, what is compressed, what a system call writes. Only what the recorder itself does counts: drivers and the loader have
reports of their own. What mapped memory holds is sent as it is; tests/layers/defined.c takes it out of this.

valgrind.py --build DIR [--match REGEX] [--jobs N] [--timeout SECONDS]
Exit status: 0 no report, 1 reports or programs that failed, 77 valgrind is not there.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYER, LAYER_NAME = "libVkLayer_lapilli.so", "VK_LAYER_LAPILLI_capture"
BELOW = "VK_LAYER_LAPILLI_TEST_defined"
KINDS = {"UninitCondition", "UninitValue", "SyscallParam"}
# What stands between the recorder and what it asked for.
LIBRARIES = re.compile(r"/(vgpreload_[^/]*|libc[.-][^/]*|ld-linux[^/]*|liblz4[^/]*|libxxhash[^/]*|libzstd[^/]*)$")
# What valgrind does not run, and why.
NOT_HERE = {"multi-fork": "it starts itself by /proc/self/exe, which is valgrind's own program there",
            "stores-handlers": "its handlers go on behind faults on a stack of their own, which ends the process there"}
SKIPPED = 77
MOST = 8  # reports of one run that are printed


@dataclass
class Outcome:
    """What came of one run."""

    name: str
    reports: list[str] = field(default_factory=list)
    failure: str = ""
    skipped: str = ""


def runs() -> list[tuple[str, list[str]]]:
    """Name and command line of each run that needs no window."""
    result = []
    for line in (ROOT / "tests/apps/list.txt").read_text().splitlines():
        name, needs_display, *arguments = line.split("\t")
        words = " ".join(arguments).split()
        if needs_display == "0":
            result.append(("-".join([name, *(word.lstrip("-") for word in words)]), [name, *words]))
    return result


def frames(error: ElementTree.Element) -> list[tuple[str, str]]:
    """Library and function of each frame of a report's own stack, innermost first."""
    stack = error.find("stack")
    return [] if stack is None else [
        (frame.findtext("obj") or "", f"{frame.findtext('fn') or '?'} ({frame.findtext('file') or '?'}:{frame.findtext('line') or '?'})")
        for frame in stack.findall("frame")]


def of_recorder(stack: list[tuple[str, str]]) -> bool:
    """The recorder, or a library that works for it, is what used the value; not a driver that it called."""
    for library, _ in stack:
        if not LIBRARIES.search(library):
            return library.endswith("/" + LAYER)
    return False


def reports(path: Path) -> list[str]:
    """The recorder's, each as kind and stack. A file that a process was killed over has no end."""
    found, text = [], path.read_text(errors="replace")
    for part in re.findall(r"<error>.*?</error>", text, re.DOTALL):
        error = ElementTree.fromstring(re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "?", part))
        stack = frames(error)
        if error.findtext("kind") in KINDS and of_recorder(stack):
            found.append(f"{error.findtext('kind')}: " + " < ".join(function for _, function in stack[:8]))
    return sorted(set(found), key=lambda report: ("encode" not in report, report))  # where it comes in, then what follows from it


def run_one(build: Path, name: str, command: list[str], timeout: int) -> Outcome:
    outcome = Outcome(name, skipped=NOT_HERE.get(name, ""))
    if outcome.skipped:
        return outcome
    with tempfile.TemporaryDirectory(prefix="lapilli-valgrind-") as folder:
        program = [str(build / "tests/apps" / command[0]), *command[1:]]
        checker = ["valgrind", "--quiet", "--error-limit=no", "--num-callers=24", "--xml=yes", f"--xml-file={folder}/%p.xml",
                   "--trace-children=no", "--child-silent-after-fork=yes"]
        trace = Path(folder, "trace.lapilli")
        # Debian 12's loader orders layers by the folders of VK_LAYER_PATH, newer ones by VK_INSTANCE_LAYERS.
        below = Path(folder, "below")
        below.mkdir()
        manifest = json.loads((build / "tests/layers/VkLayer_defined.json").read_text())
        manifest["layer"]["library_path"] = str(build / "tests/layers/libVkLayer_defined.so")
        (below / "VkLayer_defined.json").write_text(json.dumps(manifest))
        environment = {"VK_LAYER_PATH": f"{build}/share/vulkan/explicit_layer.d:{below}", "VK_INSTANCE_LAYERS": f"{LAYER_NAME}:{BELOW}",
                       "LAPILLI_FILE": str(trace), "LAPILLI_VERIFY": "1"}
        try:
            done = subprocess.run([*checker, *program], capture_output=True, text=True, errors="replace", timeout=timeout,
                                  cwd=folder, env={**os.environ, **environment})
        except subprocess.TimeoutExpired:
            outcome.failure = f"still running after {timeout} s"
            return outcome
        if done.returncode == SKIPPED:
            outcome.skipped = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else "the program skips"
        elif done.returncode != 0:
            outcome.failure = f"exit status {done.returncode}: {(done.stdout + done.stderr)[-500:]}"
        elif not trace.exists():
            outcome.failure = "there is no trace"
        files = list(Path(folder).glob("*.xml"))
        if not files and not outcome.failure:
            outcome.failure = "valgrind wrote nothing"
        for path in files:
            outcome.reports += reports(path)
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--match", default="", metavar="REGEX", help="only runs with such names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=int, default=900, metavar="SECONDS", help="of one run")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        print("skip: valgrind is not installed (scripts/install-deps.sh valgrind)")
        return SKIPPED
    chosen = [run for run in runs() if re.search(options.match, run[0])]
    failed = skipped = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(lambda run: run_one(options.build.resolve(), *run, options.timeout), chosen):
            bad = bool(outcome.reports or outcome.failure)
            print(f"{'FAIL' if bad else 'skip' if outcome.skipped else 'ok  '} {outcome.name}", flush=True)
            more = [f"and {len(outcome.reports) - MOST} more"] if len(outcome.reports) > MOST else []
            for line in [*outcome.reports[:MOST], *more, outcome.failure, outcome.skipped]:
                if line:
                    print(f"     {line}", flush=True)
            failed += bad
            skipped += bool(outcome.skipped) and not bad
    print(f"{len(chosen) - failed - skipped} without a report, {failed} failed, {skipped} skipped")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
