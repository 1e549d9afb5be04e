# SPDX-License-Identifier: MIT
"""lapilli profile: what it makes of the lines of replays. A script that plays back lines takes the place of lapilli-replay, so what is
right is known here. e2e/stamps.py has the lines of real replays."""

from __future__ import annotations

import json
import math
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
from pathlib import Path

from e2e.cases import Cases, Context, Done, check
from e2e.present import wait_for

CASES = Cases()
case = CASES.add

# The trace is a folder: the n-th replay prints what is in n.
FAKE = """#!/bin/sh
echo "$@" >> words
for trace; do :; done
n=$(cat "$trace/count" 2> /dev/null || echo 0)
echo $((n + 1)) > "$trace/count"
case " $* " in *" --profile-statistics "*) n=counts;; esac
while [ -e "$trace/stop" ]; do echo $$ > "$trace/waits"; sleep 0.05; done
[ -e "$trace/$n" ] || { n=0; echo 1 > "$trace/count"; }
cat "$trace/$n"
cat "$trace/says" >&2 2> /dev/null
exit "$(cat "$trace/exit" 2> /dev/null || echo 0)"
"""
HEAD = {"profile": {"gpu": "Fake GPU", "driver": "fake 1", "device_type": "discrete", "tiler": False, "first_frame": 1, "last_frame": 2, "draws": False, "statistics": False}}
END = {"end": {"stamps": 2, "backwards": 0, "left_out": []}}
TARGETS = [{"name": "color0", "image": "VkImage:7", "format": "VK_FORMAT_R8G8B8A8_UNORM", "width": 64, "height": 32}]


def programs(context: Context) -> Path:
    """A folder with lapilli-profile and the script."""
    folder = context.folder / "bin"
    if not folder.exists():
        folder.mkdir()
        (context.folder / "lib").symlink_to(context.build / "lib")
        shutil.copy2(context.program("lapilli-profile"), folder)
        (folder / "lapilli-replay").write_text(FAKE)
        (folder / "lapilli-replay").chmod(0o755)
    return folder


def trace_of(context: Context, name: str, loops: list[list[dict]], **more: str) -> str:
    folder = context.folder / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for i, lines in enumerate(loops):
        (folder / str(i)).write_text("".join(json.dumps(line) + "\n" for line in lines))
    for file, text in more.items():
        (folder / file).write_text(text)
    return name


def profile(context: Context, *arguments: str, expect: int | None = 0) -> Done:
    return context.run([str(programs(context) / "lapilli-profile"), *arguments], expect=expect)


def thing(kind: str, position: str, depth: int, begin: float, ns: float, name: str | None = None, queue: int = 1, **more: object) -> dict:
    command = {"commands": None, "pass": "vkCmdBeginRenderPass", "label": "vkCmdBeginDebugUtilsLabelEXT", "work": "vkCmdDispatch"}[kind]
    return {"kind": kind, "position": position, "end": None, "command": command, "name": name, "queue": f"VkQueue:{queue}", "depth": depth, "begin_ns": begin, "end_ns": begin + ns,
            **({"targets": TARGETS} if kind == "pass" else {}), "pipeline": None, "draws": int(kind == "pass"), "dispatches": int(kind == "work"), **more}


def frame(number: int, ns: dict[str, float], begin: float = 0) -> list[dict]:
    """Two passes of a label, which is in a command buffer, a dispatch, and a command buffer of another queue."""
    p, b = f"{number}.1.1", begin
    inside = ns["one"] + ns["gap"] + ns["two"]
    lines = [thing("commands", p, 0, b, inside + ns["work"] + ns["rest"]), thing("label", f"{p}.1", 1, b, inside, "scene"), thing("pass", f"{p}.2", 2, b, ns["one"]),
             thing("pass", f"{p}.5", 2, b + ns["one"] + ns["gap"], ns["two"]), thing("work", f"{p}.9", 1, b + inside + ns["rest"], ns["work"], pipeline="VkPipeline:3")]
    return lines + ([thing("commands", f"{number}.2.1", 0, 0, ns["other"], queue=2)] if "other" in ns else [])


def whole(frames: list[list[dict]], cpu: list[float] | None = None, **head: object) -> list[dict]:
    calls = [{"frame": i, "cpu_ns": ns, "calls": [{"command": "vkQueueSubmit", "calls": 2, "ns": ns * 0.75}, {"command": "vkCmdDraw", "calls": 1, "ns": ns * 0.25}]}
             for i, ns in enumerate(cpu or [1000.0] * len(frames), 1)]
    return [{"profile": HEAD["profile"] | {"last_frame": len(frames)} | head}, *[line for lines in frames for line in lines], *calls, END]


def of(values: list[float]) -> dict[str, float]:
    """Of nanoseconds."""
    values = [value / 1e6 for value in values]
    deciles = statistics.quantiles(values, n=10, method="inclusive")
    return {"median": statistics.median(values), "p10": deciles[0], "p90": deciles[8], "min": min(values), "max": max(values), "spread": (deciles[8] - deciles[0]) / 2}


def same_time(got: dict, values: list[float], what: str) -> None:
    wrong = {name: (got[name], wanted) for name, wanted in of(values).items() if not math.isclose(got[name], wanted, abs_tol=2e-6)}
    check(not wrong, f"{what}: {wrong}")


@case
def times_are_medians_and_spreads(context: Context) -> None:
    """Three loops of four frames, of which the second lacks the other queue, and all have other times."""
    dice, names = random.Random(1), ("one", "gap", "two", "work", "rest", "other")
    loops = [[{name: dice.randint(1, 4000) * 1000.0 for name in names if (name, number) != ("other", 2)} for number in range(1, 5)] for _ in range(3)]
    cpus = [[dice.randint(1, 900) * 1000.0 for _ in range(4)] for _ in range(3)]
    counted = [{**line, "statistics": {"FRAGMENT_SHADER_INVOCATIONS": 100.0 * int(line["position"][0])}} if line.get("kind") == "pass" else line
               for line in whole([frame(i, ns) for i, ns in enumerate(loops[0], 1)])]
    trace_of(context, "run", [whole([frame(i, ns, 500) for i, ns in enumerate(loop, 1)], cpu) for loop, cpu in zip(loops, cpus)],
             counts="".join(json.dumps(line) + "\n" for line in counted))
    said = json.loads(profile(context, "run", "--json", "--statistics", "-o", "out.json", "--quiet").out)
    check(said == json.loads((context.folder / "out.json").read_text()), "-o writes something else")
    check(context.folder.joinpath("words").read_text().count("--profile all ") == 4, "a replay is missing")
    every = [ns for loop in loops for ns in loop]

    def total(*which: str) -> list[float]:
        return [sum(ns[name] for name in which if name in ns) for ns in every if which != ("other",) or "other" in ns]
    first = ("one", "gap", "two", "work", "rest")
    wanted = [("commands", None, None, total(*first)), ("label", 0, "scene", total("one", "gap", "two")), ("pass", 1, None, total("one")), ("pass", 1, None, total("two")),
              ("between", 1, None, total("gap")), ("work", 0, None, total("work")), ("between", 0, None, total("rest")), ("commands", None, None, total("other"))]
    parts = said["parts"]
    check([(part["kind"], part["parent"], part["name"]) for part in parts] == [row[:3] for row in wanted], f"{parts}")
    same_time(said["frame"]["gpu_ms"], total(*first, "other"), "frame")
    same_time(said["frame"]["cpu_ms"], [ns for cpu in cpus for ns in cpu], "CPU")
    for part, (kind, _, _, values) in zip(parts, wanted):
        same_time(part["gpu_ms"], values, f"{part['key']}")
        check(part["frames"] == (3 if part is parts[-1] else 4) and math.isclose(part["share"], part["gpu_ms"]["median"] / said["frame"]["gpu_ms"]["median"], rel_tol=1e-4), f"{part}")
    medians = [statistics.median(ns["two"] for ns in loop) / 1e6 for loop in loops]
    check(parts[3]["gpu_ms"]["loops"] == {"count": 3, "fastest": min(medians), "usual": max(medians), "slowest": max(medians)}, f"{parts[3]['gpu_ms']} is not of {medians}")
    check(parts[2]["statistics"] == {"FRAGMENT_SHADER_INVOCATIONS": 250} and parts[2]["targets"] == TARGETS and "statistics" not in parts[5], f"{parts[2]}")
    check([(entry["command"], entry["calls"]) for entry in said["cpu"]] == [("vkQueueSubmit", 2), ("vkCmdDraw", 1)], f"{said['cpu']}")
    same_time(said["cpu"][0]["ms"], [ns * 0.75 for cpu in cpus for ns in cpu], "vkQueueSubmit")
    for number, entry in enumerate(said["each_frame"]):
        two = next(part for part in entry["parts"] if part["part"] == 3)
        check(two["position"] == f"{number + 1}.1.1.5" and math.isclose(two["gpu_ms"], statistics.median(loop[number]["two"] for loop in loops) / 1e6), f"{two}")
        check(math.isclose(two["begin_ms"], statistics.median(loop[number]["one"] + loop[number]["gap"] for loop in loops) / 1e6, abs_tol=2e-6), f"{two}")
    check([(entry["queue"], round(entry["gpu_ms"]["median"], 6)) for entry in said["queues"]] ==
          [("VkQueue:1", round(of(total(*first))["median"], 6)), ("VkQueue:2", round(statistics.median(ns.get("other", 0) for ns in every) / 1e6, 6))], f"{said['queues']}")
    text = profile(context, "run", "--loops", "3", "--sort", "time").out
    check(text.startswith("frames 1 to 4, 3 replays on Fake GPU; GPU ms a frame\n"), text)
    row = of(total("one", "gap", "two"))
    check(f"\"scene\"  {row['median']:8.2f}  ± {row['spread']:.2f}" in re.sub(r'"scene" +', '"scene"  ', text).replace('"scene"  ', '"scene"  ' + " " * (8 - len(f"{row['median']:.2f}")), 1), text)
    check("64 x 32 R8G8B8A8_UNORM  1 draw\n" in text and "in 3 of 4 frames" in text and "VkPipeline:3" in text, text)
    top = profile(context, "run", "--top", "1").out.split("the most expensive ones\n")[1].splitlines()
    check(len([line for line in top if "±" in line]) == 1 and '"scene"' in top[0], f"{top}")


@case
def notes_say_how_good_times_are(context: Context) -> None:
    ns = {"one": 1000.0, "gap": 0, "two": 2000.0, "work": 10.0, "rest": 0}
    trace_of(context, "run", [whole([frame(1, ns)], device_type="cpu")[:-1] + [{"end": {"stamps": 4, "backwards": 2, "left_out": ["1.1.1.3: a sentence\033[31m"]}}]])
    done = profile(context, "run", "--draws", "--loops", "1")
    check(all(note in done.err for note in ("computes on the CPU", "a single one says little", "2 timestamps lay in front", "a sentence?[31m\n")), done.err)
    check(not profile(context, "run", "--quiet").err, "--quiet has notes")
    trace_of(context, "tiles", [whole([frame(1, ns)], tiler=True)])
    check("draws by tiles" in profile(context, "tiles", "--draws").err and not profile(context, "tiles").err, "of tiles")


@case
def lines_that_are_wrong_are_refused(context: Context) -> None:
    """Whatever the script prints, there is one sentence or a profile, and no file is left of the former."""
    ns = {"one": 1000.0, "gap": 500.0, "two": 2000.0, "work": 10.0, "rest": 0, "other": 7.0}
    good, dice = whole([frame(1, ns), frame(2, ns)]), random.Random(3)
    changes = [lambda x: x[:-1], lambda x: x[1:], lambda x: x[:1] + x, lambda x: x + x[-2:], lambda x: [*x[:3], [], *x[3:]], lambda x: [*x[:3], {}, *x[3:]], lambda x: x[:1] + x[-1:], lambda x: x[:-2] + x[-1:]]
    for name, values in {"kind": ("x", None, 3), "position": ("1", "1.1.1.x", "#3", "0.1.1.1", None), "depth": (4, -1, 1e9, 0.5e400), "end_ns": (-1, 1e300, None), "begin_ns": ("1", 1e30), "queue": (None, 3),
                         "targets": (7, [{}], TARGETS * 33), "draws": (-1, "a"), "name": (3,), "statistics": ({"x": "y"}, [1])}.items():
        changes += [lambda x, name=name, value=value: [*x[:4], {**x[4], name: value}, *x[5:]] for value in values]
    changes += [lambda x: [*x[:-1], {"end": {"backwards": 0, "left_out": [3]}}], lambda x: [*x[:-2], {**x[-2], "frame": 1}, x[-1]], lambda x: [*x[:-2], {**x[-2], "calls": [{"command": 1}]}, x[-1]]]
    for number, change in enumerate(changes):
        trace_of(context, "bad", [change(good)])
        done = profile(context, "bad", "--loops", "1", "--json", "-o", "out.json", expect=None)
        check(done.status == 1 and done.err.count("\n") == 1 and "replay 1 can't be used" in done.err and not done.out and not (context.folder / "out.json").exists(), f"{number}: {done.text}")
    whole_text = (context.folder / trace_of(context, "run", [good]) / "0").read_bytes()
    for number in range(40):
        text = bytearray(whole_text)
        for _ in range(dice.randint(1, 4)):
            text[dice.randrange(len(text))] = dice.choice(b'0123456789"{}[],:-.e\n\0\xff\\')
        (context.folder / "bad/0").write_bytes(text)
        done = profile(context, "bad", "--loops", "1", "--quiet", "--draws", "--compare", "run", expect=None)
        check(done.status == 0 or (done.status == 1 and done.err.count("\n") == 1), f"{number}: {done.status} {done.text}")
    (context.folder / "bad/0").write_text("x" * 100 + "\0\n")
    profile(context, "bad", expect=1)
    other = whole([frame(1, ns), frame(2, {name: value for name, value in ns.items() if name != "other"})])
    trace_of(context, "bad", [good, other])
    check("replay 2 timed other work" in profile(context, "bad", expect=1).err, "loops of different work")


def noisy(dice: random.Random, times: dict[str, float], by: float = 0.3) -> list[dict]:
    """A replay of four frames; now and then other programs make everything in one slower."""
    load = 1 + dice.expovariate(3) * (dice.random() < 0.5)
    return whole([frame(i, {name: ns * load * dice.lognormvariate(0, by) for name, ns in times.items()}) for i in range(1, 5)])


@case
def a_comparison_says_what_has_changed_and_nothing_else(context: Context) -> None:
    times = {"one": 1e6, "gap": 1e4, "two": 4e5, "work": 2e6, "rest": 5e4, "other": 3e5}
    for seed in range(20):
        dice = random.Random(seed)
        trace_of(context, "a", [noisy(dice, times) for _ in range(3)])
        trace_of(context, "b", [noisy(dice, times) for _ in range(3)])
        said = json.loads(profile(context, "a", "--compare", "b", "--json").out)["compare"]
        check(all(change["verdict"] in ("same", "noisy") for change in [said["frame"], *said["parts"]]) and len(said["parts"]) == 8, f"seed {seed}: {said}")
    check("no part has changed" in profile(context, "a", "--compare", "b").out, "the text says that something has changed")
    (context.folder / "words").unlink()
    dice = random.Random(7)
    trace_of(context, "a", [noisy(dice, times, 0.1) for _ in range(3)])
    trace_of(context, "b", [noisy(dice, times | {"two": 4e6}, 0.1) for _ in range(3)])
    slower = profile(context, "a", "--compare", "b", "-o", "a.json", "--json").out
    check(" ".join(line[-1] for line in (context.folder / "words").read_text().splitlines()) == "a b b a a b", "both do not take turns")
    parts = json.loads(slower)["compare"]["parts"]
    changed = [change for change in parts if change["verdict"] == "changed"]
    check({"pass", "label"} <= {change["kind"] for change in changed} <= {"pass", "label", "commands"}, f"{changed}")
    one = next(change for change in changed if change["kind"] == "pass")
    check((one["position"], one["other_position"]) == ("1.1.1.5", "1.1.1.5") and one["b"]["median"] > 5 * one["a"]["median"], f"{one}")
    differences = [abs(change["b"]["median"] - change["a"]["median"]) for change in parts]
    check(differences == sorted(differences, reverse=True), f"{differences}")
    # Where other programs may slow down whole replays, less is said.
    for loops, by, found in ((3, 2, False), (3, 10, True), (5, 2, True)):
        for name, ns in (("c", times), ("d", {key: ns * by for key, ns in times.items()})):
            trace_of(context, name, [whole([frame(i, ns) for i in (1, 2)], device_type="cpu") for _ in range(loops)])
        said = json.loads(profile(context, "c", "--compare", "d", "--json", "--loops", str(loops)).out)["compare"]
        check((said["frame"]["verdict"] == "changed") == found, f"{loops} loops on a CPU, {by} times slower: {said['frame']}")
    # A file says the same as the trace did, and two loops say nothing.
    text = profile(context, "b", "--compare", "a.json").out.split("compared with a.json\n")[1]
    check(re.search(r'^  "scene" .* changed  1\.1\.1\.1$', text, re.M) is not None and f"parts: {len(changed)} changed" in text, text)
    said = json.loads(profile(context, "b", "--loops", "2", "--compare", "a.json", "--json").out)["compare"]
    check(not [change for change in said["parts"] if change["verdict"] == "changed"] and said["other"] == "a.json", f"{said}")
    trace_of(context, "b", [whole([frame(i, {name: ns for name, ns in times.items() if name != "other"}) for i in range(1, 5)])])
    said = json.loads(profile(context, "b", "--compare", "a.json", "--json").out)["compare"]["parts"]
    check([(change["verdict"], change["a"] is None, change["position"], change["other_position"]) for change in said if change["verdict"].startswith("only")] == [("only_b", True, None, "1.2.1")], f"{said}")
    (context.folder / "no.json").write_text('{"profile": 1, "parts": [{"key": 3}]}')
    check("no.json: it is neither" in profile(context, "b", "--compare", "no.json", expect=1).err, "of another file")
    profile(context, "b", "--compare", "no-such-file", expect=3)


@case
def a_trace_for_other_viewers_nests(context: Context) -> None:
    ns = {"one": 1234.0, "gap": 567.0, "two": 2003.0, "work": 11.0, "rest": 3.0, "other": 7.0}
    trace_of(context, "run", [whole([frame(i, ns, 1e5 * i) for i in (1, 2)])] * 2)
    profile(context, "run", "--trace", "out.json", "--loops", "2")
    events = json.loads((context.folder / "out.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    names = {(event["pid"], event["tid"] if event["name"] == "thread_name" else None) for event in events if event["ph"] == "M"}
    check(len(spans) == 12 and {(event["pid"], event["tid"]) for event in spans} | {(1, None), (2, None)} == names, f"{names}")
    for event in spans:
        around = [other for other in spans if other["pid"] == event["pid"] and other["tid"] == event["tid"] - 1 and
                  other["ts"] <= event["ts"] + 1e-6 and event["ts"] + event["dur"] <= other["ts"] + other["dur"] + 1e-6]
        check(len(around) == (event["tid"] > 0), f"{event} is in {around}")
    check([(event["name"], event["ts"], event["dur"]) for event in spans if event["args"]["position"] == "2.1.1.2"] == [("vkCmdBeginRenderPass", 200.0, 1.234)], f"{spans}")


@case
def a_replay_that_fails_is_the_end(context: Context) -> None:
    lines = [whole([frame(1, {"one": 1000.0, "gap": 0, "two": 2000.0, "work": 10.0, "rest": 0})])]
    for status, kept in ((1, False), (2, False), (3, False), (4, True), (5, False)):
        trace_of(context, "run", lines, exit=str(status), says="lapilli-replay: error: a sentence\n")
        done = profile(context, "run", "-o", "out.json", "--quiet", expect=status)
        check(done.err == "lapilli-replay: error: a sentence\n" and bool(done.out) == kept and (context.folder / "out.json").exists() == kept, f"{status}: {done.text}")
    (programs(context) / "lapilli-replay").rename(context.folder / "away")
    check("is not beside this program" in profile(context, "run", expect=127).err, "without lapilli-replay")
    (context.folder / "away").rename(programs(context) / "lapilli-replay")
    # An interrupt leaves neither a replay nor a file.
    trace_of(context, "run", lines, stop="")
    program, waits = str(programs(context) / "lapilli-profile"), context.folder / "run/waits"
    with subprocess.Popen([program, "run", "-o", "other.json"], cwd=context.folder, env=context.environment(), stderr=subprocess.PIPE) as running:
        try:
            wait_for(lambda: waits.exists() and waits.read_text().strip() != "", running, "no replay begins")
        finally:
            running.send_signal(signal.SIGINT)
        check(running.wait() == -signal.SIGINT, f"exit status {running.returncode}")
    check(not Path("/proc", waits.read_text().strip()).exists(), "the replay goes on")
    check(not (context.folder / "other.json").exists(), "a file is left")
    # Progress is that of all replays.
    trace_of(context, "run", lines)
    reader, writer = os.pipe()
    subprocess.run([program, "run", "--progress", str(writer)], cwd=context.folder, env=context.environment(), pass_fds=[writer], capture_output=True, check=True)
    os.close(writer)
    with os.fdopen(reader) as file:
        told = [json.loads(line) for line in file]
    check(len(told) == 3 and all(a["done"] < b["done"] for a, b in zip(told, told[1:])) and told[-1]["done"] == told[-1]["all"] > told[-2]["done"], f"{told}")


@case
def real_replays(context: Context) -> None:
    """Positions are those of the tree, and a trace is not slower than itself."""
    context.capture([context.app("headless")])
    done = context.run([context.program("lapilli"), "profile", "out.lapilli", "--frames", "2-5", "--json", "--compare", "out.lapilli"])
    said = json.loads(done.out)
    tree = context.run([context.program("lapilli"), "tree", "--depth", "9", "out.lapilli"]).out
    positions = {part["position"] for entry in said["each_frame"] for part in entry["parts"]}
    check([entry["frame"] for entry in said["each_frame"]] == [2, 3, 4, 5] and positions and all(re.search(rf"^ *{re.escape(position)}  ", tree, re.M) for position in positions), f"{positions}\n{tree}")
    check(not [change for change in said["compare"]["parts"] if change["verdict"] not in ("same", "noisy")], f"{said['compare']}")
    fragments = []
    for experiment in ([], ["--tiny-viewport"]):
        said = json.loads(context.run([context.program("lapilli"), "profile", "out.lapilli", "--frames", "2", "--loops", "1", "--json", "--statistics", *experiment]).out)
        fragments.append(sum(part["statistics"]["FRAGMENT_SHADER_INVOCATIONS"] for part in said["parts"] if "statistics" in part))
    check(0 < fragments[1] < fragments[0], f"{fragments}")


def cases() -> dict:
    return CASES
