#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What today's Lapilli does with a time to come, and a build for that time with itself.

check.py --build DIR --future DIR --program FILE: `--future` is a build against what tests/future/derive.py made, with its null
driver, which offers all that is new; `--program` is tests/future/program.c. Nothing of this draws anything.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable

NEW = ("vkCreateMachineFUT", "vkGetMachineWordsFUT", "vkCmdRunMachineFUT", "vkDestroyMachineFUT", "vkCmdPartialFill")
TIMEOUT = 120


class Failure(Exception):
    """What was expected and what came."""


def check(condition: bool, what: str) -> None:
    if not condition:
        raise Failure(what)


class Place:
    def __init__(self, build: Path, future: Path, program: Path, folder: Path):
        self.build, self.future, self.program, self.folder = build, future, program, folder

    def run(self, command: list[str | Path], more: dict[str, str] | None = None, expect: int = 0) -> subprocess.CompletedProcess:
        """On the driver that offers what is new."""
        manifest = str(self.future / "tests/null/null_icd.json")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("VK_", "LAPILLI_"))}
        # NODEVICE_SELECT: Mesa's layer that sorts GPUs has nothing to do here.
        environment |= {"VK_DRIVER_FILES": manifest, "VK_ICD_FILENAMES": manifest, "NULL_REPORT": "1", "NODEVICE_SELECT": "1"} | (more or {})
        done = subprocess.run([str(word) for word in command], cwd=self.folder, env=environment, capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)
        text = done.stdout + done.stderr
        check(done.returncode == expect, f"{command}: exit status {done.returncode}, expected {expect}\n{text}")
        check("0 times something was wrong" in text or "null:" not in text, f"{command}: the driver complains\n{text}")
        return done

    def record(self, layer_of: Path, trace: str, *arguments: str, expect: int = 0) -> str:
        layer = {"VK_LAYER_PATH": str(layer_of / "share/vulkan/explicit_layer.d"), "VK_INSTANCE_LAYERS": "VK_LAYER_LAPILLI_capture",
                 "LAPILLI_FILE": trace}
        done = self.run([self.program, *arguments], layer, expect)
        return done.stdout + done.stderr

    def report(self, tools_of: Path, verb: str, trace: str, expect: int = 0) -> dict:
        return json.loads(self.run([tools_of / "bin/lapilli", verb, "--json", trace], expect=expect).stdout)

    def names(self, tools_of: Path, trace: str, expect: int = 0) -> str:
        return self.run([tools_of / "bin/lapilli", "print", trace], expect=expect).stdout


def driver_offers_what_is_new(place: Place) -> None:
    text = place.run([place.program]).stdout
    check("offered: yes" in text and "functions: yes" in text, text)


def todays_layer_hides_extensions_and_counts_structures(place: Place) -> None:
    text = place.record(place.build, "today.lapilli")
    check("offered: no" in text and "functions: no" in text and "ok program" in text, text)
    info = place.report(place.build, "info", "today.lapilli")
    check(info["complete"] is True and info["unknown_structs"] == 3, f"{info}")  # two features that were asked for, one for the buffer
    check("3 pNext structures that are unknown, or hidden from programs, were left out" in place.run([place.build / "bin/lapilli", "info", "today.lapilli"]).stdout, "info is silent")
    check("FUT" not in place.names(place.build, "today.lapilli"), "what is hidden is in the trace")
    place.run([place.build / "bin/lapilli-replay", "--present", "off", "today.lapilli"])
    check(place.report(place.build, "check", "today.lapilli")["can_replay"] is True, "it can't be played")


def hidden_extensions_can_not_be_enabled(place: Place) -> None:
    """The loader looks at what the layer shows."""
    text = place.record(place.build, "bold.lapilli", "--bold", expect=1)
    check("vkCreateDevice" in text and "ok program" not in text, text)


def future_build_plays_its_own_traces(place: Place) -> None:
    text = place.record(place.future, "future.lapilli")
    check("offered: yes" in text and "functions: yes" in text and "ok program" in text, text)
    printed = place.names(place.future, "future.lapilli")
    check(all(f"{name}(" in printed for name in NEW) and "unknown" not in printed, printed)
    for word in ("VK_MACHINE_KIND_LARGE_FUT", "VK_MACHINE_STAGE_2_LAST_BIT_FUT", "VkMachineFUT:1", 'pName = "mill"', "[3, 1, 4, 1, 5]", "VkBufferMachineInfoFUT{"):
        check(word in printed, f"no {word} in\n{printed}")
    check(place.report(place.future, "info", "future.lapilli")["unknown_structs"] == 0, "structures were left out")
    for threads in ("1", "3"):
        place.run([place.future / "bin/lapilli-replay", "--present", "off", "--threads", threads, "future.lapilli"])
    # The features and extensions are used, so a driver that lacks them is refused, by name.
    uses = place.report(place.future, "info", "future.lapilli")["uses"]
    check("machine" in json.dumps(uses["features"]) and "VK_FUT_machine" in uses["extensions"], f"{uses}")


def todays_tools_say_what_they_do_not_know(place: Place) -> None:
    place.record(place.future, "future.lapilli")
    lines = [line for line in place.names(place.build, "future.lapilli", expect=4).splitlines() if "FUT(" in line]
    check(bool(lines) and all("unknown to this build" in line for line in lines), "\n".join(lines))
    # All that it knows, it encodes again with the numbers of that build.
    packets, commands, same, unknown = map(int, re.findall("[0-9]+", place.run([place.build / "tests/bin/recode-check", "future.lapilli"]).stdout))
    check(same + unknown == packets + commands and 0 < unknown < same, f"{same} are the same, {unknown} unknown, of {packets} and {commands}")
    report = place.report(place.build, "check", "future.lapilli", expect=1)
    check(report["can_replay"] is False and "this build does not know vkCreateMachineFUT" in report["refusal"], f"{report}")
    said = json.dumps(report["findings"])
    check(all(name in said for name in ("vkCreateMachineFUT", "vkCmdRunMachineFUT", "vkDestroyMachineFUT", "does not know 1 of its structures")), said)
    done = place.run([place.build / "bin/lapilli-replay", "--present", "off", "future.lapilli"], expect=5)
    check("this build does not know vkCreateMachineFUT" in done.stderr, done.stderr)


CASES: list[Callable[[Place], None]] = [driver_offers_what_is_new, todays_layer_hides_extensions_and_counts_structures,
                                        hidden_extensions_can_not_be_enabled, future_build_plays_its_own_traces,
                                        todays_tools_say_what_they_do_not_know]


def main() -> int:
    parser = argparse.ArgumentParser(description="Today's Lapilli and a time to come.")
    for name in ("--build", "--future", "--program"):
        parser.add_argument(name, type=Path, required=True)
    options = parser.parse_args()
    failed = 0
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(Place(options.build.resolve(), options.future.resolve(), options.program.resolve(), Path(folder)))
                print(f"ok   {case.__name__.replace('_', '-')}", flush=True)
            except (Failure, subprocess.TimeoutExpired) as why:
                failed += 1
                print(f"FAIL {case.__name__.replace('_', '-')}: {why}", flush=True)
    print(f"{len(CASES) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
