# SPDX-License-Identifier: MIT
"""Replay programs on another machine: lapilli run --on and --listen, resources by request, posts, and ends that nobody planned."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import struct
import subprocess
from typing import Callable

from e2e.cases import CRASH, STUCK, Cases, Context, Done, check, children_of, crashing, display
from e2e.program import SUMS, compile_trace
from e2e.streaming import HELLO, SOON, TCP, UNIX, half_open, until, write_token

CASES = Cases()
case = CASES.add

SENT = re.compile(r"lapilli-run: sent (\d+) bytes: (not )?the program, (\d+) of (\d+) resources")


def cases() -> dict[str, Callable[[Context], None]]:
    return CASES


class Device:
    """lapilli run --listen, which listens when this is made."""

    def __init__(self, context: Context, address: str = UNIX, *options: str, **env: str) -> None:
        self.context = context
        self.process = subprocess.Popen([context.program("lapilli-run"), "--listen", address, *options], cwd=context.folder,
                                        env=context.environment(env), stderr=subprocess.PIPE, text=True)
        found = re.search(r"waits for programs at ([^ ,\n]+)", self.process.stderr.readline())
        check(found is not None, "it does not listen")
        self.address = found[1]

    def __del__(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def end(self, expect: int = 0) -> str:
        self.process.send_signal(signal.SIGTERM)
        err = self.process.communicate(timeout=SOON)[1]
        check(self.process.returncode == expect, f"exit status {self.process.returncode}\n{err}")
        return err

    def run(self, *words: str, expect: int | None = 0) -> Done:
        return run(self.context, "--on", self.address, *words, expect=expect)


def replays(device: Device) -> list[int]:
    """Processes below the one of each connection."""
    return [number for one in children_of(device.process) for number in children_of(one)]


def run(context: Context, *words: str, expect: int | None = 0) -> Done:
    return context.run([context.program("lapilli"), "run", *words], expect=expect)


def sent(done: Done) -> tuple[int, bool, int]:
    """Bytes, whether the program was among them, and resources."""
    found = SENT.search(done.err)
    check(found is not None, done.text)
    return int(found[1]), not found[2], int(found[3])


def record(context: Context, *app: str, file: str = "out.lapvm", options: tuple[str, ...] = ()) -> str:
    """The line of --verify of the trace's own replay."""
    context.run([context.app(app[0]), *app[1:]], context.layer_env(LAPILLI_VERIFY="all"))
    compile_trace(context, "out.lapilli", file, *options)
    return SUMS.findall(context.replay().out)[0]


PLAY = ("--verify", "--present", "headless")


@case
def here_and_there_are_the_same(context: Context) -> None:
    """Also pictures; and posts are what the recording has."""
    display()
    truth = record(context, "triangle", "--frames", "5", options=("--post-checks",))
    context.replay("out.lapilli", "--screenshot", "2-3", "--screenshot-dir", "own")
    recorded = [(int(args["hashLow"], 0), int(args["hashHigh"], 0)) for line in context.print_lines() if "Check" in line["name"] and (args := line["args"])]
    for address in (None, UNIX, TCP):
        device = Device(context, address) if address else None
        words = ("--posts", "posts.json", "out.lapvm", *PLAY, "--screenshot=2-3", "--screenshot-dir", f"shots{address and address[:3]}")
        done = device.run(*words) if device else run(context, *words)
        check(SUMS.findall(done.out) == [truth] and sent(done)[1], done.text)
        check(len(list((context.folder / "own").iterdir())) == 2, "there are no pictures")
        for picture in (context.folder / "own").iterdir():
            check((context.folder / words[-1] / picture.name).read_bytes() == picture.read_bytes(), f"{picture.name} differs")
        posts = [bytes.fromhex(post["data"]) for line in (context.folder / "posts.json").read_text().splitlines() if (post := json.loads(line))["packet"]]
        found = [struct.unpack_from("<QQ", post, at + 16) for post in posts for at in range(0, len(post), 48)]
        check(len(found) == int(truth.split()[1]) and sorted(found) == sorted(recorded), f"{len(found)} posts, {len(recorded)} checks: {found[:2]} {recorded[:2]}")
        if device:
            device.end()


@case
def what_is_there_is_not_sent_again(context: Context) -> None:
    """And what is damaged in the cache is; a cache that is too small for anything changes no result."""
    truth = record(context, "formats", options=("--resources", "kept"))
    device, cache = Device(context, UNIX, "--cache", "cache"), context.folder / "cache"
    first, second = (device.run("--resources", "kept", "out.lapvm", *PLAY) for _ in range(2))
    check(SUMS.findall(first.out) == SUMS.findall(second.out) == [truth], f"{first.text}{second.text}")
    (bytes_first, _, count), again = sent(first), sent(second)
    check(count > 10 and bytes_first > 50000 and again[0] < 1000 and again[1:] == (False, 0), f"{sent(first)}, then {again}")
    check(SUMS.findall(device.run("out.lapvm", *PLAY).out) == [truth], "the owner need not have the resources any more")
    worst = max(cache.iterdir(), key=lambda file: file.stat().st_size)
    worst.write_bytes(b"x" + worst.read_bytes()[1:])
    check(SUMS.findall(device.run("--resources", "kept", "out.lapvm", *PLAY).out) == [truth], "a damaged cache changes the result")
    device.end()
    device = Device(context, UNIX, "--cache", "small", "--cache-size", "0")
    done = device.run("--resources", "kept", "out.lapvm", *PLAY)
    check(SUMS.findall(done.out) == [truth] and not list((context.folder / "small").iterdir()), done.text)
    device.end()


@case
def a_missing_resource_is_said(context: Context) -> None:
    record(context, "formats", options=("--no-resources",))
    for done in (run(context, "out.lapvm", *PLAY, expect=1), context.replay("out.lapvm", expect=1)):
        check("resource 0: it is neither in the program nor where its others are" in done.err and "packet" in done.err, done.text)


@case
def a_replay_ends_with_its_owner(context: Context) -> None:
    """The device goes on; and when it ends, so do its replays and their owners."""
    record(context, "triangle", "--offscreen", "--frames", "3")
    device = Device(context, UNIX, **context.layer_env(STUCK, LAPILLI_STUCK="1"))
    for killed in (True, False):
        owner = subprocess.Popen([context.program("lapilli-run"), "--on", device.address, "out.lapvm", *PLAY], cwd=context.folder, env=context.environment(),
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        until(lambda: bool(replays(device)), "a replay")
        if killed:
            owner.kill()
            until(lambda: not children_of(device.process), "the replay's end")
        else:
            device.end()
        err = owner.communicate(timeout=SOON)[1]
        check(killed or (owner.returncode == 1 and "closed the connection" in err), f"{owner.returncode} {err}")


@case
def the_initial_part_is_played_before_it_is_wanted(context: Context) -> None:
    """What comes behind the wait is what comes without one; and nothing does where nobody wants it."""
    display()
    truth = record(context, "triangle", "--frames", "6", options=("--frames", "4-6"))
    device = Device(context)
    command = [context.program("lapilli-run"), "--on", device.address, "--wait", "out.lapvm", *PLAY, "--screenshot", "3-4"]
    owner = subprocess.Popen(command, cwd=context.folder, env=context.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in owner.stderr:
        if "lapilli-run: waits in front of frame 4 " in line:
            break
    check(owner.poll() is None and len(replays(device)) == 1 and not list(context.folder.glob("frame_*")), "it does not wait")
    out, err = owner.communicate("\n", timeout=SOON)
    check(owner.returncode == 0 and SUMS.findall(out) == [truth] and len(list(context.folder.glob("frame_*"))) == 2, f"{out}{err}")
    replayed = subprocess.run([context.program("lapilli-replay"), *PLAY, "--wait", "4", "out.lapilli"], cwd=context.folder, env=context.environment(),
                              input="\0", capture_output=True, text=True, timeout=SOON, check=False)
    check(replayed.returncode == 0 and SUMS.findall(replayed.stdout) == [truth], replayed.stderr)
    device.end()


@case
def a_driver_that_crashes_is_named(context: Context) -> None:
    crashing(context)
    record(context, "triangle", "--offscreen", "--frames", "3")
    device = Device(context, UNIX, **context.layer_env(CRASH, LAPILLI_CRASH="vkQueueSubmit:2:segv"))
    done = device.run("out.lapvm", *PLAY, expect=1)
    check("lapilli-run: the replay was ended: Segmentation fault" in done.err and re.search(r"crashed \(SIGSEGV\) in \w+, packet \d+", done.err) is not None, done.text)
    device.end()


@case
def strangers_get_nothing(context: Context) -> None:
    """Without the token, with another protocol, and with options of their own."""
    truth = record(context, "triangle", "--offscreen", "--frames", "3")
    for name, text in (("right", "a secret of some length"), ("wrong", "another secret of length")):
        (context.folder / name).write_text(text)
        (context.folder / name).chmod(0o600)
    device = Device(context, TCP, "--token-file", "right")
    for words in ((), ("--token-file", "wrong")):
        check("token" in device.run(*words, "out.lapvm", *PLAY, expect=1).err, "no sentence")
    port = int(device.address.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n" * 10)
        stranger.settimeout(SOON)
        with contextlib.suppress(ConnectionResetError):
            check(stranger.recv(4096)[:8] in (b"", b"LAPSTRM\n"), "it answers")
    check(SUMS.findall(device.run("--token-file", "right", "out.lapvm", *PLAY).out) == [truth], "it does not go on")
    for word in ("--sandbox=off", "--measure=x.json", "--listen=unix:x", "--resources=/"):
        check("no option" in run(context, "out.lapvm", word, expect=2).err or "takes no value" in run(context, "out.lapvm", word, expect=2).err, word)
    device.end()


@case
def half_open_greetings_keep_nobody_out(context: Context) -> None:
    """More than are greeted at a time; and one that has gone is not the one program of --once."""
    truth = record(context, "triangle", "--offscreen", "--frames", "3")
    token = write_token(context)
    device = Device(context, TCP, "--once", *token)
    half_open(device.address, 1).pop().close()
    silent = half_open(device.address, 100)
    check(SUMS.findall(device.run(*token, "out.lapvm", *PLAY).out) == [truth], "it has not played")
    err = device.process.communicate(timeout=SOON)[1]
    check(device.process.returncode == 0 and bool(silent), err)


@case
def a_program_that_claims_to_be_huge_is_refused(context: Context) -> None:
    device = Device(context, TCP)
    with socket.create_connection(("127.0.0.1", int(device.address.rsplit(":", 1)[1])), SOON) as owner:
        owner.sendall(HELLO[:56] + (3).to_bytes(4, "little") + HELLO[60:])
        owner.sendall(struct.pack("<IIQ", 1, 0, 0) + struct.pack("<IIQ", 2, 0, 24) + struct.pack("<QQQ", 1, 2, 257 << 20))
        said = b""
        while struct.pack("<IIQ", 10, 1, 0) not in said:
            said += (more := owner.recv(4096))
            check(more != b"", f"the connection has ended: {said}")
    check(b"at most 256 MiB are taken (--program-size)" in said, f"{said}")
    device.end()
