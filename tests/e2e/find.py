# SPDX-License-Identifier: MIT
"""lapilli find: what it lists is what the printed lines of the trace have."""

from __future__ import annotations

import json
import re
from typing import Callable

from e2e.cases import Cases, Context, check, chunks_of, programs
from e2e.shaders import Truth
from e2e.trees import COUNTS, Reading, nodes_in, prepare_somewhere

CASES = Cases()
case = CASES.add

CHOSEN = ("modern", "dynamic-libraries", "nested")  # names and labels; shaders of libraries; command buffers in command buffers
LABEL = re.compile("vk(Cmd|Queue)((Begin|Insert)DebugUtilsLabel|DebugMarker(Begin|Insert))EXT")
KEYS = ("kind", "position", "object", "shader", "line", "text")
COLUMNS = ("kind", "position", "object", "shader", "text")


def row(kind: str, position: str | None = None, handle: str | None = None, shader: str | None = None, text: str | None = None, line: int | None = None) -> tuple:
    return kind, position, handle, shader, line, text


def find(context: Context, *arguments: str, file: str = "out.lapilli", expect: int = 0) -> list[tuple]:
    done = context.run([context.program("lapilli"), "find", "--json", *arguments[:-1], file, arguments[-1]], expect=expect)
    rows = [json.loads(line) for line in done.out.splitlines()]
    check(all(tuple(found) == KEYS for found in rows), done.out[:500])
    return [tuple(found.values()) for found in rows]


class Printed:
    """What the printed lines have."""

    def __init__(self, context: Context) -> None:
        lines = context.print_lines()
        good = [line for line in lines if "block" not in line and "inFlight" not in line and "failed" not in line["flags"] and line["args"] is not None]
        reading = Reading(lines, context.info()["frames"], every_command=True)
        self.nodes = {found["position"]: found for frame in reading.frames for found in nodes_in(frame)}
        self.commands, labels, packet = [], [(line["index"], self.label(f"#{line['index']}", line)) for line in good if LABEL.match(line["name"])], 0
        for at, line in reading.at.items():  # each submit, and then what it runs
            counts = [key for key, words in COUNTS.items() if re.match("vkCmd" + words, line["name"])]
            packet = line["index"] if line["name"].startswith("vkQueueSubmit") else packet
            if LABEL.match(line["name"]):
                labels.append((packet, self.label(at, line)))
            if counts:
                self.commands.append(row("render pass" if counts == ["passes"] else "command", at, text=line["name"]))
        self.labels = [label for _, label in sorted(labels, key=lambda entry: entry[0])]
        self.names = {info["objectHandle"]: info["pObjectName"] for info in (line["args"].get("pNameInfo") for line in good) if info}
        text = json.dumps(lines)
        self.objects = sorted(self.names, key=lambda handle: text.index(f'"{handle}"'))  # in the order of creation
        self.shaders = Truth(good)

    @staticmethod
    def label(at: str, line: dict) -> tuple:
        info = line["args"].get("pLabelInfo") or line["args"]["pMarkerInfo"]
        return row("label", at, text=info.get("pLabelName") or info.get("pMarkerName"))

    def has(self, text: str, case: bool) -> list[tuple]:
        """What there is to find, but for shaders."""
        def is_in(found: str) -> bool:
            return text in found if case else text.lower() in found.lower()
        found, node = [], self.nodes.get(text)
        if node:
            found.append(row(node["kind"], text, node["object"], text=node["name"]))
        found += [row("object", handle=text, text=self.names.get(text))] if re.fullmatch(r"Vk\w+:\d+", text) else []
        found += [row("object", handle=handle, text=self.names[handle]) for handle in self.objects if handle != text and is_in(self.names[handle])]
        return found + [one for one in self.labels + self.commands if is_in(one[-1])]

    def shaders_with(self, text: str, case: bool) -> dict[str, tuple[set, set]]:
        """Of each that is found: the objects and the texts that it may be found by."""
        def is_in(found: str | None) -> bool:
            return bool(found) and (text in found if case else text.lower() in found.lower())
        result = {}
        for code, known in self.shaders.codes.items():
            users = {*known["modules"], *known["objects"], *(p for p in self.shaders.libraries if self.shaders.has(p, code))}
            named = {user for user in users if is_in(self.names.get(user))}
            entries = {entry for _, entry in known["stages"] if is_in(entry)}
            if code.startswith(text.lower()):
                result[code] = ({None}, {code})
            elif named:
                result[code] = (named, {self.names[user] for user in named})
            elif entries:
                result[code] = (users, entries)
        return result


def code_with(context: Context, text: str, case: bool) -> list[tuple]:
    """Lines of code, as lapilli shaders --search has them."""
    search = ["shaders", "--json", "--search", text, *["--ignore-case"] * (not case), "out.lapilli"]
    matches = json.loads(context.run([context.program("lapilli"), *search]).out)["matches"]
    return [row("code", shader=match["shader"], line=match["line"], text=match["text"]) for match in matches if match["line"]]


def check_found(context: Context, printed: Printed, text: str, case: bool = False) -> int:
    rows = find(context, "--limit", "99999", *["--case"] * case, text)
    code = [found for found in rows if found[0] == "code"]
    check(code == code_with(context, text, case) and rows[len(rows) - len(code):] == code, f"{text}: the lines {code[:5]} of code")
    rows = rows[:len(rows) - len(code)]
    others = [found for found in rows if found[0] != "shader"]
    expected = printed.has(text, case)
    check(others == expected, f"{text}: {[found for found in others if found not in expected][:5]} are too much, {[found for found in expected if found not in others][:5]} are missing, of {len(expected)}")
    shaders = printed.shaders_with(text, case)
    listed = {found[3]: found for found in rows if found[0] == "shader"}
    check(list(listed) == list(shaders), f"{text}: the shaders {list(listed)}, not {list(shaders)}")
    for code, (objects, texts) in shaders.items():
        check(listed[code][1] is None and listed[code][2] in objects and listed[code][-1] in texts, f"{text}: {listed[code]}, not of {objects}, {texts}")
    check([found[0] for found in rows] == sorted((found[0] for found in rows), key=lambda kind: ["object", "shader", "label"].index(kind) if kind in ("object", "shader", "label") else 9)
          or text in printed.nodes, f"{text}: another order")
    return len(rows)


def found_as_printed(name: str) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context, command = prepare_somewhere(context, next(p for p in programs(context) if p.name == name))
        context.capture(command)
        printed = Printed(context)
        texts = {text for text in (*printed.names.values(), *(found[-1] for found in printed.labels)) if text}
        texts |= {"main", "DRAW", "cmdCopy", "vkCmdBindPipeline", "vkQueueSubmit", "e", next(iter(printed.shaders.codes))[:5].upper(), "VkDevice:1", *printed.objects[:1]}
        last_of_kind = {node["kind"]: at for at, node in printed.nodes.items()}
        found = {text: check_found(context, printed, text) for text in {*texts, *last_of_kind.values()}}
        check(found["VkDevice:1"] == 1 and found["main"] > 1 and found["vkCmdBindPipeline"] == found["vkQueueSubmit"] == 0, f"{found}")
        check(all(found[at] >= 1 for at in last_of_kind.values()) and (name != "modern" or found["four quarters"] > 30), f"{found}")
        for text in ("DRAW", "Draw", *list(texts)[:2]):
            check_found(context, printed, text, case=True)
    return run


@case
def a_limit_is_said_and_columns_are_what_json_has(context: Context) -> None:
    context.capture([context.app("modern")])
    lapilli_find = [context.program("lapilli"), "find"]
    rows = find(context, "--limit", "99999", "e")
    table = context.run([*lapilli_find, "--limit", "99999", "out.lapilli", "e"]).out.splitlines()
    columns = [(*found[:3], f"{found[3]}:{found[4]}" if found[4] else found[3], found[5]) for found in rows]
    check(table == ["\t".join(COLUMNS), *("\t".join(text or "-" for text in found) for found in columns)], f"{table[:5]}")
    for limit in (1, 3, 40, len(rows)):
        done = context.run([*lapilli_find, "--no-header", "--limit", str(limit), "out.lapilli", "e"])
        check(done.out.splitlines() == table[1:limit + 1], f"--limit {limit}: {done.out}")
        check((f"more places than these {limit};" in done.err) == (limit < len(rows)), f"--limit {limit}: {done.err}")
    check("more places than these 200;" in context.run([*lapilli_find, "out.lapilli", "vk"]).err, "there is no limit")
    done = context.run([*lapilli_find, "out.lapilli", "no such text"])
    check(done.out.splitlines() == table[:1] and "nothing has 'no such text'" in done.err, done.text)
    packets = [line for line in context.print_lines("out.lapilli", "--no-blocks") if not line["name"].startswith(("vkQueueSubmit", "lapilliBlock"))]
    for packet in (packets[5], packets[-1]):
        found = find(context, f"#{packet['index']}")
        check(found == [row("packet", f"#{packet['index']}", text=packet["name"])], f"#{packet['index']}: {found}")
    check(find(context, f"#{packets[-1]['index'] + 1}") == find(context, f"#{2 ** 64 - 1}") == [], "there are more packets")
    damaged = bytearray((context.folder / "out.lapilli").read_bytes())
    packets = chunks_of(bytes(damaged), 3)
    damaged[packets[len(packets) * 3 // 4] + 80] ^= 0x40
    (context.folder / "damaged").write_bytes(damaged)
    shown = find(context, "--limit", "99999", "e", file="damaged", expect=4)
    check(len(shown) < len(rows) and shown == [found for found in rows if found in shown] and {found[0] for found in shown} == {found[0] for found in rows}, f"{len(shown)} of {len(rows)}")


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    return dict(CASES) | {name: found_as_printed(name) for name in CHOSEN}
