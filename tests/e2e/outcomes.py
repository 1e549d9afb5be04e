# SPDX-License-Identifier: MIT
"""What came of a replay, for programs that run many: --report, --hashes, and --screenshot of the last frame."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.cases import CRASH, LAYER, STUCK, Cases, Context, Done, Skip, check, crashing, display

CASES = Cases()
case = CASES.add


def play(context: Context, *arguments: str, expect: int | None, **options) -> tuple[Done, dict]:
    """Its report, whose exit status is that of the process. Another replay's report lies there before."""
    report = context.folder / "report.json"
    report.write_text('{"old": true, "end": true}' * 99)
    done = context.run([context.program("lapilli-replay"), "--present", "headless", "--quiet", "--report", report.name, *arguments], expect=expect, **options)
    said = json.loads(report.read_text())
    check(said["end"] is True and said["exit"] == done.status, f"{said}")
    return done, said


def lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def record(context: Context, command: list[str], file: str, *how: str) -> None:
    context.run([context.program("lapilli"), "capture", "-q", *how, "-o", file, "--", *command])


@case
def each_outcome_is_reported(context: Context) -> None:
    record(context, [context.app("compute")], "out.lapilli", "--verify")
    record(context, [context.app("compute")], "plain.lapilli")
    context.run([str(context.build / "tests/bin/break-check"), "out.lapilli", "broken.lapilli", "lapilliCheckBuffer"])
    whole = (context.folder / "out.lapilli").read_bytes()
    (context.folder / "cut.lapilli").write_bytes(whole[:len(whole) * 3 // 4])

    said = play(context, "out.lapilli", expect=0)[1]
    check((said["outcome"], said["verify"], said["error"]) == ("played", None, None), f"{said}")
    check(said["trace_uuid"] == context.info()["uuid"] and said["peak_bytes"] > 0 and said["host_peak_bytes"] > 1 << 20, f"{said}")
    listed = json.loads(context.run([context.program("lapilli-replay"), "--list-gpus", "--json"]).out)["gpus"]
    check(said["gpu"] in listed, f"{said['gpu']} is none of {listed}")

    done, said = play(context, "--verify", "out.lapilli", expect=0)
    verify = said["verify"]
    check(said["outcome"] == "same" and verify["first"] is None, f"{said}")
    check(done.out == f"verify: {verify['checks']} checks, 0 different\n" and verify["checks"] > 0, done.out)

    done, said = play(context, "--verify", "broken.lapilli", expect=1)
    first = said["verify"]["first"]
    check(said["outcome"] == "different" and said["verify"]["different"] > 0 and first["kind"] == "buffer", f"{said}")
    check(f"(packet {first['packet']}): {first['object']} differs" in said["error"]["text"] and said["error"]["text"] in done.err, f"{said}")
    check((said["error"]["frame"], said["error"]["packet"]) == (first["frame"], first["packet"]), f"{said}")

    said = play(context, "--verify", "plain.lapilli", expect=1)[1]
    check(said["outcome"] == "nothing_to_verify" and "recorded without --verify" in said["error"]["text"], f"{said}")
    said = play(context, "--verify", "cut.lapilli", expect=4)[1]
    check(said["outcome"] == "incomplete" and "the trace is incomplete" in said["error"]["text"], f"{said}")
    for unreadable in ("/dev/null", "none.lapilli"):
        said = play(context, unreadable, expect=3)[1]
        check((said["outcome"], said["gpu"], said["trace_uuid"]) == ("unreadable", None, None) and said["error"]["text"], f"{said}")
    said = play(context, "--gpu", "no such GPU", "out.lapilli", expect=5)[1]
    check(said["outcome"] == "unsupported" and said["error"]["packet"] > 0 and "no such GPU" in said["error"]["text"], f"{said}")
    said = play(context, "--ignore-checks", "none.txt", "--verify", "out.lapilli", expect=2)[1]
    check(said["outcome"] == "failed" and "none.txt" in said["error"]["text"], f"{said}")

    done = context.run([context.program("lapilli-replay"), "--report", "/dev/full", "--present", "headless", "out.lapilli"], expect=1)
    check("error: /dev/full can't be written: No space left on device" in done.err, done.err)
    done = context.run([context.program("lapilli-replay"), "--hashes", "/dev/full", "--present", "headless", "out.lapilli"], expect=1)
    check("the checks can't be written: No space left on device" in done.err, done.err)


@case
def a_driver_that_does_not_return_is_reported(context: Context) -> None:
    """The process is ended while the driver may have locks."""
    context.run([context.app("compute")], context.layer_env(LAYER))
    for environment in ({"LAPILLI_STUCK": "1"}, {"LAPILLI_STUCK_IN": "vkQueueSubmit"}):
        said = play(context, "--wait-limit", "1", "out.lapilli", expect=1, env=context.layer_env(STUCK, **environment))[1]
        check(said["outcome"] == "failed" and "the device does not finish" in said["error"]["text"] and said["error"]["packet"] > 0, f"{said}")


@case
def a_driver_that_crashes_leaves_no_report(context: Context) -> None:
    crashing(context)
    record(context, [context.app("compute")], "out.lapilli", "--verify")
    (context.folder / "report.json").write_text('{"end": true}')
    done = context.run([context.program("lapilli-replay"), "--present", "headless", "--report", "report.json", "out.lapilli"],
                       context.layer_env(CRASH, LAPILLI_CRASH="vkQueueSubmit:1:segv"), expect=None)
    check(done.status < 0 and (context.folder / "report.json").read_text() == "", done.text)


@case
def hashes_are_a_baseline_for_each_device(context: Context) -> None:
    """The recorded hashes are one driver's. Those of a replay are the same at each replay on a device."""
    other = context.on("swiftshader")
    record(context, [context.app("depth")], "out.lapilli", "--verify=all", "--keep-bytes")
    found = {}
    for at, name in ((context, "lavapipe"), (other, "swiftshader")):
        texts = []
        for i in range(2):
            done, said = play(at, "--verify", "--hashes", f"{name}{i}", "out.lapilli", expect=None)
            texts.append((context.folder / f"{name}{i}").read_text())
        check(texts[0] == texts[1], f"two replays on {name} differ:\n{texts}")
        found[name] = lines(context.folder / f"{name}0")
        verify = said["verify"]
        check([line["check"] for line in found[name]] == list(range(1, verify["checks"] + 1)), f"{found[name]}")
        check(sum(not line["same"] for line in found[name]) == verify["different"], f"{verify}\n{found[name]}")
        check(all((line["hash"] == line["recorded"]) == line["same"] for line in found[name]), f"{found[name]}")
    recorded = [{line["packet"]: line["recorded"] for line in found[name]} for name in found]
    check(all(recorded[0].get(packet, value) == value for packet, value in recorded[1].items()), f"{recorded}")  # of formats that both have
    if not verify["different"]:
        raise Skip("both drivers round alike")
    done, said = play(other, "--verify", "--tolerance", "1", "--hashes", "near", "out.lapilli", expect=0)
    check(said["outcome"] == "within" and said["verify"]["within"] == verify["different"], f"{said}")
    check(lines(context.folder / "near") == found["swiftshader"], "a tolerance changes hashes")


@case
def a_trace_without_checks_has_hashes_of_its_pictures(context: Context) -> None:
    """And with them the same ones. The last frame has a picture, of a program that presents or of one that plays elsewhere."""
    display()
    play_off = [context.program("lapilli-replay"), "--present", "off", "--quiet"]
    cube = [*context.installed("vkcube"), "--c", "4"]
    record(context, cube, "plain.lapilli")
    record(context, cube, "out.lapilli", "--verify")
    for file in ("plain", "out"):
        context.run([*play_off, "--hashes", f"{file}.ndjson", "--screenshot", "last,1", "--screenshot-dir", file, f"{file}.lapilli"])
        check(sorted(path.name for path in (context.folder / file).iterdir()) == ["frame_1.png", "frame_4.png"], f"{file}")
    plain, checked = (lines(context.folder / f"{file}.ndjson") for file in ("plain", "out"))
    check([line["hash"] for line in plain] == [line["recorded"] for line in checked] and len(plain) == 4, f"{plain}\n{checked}")
    check(all(line["same"] is None and line["recorded"] is None for line in plain), f"{plain}")
    context.run([*play_off, "--last-frame", "2", "--screenshot", "last", "--screenshot-dir", "two", "plain.lapilli"])
    check([path.name for path in (context.folder / "two").iterdir()] == ["frame_2.png"], "the last frame is that where the replay ends")

    context.run([context.program("lapilli"), "compile", "out.lapilli", "-o", "out.lapvm"])
    context.run([context.program("lapilli"), "run", "out.lapvm", "--quiet", "--present", "off", "--verify", "--report", "run.json", "--hashes", "run.ndjson",
                 "--screenshot", "last", "--screenshot-dir", "run"])
    said = json.loads((context.folder / "run.json").read_text())
    check((said["outcome"], said["frames"], said["verify"]["checks"], said["trace_uuid"]) == ("same", 4, 4, None), f"{said}")
    check([line["hash"] for line in lines(context.folder / "run.ndjson")] == [line["hash"] for line in plain], "the replay program gives something else")
    check((context.folder / "run/frame_4.png").read_bytes() == (context.folder / "out/frame_4.png").read_bytes(), "its picture is another")
