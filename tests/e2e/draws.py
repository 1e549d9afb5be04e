# SPDX-License-Identifier: MIT
"""Single commands of traces: cut there, a trace plays, a validation layer has nothing to say, and the contents are those of the whole.

What a command left is seen by a recording of the replay, with all checks: their hashes are compared.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Callable

from e2e.cases import OTHER_DRIVERS, VALIDATION, Cases, Context, Done, Program, check, check_no_validation_message, prepare, prepare_on, programs, validation_layer

CASES = Cases()
case = CASES.add

CHECKS = ("lapilliCheckBuffer", "lapilliCheckImage", "lapilliCheckTexels", "lapilliCheckRegion")
SUBMITS = ("vkQueueSubmit", "vkQueueSubmit2")
WORK = ("vkCmdDraw", "vkCmdDispatch", "vkCmdCopy", "vkCmdBlit", "vkCmdClear", "vkCmdFill", "vkCmdResolve", "vkCmdTrace", "vkCmdExecute")
MOST_CUTS = 3  # of one trace, of either kind

# Programs whose command buffers have something of their own: cut under the validation layer, and on other drivers.
VALIDATED = ["triangle", "compute-timeline", "modern", "depth", "descriptors", "nested", "conditional", "feedback", "counts", "localread",
             "ends", "dynamic", "push", "queues", "loops", "churn", "suspended"]

# Also cut; make parts takes all programs.
ALSO = ["again", "answers", "churn", "compute", "formats", "multi", "queues", "stages", "suballoc", "texels", "threads", "push", "vkcube", "rays", "raytrace"]

# Exit status 3, which says why: the work waits for what the program did later.
REFUSED = "would not be there"


def trim(context: Context, position: str, new: str, file: str = "out.lapilli", expect: int | None = 0) -> Done:
    return context.run([context.program("lapilli"), "trim", "--draw", position, "-o", new, file], expect=expect)


def cuts(context: Context, position: str, new: str, file: str = "out.lapilli") -> bool:
    """Whether it can be cut there."""
    done = trim(context, position, new, file, expect=None)
    check(done.status == 0 or (done.status == 3 and REFUSED in done.err), f"trim --draw {position} ends with {done.status}:\n{done.text}")
    return done.status == 0


class Commands:
    """The commands that a trace submits, by position."""

    def __init__(self, lines: list[dict]) -> None:
        self.held: dict[str, list[dict]] = {}
        self.names: dict[str, str] = {}
        self.submits: dict[tuple[int, int], tuple[str, int]] = {}  # the last command, and how many command buffers
        counts: Counter[int] = Counter()
        for line in lines:
            if "block" in line:
                self.held[line["commandBuffer"]].append(line)
            elif line["name"] == "lapilliBlock":
                self.held[line["args"]["commandBuffer"]] = []
            elif line["name"] in SUBMITS and line["frame"] is not None:
                counts[line["frame"]] += 1
                self.add_submit(line["frame"], counts[line["frame"]], line["args"]["pSubmits"] or [])

    def add_submit(self, frame: int, submit: int, batches: list[dict]) -> None:
        number = 0
        for batch in batches:
            buffers = batch["pCommandBuffers"] if "pCommandBuffers" in batch else [b["commandBuffer"] for b in batch["pCommandBufferInfos"] or []]
            for buffer in buffers or []:
                number += 1
                if self.held.get(buffer):
                    self.add(f"{frame}.{submit}.{number}", buffer)
                    self.submits[frame, submit] = (f"{frame}.{submit}.{number}.{len(self.held[buffer]) - 1}", number)

    def add(self, prefix: str, buffer: str) -> None:
        for command in self.held.get(buffer, []):
            position = f"{prefix}.{command['command']}"
            self.names[position] = command["name"]
            if command["name"] == "vkCmdExecuteCommands":
                for i, inner in enumerate(command["args"]["pCommandBuffers"] or []):
                    self.add(f"{position}.{i + 1}", inner)


def submitted(lines: list[dict]) -> list[list[dict]]:
    """The commands of each submit, one after the other."""
    held: dict[str, list[dict]] = {}
    found: list[list[dict]] = []

    def flat(buffer: str) -> list[dict]:
        return [inner for command in held[buffer] for inner in (command, *[c for b in command["args"].get("pCommandBuffers") or [] for c in flat(b)])]

    for line in lines:
        if "block" in line:
            held[line["commandBuffer"]].append(line)
        elif line["name"] == "lapilliBlock":
            held[line["args"]["commandBuffer"]] = []
        elif line["name"] == "vkQueueSubmit":
            found += [[c for b in batch["pCommandBuffers"] or [] for c in flat(b)] for batch in line["args"]["pSubmits"]]
    return found


def check_resumed(lines: list[dict], what: str) -> int:
    """What is suspended is resumed in the same submit, and nothing is done meanwhile. Returns how often that was."""
    count = 0
    for commands in submitted(lines):
        suspended = suspends = False
        for command in commands:
            name = command["name"]
            if name == "vkCmdBeginRendering":
                flags = command["args"]["pRenderingInfo"]["flags"]
                check(("RESUMING" in flags) == suspended, f"{what}: {flags} where rendering is {'' if suspended else 'not '}suspended")
                suspended, suspends = False, "SUSPENDING" in flags
            elif name == "vkCmdEndRendering":
                suspended = suspends
                count += suspends
            check(not suspended or not name.startswith((*[w for w in WORK if w != "vkCmdExecute"], "vkCmdPipelineBarrier")), f"{what}: {name} while rendering is suspended")
        check(not suspended, f"{what}: rendering is suspended at the end of a submit")
    return count


def some(items: list, most: int = MOST_CUTS) -> list:
    """Some of them, with the first and the last one."""
    return items if len(items) <= most else [items[i * (len(items) - 1) // (most - 1)] for i in range(most)]


def hash_of(line: dict) -> tuple:
    return line["args"].get("hashLow"), line["args"].get("hashHigh")


def checks_behind(lines: list[dict], frame: int, submit: int) -> list[tuple]:
    """The hashes of the checks right behind a submit; none where they may be of an earlier one, too, on whatever queue."""
    count, found, behind, pending = 0, [], False, set()
    for line in lines:
        if "block" in line:
            continue
        if behind and line["name"] in CHECKS:
            found.append(hash_of(line))
        elif behind and line["name"].startswith("vk"):
            return found
        if line["name"] == "lapilliWaitQueue":
            pending.discard(line["args"]["queue"])
        if line["name"] in SUBMITS:
            count += line["frame"] == frame
            behind = line["frame"] == frame and count == submit and not pending
            pending.add(line["args"]["queue"])
    return found


def hashes_of_replay(context: Context, file: str) -> set[tuple]:
    """Of a recording of the replay."""
    again = f"{file}.again"
    done = context.run([context.program("lapilli"), "capture", "--verify=all", "-o", again, "--", context.program("lapilli-replay"), "--sandbox", "off",
                        "--present", "headless", file], expect=None)
    check(done.status == 0, f"the recorded replay of {file} ends with {done.status}:\n{done.text[-3000:]}")
    return {hash_of(line) for line in context.print_lines(again) if line["name"] in CHECKS}


def check_cut(context: Context, commands: Commands, position: str, new: str) -> None:
    """The cut trace ends with a submit, of which this command is the last one that does something."""
    found = context.info(new)
    check(found["complete"] is True, f"{new} is not complete: {found['stopped']}")
    check(found["trimmed"].startswith(f"command {position} of "), str(found["trimmed"]))
    lines = context.print_lines(new)
    packets = [line for line in lines if "block" not in line]
    check(packets[-1]["name"] in SUBMITS, f"{new} ends with {packets[-1]['name']}")
    check(not any(line["name"] in CHECKS for line in packets), f"{new} has checks")
    cut = Commands(lines)
    last = list(cut.submits.values())[-1][0]
    inner = [at for at in cut.names if at.startswith(last.rsplit(".", 1)[0] + ".")]
    # Numbers of frames and submits are others; the rest of the position is the same.
    same = [at for at in inner if at.split(".")[2:] == position.split(".")[2:]]
    check(len(same) == 1, f"{new} has no command {position}: {inner}")
    check(cut.names[same[0]] == commands.names[position], f"{new}: {same[0]} is {cut.names[same[0]]}, not {commands.names[position]}")
    behind = [cut.names[at] for at in inner if depth_first(at) > depth_first(same[0]) and not at.startswith(same[0] + ".")]
    check(not any(name.startswith(WORK) for name in behind), f"{new}: behind {position} are {behind}")


def depth_first(position: str) -> list[int]:
    return [int(number) for number in position.split(".")]


def play(context: Context, file: str, env: dict[str, str] | None = None) -> Done:
    return context.run([context.program("lapilli-replay"), "--present", "headless", file], env=env, expect=None)


def cut_file(context: Context, file: str) -> None:
    lines = context.print_lines(file)
    commands = Commands(lines)
    plays = play(context, file).status == 0
    again = hashes_of_replay(context, file) if plays else set()
    for (frame, submit), (last, buffers) in some(list(commands.submits.items())):
        new = f"{Path(file).stem}-{last}.cut"
        if not cuts(context, last, new, file) or not plays:
            continue
        wanted = {found for found in checks_behind(lines, frame, submit)} & again if buffers == 1 else set()
        missing = wanted - hashes_of_replay(context, new)
        check(not missing, f"{new}: {len(missing)} of {len(wanted)} checks have other hashes")
    for position in some([at for at, name in commands.names.items() if name.startswith(WORK)]):
        new = f"{Path(file).stem}-{position}.cut"
        if not cuts(context, position, new, file):
            continue
        check_cut(context, commands, position, new)
        done = play(context, new) if plays else None
        check(done is None or done.status == 0, f"the replay of {new} ends with {done.status if done else 0}:\n{done.text[-3000:] if done else ''}")


def cut(program: Program, driver: str | None = None) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context, command = prepare_on(context, program, driver)
        context.run([context.program("lapilli"), "capture", "--verify=all", "-o", "out.lapilli", "--", *command])
        for file in sorted(p.name for p in context.folder.glob("*.lapilli")):
            cut_file(context, file)
    return run


def validate(program: Program) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        validation_layer(context)
        prepare(context, program)
        context.capture(program.command)
        commands = Commands(context.print_lines())
        of_each_kind: dict[str, list[str]] = {}
        for position, name in commands.names.items():
            of_each_kind.setdefault(f"{name} {position.count('.')}", []).append(position)
        for position in sorted({positions[len(positions) // 2] for positions in of_each_kind.values()}):
            trim(context, position, f"{position}.cut")
            done = play(context, f"{position}.cut", context.layer_env(VALIDATION))
            check(done.status == 0, f"{position}, {commands.names[position]}: {done.text[-3000:]}")
            check_no_validation_message(done, f"of the replay up to {position}, {commands.names[position]}")
    return run


def steps_of(lines: list[dict]) -> list[str]:
    """The work of the program `ends`, in its one submit that draws."""
    names = Commands(lines).names
    submit = next(at for at, name in names.items() if name == "vkCmdClearAttachments").rsplit(".", 2)[0] + "."
    return [at for at, name in names.items() if name in ("vkCmdClearAttachments", "vkCmdFillBuffer") and at.startswith(submit)]


def hashes_of_ends(context: Context, stop: int, file: str) -> list[tuple]:
    """What a program leaves that ends there."""
    context.run([context.program("lapilli"), "capture", "--verify=all", "-o", file, "--", context.app("ends"), "--stop", str(stop)])
    lines = context.print_lines(file)
    steps = steps_of(lines)
    check(len(steps) == stop, f"--stop {stop} has the steps {steps}")
    return checks_behind(lines, *map(int, steps[0].split(".")[:2]))


def each_command_leaves_what_a_program_leaves_that_ends_there(driver: str | None) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context = context.on(driver)
        context.run([context.program("lapilli"), "capture", "--verify=all", "-o", "all.lapilli", "--", context.app("ends")])
        steps = steps_of(context.print_lines("all.lapilli"))
        check(len(steps) == 16, f"the steps are {steps}")
        first = set(hashes_of_ends(context, 8, "first.lapilli"))
        before: list[tuple] = []
        for stop in (1, 2, 4, 5, 8, 9, 10, 11, 12, 13, 16):
            wanted = hashes_of_ends(context, stop, f"{stop}.lapilli")
            check(bool(wanted) and wanted != before, f"--stop {stop} leaves the same as less")
            trim(context, steps[stop - 1], f"{stop}.cut", "all.lapilli")
            # Nothing behind the first command buffer reads what that leaves, so it is left out.
            needed = set(wanted) - (first if stop > 8 else set())
            missing = needed - hashes_of_replay(context, f"{stop}.cut")
            check(bool(needed), f"--stop {stop} leaves nothing")
            check(not missing, f"{len(missing)} of {len(wanted)} contents are others behind {steps[stop - 1]}")
            before = wanted
    return run


def draws_of_suspended(context: Context, file: str) -> list[list[str]]:
    """Of the first two submissions, each of which is a frame, by their parts: in primary command buffers, and in secondary ones."""
    names = Commands(context.print_lines(file)).names
    return [[at for at, name in names.items() if name == "vkCmdDraw" and at.startswith(f"{frame}.1.")] for frame in (1, 2)]


def suspended_rendering_leaves_what_a_program_leaves_that_ends_there(driver: str | None) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context = context.on(driver)
        capture = [context.program("lapilli"), "capture", "--verify=all", "-o"]
        context.run([*capture, "all.lapilli", "--", context.app("suspended")])
        draws = draws_of_suspended(context, "all.lapilli")
        check([len(parts) for parts in draws] == [3, 3], f"the draws are {draws}")
        for stop in (1, 2):
            context.run([*capture, f"{stop}.lapilli", "--", context.app("suspended"), "--stop", str(stop)])
            for frame in (1, 2):
                at = draws[frame - 1][stop - 1]
                wanted = set(checks_behind(context.print_lines(f"{stop}.lapilli"), frame, 1))
                trim(context, at, f"{at}.cut", "all.lapilli")
                missing = wanted - hashes_of_replay(context, f"{at}.cut")
                check(bool(wanted), f"--stop {stop} leaves nothing")
                check(not missing, f"{len(missing)} of {len(wanted)} contents are others behind {at}")
    return run


@case
def suspended_rendering_ends_at_each_command(context: Context) -> None:
    validation_layer(context)
    program = next(p for p in programs(context) if p.name == "suspended")
    prepare(context, program)
    context.capture(program.command)
    names = Commands(context.print_lines()).names
    positions = [at for at in names if at.startswith(("1.1.", "2.1."))]
    check(len(positions) > 50, f"there are {positions}")
    for i, at in enumerate(positions):
        trim(context, at, f"{at}.cut")
        check_resumed(context.print_lines(f"{at}.cut"), at)
        if i % 3:
            continue
        done = play(context, f"{at}.cut", context.layer_env(VALIDATION))
        check(done.status == 0, f"{at}, {names[at]}: {done.text[-3000:]}")
        check_no_validation_message(done, f"of the replay up to {at}, {names[at]}")


@case
def what_is_not_there_is_said(context: Context) -> None:
    program = next(p for p in programs(context) if p.name == "triangle-offscreen")
    prepare(context, program)
    context.capture(program.command)
    frames = context.info()["frames"]
    for position, said in ((f"{frames + 2}.1.1.1", "frames"), ("2.9.1.1", "frame 2 has 1 submit"), ("2.1.2.0", "submit 2.1 has 1 command buffer"),
                           ("2.1.1.99", "command buffer 2.1.1 has the commands 0 to "), ("2.1.1.0.1.1", "executes no command buffers"),
                           ("2.1", "--draw takes a command"), ("0.1.1.1", "is no position"), ("x", "is no position")):
        done = trim(context, position, "new.cut", expect=2)
        check(said in done.err, done.text)
        check(not (context.folder / "new.cut").exists(), "the new file was left")
    both = context.run([context.program("lapilli"), "trim", "--draw", "2.1.1.1", "--frames", "1", "-o", "new.cut", "out.lapilli"], expect=2)
    check("once" in both.err, both.text)


@case
def a_packet_is_a_position_too(context: Context) -> None:
    program = next(p for p in programs(context) if p.name == "triangle-offscreen")
    prepare(context, program)
    context.capture(program.command)
    lines = context.print_lines()
    draw = next(line for line in lines if line["name"].startswith("vkCmdDraw"))
    position = next(at for at, name in Commands(lines).names.items() if name == draw["name"])
    for number, at in enumerate((position, f"#{draw['index']}.{draw['command']}")):
        trim(context, at, f"{number}.cut")
    texts = [context.run([context.program("lapilli"), "print", f"{number}.cut"]).out for number in range(2)]
    check(texts[0] == texts[1], "the same command by another name gives another trace")


@case
def a_cut_trace_is_smaller_the_earlier_it_ends(context: Context) -> None:
    program = next(p for p in programs(context) if p.name == "triangle-offscreen")
    prepare(context, program)
    context.capture(program.command)
    commands = Commands(context.print_lines())
    draws = [at for at, name in commands.names.items() if name.startswith("vkCmdDraw")]
    done = context.run([context.program("lapilli"), "trim", "--json", "--draw", draws[-1], "-o", "last.cut", "out.lapilli"])
    report = json.loads(done.out)
    check(report["bytes_after"] < report["bytes_before"] // 2, done.out)
    check(report["packets_kept"] < report["packets_before"], done.out)


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    result = dict(CASES)
    for driver in (None, *OTHER_DRIVERS):
        result[f"each-command-leaves-what-a-program-leaves-that-ends-there/{driver or 'usual'}"] = each_command_leaves_what_a_program_leaves_that_ends_there(driver)
        result[f"suspended-rendering-leaves-what-a-program-leaves-that-ends-there/{driver or 'usual'}"] = suspended_rendering_leaves_what_a_program_leaves_that_ends_there(driver)
    for program in programs(context):
        if program.name in (*VALIDATED, *ALSO):
            result[f"cut/{program.name}"] = cut(program)
        if program.name in VALIDATED:
            result |= {f"cut/{driver}/{program.name}": cut(program, driver) for driver in OTHER_DRIVERS}
        if program.name in VALIDATED:
            result[f"validate/{program.name}"] = validate(program)
    return result
