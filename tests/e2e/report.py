# SPDX-License-Identifier: MIT
"""lapilli report: programs that do one thing of no use, counts read from the printed lines, and the page."""

from __future__ import annotations

import html.parser
import json
import re
from collections import Counter
from typing import Callable

from e2e.cases import Context, Done, check, display, validation_layer

CASES: dict[str, Callable[[Context], None]] = {}
# The names of tests/apps/wasteful --what, and how often its three frames have each.
WAYS = {"nothing": 0, "layout": 12, "pipeline-bound": 3, "sets-bound": 3, "vertex-bound": 3, "index-bound": 3, "state-set": 3, "constants-pushed": 3, "draw-nothing": 3,
        "dispatch-nothing": 3, "cleared-again": 3, "barrier-idle": 3, "image-unused": 1, "buffer-unused": 1, "object-unused": 1, "update-unread": 2, "pipeline-late": 2,
        "submit-empty": 1, "wait-idle": 1, "object-left": 1}
NAME = "<script>alert(1)</script>&\"'"  # wasteful gives it to its unused image
VOID = {"meta", "line", "rect"}
OPEN_ENDED = {"td", "th", "tr", "html"}


def case(run: Callable[[Context], None]) -> Callable[[Context], None]:
    CASES[run.__name__.replace("_", "-")] = run
    return run


def report(context: Context, *arguments: str, file: str = "out.lapilli", expect: int = 0) -> Done:
    return context.run([context.program("lapilli"), "report", *arguments, file], expect=expect)


def rules(context: Context, *arguments: str, file: str = "out.lapilli", expect: int = 0) -> dict[str, dict]:
    return {rule["rule"]: rule for rule in json.loads(report(context, "--json", *arguments, file=file, expect=expect).out)["rules"]}


def found(of: dict[str, dict]) -> dict[str, int]:
    return {name: rule["count"] for name, rule in of.items() if rule["count"] and name != "extension-unused"}


def wasteful(context: Context, what: str) -> None:
    context.run([context.app("wasteful"), "--what", str(list(WAYS).index(what))], context.layer_env(LAPILLI_FILE="out.lapilli"))


@case
def each_way_to_waste_is_found_alone(context: Context) -> None:
    for what, count in WAYS.items():
        wasteful(context, what)
        of = rules(context)
        check(found(of) == ({what: count} if count else {}), f"{what}: {found(of)}")
        check(not count or f"{what}: " not in report(context).out.partition("nothing  ")[2].splitlines()[0], f"{what} is among those without findings")
        (context.folder / "out.lapilli").unlink()


@case
def layouts_are_those_of_the_validation_layer(context: Context) -> None:
    """Each finding is a message, too: at the same command, or of the same submit, about the same image."""
    validation_layer(context)
    for what in ("layout", "nothing"):
        wasteful(context, what)
        of = rules(context, "--validate")
        check(bool(of["layout"]["count"]) == bool(of["message"]["count"]) == (what == "layout"), f"{found(of)}")
        for finding in of["layout"]["findings"]:
            said = [m for m in of["message"]["findings"] if m["position"] in (finding["position"], ".".join(finding["position"].split(".")[:2])) and finding["object"] in m["text"] and "ayout" in m["vuid"]]
            check(bool(said), f"{finding} is no message")
        (context.folder / "out.lapilli").unlink()


def read(lines: list[dict]) -> tuple[Counter, Counter]:
    """Counts of what a report says, from the printed lines alone, of primary command buffers: how often, and for nothing."""
    blocks: dict[str, list[dict]] = {}
    of, vain = Counter(), Counter()
    for line in lines:
        if line["name"] == "lapilliBlock":
            recording = blocks[line["args"]["commandBuffer"]] = []
        elif "command" in line:
            recording.append(line)
        elif line["name"] in ("vkQueueSubmit", "vkQueueSubmit2"):
            for batch in line["args"]["pSubmits"] or []:
                for buffer in batch.get("pCommandBuffers") or [info["commandBuffer"] for info in batch.get("pCommandBufferInfos") or []]:
                    count(blocks[buffer], of, vain)
    return of, vain


def count(commands: list[dict], of: Counter, vain: Counter) -> None:
    """State is known by the whole arguments of the command that set it; a pipeline makes dynamic state and constants anew."""
    bound: dict[object, object] = {}
    for line in commands:
        name, args = line["name"], line["args"]
        kind = {"vkCmdBindPipeline": "pipeline-bound", "vkCmdBindDescriptorSets": "sets-bound", "vkCmdBindVertexBuffers": "vertex-bound", "vkCmdBindIndexBuffer": "index-bound"}.get(name)
        key = (name, args.get("pipelineBindPoint"), args.get("firstSet"), args.get("firstBinding"))
        if name.startswith("vkCmdDraw"):
            of["draw-nothing"] += 1
            vain["draw-nothing"] += args.get("vertexCount") == 0 or args.get("indexCount") == 0 or args.get("instanceCount") == 0
        if kind:
            of[kind] += 1
            vain[kind] += bound.get(key) == args
            bound[key] = args


@case
def counts_are_those_of_the_printed_lines(context: Context) -> None:
    for app in ("triangle", "depth"):
        context.run([context.app(app), *(["--offscreen"] if app == "triangle" else [])], context.layer_env(LAPILLI_FILE=f"{app}.lapilli"))
        of, vain = read(context.print_lines(f"{app}.lapilli"))
        said = rules(context, file=f"{app}.lapilli")
        for name in ("pipeline-bound", "sets-bound", "vertex-bound", "index-bound", "draw-nothing"):
            check((said[name]["of"], said[name]["count"]) == (of[name], vain[name]), f"{app}: {name}: {said[name]['count']} of {said[name]['of']}, not {vain[name]} of {of[name]}")
        frames = json.loads(report(context, "--json", file=f"{app}.lapilli").out)["each_frame"]
        info = context.info(f"{app}.lapilli")
        check(sum(f["draws"] for f in frames) == info["draws"] and sum(f["submits"] for f in frames) == info["submits"], f"{app}: {info}")
        check(sum(f["updated_bytes"] for f in frames) == info["updates"]["bytes"], f"{app}: {info['updates']}")
        [one] = json.loads(report(context, "--json", "--frames", "2", file=f"{app}.lapilli").out)["each_frame"]
        check(one == next(f for f in frames if f["frame"] == 2), f"{one}")


class Page(html.parser.HTMLParser):
    """Collects text, and what a page loads or leads to; checks that elements end in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text, self.leads, self.elements = "", [], Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.leads += [(name, value or "") for name, value in attrs if name in ("href", "src", "srcset", "xlink:href", "data", "action")]
        if tag not in VOID | OPEN_ENDED:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in OPEN_ENDED | VOID:
            check(bool(self.open) and self.open.pop() == tag, f"</{tag}> in {self.open}")

    def handle_data(self, data: str) -> None:
        self.text += data


def page(context: Context, *arguments: str, file: str = "out.lapilli") -> Page:
    (context.folder / "page.html").unlink(missing_ok=True)
    report(context, "--html", "page.html", *arguments, file=file)
    text = (context.folder / "page.html").read_text()
    parser = Page()
    parser.feed(text)
    parser.close()
    check(not parser.open and not re.search(r"url\(|@import|https?://(?!localhost)", text), f"{parser.open}")
    return parser


@case
def the_page_needs_nothing_and_escapes_names(context: Context) -> None:
    wasteful(context, "image-unused")
    trace = (context.folder / "out.lapilli").rename(context.folder / NAME.replace("/", "_"))
    plain = page(context, file=f"./{trace.name}")
    check(not plain.leads and plain.elements["script"] == 1 and plain.elements["svg"] == 2, f"{plain.leads} {plain.elements}")
    check(plain.text.count(trace.name) == 2 and plain.text.count(NAME) == 1, "the names are not as they are")
    server = "http://localhost:8080/#/7"
    linked = page(context, "--server", server, file=f"./{trace.name}")
    check(f"{server}/commands/1" in [value for _, value in linked.leads] and all(value.startswith(f"{server}/commands/") for _, value in linked.leads), f"{linked.leads[:9]}")
    before = (context.folder / "page.html").read_bytes()
    done = report(context, "--html", "page.html", file=f"./{trace.name}", expect=1)
    check("page.html" in done.err and (context.folder / "page.html").read_bytes() == before, done.text)


@case
def times_come_from_a_profile(context: Context) -> None:
    wasteful(context, "cleared-again")
    [first] = [f for f in rules(context)["cleared-again"]["findings"] if f["frame"] == 1]
    time = {"median": 2.5, "spread": 0, "p10": 2, "p90": 3, "min": 2, "max": 3}
    parts = [{"kind": "commands", "name": None, "position": "1.1.1", "gpu_ms": time, "share": 1}, {"kind": "pass", "name": NAME, "position": first["position"], "gpu_ms": time, "share": 0.5}]
    timed = [{"part": 0, "position": "1.1.1", "end": None, "gpu_ms": 5}, {"part": 1, "position": first["position"], "end": "1.1.1.5", "gpu_ms": 0.25}]
    whole = {"profile": 1, "gpu": "a GPU", "frame": {"gpu_ms": time}, "parts": parts, "each_frame": [{"frame": 1, "parts": timed}]}
    (context.folder / "times.json").write_text(json.dumps(whole))
    said = json.loads(report(context, "--json", "--profile", "times.json").out)
    of = {rule["rule"]: rule for rule in said["rules"]}
    check([f["gpu_ms"] for f in of["cleared-again"]["findings"]] == [0.25, None, None], f"{of['cleared-again']}")
    check(said["profile"]["gpu"] == "a GPU" and [(p["name"], p["gpu_ms"]) for p in said["profile"]["parts"]] == [(NAME, 2.5)], f"{said['profile']}")
    check(NAME in page(context, "--profile", "times.json").text and "0.250 ms" in report(context, "--profile", "times.json").out, "the times are not shown")
    for text in ("", "[]", "{}", "x" * 100, json.dumps({**whole, "parts": 3}), json.dumps({**whole, "profile": 2}), json.dumps(said)):
        (context.folder / "other.json").write_text(text)
        done = report(context, "--profile", "other.json", expect=2)
        check("other.json is no file of lapilli profile" in done.err and not done.out, done.text)


@case
def parts_and_cut_traces_have_no_end(context: Context) -> None:
    wasteful(context, "state-set")
    context.run([context.program("lapilli"), "trim", "--frames", "2", "--no-gpu", "-o", "part.lapilli", "out.lapilli"])
    of = rules(context, file="part.lapilli")
    check(set(found(of)) == {"state-set"} and "part" in of["object-left"]["not_looked"], f"{found(of)}")
    trace = context.folder / "out.lapilli"
    trace.write_bytes(trace.read_bytes()[:-3000])
    of = rules(context, expect=4)
    check(of["object-left"]["count"] is None and bool(of["object-left"]["not_looked"]), f"{of['object-left']}")


@case
def a_trimmed_trace_is_looked_at_from_its_own_first_frame_on(context: Context) -> None:
    display()
    context.run([context.app("triangle")], context.layer_env())
    context.run([context.program("lapilli"), "trim", "--frames", "20-22", "--no-gpu", "-o", "part.lapilli", "out.lapilli"])
    said = json.loads(context.run([context.program("lapilli"), "report", "--json", "part.lapilli"]).out)
    check(said["first_frame"] == context.info("part.lapilli")["trimmed_first_frame"] > 1, f"{said['first_frame']}")


def cases() -> dict[str, Callable[[Context], None]]:
    return CASES
