# SPDX-License-Identifier: MIT
"""Descriptors in buffers and in heaps, recorded on a driver whose descriptors are unlike those of the driver that plays them.

tests/null has descriptors of 4 to 16 bytes (in heaps on request 32 to 128), splits combined ones, and has the bindings of a set in
reverse order. It computes nothing, so what a replay of its trace computes here is compared with what a replay of this driver's own
trace computes.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Callable

from e2e.cases import Context, Program, Skip, check, prepare

RUNS = [[], ["--stage"], ["--early"], ["--update"], ["--plain", "--secondary", "--stage"], ["--twice"], ["--variable"]]
HEAP_RUNS = [[], ["--stage"], ["--early"], ["--update"], ["--secondary"], ["--embedded"]]
# Offsets stay, and so do numbers. Strides in shaders are the recorded ones. (--direct has SPIR-V that Debian 12's tools don't know.)
LARGE_RUNS = [[], ["--early", "--numbers"], ["--direct"]]
RESULT_BYTES = 64  # of the buffers that have what the shader saw


def results(context: Context, trace: str, expect: int | None) -> list[bytes]:
    """What a replay leaves in the buffers of results at each of their checks."""
    context.replay(trace, "--dump-checks", trace + ".checks", expect=expect)
    folder = context.folder / (trace + ".checks")
    content = (folder / "checks.bin").read_bytes()
    lines = [json.loads(line) for line in (folder / "checks.ndjson").read_text().splitlines()]
    return [content[line["offset"]:line["offset"] + line["bytes"]] for line in lines
            if line["kind"] == "buffer" and line["bytes"] == RESULT_BYTES]


def from_others(program: str, arguments: list[str], sizes: str = "small") -> Callable[[Context], None]:
    def run(context: Context) -> None:
        manifest = context.build / "tests/null/null_icd.json"
        command = [context.app(program), *arguments]
        if not manifest.exists():
            raise Skip("the null driver is not built")
        prepare(context, Program(program, command, needs_display=False))
        context.capture(command, "own.lapilli")
        replace(context, driver=manifest).capture([*command, "--no-check"], "other.lapilli", env={"NULL_DESCRIPTORS": sizes})
        wanted, found = results(context, "own.lapilli", 0), results(context, "other.lapilli", None)
        check(len(wanted) > 1 and wanted == found, f"{len(wanted)} and {len(found)} results, "
              f"{sum(a != b for a, b in zip(wanted, found))} of them differ")
    return run


def numbers_in_heaps_are_refused(context: Context) -> None:
    """Where descriptors take more room, numbers between them can't stay where shaders look for them."""
    manifest = context.build / "tests/null/null_icd.json"
    command = [context.app("heaps"), "--numbers"]
    if not manifest.exists():
        raise Skip("the null driver is not built")
    prepare(context, Program("heaps", command, needs_display=False))
    replace(context, driver=manifest).capture([*command, "--no-check"], "other.lapilli")
    result = context.replay("other.lapilli", expect=None)
    check(result.status != 0 and "shaders read numbers in a descriptor heap" in result.err, f"it says {result.err!r}")


def cases() -> dict[str, Callable[[Context], None]]:
    result = {"from-small-ones" + "".join(arguments).replace("--", "-"): from_others("descbuf", arguments) for arguments in RUNS}
    result |= {"heaps-from-small-ones" + "".join(arguments).replace("--", "-"): from_others("heaps", arguments)
               for arguments in HEAP_RUNS}
    result |= {"heaps-from-large-ones" + "".join(arguments).replace("--", "-"): from_others("heaps", arguments, "large")
               for arguments in LARGE_RUNS}
    return result | {"heaps-with-numbers-are-refused": numbers_in_heaps_are_refused}
