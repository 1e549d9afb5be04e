# SPDX-License-Identifier: MIT
"""A device that finishes nothing any more (tests/layers/stuck.c), from any submit on: a replay says so after --wait-limit and ends. It
waits for ever nowhere, and destroys nothing that such a device may still use. The same where a call of the driver never returns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Callable

from e2e.cases import LAYER, QUEUES, SHAPE, STUCK, Context, check, check_verified, display

LAST_WORDS = re.compile(r"error: .*: the device does not finish: 1 s were not enough for (.+) \(--wait-limit\)")


@dataclass(frozen=True)
class Way:
    program: str
    arguments: tuple[str, ...]  # of the replay
    waits: str  # what is waited for at some of the points
    recorded_on: tuple[str, ...] = ()
    played_on: tuple[str, ...] = ()
    shape: str = ""
    shown: bool = False


WAYS = {
    "a-wait-for-the-swapchain-is-named": Way("wsi", ("--window-system", "xcb"), "what still uses the swapchain", shown=True),
    "a-wait-for-read-back-is-named": Way("wsi", ("--verify", "--present", "headless"), "what is read back", shown=True),
    "a-wait-for-a-semaphore-value-is-named": Way("queues", (), "a value of a semaphore"),
    "a-wait-for-staging-is-named": Way("memory", (), "a fence", played_on=(SHAPE,), shape="split,one-visible"),
    "a-wait-for-copies-of-another-queue-is-named": Way("queues", (), "copies of what the host wrote", recorded_on=(QUEUES,), played_on=(SHAPE, QUEUES), shape="split,one-visible"),
    "a-wait-for-a-copy-to-the-window-is-named": Way("ownership_transfer", ("--window-system", "xcb"), "an earlier copy to the window", recorded_on=(QUEUES,), played_on=(QUEUES,), shown=True),
}


def submits(err: str) -> int:
    counted = re.search(r"^stuck: (\d+) submits$", err, re.M)
    check(counted is not None, err[-2000:])
    return int(counted.group(1))


def stuck(way: Way) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        if way.shown:
            display()
        done = context.run([context.app(way.program)], context.layer_env(LAYER, *way.recorded_on, LAPILLI_VERIFY="1"))
        check(done.out.endswith(f"ok {way.program}\n"), done.text[-2000:])
        replay = [context.program("lapilli-replay"), "--wait-limit", "1", *way.arguments, "out.lapilli"]
        environment = context.layer_env(STUCK, *way.played_on, LAPILLI_SHAPE=way.shape)
        done = context.run(replay, environment)
        if "--verify" in way.arguments:
            check_verified(done)
        total, waits = submits(done.err), set()
        for number in sorted({1, 2, 3, 5, 8, total // 2, total - 1, total} - {0}):
            done = context.run(replay, {**environment, "LAPILLI_STUCK": str(number)}, expect=None)
            said = LAST_WORDS.search(done.err)
            check(done.status == 1 and said is not None, f"from submit {number} of {total} on: exit status {done.status}\n{done.text[-2000:]}")
            waits.add(said.group(1))
        check(way.waits in waits, f"{waits}")
    return run


def never_returns(call: str) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context.run([context.app("compute")], context.layer_env(LAYER))
        done = context.run([context.program("lapilli-replay"), "--wait-limit", "1", "out.lapilli"],
                           context.layer_env(STUCK, LAPILLI_STUCK_IN=call), expect=1)
        said = LAST_WORDS.search(done.err)
        check(said is not None and said.group(1) == "a call of the driver" and re.search(rf"error: frame \d+, packet \d+ \({call}\), ", said.group(0)) is not None,
              done.text[-2000:])
    return run


ENDLESS = ["vkCreateComputePipelines", "vkQueueSubmit", "vkDeviceWaitIdle"]


def cases() -> dict[str, Callable[[Context], None]]:
    return {name: stuck(way) for name, way in WAYS.items()} | {f"{call}-that-never-returns-ends-the-replay": never_returns(call) for call in ENDLESS}
