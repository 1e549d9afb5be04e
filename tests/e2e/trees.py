# SPDX-License-Identifier: MIT
"""Trees and positions of every program: what the tree shows is what the printed lines say, and what is at a position is printed alone."""

from __future__ import annotations

import json
import re
from typing import Callable

from e2e.bound import QueueLabels, check_bound
from e2e.cases import Cases, Context, Failure, Program, Skip, check, chunks_of, prepare_on, programs
from e2e.sets import check_sets
from e2e.uses import check_uses

CASES = Cases()
case = CASES.add

COUNTS = {"passes": r"BeginRender(Pass|ing)", "draws": r"Draw", "dispatches": r"Dispatch", "traces": r"TraceRays",
          "transfers": r"(Copy(?!Acc|Micro)|Blit|Resolve|Fill|Clear|Update(Buffer|Memory))",
          "others": r"(Build|Copy(Acc|Micro)|DecodeV|EncodeV|(Execute|Preprocess)Gen|Convert|Decompress|Optical|SubpassShading|Cu)"}
LABEL = re.compile("vkCmd(BeginDebugUtilsLabel|DebugMarkerBegin)EXT")
LABEL_END = re.compile("vkCmd(EndDebugUtilsLabel|DebugMarkerEnd)EXT")
FIRST = ("modern", "nested", "suspended")  # labels, command buffers in command buffers, parts of render passes
STEP, MOST = 7, 60  # which of the positions, and of all lines, are printed alone


def node(at: str, kind: str, name: str | None = None, handle: str | None = None) -> dict:
    return {"position": at, "kind": kind, "name": name, "object": handle, "submits": 0, "buffers": 0, "commands": 0, **dict.fromkeys(COUNTS, 0), "children": []}


def add(to: dict, inner: dict, as_child: bool = True) -> None:
    for key in ("commands", *COUNTS):
        to[key] += inner[key]
    if as_child:
        to["children"].append(inner)


class Reading:
    """The frames of a trace, as nodes of the tree, from its printed lines."""

    def __init__(self, lines: list[dict], marked_frames: int, every_command: bool = False) -> None:
        self.every_command = every_command
        self.held: dict[str, list[dict]] = {}
        self.at: dict[str, dict] = {}  # the line of a submit, a command buffer or a command, by its position
        self.blocks: dict[str, dict] = {}
        self.labels = QueueLabels()
        frames: dict[int, dict] = {i + 1: node(str(i + 1), "frame") for i in range(max(marked_frames, 1))}
        for line in lines:
            if "block" in line:
                self.held[line["commandBuffer"]].append(line)
            elif line["name"] == "lapilliBlock":
                self.held[line["args"]["commandBuffer"]] = []
                self.blocks[line["args"]["commandBuffer"]] = line
            elif line["name"] in ("vkQueueSubmit", "vkQueueSubmit2") and "inFlight" not in line and "failed" not in line["flags"]:
                frame = frames.setdefault(line["frame"], node(str(line["frame"]), "frame"))
                submit = self.submit(f"{line['frame']}.{frame['submits'] + 1}", line)
                frame["submits"] += 1
                frame["buffers"] += submit["buffers"]
                add(frame, submit)
            else:
                self.labels.see(line)
        self.frames = list(frames.values())

    def submit(self, at: str, line: dict) -> dict:
        self.at[at] = line
        queue = line["args"]["queue"]
        found = node(at, "submit", None, queue) | ({"labels": list(self.labels.own[queue])} if self.labels.own[queue] else {})
        for batch in line["args"]["pSubmits"] or []:
            for info in batch.get("pCommandBuffers", batch.get("pCommandBufferInfos")) or []:
                found["buffers"] += 1
                handle = info if isinstance(info, str) else info["commandBuffer"]
                left = self.labels.left[queue]
                add(found, self.buffer(f"{at}.{found['buffers']}", handle) | ({"labels": list(left)} if left else {}))
                self.run_labels(handle, left)
        return found

    def run_labels(self, handle: str, left: list[str]) -> None:
        for command in self.held.get(handle, []):
            info = command["args"].get("pLabelInfo") or command["args"].get("pMarkerInfo") or {}
            if LABEL.match(command["name"]):
                left.append(info.get("pLabelName") or info.get("pMarkerName") or "")
            elif LABEL_END.match(command["name"]) and left:
                left.pop()

    def buffer(self, at: str, handle: str) -> dict:
        inside = [node(at, "command buffer", None, handle)]  # and the render passes and labels that have begun
        over: list[int] = []  # labels that ended while a render pass in them goes on
        if handle in self.blocks:
            self.at[at] = self.blocks[handle]
        for command in self.held.get(handle, []):
            name, args, position = command["name"], command["args"], f"{at}.{command['command']}"
            self.at[position] = command
            own = node(position, "command", name) | {"commands": 1, **{key: int(bool(re.match("vkCmd" + words, name))) for key, words in COUNTS.items()}}
            begins_pass = bool(own["passes"])
            if name == "vkCmdExecuteCommands":
                own["kind"] = "execution"
                for secondary in args["pCommandBuffers"] or []:
                    own["buffers"] += 1
                    add(own, self.buffer(f"{position}.{own['buffers']}", secondary))
            for outer in inside:
                add(outer, own, as_child=False)
            for outer in inside[1:]:
                outer["end"] = position
            if LABEL.match(name) or begins_pass:
                info = args.get("pRenderPassBegin") or args.get("pLabelInfo") or args.get("pMarkerInfo") or {}
                own = node(position, "render pass", name, info.get("renderPass")) if begins_pass else node(position, "label", info.get("pLabelName") or info.get("pMarkerName") or "")
                inside[-1]["children"].append(own)
                inside.append(own)
            elif self.every_command or own["kind"] == "execution" or any(own[key] for key in COUNTS):
                inside[-1]["children"].append(own)
            kinds = [outer["kind"] for outer in inside]
            if name.startswith("vkCmdEndRender") and "render pass" in kinds:
                del inside[len(kinds) - kinds[::-1].index("render pass") - 1:]
            elif LABEL_END.match(name):
                over += [i for i, kind in enumerate(kinds) if kind == "label" and i not in over][-1:]
            while len(inside) - 1 in over:
                over.remove(len(inside) - 1)
                inside.pop()
            over = [i for i in over if i < len(inside)]
        return inside[0]


def nodes_in(found: dict) -> list[dict]:
    return [found] + [inner for child in found["children"] for inner in nodes_in(child)]


def difference(shown: list[dict], read: list[dict]) -> str:
    """The first node that is another one."""
    for one, other in zip([n for f in shown for n in nodes_in(f)], [n for f in read for n in nodes_in(f)]):
        if one | {"children": 0} != other | {"children": 0}:
            return f"the tree has\n{one | {'children': len(one['children'])}}, the printed lines\n{other | {'children': len(other['children'])}}"
    return f"the tree has {len(shown)} frames, the printed lines {len(read)}"


def check_tree(context: Context, file: str) -> Reading:
    lines, info = context.print_lines(file), context.info(file)
    read = Reading(lines, info["frames"])
    tree = [context.program("lapilli"), "tree", "--json"]
    whole = json.loads(context.run([*tree, "--depth", "99", file]).out)
    check(whole == {"at": None, "nodes": read.frames, "of": len(read.frames), "frames": info["frames"]}, f"{file}: {difference(whole['nodes'], read.frames)}")
    recorded = sum("block" in line for line in lines)
    check(recorded == info["commands"], f"{file}: {recorded} commands are printed, {info['commands']} were recorded")
    for key, own in (("submits", "submits"), ("draws", "draws"), ("dispatches", "dispatches")):
        total = sum(frame[own] for frame in whole["nodes"])
        check(total == info[key], f"{file}: the tree has {total} {key}, info {info[key]}")
    check_bound(context, file, lines)
    check_sets(context, file, lines)
    check_uses(context, file, lines)
    check_recoded(context, file, lines)
    quick = json.loads(context.run([*tree, "--quick", "--depth", "99", file]).out)
    check([len(frame["children"]) for frame in quick["nodes"]] == [frame["submits"] for frame in whole["nodes"]], f"{file}: the quick tree has other submits")
    every = [inner for frame in whole["nodes"] for inner in nodes_in(frame)]
    for inner in every[::max(len(every) // 3, 1)]:
        at = inner["position"]
        one = json.loads(context.run([*tree, "--depth", "99", "--at", at, file]).out)
        check(one == {"at": at, "nodes": [inner], "of": len(inner["children"])}, f"{file}: --at {at} shows something else")
    return read


def check_recoded(context: Context, file: str, lines: list[dict]) -> None:
    """Every packet, and every command of each block, is encoded again as the file has it."""
    commands = sum("block" in line for line in lines)
    said = context.run([str(context.build / "tests/bin/recode-check"), file]).out
    check(said == f"{len(lines) - commands} packets, {commands} commands, {len(lines)} same, 0 unknown\n", f"{file}:\n{said}")


def prepare_somewhere(context: Context, program: Program) -> tuple[Context, list[str]]:
    """On the usual driver, or, where that lacks something, on the null driver."""
    try:
        return prepare_on(context, program, None)
    except Skip as lacking:
        try:
            return prepare_on(context, program, "null")
        except Failure:
            raise lacking from None


def tree(program: Program) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context, command = prepare_somewhere(context, program)
        context.capture(command)
        files = sorted(p.name for p in context.folder.glob("*.lapilli"))
        check(any([check_tree(context, file).at for file in files]), "no trace has a submit")
        for file in files if program.name in FIRST else ():
            check_printed_alone(context, file)
            check_every_command(context, file)
    return run


def labels_go_on(driver: str) -> Callable[[Context], None]:
    """In later command buffers of the queue, also in those of later submits; and those of the queue itself are around them."""
    def run(context: Context) -> None:
        context, command = prepare_on(context, Program("modern", [context.app("modern"), "--labels", "--frames", "4"], False), driver)
        context.capture(command)
        lapilli, around = context.program("lapilli"), ["a frame", "two frames", "from the upload on"]
        rows = [json.loads(line) for line in context.run([lapilli, "draws", "--json", "out.lapilli"]).out.splitlines()]
        check(rows and all(row["labels"] == [*around, "four quarters <img src=x onerror=alert(1)>"] for row in rows), f"{rows[:2]}")
        inside = context.run([lapilli, "draws", "--pass", "two*", "--json", "out.lapilli"]).out
        check(len(inside.splitlines()) == len(rows), inside)
        for at, labels in (("2.1", around[:1]), ("2.1.1", around[1:2]), ("2.1.2", around[1:])):
            for way in ([], ["--at", at]):
                text = context.run([lapilli, "tree", "--color", "never", "--depth", "9", *way, "out.lapilli"]).out
                check(re.search(rf"^ *{at}  \w+:\d+" + "".join(f' in "{label}"' for label in labels) + ": ", text, re.M) is not None, text)
        check_tree(context, "out.lapilli")
    return run


CASES.update({f"labels-go-on-in-later-command-buffers/{driver}": labels_go_on(driver) for driver in ("null", "swiftshader")})


def check_every_command(context: Context, file: str) -> None:
    """All commands, and parts of the children of every kind of node, and of the longest lists."""
    tree = [context.program("lapilli"), "tree", "--depth", "99"]
    frames = context.info(file)["frames"]
    read = Reading(context.print_lines(file), frames, every_command=True)
    whole = json.loads(context.run([*tree, "--json", "--all", file]).out)
    check(whole == {"at": None, "nodes": read.frames, "of": len(read.frames), "frames": frames}, f"{file}: {difference(whole['nodes'], read.frames)}")
    part = json.loads(context.run([*tree, "--json", "--all", "--children", "2", file]).out)
    check(part == {"at": None, "nodes": read.frames[1:2], "of": len(read.frames), "frames": frames}, f"{file}: frame 2 is another one")
    every = sorted((n for f in read.frames for n in nodes_in(f)), key=lambda n: len(n["children"]))
    for found in {n["kind"]: n for n in every}.values():  # of each kind one that has most
        at, count = found["position"], len(found["children"])
        for first, last in ((max(count // 2, 1), count // 2 + 2), (max(count, 1), count + 5)):
            part = json.loads(context.run([*tree, "--json", "--all", "--at", at, "--children", f"{first}-{last}", file]).out)
            check(part == {"at": at, "nodes": [found | {"children": found["children"][first - 1:last]}], "of": count}, f"{file}: {first}-{last} of {at} shows {part}")
    count = len(every[-1]["children"])
    for children, says in (("2-3", f"children 2-3 of {count}\n"), (f"{count + 1}-", f"none of {count} children\n"), (f"-{count}", "")):
        said = context.run([*tree, "--all", "--at", every[-1]["position"], "--children", children, file]).err
        check(said == says, f"{file}: {children} of {every[-1]['position']} says {said}")


def check_printed_alone(context: Context, file: str) -> None:
    """What is at a position, as lines of the whole."""
    lapilli_print = [context.program("lapilli"), "print"]
    whole = {way: context.run([*lapilli_print, *way, file]).out.splitlines(keepends=True) for way in ((), ("--json",))}
    lines = [json.loads(line) | {"at": i} for i, line in enumerate(whole["--json",])]
    read = Reading(lines, context.info(file)["frames"])
    wanted = [(at, line["at"], line["name"] == "lapilliBlock") for at, line in read.at.items()]
    wanted += [(f"#{line['index']}" + (f".{line['command']}" if "block" in line else ""), line["at"], line["name"] == "lapilliBlock") for line in lines]
    for at, first, is_block in wanted[::max(STEP, len(wanted) // MOST)]:
        count = next((i for i, line in enumerate(lines[first + 1:]) if "block" not in line), len(lines)) + 1 if is_block else 1
        for way, printed in whole.items():
            alone = context.run([*lapilli_print, *way, "--at", at, file]).out
            check(alone == "".join(printed[first:first + count]), f"{file}: print {way} --at {at} shows\n{alone}")
        alone = context.run([*lapilli_print, "--json", "--no-blocks", "--at", at, file]).out
        check(alone == whole["--json",][first], f"{file}: print --no-blocks --at {at} shows\n{alone}")
    for frame in range(1, len(read.frames) + 1):
        alone = [context.run([*lapilli_print, option, str(frame), file]).out for option in ("--at", "--frames")]
        check(alone[0] == alone[1] != "", f"{file}: print --at {frame} shows\n{alone[0]}")
    for at in ("9999", "1.99", "1.1.99", "1.1.1.9999", "1.1.1.0.1", "#99999", f"#{2 ** 64 - 1}", "#0.0", f"#{next(line['index'] for line in lines if 'block' in line)}.9999"):
        said = context.run([*lapilli_print, "--at", at, file], expect=2)
        check(not said.out and re.search("the trace has|has [0-9]+ |has the commands|executes no|is no command buffer", said.err) is not None, said.text)


@case
def old_traces_are_encoded_again_as_they_are(context: Context) -> None:
    files = sorted((context.root / "tests/fuzz/corpus/trace").glob("*.lapilli"))
    check(len(files) > 10, "the traces are not there")
    for file in files:
        check_recoded(context, str(file), context.print_lines(str(file)))


@case
def a_damaged_trace_is_shown_up_to_the_damage(context: Context) -> None:
    context.capture([context.app("triangle"), "--offscreen"])
    lapilli = context.program("lapilli")
    whole = json.loads(context.run([lapilli, "tree", "--json", "--depth", "99", "out.lapilli"]).out)["nodes"]
    trace = (context.folder / "out.lapilli").read_bytes()
    packets = chunks_of(trace, 3)
    for at in (len(packets) // 2, len(packets) * 3 // 4):
        damaged = bytearray(trace)
        damaged[packets[at] + 80] ^= 0x40
        for name, data in (("damaged", bytes(damaged)), ("cut", trace[:packets[at] + 80])):
            (context.folder / name).write_bytes(data)
            done = context.run([lapilli, "tree", "--json", "--depth", "99", name], expect=4)
            shown = json.loads(done.out)["nodes"]
            check(bool(done.err.strip()) and shown[:-1] == whole[:max(len(shown) - 1, 0)] and 1 < len(shown) < len(whole), f"{name}: {len(shown)} of {len(whole)} frames are shown")
            rows = [context.run([lapilli, "draws", *rows, name], expect=status).out.splitlines() for rows, status in (([], 4), (["--rows", "-2"], 0 if name == "damaged" else 4))]
            check(rows[1] == rows[0][:3], f"{name}: the first two draws are {rows[1]}")
            for frame in (n for n in (len(shown) - 1, len(shown)) if shown[n - 1] == whole[n - 1]):
                states = [context.run([lapilli, "state", "--json", "--at", str(frame), file], expect=None).out for file in ("out.lapilli", name)]
                check(states[0] == states[1], f"{name}: the state of frame {frame} is another one:\n{states[1]}")
            check(context.run([lapilli, "print", "--at", "1.1.1", name], expect=None).status in (0, 4), f"{name}: the first command buffer is not printed")


@case
def uses_are_listed_of_a_part_and_up_to_the_damage(context: Context) -> None:
    context.capture([context.app("triangle"), "--offscreen"])
    uses = [context.program("lapilli"), "uses", "--no-header"]
    rows = {handle: context.run([*uses, "out.lapilli", handle]).out.splitlines() for handle in ("VkBuffer:1", "VkImage:1")}
    for handle, whole in rows.items():
        part = context.run([*uses, "--frames", "3-4", "out.lapilli", handle]).out.splitlines()
        check(part == context.run([*uses, "--at", "3", "out.lapilli", handle]).out.splitlines() + context.run([*uses, "--at", "4", "out.lapilli", handle]).out.splitlines(), f"{part}")
        check(part == [row for row in whole if row in part] and [r for r in part if "#" not in r] == [r for r in whole if r.startswith(("3.", "4."))] != [], f"{handle}: {part}")
        one = next(row.partition("\t")[0] for row in part if "#" not in row)
        check(context.run([*uses, "--at", one, "out.lapilli", handle]).out.splitlines() == [row for row in whole if row.startswith(f"{one}\t")], f"{handle} at {one}")
    more = context.run([*uses, "--bindings", "out.lapilli", "VkPipeline:1"]).out.splitlines()
    less = context.run([*uses, "out.lapilli", "VkPipeline:1"]).out.splitlines()
    check([row for row in more if "\tvkCmdBindPipeline\t" not in row] == less and len(more) > len(less), f"{more}")
    for arguments, says in ((["VkBuffer:99"], "there is no VkBuffer:99: the trace has VkBuffer:1 to VkBuffer:"), (["VkNothing:1"], "there is no type VkNothing: the trace has VkBuffer, "),
                            (["VkMicromapEXT:1"], "the trace has none"), (["Buffer"], "'Buffer' is no object"), (["--at", "999", "VkBuffer:1"], "the trace has "), (["--unused", "--type", "Image"], "there is no type Image: ")):
        done = context.run([*uses, "out.lapilli", *arguments], expect=2)
        check(says in done.err and not done.out, f"{arguments}: {done.text}")
    trace = (context.folder / "out.lapilli").read_bytes()
    (context.folder / "cut").write_bytes(trace[:chunks_of(trace, 3)[-1] + 80])
    for handle, whole in rows.items():
        done = context.run([*uses, "cut", handle], expect=4)
        shown = done.out.splitlines()
        check(shown == whole[:len(shown)] and 1 < len(shown) < len(whole) and "offset" in done.err, f"{handle}: {len(shown)} of {len(whole)}: {done.err}")
    check("offset" in context.run([*uses, "--unused", "cut"], expect=4).err, "nothing says that there may be more uses")


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    return dict(CASES) | {program.name if program.name in FIRST else f"each/{program.name}": tree(program) for program in programs(context)}
