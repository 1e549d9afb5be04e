# SPDX-License-Identifier: MIT
"""What tests inherit from whoever started them, and must not depend on: signals that are ignored or blocked, preloaded libraries,
the speed of the machine, and a display.

surroundings.py COMMAND ...: runs a command on an X display of its own, if Xvfb is installed, and ends as the command does.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Iterator

SCREEN = "1280x720x24"
HASHED_BYTES = 128 << 20
QUIET_SECONDS = 0.15  # what slowness() measures with three jobs on two quiet processors


def clean() -> None:
    """Every signal has its default disposition and none is blocked, in this process and in those that it starts: a job in the
    background of a shell ignores SIGINT, and so would all recorded programs. What is preloaded is not preloaded there."""
    for number in signal.valid_signals():
        if signal.getsignal(number) == signal.SIG_IGN and number not in (signal.SIGPIPE, signal.SIGXFSZ):  # Python's own, reset in children
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for name in [name for name in os.environ if name == "LD_PRELOAD" or name.startswith("_STDBUF_")]:
        del os.environ[name]


def slowness(jobs: int) -> float:
    """How many times as long as on a quiet machine some work takes, with a thread for each job; 1 at least, 20 at most."""
    data = bytes(HASHED_BYTES)
    start = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda _: hashlib.sha256(data).digest(), range(jobs)))
    return min(max((time.monotonic() - start) / (QUIET_SECONDS * max(jobs / 3, 1)), 1.0), 20.0)


@contextlib.contextmanager
def display() -> Iterator[str | None]:
    """A display that the server itself has chosen, so that two at once can't choose one; None where there is no Xvfb. -noreset:
    without it the server starts anew, and refuses connections, whenever its last client goes."""
    if not shutil.which("Xvfb"):
        yield None
        return
    reader, writer = os.pipe()
    process = subprocess.Popen(["Xvfb", "-displayfd", str(writer), "-screen", "0", SCREEN, "-nolisten", "tcp", "-noreset"], pass_fds=[writer],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    os.close(writer)
    try:
        with os.fdopen(reader) as answer:
            number = answer.readline().strip()
        if not number:
            raise OSError(f"Xvfb does not start: exit status {process.wait()}")
        yield f":{number}"
    finally:
        process.terminate()
        process.wait()


def main() -> int:
    clean()
    with display() as name:
        environment = {**os.environ, **({"DISPLAY": name} if name else {})}
        with subprocess.Popen(sys.argv[1:], env=environment) as process:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, lambda number, frame: process.send_signal(number))
            status = process.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main())
