# SPDX-License-Identifier: MIT
"""Device addresses: what is said of them, and traces that go from one driver to another."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Callable

from e2e.cases import OTHER_DRIVERS, SHAPE, Context, Skip, check, check_verified


def record(context: Context) -> None:
    context.capture([str(context.build / "tests/apps/address")])


def translated(err: str) -> dict[str, int]:
    """The counts of the sentence at the end of a replay, by what stands behind them."""
    found = re.search(r"addresses of (\d+) buffers; translated: (.*)", err)
    check(found is not None, f"nothing is said of addresses:\n{err}")
    return {what: int(count) for count, what in re.findall(r"(\d+) ([^,]+)", found.group(2))} | {"buffers": int(found.group(1))}


def is_said(context: Context) -> None:
    """`info` and `check` name them, a replay counts them, and a trace without any has none of that."""
    record(context)
    check(context.info()["uses"]["addresses"] > 0, "info knows of no addresses")
    report = context.run([context.program("lapilli"), "check", "out.lapilli"]).out
    check("vkGetBufferDeviceAddress: buffers have other addresses here" in report, report)
    done = context.replay()
    check_verified(done)
    counts = translated(done.err)
    # Nothing is "there again" where recording and replay both give an address again.
    for what in ("buffers", "in memory", "in push constants", "in vkCmdUpdateBuffer", "in inline uniform blocks", "back for --verify"):
        check(counts.get(what, 0) > 0, f"none {what}: {counts}")
    context.capture([str(context.build / "tests/apps/compute")], "without.lapilli")
    check(context.info("without.lapilli")["uses"]["addresses"] == 0, "info sees addresses where there are none")
    check("addresses of" not in context.replay("without.lapilli").err, "a replay talks of addresses where there are none")


def needs_the_feature(context: Context) -> None:
    """A device without it is refused, also by force: nobody may follow recorded addresses."""
    record(context)
    without = context.layer_env(SHAPE, LAPILLI_SHAPE="features=bufferDeviceAddress")
    for arguments, sentence in (([], "bufferDeviceAddress"), (["--force"], "the program follows device addresses")):
        done = context.replay("out.lapilli", *arguments, env=without, expect=5)
        check(sentence in done.err, done.text[-2000:])
    report = context.run([context.program("lapilli"), "check", "out.lapilli"], without, expect=1).out
    check(re.search("refused +feature bufferDeviceAddress", report) is not None, report)


def to_other_driver(name: str, back: bool) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        if not OTHER_DRIVERS[name].exists():
            raise Skip(f"{name} is not there")
        other = replace(context, driver=OTHER_DRIVERS[name])
        record(other if back else context)
        check_verified((context if back else other).replay())
    return run


def cases() -> dict[str, Callable[[Context], None]]:
    result = {"is-said": is_said, "needs-the-feature": needs_the_feature}
    for name in OTHER_DRIVERS:
        result[f"to-{name}"] = to_other_driver(name, False)
        result[f"from-{name}"] = to_other_driver(name, True)
    return result
