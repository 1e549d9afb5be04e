# SPDX-License-Identifier: MIT
"""Compiles the generated sources for every platform that they have guards for: check.py --gen FOLDER COMPILER FLAGS...

Each platform by itself, none at all, and (with --together, only) all at once; tests/platform/include stands in for the
platforms' own headers. With --list, prints the compiler's flags for all of them. The last line is `N passed, N failed, N skipped`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

INCLUDE = Path(__file__).resolve().parent / "include"
GUARD = re.compile(r"^#ifdef (VK_(?:USE_PLATFORM|ENABLE)_\w+)$", re.MULTILINE)

# Headers that vulkan.h of 1.4.363 does not include, although it is there beside it.
FORGOTTEN = {"VK_USE_PLATFORM_UBM_SEC": ["vulkan/vulkan_core.h", "vulkan/vulkan_ubm.h"]}


def guards(folder: Path) -> list[str]:
    return sorted({guard for path in folder.glob("gen_*.[ch]") for guard in GUARD.findall(path.read_text())})


def flags(guards_on: list[str]) -> list[str]:
    forgotten = [header for guard in guards_on for header in FORGOTTEN.get(guard, [])]
    return [f"-D{guard}" for guard in guards_on] + [word for header in forgotten for word in ("-include", header)] + [
        "-isystem", str(INCLUDE)]


def compile_one(command: list[str], guards_on: list[str], source: Path) -> tuple[str, subprocess.CompletedProcess]:
    done = subprocess.run([*command, *flags(guards_on), "-fsyntax-only", str(source)], capture_output=True, text=True, check=False)
    return f"{source.name} with {' '.join(guards_on) or 'no platform'}", done


def main() -> int:
    parser = argparse.ArgumentParser(description="Compiles generated sources for every platform.")
    parser.add_argument("--gen", type=Path, required=True)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--together", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    found = guards(options.gen)
    if options.list:
        print(" ".join(flags(found)))
        return 0
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    choices = [found] if options.together else [[], *([guard] for guard in found), found]
    work = [(choice, source) for choice in choices for source in sorted(options.gen.glob("gen_*.c"))]
    passed = failed = 0
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for name, done in pool.map(lambda item: compile_one(command, *item), work):
            passed, failed = passed + (done.returncode == 0), failed + (done.returncode != 0)
            if done.returncode:
                print(f"FAIL {name}\n" + "\n".join(done.stderr.splitlines()[:12]))
    print(f"platforms: {' '.join(found)}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 0 if passed and found and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
