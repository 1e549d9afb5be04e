# SPDX-License-Identifier: MIT
"""lapilli-replay --profile: what is timed, and that timestamps change nothing. lapilli profile, which plays it several times, is in profile.py."""

from __future__ import annotations

import json
from typing import Callable

from e2e.cases import Cases, Context, Done, check, check_verified, skip_lacking

CASES = Cases()
case = CASES.add

KINDS = {"command buffer": "commands", "render pass": "pass", "label": "label", "command": "work"}
STATISTICS = "--profile-statistics"


def profile(context: Context, frames: str, *arguments: str, file: str = "out.lapilli", expect: int | None = 0) -> Done:
    return context.run([context.program("lapilli-replay"), "--quiet", "--profile", frames, *arguments, file], expect=expect)


def lines(done: Done) -> list[dict]:
    return [json.loads(line) for line in done.out.splitlines() if line.startswith("{")]


def spans(done: Done) -> list[dict]:
    return [line for line in lines(done) if "kind" in line]


def nodes(node: dict, draws: bool, depth: int = 0, inside: bool = False) -> list[tuple]:
    """What is timed, from lapilli tree: its kind, place, depth, draws, and dispatches with traces."""
    kind = KINDS.get(node["kind"])
    if (kind in ("label", "work") and inside and not draws) or (kind == "commands" and depth):
        kind = None
    found = [(kind, node["position"], depth, node["draws"], node["dispatches"] + node["traces"])] if kind else []
    for child in node["children"]:
        found += nodes(child, draws, depth + bool(kind), inside or kind == "pass")
    return found


def record(context: Context, program: str, *arguments: str) -> str:
    file = f"{program}.lapilli"
    skip_lacking(context.run([context.app(program), *arguments], context.layer_env(LAPILLI_FILE=file, LAPILLI_VERIFY="1"), expect=None))
    return file


@case
def all_work_is_timed_and_hashes_hold(context: Context) -> None:
    """Secondary command buffers and labels; several passes; two command buffers that are submitted again and again; subpasses and views."""
    for program in (["modern"], ["painted"], ["triangle", "--offscreen"], ["compute"], ["targets"]):
        file = record(context, *program)
        tree = json.loads(context.run([context.program("lapilli"), "tree", "--json", "--depth", "20", file]).out)
        plain = check_verified(context.replay(file, "--verify", "--quiet"))
        for draws in (False, True):
            done = profile(context, "all", "--verify", *["--profile-draws"] * draws, file=file)
            timed = spans(done)
            check([(s["kind"], s["position"], s["depth"], s["draws"], s["dispatches"]) for s in timed] == [found for node in tree["nodes"] for found in nodes(node, draws)], f"{program}: not what the tree has")
            check(check_verified(done) == plain, f"{program}: {done.text}")
            open_spans: list[dict] = []
            for span in timed:
                open_spans = open_spans[:span["depth"]] + [span]
                parent = open_spans[-2] if span["depth"] else span
                check(parent["begin_ns"] <= span["begin_ns"] <= span["end_ns"] <= parent["end_ns"] and span["queue"] == parent["queue"], f"{program}: {span} is not in {parent}")
            end = lines(done)[-1]["end"]
            check(not end["missing"] and not end["left_out"], f"{program}: {end}")


@case
def times_are_those_of_the_submits(context: Context) -> None:
    """What --measure finds around the same submits of the same replay has all of it."""
    file = record(context, "painted")
    done = profile(context, "all", "--measure=figures.json", file=file)
    figures = json.loads((context.folder / "figures.json").read_text())["frames"]
    timed = sum(s["end_ns"] - s["begin_ns"] for s in spans(done) if s["kind"] == "commands") / 1e6
    check(0 < timed <= figures["gpu_ms"]["mean"] * figures["count"] * 1.02 + 1, f"{timed} ms: {figures}")
    frames = [line for line in lines(done) if "frame" in line]
    check([line["frame"] for line in frames] == list(range(1, len(frames) + 1)), f"{frames}")
    printed = context.print_lines(file)
    for line in frames:
        calls = {call["command"]: call["calls"] for call in line["calls"]}
        check(line["cpu_ns"] == sum(call["ns"] for call in line["calls"]), f"{line}")
        for command in ("vkQueueSubmit", "vkQueueSubmit2", "lapilliBlock"):
            check(calls.get(command, 0) == sum(row["name"] == command and row["frame"] == line["frame"] for row in printed), f"{command}: {line}")


@case
def statistics_count_what_is_drawn(context: Context) -> None:
    """Vertices, as the commands say; with all draws those of a pass are its draws'."""
    file = record(context, "painted")
    whole = lines(profile(context, "all", STATISTICS, file=file))
    single = lines(profile(context, "all", STATISTICS, "--profile-draws", file=file))
    vertices = sum(row["args"]["vertexCount"] * row["args"]["instanceCount"] for row in context.print_lines(file) if row["name"] == "vkCmdDraw")
    for timed in (whole, single):
        counted = [line["statistics"] for line in timed if "statistics" in line]
        check(sum(c["INPUT_ASSEMBLY_VERTICES"] for c in counted) == vertices > 0, f"{vertices}: {counted}")
    for name in ("VERTEX_SHADER_INVOCATIONS", "INPUT_ASSEMBLY_PRIMITIVES"):
        check(sum(line["statistics"][name] for line in whole if "statistics" in line) == sum(line["statistics"][name] for line in single if "statistics" in line), name)


@case
def validation_is_silent(context: Context) -> None:
    """With synchronization; statistics want a feature that the program has not enabled."""
    for program in (["modern"], ["painted"], ["triangle", "--offscreen"]):
        file = record(context, *program)
        done = profile(context, "all", "--validate=sync", "--profile-draws", STATISTICS, file=file)
        check("0 errors, 0 warnings" in done.text, done.text)


@case
def frames_and_places_that_can_not_be_timed(context: Context) -> None:
    file = record(context, "painted")
    for frames, more, status, says in (("0", (), 2, "wants frames"), ("3-2", (), 2, "wants frames"), ("x", (), 2, "wants frames"), ("99999", (), 2, "there is no frame 99999"), ("1", ("--skip", "1.1.1.1"), 2, "without --skip"),
                                       ("1", ("--pixel", "1,1", "--pixel-at", "1"), 2, "alone")):
        done = profile(context, frames, *more, file=file, expect=status)
        check(says in done.err and not done.out, f"{frames} {more}: {done.text}")
    check("for --profile" in context.run([context.program("lapilli-replay"), "--profile-draws", file], expect=2).err, "--profile-draws alone")
    timed = lines(profile(context, "1-9999", file=file))
    check(timed[0]["profile"]["last_frame"] == context.info(file)["frames"], f"{timed[0]}")
    suspended = record(context, "suspended")
    end = lines(profile(context, "all", "--verify", file=suspended))[-1]["end"]
    check(any("goes on in another command buffer" in why for why in end["left_out"]), f"{end}")


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    return dict(CASES)
