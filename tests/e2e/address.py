# SPDX-License-Identifier: MIT
"""Device addresses: what is said of them, traces that go from one driver to another, and addresses that are asked for again.

The latter needs a driver that no test machine has, so tests/layers/addresses.c makes one of the driver that there is.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Callable

from e2e.cases import ADDRESSES, LAYER, OTHER_DRIVERS, SHAPE, VALIDATION, Context, Done, Skip, check, check_no_validation_message, \
    check_verified, validation_layer

RUNS = [[], ["--khr"], ["--constants"], ["--halves"], ["--two"], ["--alias"]]
# What tests/layers/addresses.c does in a replay, and what must be said of the buffers: why they are not where they were.
DIFFICULT = {"memory": r", and [1-9]\d* times no memory there", "buffers": r"it created [1-9]\d* buffers not where they were",
             "moved": r"it created 0 buffers not where they were, and 0 times no memory there", "driver": ""}


def record(context: Context, *arguments: str) -> None:
    context.capture([str(context.build / "tests/apps/address"), *arguments])


def translated(err: str) -> dict[str, int]:
    """The counts of the sentence at the end of a replay, by what stands behind them."""
    found = re.findall(r"addresses of (\d+) buffers(?:, (\d+) of them as recorded)?; translated: (.*)", err)
    check(bool(found), f"nothing is said of addresses:\n{err}")
    result: dict[str, int] = {}
    for buffers, kept, words in found:  # of each device
        counts = {what: int(count) for count, what in re.findall(r"(\d+) ([^,]+)", words)}
        for what, count in (counts | {"buffers": int(buffers), "kept": int(kept or 0)}).items():
            result[what] = result.get(what, 0) + count
    return result


def is_said(context: Context) -> None:
    """`info` and `check` name them, a replay counts them, and a trace without any has none of that."""
    record(context)
    check(context.info()["uses"]["addresses"] > 0, "info knows of no addresses")
    report = context.run([context.program("lapilli"), "check", "out.lapilli"]).out
    check("vkGetBufferDeviceAddress: buffers have other addresses on this device" in report, report)
    done = context.replay()
    check_verified(done)
    counts = translated(done.err)
    # Nothing is "there again" where recording and replay both give an address again.
    for what in ("buffers", "in memory", "in push constants", "in vkCmdUpdateBuffer", "in inline uniform blocks", "back for --verify"):
        check(counts.get(what, 0) > 0, f"none {what}: {counts}")
    context.capture([str(context.build / "tests/apps/compute")], "without.lapilli")
    check(context.info("without.lapilli")["uses"]["addresses"] == 0, "info sees addresses where there are none")
    check("addresses of" not in context.replay("without.lapilli").err, "a replay talks of addresses where there are none")


def what_is_not_followed_is_said(context: Context) -> None:
    """Halves that are not side by side: while it is recorded, by `info`, `check` and a replay; and nothing where there are none."""
    sentence = "the halves of an address are not side by side"
    for arguments in ([], ["--halves"], ["--alias"]):
        done = context.capture([context.app("address"), *arguments])
        check(not re.search("halves? of an address|multiple of 4", done.err), done.err)
        check(context.info().get("addresses_lost") is None, str(context.info()))
        report = json.loads(context.run([context.program("lapilli"), "check", "--json", "out.lapilli"]).out)
        check(report["may_fail"] is False, str(report))
        check(not re.search("halves? of an address|multiple of 4", context.replay().err), "a replay cries wolf")
        (context.folder / "out.lapilli").unlink()
    done = context.capture([context.app("address"), "--apart"])
    check(f"in specialization constants {sentence}" in done.err and done.err.count(sentence) == 1, done.err)
    check(sentence in context.info()["addresses_lost"], str(context.info()))
    report = json.loads(context.run([context.program("lapilli"), "check", "--json", "out.lapilli"]).out)
    found = {finding["name"]: finding["text"] for finding in report["findings"] if finding["outcome"] == "may_fail"}
    check(set(found) == {"vkCreateComputePipelines", "vkCmdDispatch"} and report["can_replay"] and report["may_fail"], str(report))
    check(f"in specialization constants {sentence} (byte 0, " in found["vkCreateComputePipelines"], str(found))
    check(f"in push constants {sentence} (byte 4, " in found["vkCmdDispatch"], str(found))
    done = context.replay()
    check_verified(done)
    check(re.search(rf"warning: frame 1, packet \d+ \(vkCreateComputePipelines\), .*: in specialization constants {sentence} ", done.err) is not None, done.err)


def needs_the_feature(context: Context) -> None:
    """A device without it is refused, also by force: nobody may follow recorded addresses."""
    record(context)
    without = context.layer_env(SHAPE, LAPILLI_SHAPE="features=bufferDeviceAddress")
    for arguments, sentence in (([], "bufferDeviceAddress"), (["--force"], "the program follows device addresses")):
        done = context.replay("out.lapilli", *arguments, env=without, expect=5)
        check(sentence in done.err, done.text[-2000:])
    report = context.run([context.program("lapilli"), "check", "out.lapilli"], without, expect=1).out
    check(re.search("refused +feature bufferDeviceAddress", report) is not None, report)


def to_other_driver(name: str, back: bool, *arguments: str) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        other = context.on(name)
        record(other if back else context, *arguments)
        done = (context if back else other).replay()
        check_verified(done)
        check((translated(done.err)["in specialization constants"] > 0) == ("--halves" in arguments), done.err)
    return run


def record_again(context: Context, arguments: list[str], *layers: str, **environment: str) -> Done:
    """Recorded where addresses can be asked for again."""
    program = [str(context.build / "tests/apps/address"), *arguments]
    done = context.run(program, context.layer_env(*(layers or (LAYER, ADDRESSES)), LAPILLI_VERIFY="1", **environment), expect=None)
    if done.status == 77:
        raise Skip(done.out.strip())
    check(done.status == 0, done.text)
    check_contract(done)
    return done


def check_contract(done: Done) -> None:
    check("test layer addresses:" not in done.err, done.text)


def replay_again(context: Context, *arguments: str, layers: tuple[str, ...] = (ADDRESSES,), **environment: str) -> dict[str, int]:
    done = context.replay("out.lapilli", *arguments, env=context.layer_env(*layers, **environment))
    check_verified(done)
    check_contract(done)
    return translated(done.err) | {"text": done.err}


def keep(arguments: list[str]) -> Callable[[Context], None]:
    """All buffers are where they were, but for those that share memory; nothing is translated then."""
    def run(context: Context) -> None:
        record_again(context, arguments)
        info = context.info()
        if info["address_capture"] != "opaque addresses":
            raise Skip(info["address_capture_reason"])
        shared = 2 if "--alias" in arguments else 0
        counts = replay_again(context, "--measure=measure.json")
        words = sum(count for what, count in counts.items() if what.startswith(("in ", "there", "back")))
        check(counts["kept"] == counts["buffers"] - shared and counts["buffers"] > 0, str(counts))
        check((words > 0) == (shared > 0), str(counts))
        check(not shared or "2 buffers share memory with others" in counts["text"], counts["text"])
        figures = [device["addresses"] for device in json.loads((context.folder / "measure.json").read_text())["devices"]]
        check(sum(f["kept"] for f in figures) == counts["kept"] and all(f["memories"] > 0 for f in figures), str(figures))
        report = context.run([context.program("lapilli"), "check", "out.lapilli"], context.layer_env(ADDRESSES)).out
        check("buffers are asked to have the addresses that they had" in report, report)
        check(replay_again(context, "--addresses", "translate")["kept"] == 0, "an option is not followed")
        check_verified(context.replay())  # a driver that has nothing of this
        for how, sentence in DIFFICULT.items():
            counts = replay_again(context, LAPILLI_TEST_ADDRESSES=how)
            # By chance some lie where they lay, since the layer gives addresses in order.
            check(counts["kept"] < counts["buffers"] / 2, f"{how}: {counts}")
            check(re.search(sentence, counts["text"]) is not None, counts["text"])
    return run


def keep_what_is_backed(context: Context) -> None:
    """Memory that the layer imported from its own pages is allocated by the driver in a replay."""
    record_again(context, [], LAPILLI_BACKING="host")
    if "memory types" not in context.info()["backing"]:
        raise Skip(context.info()["backing_reason"])
    check(replay_again(context)["kept"] > 0, "no address is as recorded")
    # Where that can't be had with it, memory is backed all the same.
    (context.folder / "out.lapilli").unlink()
    record_again(context, [], LAPILLI_BACKING="host", LAPILLI_TEST_ADDRESSES="imports")
    info = context.info()
    check("memory types" in info["backing"] and "does not import the layer's pages" in info["address_capture_reason"], str(info))
    check_nothing_is_kept(context)


def check_nothing_is_kept(context: Context) -> None:
    created = [line["args"] for line in context.print_lines() if line["name"] == "vkCreateBuffer"]
    check(bool(created) and not any("CAPTURE_REPLAY" in str(args) for args in created), str(created))
    check(replay_again(context)["kept"] == 0, "addresses are kept without what that takes")


def other_memory(context: Context) -> None:
    """Buffers for which the driver would want other memory stay as the program asked, and are translated."""
    record_again(context, [], LAPILLI_TEST_ADDRESSES="larger")
    check("such buffers are left as they are" in context.info()["address_capture_reason"], str(context.info()))
    check_nothing_is_kept(context)


def switched_off(context: Context) -> None:
    record_again(context, [], LAPILLI_ADDRESSES="off")
    info = context.info()
    check((info["address_capture"], info["address_capture_reason"]) == ("none", "switched off"), str(info))
    check_nothing_is_kept(context)
    check(not any(line["name"].startswith("lapilliCapture") for line in context.print_lines()), "packets about it are there")


def validate(arguments: list[str]) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        validation_layer(context)
        for where, order in (("on top of the layer", (VALIDATION, LAYER, ADDRESSES)), ("below the layer", (LAYER, VALIDATION, ADDRESSES))):
            check_no_validation_message(record_again(context, arguments, *order), where)
        for how in ("", *DIFFICULT):
            done = context.replay(env=context.layer_env(VALIDATION, ADDRESSES, LAPILLI_TEST_ADDRESSES=how))
            check_no_validation_message(done, f"of a replay ({how})")
            check_contract(done)
    return run


def cases() -> dict[str, Callable[[Context], None]]:
    result = {"info-check-and-replay-count-addresses": is_said, "a-device-without-the-feature-is-refused": needs_the_feature, "halves-that-lie-apart-are-reported": what_is_not_followed_is_said, "addresses-of-imported-pages-are-kept": keep_what_is_backed,
              "buffers-that-would-need-other-memory-are-translated": other_memory, "the-option-off-leaves-the-feature-alone": switched_off}
    for arguments in RUNS:
        name = "".join(arguments).replace("--", "-")
        result[f"addresses-are-kept{name}"] = keep(arguments)
        result[f"validate{name}"] = validate(arguments)
    for name in OTHER_DRIVERS:
        result[f"to-{name}"] = to_other_driver(name, False)
        result[f"from-{name}"] = to_other_driver(name, True)
        result[f"halves-to-{name}"] = to_other_driver(name, False, "--halves")
        result[f"halves-from-{name}"] = to_other_driver(name, True, "--halves")
    return result
