# SPDX-License-Identifier: MIT
"""Traces that older versions wrote (tests/golden): this build reads, prints, checks, plays, cuts and repairs each, and says of it what was
said then. A version that is not read any more is refused with a sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Callable

from e2e.cases import Cases, Context, Done, Failure, Skip, check, check_verified
from golden.expect import facts, lacking, print_hash, unpack

NO_TRACE, INCOMPLETE = 3, 4


def version_of(file: Path, prefix: str) -> int:
    """That its folder names, and its header."""
    version = int(file.parent.name.removeprefix(prefix))
    check(int.from_bytes(file.read_bytes()[8:12], "little") == version, f"{file} is of another version")
    return version


def of_trace(context: Context, trace: Path, expected: dict) -> None:
    version = version_of(trace, "v")
    copy = unpack(trace, context.folder)

    def lapilli(verb: str, *arguments: str, expect: int | None = 0) -> Done:
        return context.run([context.program("lapilli"), verb, *arguments], expect=expect)

    def played(file: str, checks: int, expect: int = 0) -> None:
        done = lapilli("replay", "--verify", "--present", "headless", file, expect=expect)
        found = check_verified(done) if not expect else int(done.out.split("verify: ")[1].split()[0])
        check(found == checks and ", 0 different" in done.out, f"{found} checks, and there were {checks}\n{done.text[-2000:]}")

    if expected["status"] == NO_TRACE:
        for verb, *more in (["info"], ["print"], ["check"], ["replay"], ["trim", "--frames", "1", "-o", "cut.lapilli"], ["repair"]):
            said = lapilli(verb, *more, copy.name, expect=NO_TRACE).err
            check(f"format version {version}, this program reads versions " in said, said)
        return

    info = facts(json.loads(lapilli("info", "--json", copy.name, expect=expected["status"]).out))
    check(not lacking(expected["info"], info), "\n".join(lacking(expected["info"], info)))
    ends = 0 if info["complete"] else INCOMPLETE
    printed = print_hash(lapilli("print", "--json", copy.name, expect=ends).out)
    check(printed == expected["print"], f"lapilli print --json is {printed}, and was {expected['print']}")
    lapilli("check", copy.name)
    played(copy.name, expected["checks"], ends)
    lapilli("trim", "--frames", expected["trim"], "-o", "cut.lapilli", copy.name, expect=ends)
    check_verified(lapilli("replay", "--verify", "--present", "headless", "cut.lapilli"))
    before = copy.read_bytes()
    lapilli("repair", copy.name)
    check(not ends or not Path(f"{copy}.tail").exists(), "the tail file is still there")
    check((copy.read_bytes() == before) == info["complete"], "repair changed the whole trace, or nothing of another one")
    if ends:
        played(copy.name, expected["checks"])


def of_program(context: Context, trace: Path, expected: dict) -> None:
    if not context.has("compile"):
        raise Skip("replay programs are of 64-bit builds")
    version_of(trace, "vm")
    context.run([context.program("lapilli"), "disasm", str(trace)])
    found = check_verified(context.replay(str(trace)))
    check(found == expected["checks"], f"{found} checks, and there were {expected['checks']}")


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    """Each has its expectations beside it, by which it is found."""
    def one(described: Path) -> Callable[[Context], None]:
        def run(context: Context) -> None:
            expected = json.loads(described.read_text(encoding="utf-8"))
            for suffix, test in ((".lapilli", of_trace), (".lapvm", of_program)):
                if described.with_suffix(suffix).exists():
                    return test(context, described.with_suffix(suffix), expected)
            raise Failure(f"{described} describes nothing")
        return run

    def every_version_has_one(context: Context) -> None:
        header = (context.root / "trace/format/format.h").read_text(encoding="utf-8")
        newest, oldest = (int(re.search(rf"define {name} +(\d+)u", header)[1]) for name in ("LAP_FORMAT_VERSION", "LAP_FORMAT_OLDEST"))
        missing = [f"v{version}" for version in range(oldest, newest + 1) if not list((context.root / f"tests/golden/v{version}").glob("*.lapilli"))]
        check(not missing, f"tests/golden has nothing of {', '.join(missing)}: its README says how to add it")

    found = sorted((context.root / "tests/golden").glob("*/*.json"))
    return {"every-version-has-one": every_version_has_one, **{f"{path.parent.name}-{path.stem}": one(path) for path in found}}
