#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs on the null driver: without the layer, recorded, and replayed. check.py --build DIR

Fails when a program or a replay does not end well, when the driver was given a handle that is not there, and when a sanitizer
that the build has in it reports anything. With --fail, every N-th call that can fail fails, one run each: nobody may die of it.
The last line counts programs, runs and reports."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERIFY = {"LAPILLI_VERIFY": "1"}
WATCHES = [VERIFY, {}, *({**VERIFY, **more} for more in ({"LAPILLI_WRITE_WATCH": "mprotect"}, {"LAPILLI_WRITE_WATCH": "compare"},
                                                        {"LAPILLI_QUEUE": "0"}, {"LAPILLI_BACKING": "host"}))]
# Programs with threads of their own, or with much going on for the helper thread: recorded in each of these ways.
BUSY = ["threads", "placed", "churn", "multi", "memory", "teardown --one-by-one --devices", "stores --handlers", "lives --exits", "lives --cancels", "lives --reopen",
        "churn --present --window headless", "wsi --ask-together --window headless"]
# Recordings in turn, a new one with each submit, so that files end while other threads record. Without reports of what these have
# on purpose, or is known: memory is compared while the program writes it; a submit takes the lock of parts with a tracker's, and a part
# begins under both only with submit.mutex, which the submit has too; a record is seen before its creation has returned.
TURNS = {"LAPILLI_KEEP_LAST": "1f"}
ACCEPTED = ["race:lap_memtrack_collect", "deadlock:enter_part", "race:layer_state_fault", "race:layer_state_write"]
# Not in tests/apps/list.txt, since they leave objects alive or go on where others have ended; and the windows that this driver has.
MORE = ["triangle --window headless", "churn --present --window headless", "wsi --window headless", "wsi --bound --window headless", "wsi --ask-together --window headless",
        "lives --leave", "lives --at-exit", "placed", "lives --destructor", "lives --cancels", "lives --reopen"]
# What they compare is in linear images, whose rows have no room for their texels here.
UNCHECKED = ["compressed"]
# What runs elsewhere, and why not here.
LEFT_OUT = {
    "stores": "threads write what is compared meanwhile, which is a race by the letter (memtrack/memtrack.h)",
    "multi --fork": "ThreadSanitizer does not follow children of processes with threads",
    "payload --process": "the same",
    "places": "it asks for a function that this driver gives without its extension",
    "rays --serialize": "the driver has no UUID, by which a replay could see that it reads these bytes",
    "sparse": "sizes here are not those of whole pages",
    "attached": "rows of images here have no room for their texels",
    "attached --undefined": "the same",
    "ignored --garbage": "the driver looks at what is to be ignored, too",
    "dynamic --libraries --garbage": "the same",
}
# What a replay says of `video` where a driver codes other things (NULL_VIDEO); None: it is replayed.
CODES = {"codec": "has no VK_VIDEO_CODEC_OPERATION_DECODE_H264_BIT_KHR", "profile": "does not code this profile of VK_VIDEO_CODEC_OPERATION_DECODE_H264",
         "version": "this driver has VK_STD_vulkan_video_codec_h264_decode, version", "extent": "this GPU codes at most 96 x 96",
         "slots": "this GPU has at most 1 with 1", "format": "this GPU has no pictures of VK_FORMAT_G8_B8R8_2PLANE_420_UNORM", "memory": None}
REPORT = re.compile(r"null: (\d+) calls that can fail, (\d+) failed, (\d+) times something was wrong")
TOLD = re.compile(r"^null: vk", re.MULTILINE)
SANITIZER = re.compile(r"(?:WARNING|ERROR): \w*Sanitizer|ThreadSanitizer: CHECK|runtime error:")
VERIFIED = re.compile(r"^verify: \d+ checks, 0 different$", re.MULTILINE)
TIMEOUT = 240  # seconds, for what hangs


@dataclass
class Checker:
    build: Path
    environment: dict[str, str] = field(default_factory=dict)
    failed: int = 0
    runs: int = 0
    reports: int = 0

    def __post_init__(self) -> None:
        manifest = str(self.build / "tests/null/null_icd.json")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("VK_", "NULL_", "LAPILLI_"))}
        # NODEVICE_SELECT: without a layer of Mesa's, which falls over calls that fail. Nobody waits for our thread at exit.
        self.environment = kept | {"VK_DRIVER_FILES": manifest, "VK_ICD_FILENAMES": manifest, "NULL_REPORT": "1", "NODEVICE_SELECT": "1",
                                   "TSAN_OPTIONS": "exitcode=66 report_thread_leaks=0"}

    def start(self, command: list[str], more: dict[str, str]) -> tuple[int, str]:
        try:
            done = subprocess.run(command, env=self.environment | more, capture_output=True, text=True, errors="replace", timeout=TIMEOUT, check=False)
            return done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            return -1, f"no end after {TIMEOUT} s"

    def judge(self, what: str, status: int, text: str, good: bool, quiet: bool = False) -> bool:
        reports = len(SANITIZER.findall(text))
        good = good and not reports
        self.runs, self.reports, self.failed = self.runs + 1, self.reports + reports, self.failed + (not good)
        if not quiet or not good:
            print(f"{'ok  ' if good else 'FAIL'} {what}" + ("" if good else f": status {status}\n{text}"), flush=True)
        return good

    def run(self, what: str, command: list[str], more: dict[str, str], may_fail: bool = False, says: re.Pattern[str] | None = None) -> int:
        """How many calls there were that can fail; -1 where it can't run here."""
        status, text = self.start(command, more)
        report = REPORT.search(text)
        if status == 77 and not SANITIZER.search(text):
            print(f"skip {what}: {text.splitlines()[0]}", flush=True)
            return -1
        good = report is not None and report.group(3) == "0" and (0 <= status < 66 if may_fail else status == 0)
        # A program leaves by _exit when a call fails that it needs: then nobody reports.
        good = good or (may_fail and status == 1 and report is None and not TOLD.search(text))
        self.judge(what, status, text, good and (says is None or says.search(text) is not None), quiet=may_fail)
        return int(report.group(1)) if report else 0

    def recorded(self, file: Path) -> dict[str, str]:
        return {"VK_INSTANCE_LAYERS": "VK_LAYER_LAPILLI_capture", "LAPILLI_FILE": str(file),
                "VK_LAYER_PATH": str(self.build / "share/vulkan/explicit_layer.d")}

    def command(self, name: str) -> list[str]:
        program, *arguments = name.split()
        return [str(self.build / "tests/apps" / program), "--no-check", *arguments]

    def record(self, name: str, number: int, settings: dict[str, str], folder: Path) -> tuple[Path, int]:
        """And replay."""
        trace = folder / f"{name.replace(' ', '')}{number}.lapilli"
        how = " ".join([name, "recorded", *(f"{key}={value}" for key, value in settings.items())])
        calls = self.run(how, self.command(name), self.recorded(trace) | settings)
        if calls < 0:
            return trace, 0
        if not trace.exists() or Path(f"{trace}.tail").exists():
            self.failed += 1
            print(f"FAIL {how}: there is no complete trace")
            return trace, 0
        replay = self.build / "bin/lapilli-replay"
        verify = ["--verify"] if "LAPILLI_VERIFY" in settings and name not in UNCHECKED else []
        for threads in ("1", "4") if replay.exists() else ():
            self.run(f"{how}, replayed by {threads}", [str(replay), "--present", "headless", *verify, "--threads", threads, str(trace)], {},
                     says=VERIFIED if verify else None)
        if name == "video" and replay.exists():
            self.elsewhere(trace, replay)
        return trace, calls

    def elsewhere(self, trace: Path, replay: Path) -> None:
        """A trace of video on drivers that code other things."""
        for way, sentence in CODES.items():
            what, other = f"video, replayed where the {way} differs", {"NULL_VIDEO": way}
            status, text = self.start([str(replay), "--present", "headless", "--verify", str(trace)], other)
            self.judge(what, status, text, status == 0 if sentence is None else status > 0 and sentence in text)
            status, text = self.start([str(replay.with_name("lapilli")), "check", str(trace)], other)
            self.judge(f"{what}, checked", status, text, sentence is None or "refused" in text and sentence in text)

    def program(self, name: str, folder: Path) -> None:
        if self.run(name, self.command(name), {}) < 0:
            return
        for number, settings in enumerate(WATCHES if name in BUSY else WATCHES[:1]):
            self.record(name, number, settings, folder)

    def failures(self, name: str, folder: Path, every: int) -> None:
        _, calls = self.record(name, 0, {}, folder)
        for call in range(1, calls + 1, every):
            self.run(f"{name}, recorded, call {call} fails", self.command(name),
                     self.recorded(folder / f"{name}-{call}.lapilli") | {"NULL_FAIL_CALL": str(call), "NULL_FAIL_CODE": str(call)}, True)
        print(f"ok   {name}, recorded, each {every}. of {calls} calls failed once")

    def turns(self, name: str, folder: Path) -> None:
        accepted = folder / "accepted"
        accepted.write_text("".join(f"{line}\n" for line in ACCEPTED), encoding="utf-8")
        options = f"{self.environment['TSAN_OPTIONS']} suppressions={accepted} print_suppressions=0"
        self.run(f"{name}, recorded in turn", self.command(name), self.recorded(folder / "turn.lapilli") | VERIFY | TURNS | {"TSAN_OPTIONS": options})

    def unit(self, name: str) -> None:
        status, text = self.start([str(self.build / "tests/unit" / name)], {})
        self.judge(name, status, text, status == 0 and re.search(r"^[1-9]\d* passed, 0 failed", text, re.MULTILINE) is not None)


def listed() -> list[str]:
    lines = [line.split("\t") for line in (ROOT / "tests/apps/list.txt").read_text().splitlines()]
    return [" ".join([name, *arguments]).strip() for name, display, *arguments in lines if display == "0"]


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs programs on the null driver.")
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--fail", type=int, default=0, metavar="N", help="have every N-th call of threads and churn fail, one run each, and nothing else")
    parser.add_argument("--unit", nargs="*", default=[], metavar="TEST", help="these unit tests as well")
    parser.add_argument("--match", default="", help="only programs and tests whose name matches this regular expression")
    options = parser.parse_args()
    checker = Checker(options.build.resolve())
    known = dict.fromkeys([*listed(), *MORE])
    stale = [name for name in [*LEFT_OUT, *BUSY, *UNCHECKED] if name not in known]
    if stale:
        parser.error(f"there are no such programs: {', '.join(stale)}")
    programs = [name for name in known if name not in LEFT_OUT and re.search(options.match, name)]
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor((os.cpu_count() or 1) + 1) as pool:
        folder = Path(place)
        if options.fail:
            work = [pool.submit(checker.failures, name, folder, options.fail) for name in ("threads", "churn")]
        else:
            work = [pool.submit(checker.program, name, folder) for name in programs]
            work += [pool.submit(checker.turns, name, folder) for name in ("threads",) if re.search(options.match, name)]
            work += [pool.submit(checker.unit, name) for name in options.unit if re.search(options.match, name)]
        for future in work:
            future.result()
    for name, why in LEFT_OUT.items():
        print(f"not here: {name}: {why}")
    print(f"{len(work)} programs, {checker.runs} runs, {checker.reports} reports" + (f", {checker.failed} FAILED" if checker.failed else ""))
    return 1 if checker.failed or not checker.runs else 0


if __name__ == "__main__":
    sys.exit(main())
