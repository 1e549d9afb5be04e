# SPDX-License-Identifier: MIT
"""Traces that are streamed to lapilli receive while they are made: whole, cut off at either end, slow, several at once, with tokens."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Callable

from e2e.cases import FILE_HEADER_BYTES, Cases, Context, Done, Skip, check, check_verified, child_of, children_of, chunks_of, patience
from e2e.finish import endless, finish, start

CASES = Cases()
case = CASES.add

UNIX = "unix:socket"
TCP = "tcp://127.0.0.1:0"
TRIANGLE = ("triangle", "--offscreen", "--frames", "40")
HELLO = b"LAPSTRM\n" + (2).to_bytes(4, "little") + bytes(36) + (1).to_bytes(4, "little") + bytes(12) + b"x"  # to stream a trace
SOON = 60  # seconds, for what happens at once


def cases() -> dict[str, Callable[[Context], None]]:
    return CASES


class Receiver:
    """lapilli receive, which listens when this is made."""

    def __init__(self, context: Context, address: str = UNIX, *options: str, within: tuple[str, ...] = ()) -> None:
        self.context = context
        self.process = subprocess.Popen([*within, context.program("lapilli-receive"), "--listen", address, "-o", "received", "--json", *options], cwd=context.folder,
                                        env=context.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        check(line.startswith('{"listening"'), f"{line}{self.process.stderr.read() if not line else ''}")
        self.address = json.loads(line)["listening"]

    def __del__(self) -> None:
        """A case that fails leaves none behind; the worker ends with its parent."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    @property
    def worker(self) -> int:
        """The process that reads what strangers send."""
        until(lambda: bool(children_of(self.process)), "the receiver's worker")
        return children_of(self.process)[0]

    def end(self, expect: int = 0) -> list[dict]:
        """Tells it to end, unless it does; what it says of its traces."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.wait(expect)

    def wait(self, expect: int = 0) -> list[dict]:
        out, self.err = self.process.communicate(timeout=SOON)
        check(self.process.returncode == expect, f"exit status {self.process.returncode}, expected {expect}\n{out}{self.err}")
        return [json.loads(line) for line in out.splitlines()]


def abstract(context: Context) -> str:
    """A name that is no file: of its own for each case, since the machine has them in common."""
    return f"unix:@lapilli-test-{os.getpid()}-{context.folder.name}"


def capturing(context: Context, address: str, *command: str, options: tuple[str, ...] = ()) -> list[str]:
    return [context.program("lapilli"), "capture", "--verify", "-o", address, *options, "--", *command]


def app(context: Context, name: str, *arguments: str) -> list[str]:
    return [context.app(name), *arguments]


def names(context: Context) -> list[str]:
    return sorted(p.name for p in (context.folder / "received").glob("*"))


def until(what: Callable[[], bool], text: str) -> None:
    end = time.monotonic() + patience(SOON)
    while not what():
        check(time.monotonic() < end, f"{text} has not come")
        time.sleep(0.05)


def check_cut_off(context: Context, told: dict, reason: str, frames: int) -> None:
    """What arrived plays, and the file says why there is no more."""
    check(told["complete"] is False and reason in told["stopped"], f"{told}")
    check(told["frames"] >= frames, f"{told['frames']} of {frames} frames")
    info = context.info(told["file"])
    check(info["indexed"] and info["ended"]["finished_by"] == "receive" and reason in info["stopped"], f"{info}")
    done = context.replay(told["file"], expect=4)
    check(check_verified(done) > 0, "nothing was compared")
    check(f"{told['frames']} frames of it were played" in done.err, done.err)


@case
def streamed_traces_are_whole(context: Context) -> None:
    """By each way, and byte by byte what a file would have."""
    for address in (UNIX, abstract(context), TCP, "tcp://[::1]:0"):
        if "::1" in address and not Path("/proc/net/if_inet6").exists():
            continue
        receiver = Receiver(context, address, "--name", "%e-%n.lapilli")
        done = context.run(capturing(context, receiver.address, *app(context, *TRIANGLE)))
        check("1 process streamed" in done.err, done.err)
        [told] = receiver.end()
        check(told["complete"] is True and told["program"] == "triangle", f"{told}")
        info = context.info(told["file"])
        check(info["complete"] is True and info["frames"] == told["frames"] >= 40, f"{info['frames']} frames")
        check(info["receiver_waited_ms"] is not None, "it does not say that it was streamed")
        check(check_verified(context.replay(told["file"])) > 0, "nothing was compared")
        check("streamed" in context.run([context.program("lapilli"), "info", told["file"]]).out, "nor as text")
    check(not (context.folder / "socket").exists() and not list(context.folder.glob("@*")), "a receiver left its socket")
    check(not list(context.folder.glob("*.lapilli*")), "there is a file on the program's side")


OTHER = 65534  # a user
# Of that user: knocks at a name for each purpose and says the verdicts, or listens there and says who came.
STRANGER = f"""
import os, socket, sys
os.setgroups([])
os.setgid({OTHER})
os.setuid({OTHER})
name, hello = chr(0) + sys.argv[1], {HELLO!r}
for role in range(3) if sys.argv[2] == "knock" else ():
    there = socket.socket(socket.AF_UNIX)
    there.connect(name)
    there.sendall(hello[:56] + bytes([role]) + hello[57:])
    print(int.from_bytes(there.recv(80)[12:16], "little"))
if sys.argv[2] == "listen":
    here = socket.socket(socket.AF_UNIX)
    here.bind(name)
    here.listen()
    print("listens", flush=True)
    while True:
        print(here.accept()[0].recv(64), flush=True)
"""


@case
def names_that_are_no_files_are_for_their_user(context: Context) -> None:
    """They have no mode, so each side asks the kernel who the other one is. Else a token has to tell."""
    if os.getuid() != 0 or not shutil.which("setpriv"):
        raise Skip("only root can run programs as somebody else")
    address = abstract(context)
    stranger = [sys.executable, "-c", STRANGER, address.removeprefix("unix:@")]
    control = [context.program("lapilli"), "control", address, "status"]
    receiver = Receiver(context, address)
    verdicts = context.run([*stranger, "knock"]).out.split()
    check(verdicts == ["4", "4", "4"], f"{verdicts}")
    check(receiver.end() == [] and f"it is of user {OTHER}, which needs a token" in receiver.err, receiver.err)
    listens = subprocess.Popen([*stranger, "listen"], stdout=subprocess.PIPE, text=True)
    listens.stdout.readline()
    for command in (capturing(context, address, *app(context, *TRIANGLE)), control):
        done = context.run(command, expect=None)
        check(f"user {OTHER} listens there: that needs a token" in done.err, done.err)
    listens.kill()
    check("LAPSTRM" not in listens.communicate()[0], "it was greeted")
    if context.folder.resolve().is_relative_to("/root"):
        return
    token = write_token(context)
    receiver = Receiver(context, address, *token)
    context.folder.chmod(0o755)
    shutil.copy(context.folder / "token", context.folder / "theirs")
    os.chown(context.folder / "theirs", OTHER, OTHER)
    done = context.run(["setpriv", f"--reuid={OTHER}", "--clear-groups", f"--regid={OTHER}", *control, "--token-file", "theirs"], expect=None)
    if "can't check tokens" not in done.err:
        check(receiver.end() == [] and receiver.err == "" and "no recorded program" in done.err, receiver.err + done.text)


@case
def streamed_traces_are_received_by_hand_and_under_any_name(context: Context) -> None:
    """Without lapilli capture, and with the places in names; no name of a program leaves the folder."""
    receiver = Receiver(context, UNIX, "--name", "%e.%p.trace")
    context.run(app(context, *TRIANGLE), context.layer_env(LAPILLI_FILE=f"unix:{context.folder}/socket"))
    [told] = receiver.end()
    check(Path(told["file"]).name == f"triangle.{told['process']}.trace", f"{told}")
    check(context.info(told["file"])["complete"] is True, "it is not complete")


@case
def programs_wait_for_a_receiver(context: Context) -> None:
    """Until there is one, before their first call; told not to they run and are not recorded."""
    done = context.run(capturing(context, UNIX, *app(context, *TRIANGLE), options=("--no-wait",)))
    check(done.err.count("nothing is recorded: there is no receiver for the trace") == 1, done.err)
    process = subprocess.Popen(capturing(context, UNIX, *app(context, *TRIANGLE)), cwd=context.folder, env=context.environment(), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    line = process.stderr.readline()
    check(b"waits for a receiver of its trace" in line, line.decode())
    check(process.poll() is None, "it did not wait")
    impatient = subprocess.Popen(capturing(context, UNIX, *app(context, *TRIANGLE)), cwd=context.folder, env=context.environment(), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
    impatient.stderr.readline()
    impatient.send_signal(signal.SIGTERM)
    done = finish(impatient)
    check("there is no trace" in done.err and done.err.endswith(" used no Vulkan with the layer, or ended before there was a receiver\n"), done.err)
    receiver = Receiver(context)
    done = finish(process)
    check(done.status == 0, done.text)
    [told] = receiver.end()
    check(context.info(told["file"])["receiver_waited_ms"] >= 1000, "it does not say how long it has waited")


@case
def programs_outlive_their_receivers(context: Context) -> None:
    """Killed, or told to end: the program goes on, the layer says so once, and what arrived plays."""
    for number in (signal.SIGKILL, signal.SIGTERM):
        receiver = Receiver(context, UNIX)
        process = start(context, capturing(context, UNIX, *endless(context)))
        received = context.folder / "received/triangle.lapilli"
        while not received.exists() or received.stat().st_size < 1 << 17:  # of which something plays
            check(process.stdout.readline() == b"frame\n", "the program did not go on")
        if number == signal.SIGKILL:
            os.kill(receiver.worker, number)
            receiver.wait(1)
            check("was ended: Killed" in receiver.err, receiver.err)
        else:
            [told] = receiver.end(4)
            check_cut_off(context, told, "a signal ended the receiver", 5)
        line = b""
        while b"recording has stopped: can't stream to" not in line:
            line = process.stderr.readline()
            check(line != b"", "the program ended")
        for _ in range(200):
            check(process.stdout.readline() == b"frame\n", "the program did not go on")
        os.kill(child_of(process), signal.SIGTERM)
        done = finish(process)
        check("recording has stopped" not in done.err, done.err)
        if number == signal.SIGKILL:
            context.run([context.program("lapilli"), "repair", "received/triangle.lapilli"], expect=4)
            check(check_verified(context.replay("received/triangle.lapilli", expect=4)) > 0, "nothing was compared")
            received.unlink()


@case
def must_record_asks_whether_the_receiver_has_all(context: Context) -> None:
    receiver = Receiver(context)
    context.run(capturing(context, UNIX, *app(context, *TRIANGLE), options=("--must-record",)))
    context.run(capturing(context, UNIX, *app(context, "parts"), options=("--must-record", "--frames", "2,5")))
    receiver.end()
    for end in ("program", "receiver"):
        receiver = Receiver(context)
        process = start(context, capturing(context, UNIX, *endless(context), options=("--must-record",)))
        if end == "receiver":
            receiver.end(4)
        os.kill(child_of(process), signal.SIGTERM)
        done = finish(process)
        check(done.status == 3 and "not all was recorded: the receiver has not got all of a trace" in done.err, done.text)
        if end == "program":
            receiver.end(4)


@case
def what_a_killed_program_has_streamed_plays(context: Context) -> None:
    for number in (signal.SIGKILL, signal.SIGSEGV):
        for address in (UNIX, TCP):
            receiver = Receiver(context, address, "--once")
            process = start(context, capturing(context, receiver.address, *endless(context)), frames=60)
            os.kill(child_of(process), number)
            check(finish(process).status == 128 + number, "another exit status")
            [told] = receiver.wait(4)
            check_cut_off(context, told, "the connection ended before the trace did", 30)
    receiver = Receiver(context, UNIX, "--once")
    process = start(context, capturing(context, UNIX, *endless(context)), {"LAPILLI_QUEUE": "0"}, frames=60)
    os.kill(child_of(process), signal.SIGKILL)
    finish(process)
    [told] = receiver.wait(4)
    check(told["frames"] >= 60, f"without a queue, frames that had ended were not sent: {told}")


def by_hand(receiver: Receiver, trace: bytes) -> None:
    """Streams these bytes, as a program that is killed then."""
    with socket.create_connection(("127.0.0.1", int(receiver.address.rsplit(":", 1)[1]))) as peer:
        peer.sendall(HELLO + b"LPRC" + (1).to_bytes(4, "little") + len(trace).to_bytes(8, "little") + trace)
        check(len(peer.recv(80, socket.MSG_WAITALL)) == 80, "no answer to the greeting")
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(1000):
            pass


@case
def a_trace_that_has_hardly_begun_leaves_no_file(context: Context) -> None:
    """Its program is killed as it sends the dictionary. Behind that there is a file, which plays."""
    context.run(capturing(context, "whole.lapilli", *app(context, *TRIANGLE)))
    whole = (context.folder / "whole.lapilli").read_bytes()
    dictionary_end = chunks_of(whole, 1)[1]
    for count in (1, FILE_HEADER_BYTES, FILE_HEADER_BYTES + 72, dictionary_end - 1, dictionary_end):
        receiver = Receiver(context, TCP)
        by_hand(receiver, whole[:count])
        told = receiver.end(4 if count == dictionary_end else 0)
        check(len(told) == (count == dictionary_end) and names(context) == [Path(t["file"]).name for t in told], f"{count} bytes: {told} {names(context)}")
    context.run([context.program("lapilli"), "replay", "--present", "off", told[0]["file"]], expect=4)


@case
def a_trace_without_its_dictionary_leaves_no_file(context: Context) -> None:
    """Whatever else it has: nothing can be read of it. From one copy of the dictionary all is read."""
    context.run(capturing(context, "whole.lapilli", *app(context, "compute")))
    whole = (context.folder / "whole.lapilli").read_bytes()
    head, (first, second) = whole[:FILE_HEADER_BYTES], chunks_of(whole, 1)
    good, rest = whole[first:second], whole[second + second - first:]
    bad = good[:-1] + bytes([good[-1] ^ 1])
    for data in (head + rest, head + bad + bad + rest, head[:20] + bytes(20) + good + good + rest, head + bad + good + rest):
        receiver = Receiver(context, TCP)
        by_hand(receiver, data)
        told = receiver.end()
    check([Path(t["file"]).name for t in told] == ["x.lapilli"] == names(context), f"{told} {names(context)}")
    context.replay(told[0]["file"])


@case
def several_processes_stream_at_once(context: Context) -> None:
    """Each into a file of its own; a child that goes on after fork() streams its own, too."""
    receiver = Receiver(context)
    address = f"unix:{context.folder}/socket"
    running = [subprocess.Popen(app(context, *TRIANGLE), cwd=context.folder, env=context.environment(context.layer_env(LAPILLI_FILE=address, LAPILLI_VERIFY="1")),
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(4)]
    for process in running:
        _, err = process.communicate(timeout=SOON)
        check(process.returncode == 0, err.decode())
    context.run(app(context, "forks"), context.layer_env(LAPILLI_FILE=address))
    told = receiver.end(4)  # those of children that end without exit()
    check(names(context)[-4:] == ["triangle-2.lapilli", "triangle-3.lapilli", "triangle-4.lapilli", "triangle.lapilli"], f"{names(context)}")
    check(len({(t["file"], t["process"]) for t in told}) == len(told) == len(names(context)) > 5, f"{told}")
    for each in told:
        check(each["complete"] or each["program"] == "forks", f"{each}")
    for name in names(context)[-4:]:
        check(check_verified(context.replay(f"received/{name}")) > 0, "nothing was compared")


@case
def a_slow_receiver_makes_the_program_wait(context: Context) -> None:
    """It takes nothing for a while: the program's memory stays in its bounds, it waits, and the trace says how long."""
    receiver = Receiver(context)
    worker = receiver.worker
    program = [str(context.build / "tests/bench/stream"), "--size-mib", "16", "--frames", "12"]
    env = context.environment(context.layer_env(LAPILLI_FILE=f"unix:{context.folder}/socket", LAPILLI_QUEUE="16", LAPILLI_COMPRESSION="none"))
    process = subprocess.Popen(program, cwd=context.folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    received = context.folder / "received/stream.lapilli"
    until(lambda: process.poll() is not None or (received.exists() and received.stat().st_size > 1 << 20), "the beginning of the trace")
    os.kill(worker, signal.SIGSTOP)
    try:
        before = -1
        while process.poll() is None and before != (before := int(Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11])):
            time.sleep(1)  # as long as it computes it does not wait
    finally:
        os.kill(worker, signal.SIGCONT)
    if process.poll() == 77:
        receiver.end()
        raise Skip("the benchmark can't be run here")
    done = finish(process)
    check(done.status == 0, done.text)
    [told] = receiver.end()
    check(told["complete"] is True, f"{told}")
    info = context.info(told["file"])
    check(info["bytes"]["raw"] > 150 << 20, f"there was little to wait for: {info['bytes']}")
    check(info["waited_us"] > 500000, f"nobody waited: {info['waited_us']} us")
    check("and the receiver, in recording threads" in context.run([context.program("lapilli"), "info", told["file"]]).out, "info does not say so")
    context.run([context.program("lapilli"), "replay", "--present", "off", told["file"]])


@case
def strangers_who_stream_nonsense_are_turned_away(context: Context) -> None:
    """Nothing is written of what is no trace, and others are served meanwhile."""
    receiver = Receiver(context, TCP)
    port = int(receiver.address.rsplit(":", 1)[1])
    silent = socket.create_connection(("127.0.0.1", port))
    for words in (b"", b"GET / HTTP/1.0\r\n\r\n" * 8, HELLO[:30], HELLO[:8] + bytes(100), HELLO + bytes(1000), HELLO + b"LPRC" + (1).to_bytes(4, "little") + b"\xff" * 8,
                  HELLO + b"LPRC" + (1).to_bytes(4, "little") + (9).to_bytes(8, "little") + b"#!/bin/sh"):
        with socket.create_connection(("127.0.0.1", port)) as peer:
            try:  # it may be turned away before it has said everything
                peer.sendall(words)
                peer.shutdown(socket.SHUT_WR)
                while peer.recv(1000):
                    pass
            except OSError:
                pass
    context.run(capturing(context, receiver.address, *app(context, *TRIANGLE)))
    until(lambda: "triangle.lapilli" in names(context), "a trace")
    silent.close()
    told = receiver.end()
    check([Path(t["file"]).name for t in told] == ["triangle.lapilli"] == names(context), f"{told} {names(context)}\n{receiver.err}")
    check(receiver.err.count("a connection was refused") >= 4, receiver.err)


@case
def names_of_strangers_are_harmless(context: Context) -> None:
    """In names of files, and on terminals."""
    name = "-a\x1b[2J\u202egpj.\udc9bb" + "é" * 115
    shutil.copy(context.app("compute"), context.folder / name)
    receiver = Receiver(context)
    context.run([f"./{name}"], context.layer_env(LAPILLI_FILE=f"unix:{context.folder}/socket"))
    [told] = receiver.end()
    check(names(context) == ["_a_[2J_gpj._b" + "é" * 92 + ".lapilli"] == [Path(told["file"]).name], f"{names(context)} {told}")
    text = context.run([context.program("lapilli"), "info", told["file"]]).out
    check("gpj." in text and "\x1b" not in text and "\u202e" not in text, text)


def half_open(address: str, count: int) -> list[socket.socket]:
    """Connections that say nothing, or half of a greeting, and those that don't prove their token."""
    silent = []
    for i in range(count):
        silent.append(socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1]))))
        silent[-1].sendall((b"", HELLO[:40], HELLO[:52] + (1).to_bytes(4, "little") + HELLO[56:])[i % 3])
    return silent


def write_token(context: Context) -> tuple[str, str]:
    (context.folder / "token").write_text("0123456789abcdef")
    (context.folder / "token").chmod(0o600)
    return "--token-file", "token"


def stream(context: Context, address: str, *options: str) -> None:
    if "can't check tokens" in context.run(capturing(context, address, *app(context, *TRIANGLE), options=options)).err:
        raise Skip("this build has no tokens")


@case
def half_open_greetings_keep_nobody_out(context: Context) -> None:
    """More than a receiver takes."""
    token = write_token(context)
    receiver = Receiver(context, TCP, *token)
    silent = half_open(receiver.address, 500)
    stream(context, receiver.address, *token)
    [told] = receiver.end()
    check(told["complete"] is True and bool(silent), f"{told}")


@case
def half_open_greetings_do_not_delay_a_replay(context: Context) -> None:
    token = write_token(context)
    replay = subprocess.Popen([context.program("lapilli-replay"), "--listen", TCP, *token, "--verify", "--present", "off"], cwd=context.folder, env=context.environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address = re.search(r"tcp://[^ ,]+", replay.stderr.readline())[0]
    silent = half_open(address, 100)
    stream(context, address, *token)
    out, err = replay.communicate(timeout=SOON)
    check(replay.returncode == 0 and "verify: 40 checks, 0 different" in out and bool(silent), f"{replay.returncode} {out}{err}")


@case
def tokens_are_needed_and_compared(context: Context) -> None:
    for name, text in (("one", "0123456789abcdef0123456789abcdef\n"), ("other", "0123456789abcdef0123456789abcdeX\n"), ("short", "short\n"), ("open", "x" * 32)):
        (context.folder / name).write_text(text)
        (context.folder / name).chmod(0o644 if name == "open" else 0o600)
    for name in ("short", "open", "none"):
        done = context.run([context.program("lapilli"), "receive", "--listen", UNIX, "--token-file", name], expect=2)
        check("token" in done.err, done.err)
        context.run(capturing(context, UNIX, *app(context, *TRIANGLE), options=("--token-file", name)), expect=2)
    done = context.run([context.program("lapilli"), "receive", "--listen", "tcp://0.0.0.0:0"], expect=2)
    check("--token-file" in done.err, done.err)
    done = context.run(capturing(context, "tcp://192.0.2.1:7", *app(context, *TRIANGLE)), expect=2)
    check("--token-file" in done.err, done.err)

    receiver = Receiver(context, "tcp://0.0.0.0:0", "--token-file", "one")
    address = receiver.address.replace("0.0.0.0", "127.0.0.1")
    for options, reason in (((), "the receiver wants a token"), (("--token-file", "other"), "the receiver has another token")):
        done = context.run(capturing(context, address, *app(context, *TRIANGLE), options=options))
        if "made without Nettle" in done.err or "can't check tokens" in done.err:
            receiver.end()
            raise Skip("this build has no tokens")
        check(done.err.count("nothing is recorded") == 1 and reason in done.err, done.err)
    done = context.run(capturing(context, address, *app(context, *TRIANGLE), options=("--token-file", "one")))
    [told] = receiver.end()
    check(told["complete"] is True and check_verified(context.replay(told["file"])) > 0, f"{told}")
    receiver = Receiver(context)
    done = context.run(capturing(context, UNIX, *app(context, *TRIANGLE), options=("--token-file", "one")))
    check("the receiver has no token" in done.err, done.err)
    check(receiver.end() == [], "a trace came without the token")


@case
def processes_without_an_instance_leave_no_streamed_file(context: Context) -> None:
    receiver = Receiver(context)
    context.run(app(context, *TRIANGLE), context.layer_env(LAPILLI_FILE=f"unix:{context.folder}/socket", VK_DRIVER_FILES="/dev/null", VK_ICD_FILENAMES="/dev/null"),
                expect=None)
    check(receiver.end() == [] and names(context) == [], f"{names(context)}")


@case
def programs_that_close_the_connection_run_on(context: Context) -> None:
    """All descriptors from 3 on are closed, several times: what was recorded before plays."""
    receiver = Receiver(context)
    plain = context.run(app(context, "closes"), expect=None)
    done = context.run(app(context, "closes"), context.layer_env(LAPILLI_FILE=f"unix:{context.folder}/socket", LAPILLI_VERIFY="1"), expect=None)
    check(done.status == plain.status, f"{done.status}, without the layer {plain.status}\n{done.text}")
    check(done.err.count("recording has stopped") <= 1, done.err)
    receiver.process.send_signal(signal.SIGTERM)
    out, _ = receiver.process.communicate(timeout=SOON)
    for told in map(json.loads, out.splitlines()):
        context.replay(told["file"], expect=0 if told["complete"] else 4)


@case
def addresses_are_checked(context: Context) -> None:
    """Before a program starts, or a receiver."""
    for address in ("tcp://", "tcp://1.2.3.4", "tcp://name:1", "unix:", "unix:" + "x" * 200):
        done = context.run(capturing(context, address, "true"), expect=2)
        check(len(done.err.strip().splitlines()) == 1, done.err)
        context.run([context.program("lapilli"), "receive", "--listen", address], expect=2)
    context.run([context.program("lapilli"), "receive"], expect=2)
    context.run([context.program("lapilli"), "receive", "--listen", UNIX, "--name", "a/b"], expect=2)
    context.run([context.program("lapilli"), "receive", "--listen", UNIX, "--name", "%x"], expect=2)
    context.run([context.program("lapilli"), "receive", "--listen", UNIX, "--once", "--exit-when-done"], expect=2)
    context.run(capturing(context, "out.lapilli", "true", options=("--no-wait",)), expect=2)
    receiver = Receiver(context)
    done = context.run([context.program("lapilli"), "receive", "--listen", UNIX], expect=1)
    check("already in use" in done.err, done.err)
    os.kill(receiver.process.pid, signal.SIGKILL)  # its socket stays, and the next one takes its place
    receiver.process.communicate(timeout=SOON)
    check((context.folder / "socket").exists(), "there is no socket")
    again = Receiver(context)
    context.run(capturing(context, UNIX, *app(context, *TRIANGLE)))
    [told] = again.end()
    check(told["complete"] is True, f"{told}")


class ReplayListening:
    """lapilli replay --listen, which listens when this is made."""

    def __init__(self, context: Context, address: str, *options: str) -> None:
        self.process = subprocess.Popen([context.program("lapilli"), "replay", "--present", "off", "--listen", address, *options], cwd=context.folder,
                                        env=context.environment({"TMPDIR": str(context.folder)}), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        check("waits for a trace at " in line, f"{line}{self.process.stderr.read() if not line else ''}")
        self.address = line.split(" at ")[1].split(",")[0].strip()

    def __del__(self) -> None:
        """A case that fails leaves none behind; the process that receives ends with its parent."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    @property
    def worker(self) -> int:
        until(lambda: bool(children_of(self.process)), "the process that receives")
        return children_of(self.process)[0]

    def end(self, expect: int = 0) -> Done:
        out, err = self.process.communicate(timeout=SOON)
        check(self.process.returncode == expect, f"exit status {self.process.returncode}, expected {expect}\n{out}{err}")
        return Done(self.process.returncode, out, err)


@case
def a_replay_plays_what_a_program_streams(context: Context) -> None:
    """By each way, after strangers and processes without an instance; when the program is killed what has arrived."""
    for address in (UNIX, TCP):
        replay = ReplayListening(context, address, "--verify")
        if address == TCP:
            with socket.create_connection(("127.0.0.1", int(replay.address.rsplit(":", 1)[1]))) as peer:
                peer.sendall(b"GET / HTTP/1.0\r\n\r\n" * 8)
        context.run(capturing(context, replay.address, *app(context, *TRIANGLE)))
        done = replay.end()
        check(check_verified(done) >= 40, "nothing was compared")
        check(("a connection was refused" in done.err) == (address == TCP), done.err)
        check("receiving the trace of triangle" in done.err, done.err)
    check(not (context.folder / "socket").exists(), "it left its socket")

    replay = ReplayListening(context, UNIX, "--verify")
    process = start(context, capturing(context, UNIX, *endless(context)), frames=60)
    done = context.run(capturing(context, UNIX, *app(context, *TRIANGLE)))  # one trace at a time
    check("nothing is recorded" in done.err and "the receiver takes no such connection" in done.err, done.err)
    os.kill(child_of(process), signal.SIGKILL)
    finish(process)
    done = replay.end(4)
    check(check_verified(done) > 0 and "the connection ended before the trace did" in done.err, done.err)


@case
def a_replay_plays_a_recording_that_is_stopped(context: Context) -> None:
    """The program runs on while it is played, and whoever has stopped it gets his answer."""
    replay = ReplayListening(context, UNIX, "--verify")
    process = start(context, capturing(context, UNIX, *endless(context)))
    until(lambda: len(control(context, UNIX, "status", expect=None)) == 1, "the program's connection for commands")
    [stopped] = control(context, UNIX, "stop")
    check(stopped["state"] == "ended" and stopped["frames"] >= 30, f"{stopped}")
    done = replay.end()
    check_verified(done, stopped["frames"] - 5)  # two submits are no frames of the program, and checks of the last ones wait for the device
    for _ in range(200):
        check(process.stdout.readline() == b"frame\n", "the program did not go on")
    os.kill(child_of(process), signal.SIGTERM)
    finish(process)


@case
def a_replay_that_waits_for_a_trace_can_be_ended(context: Context) -> None:
    replay = ReplayListening(context, UNIX)
    child = replay.worker
    replay.process.send_signal(signal.SIGTERM)
    replay.end(-signal.SIGTERM)
    until(lambda: not Path(f"/proc/{child}").exists(), "the end of the process that receives")
    check(not (context.folder / "socket").exists() and not list(context.folder.glob("lapilli-replay-*")), "it left its socket, or its file")
    for options in (("--listen", UNIX, "a.lapilli"), ("--listen", "tcp://0.0.0.0:0"), ("--listen", "nowhere"), ("--token-file", "x", "a.lapilli"), ("--check", "--listen", UNIX)):
        context.run([context.program("lapilli"), "replay", *options], expect=2)
    replay = ReplayListening(context, UNIX)
    os.kill(replay.worker, signal.SIGKILL)
    done = replay.end(1)
    check("was ended: Killed" in done.err, done.err)


def control(context: Context, address: str, *words: str, expect: int = 0) -> list[dict]:
    done = context.run([context.program("lapilli"), "control", "--json", address, *words], expect=expect)
    return [json.loads(line) for line in done.out.splitlines()]


@case
def a_recording_is_asked_and_stopped(context: Context) -> None:
    """While the program runs: what is recorded, and its end in good order, behind which the program runs on."""
    for address in (UNIX, TCP):
        receiver = Receiver(context, address, "--once", "--name", "%e-%n.lapilli")
        process = start(context, capturing(context, receiver.address, *endless(context)))
        until(lambda: len(control(context, receiver.address, "status", expect=None)) == 1, "the program's connection for commands")
        [first] = control(context, receiver.address, "status")
        check(first["program"] == "triangle" and first["state"] == "recording" and first["outcome"] == "done", f"{first}")
        for _ in range(50):
            process.stdout.readline()
        [then] = control(context, receiver.address, "status")
        check(then["frames"] > first["frames"] and then["bytes"] > first["bytes"] and then["process"] == child_of(process), f"{first} {then}")
        [stopped] = control(context, receiver.address, "stop")
        check(stopped["state"] == "ended" and stopped["frames"] >= then["frames"] and stopped["bytes"] > then["bytes"], f"{stopped}")
        [told] = receiver.wait()  # though the program runs on
        check(told["complete"] is True and told["frames"] == stopped["frames"] and told["bytes"] == stopped["bytes"], f"{told} {stopped}")
        for _ in range(200):
            check(process.stdout.readline() == b"frame\n", "the program did not go on")
        os.kill(child_of(process), signal.SIGTERM)
        done = finish(process)
        check("recording has stopped" not in done.err and "very end" not in done.err, done.err)
        check(check_verified(context.replay(told["file"])) >= 30, "nothing was compared")


def state(context: Context, address: str) -> dict:
    [told] = control(context, address, "status")
    return told


def obeys(context: Context, receiver: Receiver) -> None:
    until(lambda: len(control(context, receiver.address, "status", expect=None)) == 1, "the program's connection for commands")


@case
def parts_begin_and_end_by_command(context: Context) -> None:
    """Nothing is recorded until somebody says so; each part is a trace of its own, and the program goes on behind it."""
    receiver = Receiver(context)
    process = start(context, capturing(context, receiver.address, *endless(context), options=("--trigger", "control")))
    obeys(context, receiver)
    told = state(context, receiver.address)
    check(told["state"] == "waiting" and told["frames"] == 0 and not names(context), f"{told} {names(context)}")
    [refused] = control(context, receiver.address, "stop", expect=1)
    check(refused["outcome"] == "refused" and "nothing is being recorded" in refused["reason"], f"{refused}")
    [begun] = control(context, receiver.address, "frames", "3")
    check(begun["outcome"] == "done" and "begins" in begun["reason"], f"{begun}")
    until(lambda: state(context, receiver.address)["frames"] == 3 and state(context, receiver.address)["state"] == "waiting", "the end of three frames")
    for _ in range(2):
        control(context, receiver.address, "start")
        until(lambda: state(context, receiver.address)["state"] == "recording", "the beginning of a part")
        [refused] = control(context, receiver.address, "frames", "2", expect=1)
        check(refused["state"] == "recording" and "already" in refused["reason"], f"{refused}")
        until(lambda: state(context, receiver.address)["frames"] >= 5, "five frames")
        [stopped] = control(context, receiver.address, "stop")
        check(stopped["state"] == "waiting" and stopped["frames"] >= 5 and stopped["bytes"] > 0, f"{stopped}")
    os.kill(child_of(process), signal.SIGTERM)
    check(finish(process).status == 128 + signal.SIGTERM, "another exit status")
    traces = receiver.end()
    check(len(traces) == 3 and all(t["complete"] for t in traces) and traces[0]["frames"] == 3, f"{traces}")
    check(traces[2]["frames"] == stopped["frames"] and traces[2]["bytes"] == stopped["bytes"], f"{traces} {stopped}")
    for trace in traces:
        check_verified(context.replay(trace["file"]))


@case
def a_receiver_ends_behind_the_last_program(context: Context) -> None:
    """Not behind a process without an instance, nor behind the first of several, nor between two parts of a run."""
    receiver = Receiver(context, UNIX, "--exit-when-done", "--name", "%e-%n.lapilli")
    nothing = context.layer_env(LAPILLI_FILE=f"unix:{context.folder}/socket", VK_DRIVER_FILES="/dev/null", VK_ICD_FILENAMES="/dev/null")
    context.run(app(context, *TRIANGLE), nothing, expect=None)
    process = start(context, capturing(context, UNIX, *endless(context), options=("--no-wait", "--trigger", "control")))
    obeys(context, receiver)
    context.run(capturing(context, UNIX, *app(context, *TRIANGLE), options=("--no-wait",)))
    for _ in range(2):
        control(context, UNIX, "frames", "3")
        until(lambda: state(context, UNIX)["frames"] == 3 and state(context, UNIX)["state"] == "waiting", "the end of three frames")
        control(context, UNIX, "start")
        until(lambda: state(context, UNIX)["state"] == "recording" and state(context, UNIX)["frames"] >= 4, "four frames")
        control(context, UNIX, "stop")
    os.kill(child_of(process), signal.SIGTERM)
    finish(process)
    traces = receiver.wait()
    check(len(traces) == 5 and all(trace["complete"] for trace in traces), f"{traces}")


class Terminal:
    """lapilli receive, whose stderr is a terminal."""

    def __init__(self, context: Context, address: str, *options: str) -> None:
        self.text, self.end, slave = b"", *pty.openpty()
        self.process = subprocess.Popen([context.program("lapilli"), "receive", "--listen", address, "-o", "received", "--name", "%e-%n.lapilli", *options], cwd=context.folder,
                                        env=context.environment(), stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self) -> None:
        with contextlib.suppress(OSError):  # the other end was closed
            while data := os.read(self.end, 4096):
                self.text += data

    def lines(self) -> list[str]:
        """Ends the receiver; what stands on the terminal then."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=SOON)
        self.thread.join()
        os.close(self.end)
        return [line.rsplit("\x1b[K", 1)[-1].rstrip("\r") for line in self.text.decode().split("\n")]


@case
def a_terminal_shows_what_arrives(context: Context) -> None:
    """In one line, which is gone when another one or the end comes."""
    silent = [Terminal(context, "unix:quiet", "--quiet"), Terminal(context, "unix:json", "--json")]
    terminal = Terminal(context, UNIX)
    running = [start(context, capturing(context, address, *endless(context))) for address in ("unix:quiet", "unix:json", UNIX)]
    until(lambda: bool(re.search(rb"\x1b\[K\x1b\[\?7l1 program, triangle-\d.lapilli: \d+\.\d MiB, \d+\.\d MiB/s\x1b", terminal.text)), "the line")
    running.append(start(context, capturing(context, UNIX, *endless(context))))
    until(lambda: b"l2 programs, 2 traces: " in terminal.text, "the line for two")
    lines = terminal.lines()
    check(lines.pop() == "" and all(line.startswith("lapilli-receive: ") for line in lines), f"{lines}")
    check(sum("received/triangle-" in line for line in lines) == 4, f"{lines}")  # the beginnings and the ends
    for one in silent:
        text = "\n".join(one.lines())
        check("\x1b" not in one.text.decode() and "program" not in text, text)
    for process in running:
        os.kill(child_of(process), signal.SIGTERM)
        finish(process)


@case
def commands_work_beside_frames_that_were_asked_for(context: Context) -> None:
    """A range that is stopped does not begin again; the program waits for no receiver until there is something to record."""
    # Until somebody reads on, the program gets no further than the pipe and the reader's buffer hold: some 1,400 lines.
    process = start(context, capturing(context, UNIX, *endless(context), options=("--frames", "2000-100000000")), pipesize=4096)
    receiver = Receiver(context)
    obeys(context, receiver)
    check(state(context, receiver.address)["state"] == "waiting", "it does not wait")
    control(context, receiver.address, "frames", "6")
    for _ in range(300):  # the program may stand there already
        process.stdout.readline()
    until(lambda: state(context, receiver.address)["frames"] == 6, "six frames")
    threading.Thread(target=lambda: [None for _ in process.stdout], daemon=True).start()
    until(lambda: state(context, receiver.address)["state"] == "recording" and state(context, receiver.address)["frames"] >= 6, "the range")
    [stopped] = control(context, receiver.address, "stop")
    check(stopped["state"] == "waiting" and stopped["frames"] >= 6, f"{stopped}")
    time.sleep(0.5)
    check(state(context, receiver.address)["state"] == "waiting", "the range has begun again")
    control(context, receiver.address, "frames", "8")
    until(lambda: state(context, receiver.address)["frames"] == 8, "eight frames")
    os.kill(child_of(process), signal.SIGKILL)
    process.wait(timeout=SOON)
    traces = receiver.end()
    check([t["frames"] for t in traces] == [6, stopped["frames"], 8] and all(t["complete"] for t in traces), f"{traces}")
    for trace in traces:
        check_verified(context.replay(trace["file"]))


@case
def parts_by_command_are_for_streams(context: Context) -> None:
    done = context.run([context.program("lapilli"), "capture", "--trigger", "control", "--", "true"], expect=2)
    check("--trigger control needs --control ADDRESS, or a trace that is streamed" in done.err, done.err)
    for words in (("frames",), ("frames", "0"), ("frames", "x"), ("start", "3"), ("keep-last",)):
        context.run([context.program("lapilli"), "control", UNIX, *words], expect=2)
    receiver = Receiver(context)
    process = start(context, capturing(context, receiver.address, *endless(context)))
    obeys(context, receiver)
    for words in (("start",), ("frames", "3")):
        [refused] = control(context, receiver.address, *words, expect=1)
        check(refused["outcome"] == "refused" and "the whole run is recorded" in refused["reason"], f"{refused}")
    control(context, receiver.address, "stop")
    os.kill(child_of(process), signal.SIGKILL)
    finish(process)
    receiver.end()


@case
def commands_reach_the_processes_that_are_meant(context: Context) -> None:
    receiver = Receiver(context)
    check(control(context, receiver.address, "status", expect=1) == [], "somebody answered")
    running = [start(context, capturing(context, receiver.address, *endless(context))) for _ in range(3)]
    until(lambda: len(control(context, receiver.address, "status", expect=None)) == 3, "the programs' connections")
    mine = child_of(running[1])
    [stopped] = control(context, receiver.address, "stop", "--process", str(mine))
    check(stopped["process"] == mine and stopped["state"] == "ended", f"{stopped}")
    [again] = control(context, receiver.address, "stop", "--process", str(mine), expect=1)
    check(again["outcome"] == "refused" and again["reason"] == "nothing is being recorded", f"{again}")
    check(control(context, receiver.address, "status", "--process", "1", expect=1) == [], "somebody answered")
    states = {each["process"]: each["state"] for each in control(context, receiver.address, "status")}
    check(sorted(states.values()) == ["ended", "recording", "recording"] and states[mine] == "ended", f"{states}")
    # One that can't answer is named, and keeps nobody from the others.
    os.kill(child_of(running[0]), signal.SIGKILL)
    finish(running[0])
    until(lambda: len(control(context, receiver.address, "status", expect=None)) == 2, "the end of a process")
    for process in running[1:]:
        os.kill(child_of(process), signal.SIGTERM)
        finish(process)
    told = {each["process"]: each for each in receiver.end(4)}
    check(len(told) == 3 and told[mine]["complete"] is True, f"{told}")


@case
def commands_are_for_those_with_the_token(context: Context) -> None:
    for name, text in (("one", "0123456789abcdef"), ("other", "0123456789abcdeX")):
        (context.folder / name).write_text(text)
        (context.folder / name).chmod(0o600)
    receiver = Receiver(context, UNIX, "--token-file", "one")
    process = start(context, capturing(context, UNIX, *endless(context), options=("--token-file", "one")))
    done = context.run([context.program("lapilli"), "control", UNIX, "stop"], expect=1)
    if "made without Nettle" in done.err or "can't check tokens" in done.err:
        raise Skip("this build has no tokens")
    check("the receiver wants a token" in done.err, done.err)
    done = context.run([context.program("lapilli"), "control", UNIX, "stop", "--token-file", "other"], expect=1)
    check("another token" in done.err, done.err)
    until(lambda: len(control(context, UNIX, "status", "--token-file", "one", expect=None)) == 1, "the program's connection")
    [told] = control(context, UNIX, "stop", "--token-file", "one")
    check(told["state"] == "ended", f"{told}")
    os.kill(child_of(process), signal.SIGTERM)
    finish(process)
    check(receiver.end()[0]["complete"] is True, "it is not complete")
    done = context.run([context.program("lapilli"), "control", UNIX, "status"], expect=1)
    check("there is no receiver" in done.err, done.err)
    for words in ((), (UNIX,), (UNIX, "begin"), (UNIX, "stop", "more"), (UNIX, "stop", "--process", "0")):
        context.run([context.program("lapilli"), "control", *words], expect=2)


@case
def strangers_who_command_nonsense_are_turned_away(context: Context) -> None:
    """As a process that obeys, and as one that commands; those that stream are not disturbed."""
    receiver = Receiver(context, TCP)
    port = int(receiver.address.rsplit(":", 1)[1])
    process = start(context, capturing(context, receiver.address, *endless(context)))
    until(lambda: len(control(context, receiver.address, "status", expect=None)) == 1, "the program's connection for commands")

    def greeted(role: int) -> socket.socket:
        peer = socket.create_connection(("127.0.0.1", port))
        peer.sendall(b"LAPSTRM\n" + (2).to_bytes(4, "little") + (9).to_bytes(4, "little") + bytes(32) + (1).to_bytes(4, "little") + bytes(4) + role.to_bytes(4, "little") + bytes(4) + b"x")
        check(len(peer.recv(80, socket.MSG_WAITALL)) == 80, "no answer to the greeting")
        return peer

    liar = greeted(1)  # it obeys, and answers nonsense before it is asked
    liar.sendall(b"nonsense" * 100)
    for words in (b"", b"nonsense" * 8, b"LPCM" + b"\xff" * 12, b"LPCM" + (1).to_bytes(4, "little") + bytes(4) + (255).to_bytes(4, "little"),
                  b"LPCM" + (77).to_bytes(4, "little") + bytes(8)):
        with greeted(2) as peer:
            try:
                peer.sendall(words)
                peer.shutdown(socket.SHUT_WR)
                while peer.recv(1000):
                    pass
            except OSError:
                pass
    check(greeted(3).recv(1) == b"", "a role that does not exist was taken")
    told = control(context, receiver.address, "status", expect=None)
    check([each["state"] for each in told if each["program"] == "triangle"] == ["recording"], f"{told}")
    [stopped] = control(context, receiver.address, "stop")
    check(stopped["state"] == "ended", f"{stopped}")
    liar.close()
    os.kill(child_of(process), signal.SIGTERM)
    finish(process)
    [told] = receiver.end()
    check(told["complete"] is True and check_verified(context.replay(told["file"])) > 0, f"{told}")


class Network:
    """One of its own, with a loopback that can be taken down as a cable is pulled."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(["unshare", "--user", "--map-root-user", "--net", "sh", "-c", "ip link set lo up && echo up && exec cat"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if self.process.stdout.readline() != b"up\n":
            _, err = self.process.communicate()
            raise Skip(f"no network of its own can be had: {err.decode().strip()}")
        self.within = ("nsenter", "--target", str(self.process.pid), "--user", "--net", "--preserve-credentials", "--")

    def pull(self, pulled: bool) -> None:
        subprocess.run([*self.within, "ip", "link", "set", "lo", "down" if pulled else "up"], check=True)

    def __del__(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def network() -> Network:
    try:
        return Network()
    except FileNotFoundError as error:
        raise Skip(f"there is no {error.filename}") from error


@case
def a_cable_that_is_pulled_for_three_seconds_does_no_harm(context: Context) -> None:
    """The program runs on meanwhile, and nothing is missing afterwards; also when it ends meanwhile."""
    net = network()
    for ends in (False, True):
        receiver = Receiver(context, TCP, "--name", "%e-%n.lapilli", within=net.within)
        frames = ("--frames", "100") if ends else ()
        process = start(context, [*net.within, *capturing(context, receiver.address, *endless(context), *frames)])
        net.pull(True)
        for _ in range(0 if ends else 100):
            check(process.stdout.readline() == b"frame\n", "the program waited for the network")
        time.sleep(3)
        net.pull(False)
        if not ends:
            wanted = [*net.within, context.program("lapilli"), "control", receiver.address, "stop"]
            until(lambda: context.run(wanted, expect=None).status == 0, "the end of the recording")
            os.kill(child_of(process), signal.SIGTERM)
        done = finish(process)
        check("has stopped" not in done.err and "has not said" not in done.err, done.err)
        [told] = receiver.end()
        check(told["complete"] is True and told["frames"] >= (100 if ends else 130), f"{told}")
        check(check_verified(context.replay(told["file"])) > 90, "nothing was compared")


class Between(threading.Thread):
    """Hands bytes on between a program and a receiver, until somebody cuts the connection."""

    def __init__(self, to: str, only_first: bool = False) -> None:
        super().__init__(daemon=True)
        self.only_first = only_first  # the others are never stopped
        self.to = ("127.0.0.1", int(to.rsplit(":", 1)[1]))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self.listener.getsockname()[1]}"
        self.passed, self.lock, self.pairs = 0, threading.Lock(), []
        self.start()

    def run(self) -> None:
        while True:
            peer, _ = self.listener.accept()
            pair = (peer, socket.create_connection(self.to))
            self.pairs += pair
            for source, target in (pair, pair[::-1]):
                threading.Thread(target=self.hand_on, args=(source, target), daemon=True).start()

    def hand_on(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                with self.lock if not self.only_first or source in self.pairs[:2] else contextlib.nullcontext():  # who holds it has stopped the connection
                    target.sendall(data)
                    self.passed += len(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def reset(self) -> None:
        """Both sides get an RST, and lose what is on the way."""
        for one in self.pairs:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with contextlib.suppress(OSError):  # the other side may have ended it by now
                one.shutdown(socket.SHUT_RD)  # for the thread that reads there
            one.close()


@case
def connections_that_stop_or_are_reset_do_no_harm(context: Context) -> None:
    """Stopped for three seconds: nothing is missing. Reset: the program runs on, and what arrived plays."""
    receiver = Receiver(context, TCP, "--name", "%e-%n.lapilli")
    between = Between(receiver.address)
    process = start(context, capturing(context, between.address, *endless(context)))
    with between.lock:
        for _ in range(100):
            check(process.stdout.readline() == b"frame\n", "the program waited for the connection")
        time.sleep(3)
        before = between.passed
    until(lambda: between.passed > before, "more of the trace")
    between.reset()
    line = b""
    while b"recording has stopped: can't stream to" not in line:
        line = process.stderr.readline()
        check(line != b"", "the program ended")
    for _ in range(200):
        check(process.stdout.readline() == b"frame\n", "the program did not go on")
    os.kill(child_of(process), signal.SIGTERM)
    done = finish(process)
    check("recording has stopped" not in done.err, done.err)
    [told] = receiver.end(4)
    check(told["complete"] is False and told["frames"] >= 20 and "connection" in told["stopped"], f"{told}")
    check(check_verified(context.replay(told["file"], expect=4)) > 0, "nothing was compared")


@case
def a_receiver_whose_disk_is_full_keeps_what_it_has(context: Context) -> None:
    """It says so, the program runs on unrecorded, and what was written plays."""
    (context.folder / "received").mkdir()
    mount = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs -o size=256k none received && exec "$@"', "sh")
    if subprocess.run([*mount, "true"], cwd=context.folder, capture_output=True, check=False).returncode != 0:
        raise Skip("no file system of its own can be had")
    receiver = Receiver(context, UNIX, within=mount)
    process = start(context, capturing(context, UNIX, *endless(context)))
    line = b""
    while b"has stopped" not in line:
        line = process.stderr.readline()
        check(line != b"", "the program ended")
    check(b"can't stream to" in line, line.decode())
    for _ in range(200):
        check(process.stdout.readline() == b"frame\n", "the program did not go on")
    os.kill(child_of(process), signal.SIGTERM)
    finish(process)
    kept = Path(f"/proc/{receiver.process.pid}/root{context.folder}/received/triangle.lapilli")
    told = json.loads(receiver.process.stdout.readline())
    check(told["complete"] is False and "No space left on device" in told["stopped"] and told["frames"] > 20, f"{told}")
    shutil.copy(kept, context.folder / "kept.lapilli")
    check(context.info("kept.lapilli")["ended"]["finished_by"] == "receive", "it was not finished")
    done = context.replay("kept.lapilli", expect=4)
    check(check_verified(done) > 0 and "No space left on device" in done.err, done.err)
    receiver.end(1)


@case
def a_recording_is_stopped_while_the_program_waits_for_the_receiver(context: Context) -> None:
    """What the program had handed over arrives, the trace is complete, and the program goes on."""
    receiver = Receiver(context, TCP, "--once")
    between = Between(receiver.address, only_first=True)
    program = [str(context.build / "tests/bench/stream"), "--size-mib", "16", "--frames", "100000"]
    env = context.environment(context.layer_env(LAPILLI_FILE=between.address, LAPILLI_QUEUE="16", LAPILLI_COMPRESSION="none"))
    process = subprocess.Popen(program, cwd=context.folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until(lambda: between.passed > 50 << 20 or process.poll() is not None, "some of the trace")
    if process.poll() == 77:
        receiver.end()
        raise Skip("the benchmark can't be run here")
    with between.lock:
        time.sleep(1)  # its queue fills
        command = subprocess.Popen([context.program("lapilli"), "control", "--json", receiver.address, "stop"], stdout=subprocess.PIPE, text=True)
        time.sleep(3)
        check(command.poll() is None, "there was an answer though nothing could be sent")
    out, _ = command.communicate(timeout=SOON)
    stopped = json.loads(out)
    check(stopped["state"] == "ended" and stopped["waited_ms"] > 1000, f"{stopped}")
    check(process.poll() is None, "the program has ended")
    process.kill()
    _, err = process.communicate()
    check(b"has stopped" not in err, err.decode())
    [told] = receiver.wait()
    check(told["complete"] is True and told["bytes"] == stopped["bytes"], f"{told} {stopped}")
    context.run([context.program("lapilli"), "replay", "--present", "off", told["file"]])
