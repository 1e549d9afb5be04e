# SPDX-License-Identifier: MIT
"""lapilli state: what lives at a position is what lives in a replay that ends there, and what is said of it is in the trace."""

from __future__ import annotations

import json
import re
from typing import Callable

from e2e.cases import Cases, Context, Program, check, prepare_on, programs, skip_lacking

CASES = Cases()
case = CASES.add

# What a replay has none of, by type.
NOT_REPLAYED = {
    "VkDeviceMemory",              # a replay places objects anew
    "VkDescriptorUpdateTemplate",  # updates with templates are recorded as plain ones
    "VkDebugUtilsMessengerEXT", "VkDebugReportCallbackEXT",  # the program is not there to hear them
    "VkValidationCacheEXT",        # another driver would not take it
}

# Programs whose objects need what only the null driver has.
NULL = {"bindless", "descbuf", "generated", "generated-preprocess", "hostcopy", "mesh", "micromaps", "nested", "push-two", "rates", "raypipe",
        "raypipe-deferred", "rays", "shader_objects", "upkeep-six", "video"}

# More than ten objects live in them at once; the smallest programs have an instance, a device and little else.
LARGE = {"triangle", "triangle-offscreen", "compute", "descriptors", "churn", "modern", "depth", "queues", "wsi", "generated"}

STOPS = 4  # replays of each trace: at quarters of its packets


def state(context: Context, *arguments: str, expect: int | None = 0) -> dict:
    return json.loads(context.run([context.program("lapilli"), "state", "--json", *arguments], expect=expect).out)


def living(context: Context, *arguments: str) -> set[str]:
    return {entry["object"] for entry in state(context, *arguments)["objects"]}


def replayed(context: Context, file: str, *arguments: str) -> set[str]:
    return set(context.run([context.program("lapilli-replay"), "--quiet", "--present", "headless", "--list-objects", *arguments, file]).out.split())


def played(objects: set[str]) -> set[str]:
    return {name for name in objects if name.partition(":")[0] not in NOT_REPLAYED}


def lives_as_in_a_replay(program: Program, driver: str | None) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context, command = prepare_on(context, program, driver)
        done = context.run(command, context.layer_env(), expect=None)
        skip_lacking(done)
        most = 0
        for file in sorted(path.name for path in context.folder.glob("*.lapilli")):
            info = context.info(file)
            ends = [(str(frame), ["--last-frame", str(frame)]) for frame in {info["frames"], (info["frames"] + 1) // 2} if frame]
            last = context.print_lines(file, "--no-blocks")[-1]["index"]
            ends += [(f"#{number}", ["--stop-at", f"#{number}"]) for number in {last * i // STOPS for i in range(1, STOPS)}]
            for position, end in ends:
                shown, truth = played(living(context, "--at", position, file)), replayed(context, file, *end)
                check(shown == truth, f"{file} at {position}: only state has {sorted(shown - truth)}, only the replay {sorted(truth - shown)}")
                most = max(most, len(shown))
        check(most > (10 if program.name in LARGE else 1), f"never more than {most} objects lived")
    return run


def named(value: object) -> set[str]:
    """The objects in arguments, at any depth."""
    if isinstance(value, dict):
        return set().union(*map(named, value.values()))
    if isinstance(value, list):
        return set().union(*map(named, value))
    return {value} if isinstance(value, str) and value.startswith("Vk") and ":" in value else set()


@case
def what_is_shown_of_an_object_is_in_the_trace(context: Context) -> None:
    """Of every object: its creation as print has it, its memory, and the objects whose creation names it."""
    context.run([context.app("modern")], context.layer_env())
    lines = context.print_lines()
    listed = state(context, "--at", "20", "out.lapilli")
    entries = {entry["object"]: entry for entry in listed["objects"]}
    made = {name: next(line for line in lines if line["index"] == entry["made"] and "block" not in line) for name, entry in entries.items()}
    end = listed["packet"]
    names = [line["args"]["pNameInfo"] for line in lines if line["name"] == "vkSetDebugUtilsObjectNameEXT" and line["index"] <= end]
    section = (context.root / "docs/json.md").read_text().partition("With an object:\n")[2].partition("With `--diff`")[0]
    documented = set(re.findall(r"`(\w+)`", " ".join(line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `"))))
    used = 0
    for name, entry in entries.items():
        shown = state(context, "--at", "20", "out.lapilli", name)
        check(set(shown) == {"at", "packet"} | documented, f"{name}: docs/json.md has {documented}")
        check(shown["creation"] == made[name] and shown["made"]["frame"] == made[name]["frame"], f"{name} is made by {shown['creation']}")
        binds = [line["args"] for line in lines if line["name"] in ("lapilliBindBuffer", "lapilliBindImage") and line["index"] <= end
                 and name in (line["args"].get("buffer"), line["args"].get("image"))]
        check([(b["memory"], b["offset"], b["size"]) for b in shown["memory"]] == [(b["memory"], b["memoryOffset"], b["size"]) for b in binds], f"{shown['memory']}")
        check(entry["bytes"] == (shown["memory"][0]["size"] if shown["memory"] else None), f"{name} has {entry['bytes']} bytes, not {shown['memory']}")
        given = [info["pObjectName"] for info in names if info["objectHandle"] == name]
        check(shown["name"] == (given[-1] if given else None) == entry["name"], f"{name} is named {shown['name']}, not {given}")
        users = {other for other, line in made.items() if entries[other]["parent"] != name and other != name
                 and name in named(list(line["args"].values())[1:]) and entries[other]["made"] != entry["made"]}
        check(set(shown["used_by"]) == users, f"{name} is used by {shown['used_by']}, not {sorted(users)}")
        used += len(users)
        ends = [line["index"] for line in lines if line["name"].startswith(("vkDestroy", "vkFree")) and name in list(line["args"].values()) and "block" not in line]
        check(not ends or shown["ends"]["packet"] == ends[-1], f"{name} ends with {shown['ends']}, not {ends}")
        writes = [line for line in lines if line["name"].startswith("lapilliUpdate") and name in list(line["args"].values())[:1] and line["index"] <= end]
        check((shown["written"] or {"count": 0})["count"] == len(writes), f"{name} is written {shown['written']}")
    check(used > 5 and len(names) > 0, f"{used} uses, {len(names)} names")


@case
def a_difference_is_what_one_state_has_and_the_other_has_not(context: Context) -> None:
    context.run([context.app("churn")], context.layer_env())
    lines = context.print_lines("out.lapilli", "--no-blocks")
    before, after = (state(context, "--at", at, "out.lapilli") for at in ("20", "40"))
    found = state(context, "--diff", "20", "40", "out.lapilli")
    old, new = ({entry["object"] for entry in one["objects"]} for one in (before, after))
    check({o["object"] for o in found["made"]} == new - old and new - old, "what was made")
    check({o["object"] for o in found["ended"]} == old - new and old - new, "what has ended")
    between = [line for line in lines if before["packet"] < line["index"] <= after["packet"]]
    for kind, packets in (("recorded", ("lapilliBlock",)), ("written", ("lapilliUpdateBuffer", "lapilliUpdateBufferSpans", "lapilliUpdateImage", "lapilliUpdateImageSpans"))):
        counts: dict[str, int] = {}
        for line in between:
            name = next(iter(line["args"].values()))
            if line["name"] in packets and name in old & new:
                counts[name] = counts.get(name, 0) + 1
        check({o["object"]: o[kind]["count"] for o in found["changed"] if kind in o} == counts, f"{kind}: {counts}")
    check(found["changed"], "nothing has changed")


@case
def what_does_not_live_there_is_said(context: Context) -> None:
    context.run([context.app("compute")], context.layer_env())
    whole = (context.folder / "out.lapilli").read_bytes()
    for arguments, says in ((["--at", "3", "out.lapilli", "VkFence:1"], "VkFence:1 does not live at 3: it was made at #"),
                            (["--at", "#5", "out.lapilli", "VkDevice:1"], "VkDevice:1 does not live at #5: it was made at #"),
                            (["--at", "3", "out.lapilli", "VkBuffer:99"], "there is no VkBuffer:99: the trace has VkBuffer:1 to VkBuffer:4"),
                            (["--at", "3", "out.lapilli", "VkImage:1"], "there is no VkImage:1: the trace has none"),
                            (["--at", "3", "out.lapilli", "VkNothing:1"], "there is no type VkNothing: the trace has VkBuffer, "),
                            (["--at", "3", "--type", "Image", "out.lapilli"], "there is no type Image: the trace has VkBuffer, "),
                            (["--at", "9999", "out.lapilli"], "the trace has "), (["--at", "#99999", "out.lapilli"], "the trace has the packets #0 to #"),
                            (["--diff", "3", "2", "out.lapilli"], "3 is behind 2")):
        done = context.run([context.program("lapilli"), "state", *arguments], expect=2)
        check(says in done.err and not done.out, f"{arguments}: {done.text}")
    # What is in front of the damage is shown.
    shown = context.run([context.program("lapilli"), "state", "--at", "3", "out.lapilli"]).out
    (context.folder / "cut.lapilli").write_bytes(whole[:len(whole) * 2 // 3])
    done = context.run([context.program("lapilli"), "state", "--at", "3", "cut.lapilli"], expect=4)
    check(done.out == shown and "is incomplete" in done.err, done.text)
    shown = context.run([context.program("lapilli"), "state", "--at", "3", "--count", "out.lapilli"]).out
    check(shown.splitlines()[0] == "VkBuffer 4", shown)
    context.run([context.program("lapilli"), "state", "--at", "3", "cut.lapilli", "VkBuffer:1"], expect=4)
    ends = []
    for at in range(len(whole) // 2, len(whole) - 1000, len(whole) // 50):
        (context.folder / "damaged.lapilli").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
        done = context.run([context.program("lapilli"), "state", "--at", "3", "damaged.lapilli", "VkBuffer:1"], expect=None)
        check(done.status in (0, 4), f"{done.status}: {done.text}")
        ends += [line for line in done.out.splitlines() if line.startswith("  ends ") and done.status == 4]
    check(any(line.endswith("not in front of the damage") for line in ends), f"{ends}")


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    result: dict[str, Callable[[Context], None]] = dict(CASES)
    result |= {f"lives/{program.name}": lives_as_in_a_replay(program, None) for program in programs(context)}
    return result | {f"lives/null/{program.name}": lives_as_in_a_replay(program, "null") for program in programs(context) if program.name in NULL}
