# SPDX-License-Identifier: MIT
"""The benchmarks run, and say what they are meant to say: each workload at its smallest. How long anything takes is not looked at."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Callable

from e2e.cases import Case, Context, Skip, check, check_verified


def bench(context: Context, *arguments: str, expect: int | None = 0) -> dict:
    context.run([sys.executable, str(context.root / "tests/bench/run.py"), "--build", str(context.build), "--quick",
                 "--recorders", "none,lapilli", "--folder", ".", "--out", "bench.json", *arguments], expect=expect)
    return json.loads((context.folder / "bench.json").read_text()) if expect != 2 else {}


def bench_one(context: Context, name: str) -> tuple[dict, dict]:
    """The result, and what is in it of the one workload; nothing went wrong."""
    result = bench(context, "--workload", f"^{name}$", expect=None)
    found, = result["workloads"]
    if found["skipped"]:
        raise Skip(found["skipped"])
    check(result["problems"] == [] and found["failures"] == {}, f"{result['problems']} {found['failures']}")
    return result, found


def workload(name: str) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        result, found = bench_one(context, name)
        for key in ("cpu", "kernel", "processors"):
            check(bool(result["machine"][key]), f"the machine has no {key}")
        check(bool(found["driver"]), f"{found['driver']}")
        bare, recorded = found["rounds"][0]["none"], found["rounds"][0]["lapilli"]
        check(bare["trace_bytes"] is None and recorded["trace_bytes"] > 0, "trace where there should be none, or none")
        check(recorded["info"]["complete"] is True, "the trace is not complete")
        for figure in found["figures"]:
            check("lapilli" in figure["spreads"] or not figure["added"], f"{figure['name']} has no value for lapilli")
        if not bare["program"] or not bare["program"]["series"]:  # a program of others: it counts what it got done
            return
        for run_of in (bare["program"], recorded["program"]):
            frame = run_of["series"]["frame"]
            check(frame["count"] == run_of["frames"] and 0 < frame["min_ns"] <= frame["median_ns"] <= frame["max_ns"], f"{frame}")
            check(run_of["memory"]["VmHWM"] > 0, f"{run_of['memory']}")
        # The two did the same: the workloads follow from their seed.
        check(bare["program"]["counts"] == recorded["program"]["counts"], f"{bare['program']['counts']} {recorded['program']['counts']}")
        updates = recorded["info"]["updates"]["bytes"] - found["short"]["lapilli"]["info"]["updates"]["bytes"]
        written = recorded["program"]["counts"].get("written_bytes", 0)
        if name.endswith(("-waiting", "-keep-last")):  # what a part begins with are updates, too
            return
        check((updates > 0) == (written > 0), f"{written} bytes written and {updates} bytes of updates in the frames")
    return run


def replay_row(name: str) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        _, found = bench_one(context, name)
        played = found["rounds"][0]["lapilli"]
        check(played["trace_bytes"] > 0 and played["seconds"] > 0, f"{played}")
        for figure in found["figures"]:
            check("lapilli" in figure["spreads"], f"{figure['name']} has no value for lapilli")
    return run


def streaming_row(name: str) -> Callable[[Context], None]:
    """Each way has brought a whole trace to its end; how fast is not looked at."""
    def run(context: Context) -> None:
        _, found = bench_one(context, name)
        check(found["rounds"][0]["lapilli"]["trace_bytes"] > 1 << 20, f"{found['rounds']}")
        check(bool(found["device"]), "nothing was run")
    return run


def part_row(name: str) -> Callable[[Context], None]:
    """A part was recorded; how long it took is not looked at."""
    def run(context: Context) -> None:
        _, found = bench_one(context, name)
        bare, recorded = found["rounds"][0]["none"]["program"], found["rounds"][0]["lapilli"]["program"]
        check(recorded["trace_mib"] > 0 and recorded["waiting_us"] > 0 and bare["longest_ms"] > 0, f"{bare} {recorded}")
        check("state_ms" in recorded, f"no state was written: {recorded}")
    return run


def trim_row(name: str) -> Callable[[Context], None]:
    """Both ways give a part that is smaller than the whole; how long they took is not looked at."""
    def run(context: Context) -> None:
        _, found = bench_one(context, name)
        cut = found["rounds"][0]["lapilli"]["program"]
        for way in ("--no-gpu", "--gpu"):
            check(0 < cut[f"part_mib{way}"] < cut["trace_mib"] and cut[f"trim_ms{way}"] > 0, f"{way}: {cut}")
    return run


def row(name: str) -> Callable[[Context], None]:
    for prefix, kind in (("replay-", replay_row), ("streaming", streaming_row), ("part-", part_row), ("trim-", trim_row)):
        if name.startswith(prefix):
            return kind(name)
    return workload(name)


def random_writes_replay(context: Context) -> None:
    """What is measured is also right: in the end the replay's map has every byte that was written at random."""
    context.capture([str(context.build / "tests/bench/map_random"), "--size-mib", "32", "--frames", "30", "--check"])
    check_verified(context.replay())


def scattered_writes_are_one_packet(context: Context) -> None:
    """However many places of a buffer the host has written since the last submit: they are in one packet, and arrive."""
    frames = 12
    context.capture([str(context.build / "tests/bench/map_scattered"), "--frames", str(frames), "--check"])
    info = context.info()
    lines = [line for line in context.print_lines() if line["name"].startswith("lapilliUpdate")]
    check(len(lines) == info["updates"]["count"] <= frames + 3, f"{len(lines)} packets of updates in {frames} frames, {info['updates']}")
    spans = [len(line["args"]["pSizes"]) for line in lines if line["name"] == "lapilliUpdateBufferSpans"]
    check(len(spans) >= frames and min(spans) >= 4096, f"{spans}")
    check_verified(context.replay())


def options(context: Context) -> None:
    bench(context, "--workload", "no-such-workload", expect=2)
    bench(context, "--recorders", "no-such-recorder", expect=2)
    bench(context, "--set", "NO_SUCH_THING=1", expect=2)
    found, = bench(context, "--workload", "^tiny-submits$", "--set", "LAPILLI_COMPRESSION=none")["workloads"]
    plain, = bench(context, "--workload", "^tiny-submits$")["workloads"]
    sizes = [workload["rounds"][0]["lapilli"]["trace_bytes"] for workload in (found, plain)]
    check(sizes[0] > sizes[1], f"--set changes nothing: {sizes}")
    found, = bench(context, "--workload", "^tiny-submits$", "--driver", "no-such-driver", expect=1)["workloads"]
    check("no-such-driver" in found["skipped"], f"{found['skipped']}")


def cases(context: Context) -> list[Case]:
    listed = subprocess.run([sys.executable, str(context.root / "tests/bench/run.py"), "--list"], capture_output=True, text=True, check=True)
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    return [Case(f"bench/{name}", row(name)) for name in names] + [
        Case("bench/random-writes-replay", random_writes_replay),
        Case("bench/scattered-writes-are-one-packet", scattered_writes_are_one_packet), Case("bench/options", options)]
