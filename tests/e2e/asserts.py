# SPDX-License-Identifier: MIT
"""lapilli assert: each kind of condition once true and once false, against what the programs are known to do."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import xml.etree.ElementTree
import zlib
from pathlib import Path

from e2e.blocks import rows_of_png
from e2e.cases import Cases, Context, Done, Skip, check, display, patience, validation_layer
from e2e.present import wait_for
from e2e.sandbox import needs_sandbox

CASES = Cases()
case = CASES.add

# tests/apps/triangle draws this, in 320 x 240 texels; its corners keep the clear colour.
FRAMES, DRAWS_A_FRAME, CORNER = 60, 2, "16,32,48"
FIRST_DRAW = "1.3.1.8"


def ask(context: Context, *arguments: str, file: str = "out.lapilli", expect: int | None = 0, env: dict[str, str] | None = None) -> Done:
    return context.run([context.program("lapilli"), "assert", file, *arguments], env, expect=expect)


def results(context: Context, *conditions: str, file: str = "out.lapilli", env: dict[str, str] | None = None) -> list[dict]:
    """What --json says. The exit status and the sums follow from it."""
    done = ask(context, "--json", *conditions, file=file, expect=None, env=env)
    said = json.loads(done.out)
    found = [entry["result"] for entry in said["conditions"]]
    check(done.status == (1 if "failed" in found else 5 if "unknown" in found else 0), f"exit status {done.status}: {done.text}")
    check([said[kind] for kind in ("ok", "failed", "unknown")] == [found.count(kind) for kind in ("ok", "failed", "unknown")], done.out)
    check([entry["condition"] for entry in said["conditions"]] == list(conditions), done.out)
    return said["conditions"]


def expect_each(context: Context, expected: dict[str, str], file: str = "out.lapilli", env: dict[str, str] | None = None) -> dict[str, dict]:
    """Conditions and their results; returns all that is said of each."""
    said = {entry["condition"]: entry for entry in results(context, *expected, file=file, env=env)}
    wrong = {condition: said[condition] for condition, result in expected.items() if said[condition]["result"] != result}
    check(not wrong, f"{wrong}")
    return said


def both(*pairs: tuple[str, str]) -> dict[str, str]:
    return {condition: result for pair in pairs for condition, result in zip(pair, ("ok", "failed"))}


def write_png(path: Path, rows: list[bytes]) -> None:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    head = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))) + chunk(b"IEND", b""))


def leaves_nothing(context: Context) -> None:
    left = [path.name for path in (context.home or context.folder).rglob("lapilli-assert-*")]
    check(not left, f"{left} is left")


@case
def a_condition_that_can_not_be_parsed_is_usage(context: Context) -> None:
    """The trace is not there, so anything that opened it would be exit status 3."""
    for condition, column in {"frames": 7, "frames = 3": 8, "frames => 3": 8, "frames == many": 11, "fames == 3": 1, "== 3": 1, "draws(0) == 1": 7, "draws(3-2) == 1": 7,
                              "draws(1,2) == 1": 7, "calls(3) == 1": 1, "draws(3 == 1": 13, "frames == 3 4": 13, "frames == 3 +-": 15, "frames == 3 +- -1": 16, "frames == 3 +- 1%": 17,
                              "frames == 1e999": 11, "frames.x == 1": 1, "state(1) == 2": 1, "state(0).x == 2": 7, "state(1, x).x == 2": 10, "state(1).x < y": 14, "state(1).x ==": 14,
                              'state(1).x == "y': 15, "state(1).x == y +- 1": 17, "pixel(1, 2) == 1,2,3": 1, "pixel(0, 1,2) == 1,2,3": 7, "pixel(1, 1,x) == 1,2,3": 10, "pixel(1, 1,2) == 1,2": 21,
                              "pixel(1, 1,2) < 1,2,3": 17, "texel(1, color0, 1,2) == 1,2,3": 7, "texel(1.1.1.1, ../x, 1,2) == 1,2,3": 16, "image(1) == a.png +- 1, 2": 26,
                              "image(1).x == a.png": 1, "gpu_ms.p51 < 1": 1, "info.x < y": 10, "messages(1) == 0": 1, "frames == 1#": 11, "pixel(1, 1,2) == 1,2,256": 22}.items():
        done = ask(context, "frames >= 1", condition, file="no-such.lapilli", expect=2)
        check(f"condition 2, column {column}: " in done.err and not done.out, f"{condition}: {done.text}")
    (context.folder / "list").write_text("# one that is good\n\nframes >= 1\n  frames oops\n")
    done = ask(context, "--file", "list", file="no-such.lapilli", expect=2)
    check("list: line 4, column 10: " in done.err, done.text)
    ask(context, "--file", "no-such-list", file="no-such.lapilli", expect=2)
    ask(context, file="no-such.lapilli", expect=2)  # standard input is empty
    ask(context, "frames == 1", file="no-such.lapilli", expect=3)
    ask(context, "messages == 0", "--junit", "out.xml", file="no-such.lapilli", expect=3)
    check(not (context.folder / "out.xml").exists(), "a report is left")
    leaves_nothing(context)


@case
def the_trace_alone(context: Context) -> None:
    display()
    context.capture([context.app("triangle")])
    bytes_of_file = (context.folder / "out.lapilli").stat().st_size
    found = expect_each(context, {**both(
        (f"frames == {FRAMES}", f"frames > {FRAMES}"), (f"frames>={FRAMES}", f"frames<{FRAMES}"), (f"frames != {FRAMES - 1}", f"frames != {FRAMES}"),
        (f"frames == {FRAMES + 2} +- 2", f"frames == {FRAMES + 3} +- 2"), (f"frames < {FRAMES} +- 0.5", f"frames > {FRAMES + 1} +- 0.5"),
        (f"draws == {FRAMES * DRAWS_A_FRAME}", "draws == 1"), ("draws(7) == 2", "draws(7) == 3"), ("draws(11-20) <= 20", "draws(11-20) <= 19"), ("draws(51-) == 20", "draws(51-) == 21"),
        ("dispatches == 0", "dispatches != 0"), (f"passes == {FRAMES}", "passes == 0"), ("submits(2) == 1", "submits(1) == 1"), (f"bytes == {bytes_of_file}", f"bytes < {bytes_of_file}"),
        ("info.complete == true", "info.complete == false"), ("info.recorded_on.device != x", 'info.recorded_on.device == "x y"'), ("info.stopped == null", "info.stopped != null"),
        (f"state({FIRST_DRAW}).pipeline == VkPipeline:1", f"state({FIRST_DRAW}).pipeline == VkPipeline:2"), (f"state({FIRST_DRAW}).args.instanceCount == 1", f"state({FIRST_DRAW}).args.instanceCount > 1"),
        (f"state({FIRST_DRAW}).pass.attachments[1].role == depth-stencil", f"state({FIRST_DRAW}).pass.attachments[0].role == depth-stencil"),
        ("state(1, VkImage:1).object == VkImage:1", "state(1, VkImage:1).object == VkImage:2")),
        "draws(61) == 0": "unknown", "draws(50-61) == 0": "unknown", "info.no_such == 1": "unknown", f"state({FIRST_DRAW}).pass == 1": "unknown",
        f"state({FIRST_DRAW}).pass.attachments[9].role == x": "unknown", "state(1.9).at == 1": "unknown", "state(1, VkImage:999).at == 1": "unknown"})
    check(found[f"frames > {FRAMES}"]["found"] == FRAMES and found["draws(61) == 0"]["found"] is None, f"{found}")
    check("there are: " in found["info.no_such == 1"]["note"] and "3 submits" in found["state(1.9).at == 1"]["note"], f"{found}")
    done = ask(context, "--color", "always", "frames == 1", "draws(61) == 0", "frames == 60 # here", expect=1)
    lines = done.out.splitlines()
    check(len(lines) == 4 and "FAIL" in lines[0] and "found 60" in lines[0] and "unknown" in lines[1] and "\033[32mok" in lines[2] and "here" not in lines[2], done.out)
    check(lines[3] == "assert: 3 conditions, 1 failed, 1 unknown", done.out)
    # A reader that has gone changes no result.
    reader, writer = os.pipe()
    os.close(reader)
    for condition, status in (("frames == 60", 0), ("frames == 1", 1)):
        gone = subprocess.run([context.program("lapilli-assert"), "out.lapilli", condition], cwd=context.folder, env=context.environment(), stdout=writer, stderr=subprocess.PIPE, check=False)
        check(gone.returncode == status and not gone.stderr, f"{condition}: {gone}")
    os.close(writer)
    check(ask(context, "--quiet", "frames == 60").out == "assert: 1 condition, 0 failed, 0 unknown\n", "--quiet prints what holds")


def pictures(context: Context) -> None:
    display()
    context.capture([context.app("triangle")])
    context.run([context.program("lapilli-replay"), "--quiet", "--present", "headless", "--screenshot", "3,9", "--screenshot-dir", "golden", "out.lapilli"])
    rows = rows_of_png(context.folder / "golden/frame_3.png")
    middle = ",".join(str(value) for value in rows[120][3 * 160:3 * 161])
    for x in (7, 8, 200):  # the second is further away than the others
        row = bytearray(rows[5])
        row[3 * x] += 9 if x == 8 else 5
        rows[5] = bytes(row)
    write_png(context.folder / "three.png", rows)
    write_png(context.folder / "small.png", rows[1:])
    (context.folder / "no.png").write_bytes((context.folder / "three.png").read_bytes()[:200])
    expected = both(
        (f"pixel(3, 0,239) == {CORNER}", "pixel(3, 0,239) == 16,32,49"), ("pixel(3, 0,239) == 18,30, 49 +- 2", "pixel(3, 0,239) == 19,32,48 +- 2"),
        (f"pixel(3, 160,120) == {middle}", f"pixel(3, 160,120) == {CORNER}"), (f"pixel(3, 160,120) != {CORNER}", f"pixel(9, 0,0) != {CORNER}"),
        ("image(3) == golden/frame_3.png", "image(3) == golden/frame_9.png"), ("image(3) != three.png", "image(3) == three.png"), ("image(3) == three.png +- 9", "image(3) == three.png +- 8"),
        ("image(3) == three.png +- 5, 0.002%", "image(3) == three.png +- 4, 0.002%"), ("image(3) == three.png +- 1%", "image(3) == small.png +- 255"),
        (f"texel({FIRST_DRAW}, color0, 4,3) == {CORNER}", f"texel({FIRST_DRAW}, color0, 4,3) == 0,0,0"), (f"image({FIRST_DRAW}, color0) != small.png", f"image({FIRST_DRAW}, color0) == small.png"))
    expected |= dict.fromkeys(("pixel(3, 320,0) == 1,2,3", "pixel(61, 0,0) == 1,2,3", "image(3) == no.png", "image(3) == no-such.png", "image(3) == golden",
                               f"texel({FIRST_DRAW}, color7, 0,0) == 1,2,3", "texel(1.3.1.900, color0, 0,0) == 1,2,3"), "unknown")
    found = expect_each(context, expected)
    check(found["image(3) == three.png +- 8"]["found"] == 1 and found["image(3) == three.png"]["found"] == 3, f"{found}")
    check(found["image(3) == three.png"]["note"] == "by 9 at most; the first is 7,5", f"{found}")
    check(found["pixel(3, 320,0) == 1,2,3"]["note"] == "the picture has 320 x 240 texels", f"{found}")
    # New pictures replace those that they were compared with.
    (context.folder / "kept").mkdir()
    write_png(context.folder / "kept/frame_3.png", rows)
    ask(context, "--write-images", "kept", "image(3) == kept/frame_3.png", "image(3) == kept/frame_3.png +- 5", f"pixel(9, 0,0) == {CORNER}", expect=1)
    ask(context, "image(3) == kept/frame_3.png", "image(9) == golden/frame_9.png", "image(9) == kept/frame_9.png")
    leaves_nothing(context)


@case
def pictures_of_a_replay(context: Context) -> None:
    pictures(context)


@case
def pictures_of_a_replay_swiftshader(context: Context) -> None:
    pictures(context.on("swiftshader"))


@case
def messages_and_checks(context: Context) -> None:
    """Without the layer nothing is known of messages, but all else is."""
    context.run([context.app("compute")], context.layer_env(LAPILLI_VERIFY="1", LAPILLI_COMPRESSION="none"))
    broken = context.build / "tests/bin/break-check"
    if not broken.exists():
        raise Skip("break-check is not built")
    context.run([str(broken), "out.lapilli", "broken.lapilli"])
    check(expect_each(context, both(("different == 0", "different > 0")))["different == 0"]["note"].startswith("of "), "the number of checks is missing")
    expect_each(context, both(("different > 0", "different == 0")), file="broken.lapilli")
    without = {"VK_LAYER_PATH": str(context.folder)}
    expect_each(context, {"messages == 0": "unknown", "different == 0": "ok"}, env=without)
    expect_each(context, {"messages == 0": "unknown", "frames == 7": "failed"}, env=without)
    done = ask(context, "--gpu", "no such GPU", "frames > 0", "different == 0", "wall_ms > 0", expect=5)
    check(done.out.count("no such GPU") == 2, done.text)
    context.run([context.program("lapilli"), "capture", "-o", "invalid.lapilli", "--", context.app("invalid")])
    expect_each(context, {"different == 0": "unknown"}, file="invalid.lapilli")
    validation_layer(context)
    last = context.run([context.program("lapilli-replay"), "--quiet", "--present", "headless", "--validate", "invalid.lapilli"], expect=1).out.splitlines()[-1]
    errors, warnings = (int(number) for number in re.findall(r"\d+", last))
    found = expect_each(context, both((f"errors == {errors}", "errors == 0"), (f"warnings == {warnings}", f"warnings > {warnings}"), (f"messages == {errors + warnings}", "messages == 0")),
                        file="invalid.lapilli")
    check("VUID-" in found["errors == 0"]["note"], f"{found}")
    expect_each(context, both(("messages == 0", "messages > 0")))


@case
def times_of_frames(context: Context) -> None:
    context.capture([context.app("headless")])
    expect_each(context, {**both(("wall_ms(3-5) > 0", "wall_ms(3-5) > 1e9"), ("cpu_ms.max < 1e9", "cpu_ms.max > 1e9"), ("process_cpu_ms(3-5).mean >= 0", "process_cpu_ms(3-5).mean < 0")),
                          "wall_ms(20-999) > 0": "unknown", "wall_ms(999) > 0": "unknown"})
    gpu = {entry["result"] for entry in results(context, "gpu_ms < 1e9", "gpu_ms > 1e9")}
    check(gpu in ({"ok", "failed"}, {"unknown"}), f"{gpu}")
    leaves_nothing(context)


@case
def a_report_for_ci_is_xml(context: Context) -> None:
    context.capture([context.app("compute")])
    conditions = ['info.program != "<&\'>\x01\x1b[31m\tä"', "frames == 7", "state(999999).at == 1", 'info.program == "]]>"']
    (context.folder / "out.xml").write_text("old")
    ask(context, "--junit", "out.xml", *conditions, expect=1)
    suite = xml.etree.ElementTree.parse(context.folder / "out.xml").getroot()[0]
    check({name: suite.get(name) for name in ("tests", "failures", "errors")} == {"tests": "4", "failures": "2", "errors": "1"}, f"{suite.attrib}")
    check([entry.get("name") for entry in suite] == ['info.program != "<&\'>??[31m ä"', *conditions[1:]], f"{[entry.attrib for entry in suite]}")
    check([[child.tag for child in entry] for entry in suite] == [[], ["failure"], ["error"], ["failure"]], "other results")
    check(re.fullmatch(r"found \d+", suite[1][0].get("message") or "") is not None and {entry.get("classname") for entry in suite} == {"out.lapilli"}, f"{suite[1][0].attrib}")
    check("\x1b" not in ask(context, *conditions, expect=1).out, "a control character is printed")
    ask(context, "--junit", "no/such.xml", "frames == 0", expect=1)


@case
def pictures_are_read_in_a_sandbox(context: Context) -> None:
    strace = shutil.which("strace")
    if not strace:
        raise Skip("strace is not installed")
    context.capture([context.app("headless")])
    needs_sandbox(context)
    write_png(context.folder / "golden.png", [bytes(3)])
    context.run([strace, "-f", "-o", "traced", "-e", "trace=openat,seccomp,landlock_restrict_self", context.program("lapilli-assert"), "out.lapilli", "image(1) == golden.png"], expect=5)
    lines = (context.folder / "traced").read_text().splitlines()
    opened = [line.split()[0] for line in lines if '"golden.png"' in line]
    for entered in ("landlock_restrict_self(", "seccomp(SECCOMP_SET_MODE_FILTER"):
        own = [line for line in lines if opened and line.split()[0] == opened[0] and (entered in line or '"golden.png"' in line)]
        check(len(opened) == 1 and entered in own[0], f"{lines[-20:]}")


def stand_ins(context: Context, **scripts: str) -> str:
    """The program among shell scripts, which it takes for its neighbours."""
    folder = context.folder / "bin"
    folder.mkdir()
    shutil.copy2(context.program("lapilli-assert"), folder)
    (context.folder / "lib").symlink_to((context.build / "lib").resolve())
    for name, script in scripts.items():
        (folder / f"lapilli-{name}").write_text(f"#!/bin/sh\n{script}\n")
        (folder / f"lapilli-{name}").chmod(0o755)
    return str(folder / "lapilli-assert")


@case
def answers_without_sense_hold_nothing(context: Context) -> None:
    program = stand_ins(context, info="echo '{\"frames\": [[{'", tree="echo '{\"frames\": 1e999, \"nodes\": [1, {\"position\": 3}, {}]}'", state="kill -SEGV $$",
                        replay='while [ "$1" != --screenshot-dir ]; do shift; done\nmkdir -p "$2/a/b"\nmkfifo "$2/frame_1.png"\necho x > "$2/frame_2.png"\nln -s / "$2/a/c"\n'
                        'echo "validate: x errors"; printf "lapilli-replay: error: \\033[31mred" >&2; exit 1')
    conditions = ["frames == 0", "draws(1) == 1", "state(1).at == 1", "pixel(1, 0,0) == 1,2,3", "pixel(2, 0,0) == 1,2,3", "messages == 0"]
    done = context.run([program, "--write-images", "new", "out.lapilli", *conditions], expect=1)
    check([line.split()[0] for line in done.out.splitlines()] == ["unknown", "FAIL", *["unknown"] * 4, "assert:"], done.text)
    check("?[31mred" in done.out and "\033" not in done.out, done.text)
    check(not list((context.folder / "new").iterdir()), "a picture is written")
    leaves_nothing(context)


@case
def replays_are_as_few_as_can_be(context: Context) -> None:
    """One for pictures of frames, messages and checks together; one for each command, and one for each range of frames that is measured."""
    program = stand_ins(context, replay='echo "$@" >> calls; exit 1', tree="echo >> trees; exit 1", info="echo >> infos; exit 1")
    context.run([program, "out.lapilli", "messages == 0", "pixel(3, 0,0) == 1,2,3", "pixel(5, 1,0) == 1,2,3", "errors == 0", "different == 0", "image(4) == x.png",
                 "texel(1.1.1.2, color0, 0,0) == 1,2,3", "texel(1.1.1.2, depth, 0,0) == 1,2,3", "gpu_ms(3-5) > 1", "wall_ms(3-5).max > 1", "gpu_ms > 1",
                 "draws(3) == 1", "draws(5) == 1", "dispatches(9-) == 1", "frames == 1", "bytes == 1"], expect=5)
    calls = (context.folder / "calls").read_text().splitlines()
    check([len([call for call in calls if option in call]) for option in ("--screenshot 3,5,4 ", "--validate --verify", "--after 1.1.1.2", "--measure", "--frames 3-5")] == [1, 1, 1, 2, 1], f"{calls}")
    check(len(calls) == 4 and not any("--measure" in call and ("--validate" in call or "--screenshot" in call) for call in calls), f"{calls}")
    check([(context.folder / name).read_text() for name in ("trees", "infos")] == ["\n", "\n"], "the trace is read more often")


@case
def a_signal_ends_it_and_the_replay(context: Context) -> None:
    program = stand_ins(context, replay="echo $$ > started.new; mv started.new started; exec sleep 1000")
    with subprocess.Popen([program, "out.lapilli", "pixel(1, 0,0) == 1,2,3"], cwd=context.folder, env=context.environment()) as process:
        wait_for((context.folder / "started").exists, process, "no replay begins")
        process.send_signal(signal.SIGTERM)
        check(process.wait(patience(20)) == -signal.SIGTERM, f"exit status {process.returncode}")
    check(not Path(f"/proc/{(context.folder / 'started').read_text().strip()}").exists(), "the replay goes on")
    leaves_nothing(context)


def cases() -> Cases:
    return CASES
