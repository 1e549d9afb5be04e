# SPDX-License-Identifier: MIT
"""lapilli-replay --wait: what it answers is what a replay from the beginning writes, or it says that it can't."""

from __future__ import annotations

import json
import subprocess
from typing import Callable

from e2e.after import draws_of
from e2e.cases import TIMEOUT, Cases, Context, Done, Program, check, patience, prepare_on, programs, skip_lacking

CASES = Cases()
case = CASES.add

# Command buffers that are recorded once, in front of the frame; secondary ones; both kinds of render passes; what is presented.
FIRST = ("nested", "conditional", "modern", "triangle", "churn-present")
NULL = {"bindless", "descbuf", "mesh", "nested", "push-two", "rates", "shader_objects"}
SOME = 4  # draws of each trace


def pictures(context: Context, done: Done) -> list[tuple[dict, list[bytes]]]:
    """The lines about pictures, and their files, which are removed."""
    lines = [json.loads(line) for line in done.out.splitlines()]
    files = [[context.folder / line[key] for key in ("file", "raw") if line[key]] for line in lines]
    found = [(line, [path.read_bytes() for path in paths]) for line, paths in zip(lines, files)]
    for path in (context.folder / "shots").glob("*"):
        path.unlink()
    return found


def words(*given: str) -> str:
    return "".join(word + "\0" for word in (*given, ""))


def wait(context: Context, file: str, frame: int | str, request: str, *arguments: str) -> Done:
    """The request is there before it is read."""
    command = [context.program("lapilli-replay"), "--quiet", "--present", "headless", "--pictures", "shots", "--wait", str(frame), *arguments, file]
    done = subprocess.run(command, cwd=context.folder, env=context.environment(None), input=request, capture_output=True, text=True, timeout=patience(TIMEOUT), check=False)
    return Done(done.returncode, done.stdout, done.stderr)


def as_from_the_beginning(program: Program, driver: str | None) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context, command = prepare_on(context, program, driver)
        skip_lacking(context.run([context.program("lapilli"), "capture", "-o", "out.lapilli", "--", *command], expect=None))
        for file in sorted(path.name for path in context.folder.glob("*.lapilli")):
            draws = draws_of(context, file)
            late = [draw["position"] for draw in draws if int(draw["position"].partition(".")[0]) == (int(draws[-1]["position"].partition(".")[0]) + 1) // 2]
            for position in dict.fromkeys([*late[-SOME // 2:], *[draw["position"] for draw in draws[-SOME // 2:]]]):
                frame = position.partition(".")[0]
                for more in ([], ["--skip", position]):
                    request = ["--json", "--raw=also", "--after", position, *more]
                    cold = context.run([context.program("lapilli"), "image", "--quiet", *request, "-o", "shots", file], expect=None)
                    expected = pictures(context, cold)
                    warm = wait(context, file, frame, words(*request))
                    check(warm.status == cold.status, f"{file} {position} {more}: {warm.status}: {warm.text}, not {cold.status}: {cold.text}")
                    check(pictures(context, warm) == expected and bool(expected) == (cold.status == 0), f"{file} {position} {more}: {warm.out}, not {cold.out}")
    return run


@case
def what_was_played_already_is_refused(context: Context) -> None:
    """Nothing is written then; nor where the request is none, or no more than a part of one."""
    context.run([context.app("triangle"), "--offscreen"], context.layer_env())
    first, *_, last = (draw["position"] for draw in draws_of(context, "out.lapilli"))
    frame = last.partition(".")[0]
    after = ["--after", last]
    for request, status, says in ((words("--after", first), 6, "this is in front of what was played already"),
                                  (words(*after, "--wireframe"), 6, "this changes packet "), (words(*after, "--skip", first), 6, "this changes packet "),
                                  (words(*after, "--gpu", "0"), 2, "can't be asked for --gpu"), (words("out.lapilli"), 2, "can't be asked for out.lapilli"),
                                  (words("--json"), 2, "wants --after"), (words("--after"), 2, "wants POSITION"), (words("--after", "99.1"), 2, "the trace has "),
                                  (words(*after)[:-1], 2, "a request ends with an empty word"), ("x" * 70000, 2, "64 KiB at most"), ("\0", 2, "wants --after"), ("", 0, "")):
        done = wait(context, "out.lapilli", frame, request)
        check(done.status == status and says in done.err and bool(says) == bool(done.err) and not done.out, f"{request[:99]!r}: {done.status}: {done.text}")
        check(not list((context.folder / "shots").glob("*")), f"{request[:99]!r}: a picture was written")
    frames = context.info()["frames"]
    for wanted, says in ((frames + 2, f"the trace has {frames}"), (0, "from 1 on"), ("1x", "from 1 on")):
        done = wait(context, "out.lapilli", wanted, "")
        check(done.status == 2 and says in done.err, f"--wait {wanted}: {done.text}")
    done = wait(context, "out.lapilli", frame, "", "--progress", "3")
    check(done.status == 2, done.text)


@case
def it_says_when_it_waits(context: Context) -> None:
    context.run([context.app("triangle"), "--offscreen"], context.layer_env())
    command = f"exec {context.program('lapilli-replay')} --progress 3 --present headless --pictures shots --wait 2 out.lapilli 3>&1 </dev/null"
    lines = context.run(["sh", "-c", command]).out.splitlines()
    check(lines[-1] == '{"waits":2}', f"{lines}")


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    result: dict[str, Callable[[Context], None]] = dict(CASES)
    for program in programs(context):
        result[program.name if program.name in FIRST else f"each/{program.name}"] = as_from_the_beginning(program, "null" if program.name in NULL else None)
        if program.name in FIRST and program.name not in NULL:
            result[f"swiftshader/{program.name}"] = as_from_the_beginning(program, "swiftshader")
    return result
