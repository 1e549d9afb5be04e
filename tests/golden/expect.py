#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""expect.py --build BUILD [--trim A-B] NAME KEY=TEXT…: writes NAME.json beside a golden trace, NAME.lapilli or NAME.lapvm: who made it
(commit=, program=, driver=, made=) and what a build says of it. tests/e2e/golden.py asks later builds for the same (README.md)."""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Of a line of `print --json`; later builds may have more.
PRINTED = ("index", "thread", "ticket", "frame", "flags", "name", "args", "result", "block", "command", "commandBuffer", "inFlight")
# Sentences that a reader makes: whether there is one.
SENTENCES = ("stopped", "repaired")
PAGE = 4096


def unpack(trace: Path, folder: Path) -> Path:
    """A copy, with the tail file that lies packed beside it; zeroes are left out, as in the original."""
    copy = Path(shutil.copy(trace, folder))
    packed = Path(f"{trace}.tail.xz")
    if packed.exists():
        tail = lzma.decompress(packed.read_bytes())
        with Path(f"{copy}.tail").open("wb") as file:
            for at in range(0, len(tail), PAGE):
                page = tail[at:at + PAGE]
                if page.count(0) != len(page):
                    file.seek(at)
                    file.write(page)
            file.truncate(len(tail))
    return copy


def facts(info: dict) -> dict:
    """What `lapilli info --json` says, without the wording of what the reader makes."""
    ended = {k: v for k, v in info["ended"].items() if k != "text"} if info.get("ended") else info.get("ended")
    return {**info, **{name: info.get(name) is not None for name in SENTENCES}, "ended": ended}


def lacking(expected: object, said: object, path: str = "") -> list[str]:
    """Members of the first that are not in the second, or are others there. The second may have more."""
    if isinstance(expected, dict) and isinstance(said, dict):
        return [line for name, value in expected.items() for line in lacking(value, said.get(name, "(none)"), f"{path}.{name}")]
    return [] if expected == said else [f"{path[1:]} is {json.dumps(said)}, and was {json.dumps(expected)}"]


def print_hash(text: str) -> str:
    """Of what `lapilli print --json` says."""
    lines = [json.loads(line) for line in text.splitlines()]
    kept = [json.dumps({name: line[name] for name in PRINTED if name in line}, sort_keys=True) for line in lines]
    digest = hashlib.sha256("\n".join(kept).encode()).hexdigest()
    return f"{len(lines)} lines, {digest[:32]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--trim", help="the frames of which lapilli trim makes a part")
    parser.add_argument("name", type=Path)
    parser.add_argument("about", nargs="*", metavar="KEY=TEXT")
    options = parser.parse_args()
    trace = next(path for path in (Path(f"{options.name}.lapilli"), Path(f"{options.name}.lapvm")) if path.exists())
    said = dict(text.split("=", 1) for text in options.about)
    with tempfile.TemporaryDirectory() as folder:
        copy = unpack(trace, Path(folder))

        def ask(verb: str, *arguments: str) -> subprocess.CompletedProcess:
            return subprocess.run([str(options.build.resolve() / "bin/lapilli"), verb, *arguments, str(copy)], capture_output=True, text=True, check=False,
                                  env={k: v for k, v in os.environ.items() if not k.startswith("LAPILLI_")})

        if trace.suffix == ".lapilli":
            info = ask("info", "--json")
            said["status"] = info.returncode
            if info.returncode in (0, 4):
                said |= {"info": facts(json.loads(info.stdout)), "print": print_hash(ask("print", "--json").stdout), "trim": options.trim}
        if said.get("status") != 3:
            replay = ask("replay", "--verify", "--present", "headless")
            said["checks"] = int(re.search(r"verify: (\d+) checks, 0 different", replay.stdout)[1])
    options.name.with_name(f"{options.name.name}.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
