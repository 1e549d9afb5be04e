# SPDX-License-Identifier: MIT
"""Traces that are played on another machine, where a process with another folder stands for it: its blocks come when they are read, and
all that a replay says and writes is what one of this machine says and writes."""

from __future__ import annotations

import re
import signal
from typing import Callable

from e2e.after import draws_of
from e2e.cases import Cases, Context, Done, check
from e2e.runs import PLAY, SUMS, Device
from e2e.server import Server, until, waiting_of
from e2e.streaming import TCP, UNIX, write_token
from e2e.waiting import pictures, wait, words

CASES = Cases()
case = CASES.add

SENT = re.compile(r"lapilli-run: sent (\d+) bytes: (not )?the list of blocks, (\d+) of (\d+) blocks")


def cases() -> dict[str, Callable[[Context], None]]:
    return CASES


def record(context: Context, *app: str) -> None:
    context.run([context.app(app[0]), *app[1:]], context.layer_env(LAPILLI_VERIFY="all"))


def sent(done: Done) -> tuple[bool, int, int]:
    """Whether the list of blocks was among it, and how many blocks of how many."""
    found = SENT.search(done.err)
    check(found is not None, done.text)
    return not found[2], int(found[3]), int(found[4])


def there(device: Device) -> dict[str, str]:
    return {"LAPILLI_REPLAY_ON": device.address}


def shots(context: Context, command: list[str], env: dict[str, str] | None) -> tuple[str, dict[str, bytes]]:
    """What it prints, and its pictures, which are removed."""
    out = context.run(command, env).out
    files = {path.name: path.read_bytes() for path in (context.folder / "shots").iterdir()}
    for name in files:
        (context.folder / "shots" / name).unlink()
    return out, files


@case
def here_and_there_are_the_same(context: Context) -> None:
    """The whole replay, pictures behind draws, what a pixel was, and a request to a replay that waits; the names of files are ours."""
    record(context, "triangle", "--offscreen")
    truth, draws = SUMS.findall(context.replay().out), draws_of(context, "out.lapilli")
    last = draws[-1]["position"]
    frame, tool = last.partition(".")[0], context.program("lapilli")
    device = Device(context)
    check(SUMS.findall(device.run("out.lapilli", *PLAY).out) == truth, "the run")
    check(SUMS.findall(context.run([tool, "replay", "--on", device.address, *PLAY, "out.lapilli"]).out) == truth, "replay --on")
    for asked in (["image", "--json", "--raw=also", "--after", last, "-o", "shots"], ["image", "--after", draws[0]["position"], "-o", "shots"]):
        own, others = (shots(context, [tool, *asked, "out.lapilli"], env) for env in (None, there(device)))
        check(own == others and bool(own[1]), f"{asked}: {own[0]}\nthere: {others[0]}")
    request = words("--json", "--raw=also", "--after", last)
    warm = [pictures(context, wait(context, "out.lapilli", frame, request, *more)) for more in ([], ["--on", device.address])]
    check(warm[0] == warm[1] and bool(warm[0]), f"{warm}")
    check(wait(context, "out.lapilli", frame, "", "--on", device.address).status == 0, "nobody asks for anything")
    device.end()


@case
def blocks_come_when_they_are_read_and_once(context: Context) -> None:
    """With a cache, where a damaged one comes again."""
    record(context, "suballoc")
    truth = SUMS.findall(context.replay().out)
    device, cache = Device(context, UNIX, "--cache", "cache"), context.folder / "cache"
    whole = device.run("out.lapilli", *PLAY)
    blocks = sent(whole)[2]
    check(SUMS.findall(whole.out) == truth and sent(whole) == (True, blocks, blocks) and blocks > 2, whole.text)
    rest = device.run("out.lapilli", *PLAY)
    check(SUMS.findall(rest.out) == truth and sent(rest) == (False, 0, blocks), rest.text)
    damaged = max(cache.iterdir(), key=lambda path: path.stat().st_size)
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    again = device.run("out.lapilli", *PLAY)
    check(SUMS.findall(again.out) == truth and sent(again)[1] >= 1, again.text)
    device.end()


@case
def a_server_has_its_pictures_from_there(context: Context) -> None:
    """Over TCP, with a token; the second picture is one of a replay that waits there."""
    record(context, "triangle", "--offscreen")
    write_token(context)
    device = Device(context, TCP, "--token-file", "token")
    *_, one, two = (draw["position"] for draw in draws_of(context, "out.lapilli"))
    with Server(context, "--on", device.address, "--on-token-file", "token", "out.lapilli") as server:
        capture = server.captures()[0]
        for position in (one, two):
            context.run([context.program("lapilli"), "image", "--quiet", "--after", position, "--targets", "color0", "-o", position, "out.lapilli"])
            answer = server.ask(f"{capture}/framebuffer/{position}/color0.png")
            check(answer.status == 200 and answer.body == next((context.folder / position).glob("*.png")).read_bytes(), f"{position}: {answer.status} {answer.body[:200]!r}")
            until(lambda: waiting_of(server), "one that waits for the next picture")
    device.end()


@case
def what_can_not_be_had_there_is_refused(context: Context) -> None:
    """By its name, with nothing played; and a replay there ends with the one who asked for it."""
    record(context, "triangle", "--offscreen")
    device, tool = Device(context), context.program("lapilli")
    (context.folder / "list").write_text("buffer 1 0 4\n")
    for asked, status, says in ((["--stop-at", "#30", "--read", "list", "--read-to", "out"], 2, "there is no option --read "), (["--list-gpus"], 5, "whose GPUs can't be listed from here")):
        done = context.run([context.program("lapilli-replay"), *asked, *([] if "--list-gpus" in asked else ["out.lapilli"])], there(device), expect=status)
        check(says in done.err, done.text)
    done = context.run([tool, "serve", "--on-token-file", "token", "out.lapilli"], expect=2)
    check("--on-token-file is for --on" in done.err, done.text)
    device.process.send_signal(signal.SIGKILL)
    device.process.wait()
    done = context.run([tool, "replay", "out.lapilli"], there(device), expect=1)
    check("lapilli-run: " in done.err and "socket" in done.err, done.text)
