# SPDX-License-Identifier: MIT
"""lapilli farm on this machine: each run has one result, whatever ends the farm, and the right one."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

from e2e.cases import CRASH, OTHER_DRIVERS, TEXEL, Cases, Context, check, crashing, display, patience
from e2e.contents import pixels

CASES = Cases()
case = CASES.add
APPS = ("compute", "depth", "descriptors", "headless")
STRANGE = "-odd\n$(touch made) 'q'/de\udcffpth"  # of strangers; one byte is no UTF-8
# Where "full" lies in the current folder, the disk under the results is full.
FULL_DISK = """
import errno, os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + "/share/lapilli")
from pathlib import Path
import farm.engine, farm.__main__
farm.engine.ROOM_SECONDS, farm.engine.PAUSE_SECONDS = float(sys.argv[2]), 0.1
real = os.fsync
def fsync(fd):
    path = os.readlink(f"/proc/self/fd/{fd}")
    if os.path.exists("full") and os.path.exists("results/plan.ndjson") and ("/runs/" in path or ".room." in path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    real(fd)
os.fsync = fsync
sys.exit(farm.__main__.main(sys.argv[3:], Path(sys.argv[1], "bin")))
"""


def cases() -> dict[str, Callable[[Context], None]]:
    return CASES


def record(context: Context, *apps: str) -> None:
    (context.folder / "traces").mkdir()
    for app in apps:
        context.capture([context.app(app)], f"traces/{app}.lapilli")


def matrix(context: Context, *devices: str, **keys: object) -> None:
    head = "".join(f"{key} = {json.dumps(value)}\n" for key, value in {"repeat_failures": 0, **keys}.items())
    (context.folder / "matrix.toml").write_text(head + "".join(f"[[device]]\n{device}\n" for device in devices))


def command(context: Context, results: str, verb: str = "run", *more: str) -> list[str]:
    of_run = ["--traces", "traces", "--matrix", "matrix.toml"] if verb == "run" else []
    return [context.program("lapilli"), "farm", verb, "--results", results, *of_run, *more]


def start(context: Context, line: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(line, cwd=context.folder, env=context.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def results_in(folder: Path) -> list[dict]:
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("runs/*/*.ndjson"))]
    check(all(line["end"] is True for line in found), "a result is not whole")
    return found


def until(what: str, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + patience(120)
    while not holds():
        check(time.monotonic() < deadline, f"never: {what}")
        time.sleep(0.01)


def replays(folder: Path) -> list[str]:
    """Command lines of processes that play a trace in this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        if b"lapilli-replay\0" in line and os.fsencode(folder / "traces") in line:
            found.append(line.decode(errors="replace"))
    return found


@case
def a_farm_that_is_killed_goes_on_and_plays_each_run_once(context: Context) -> None:
    record(context, *APPS)
    strange = context.folder / "traces" / f"{STRANGE}.lapilli"
    strange.parent.mkdir()
    (context.folder / "traces/depth.lapilli").rename(strange)
    (context.folder / "traces/junk.lapilli").write_text("no trace")
    devices = ['name = "here"\nmemory_mib = 1000', 'name = "gone"\ndriver_files = "/there/is/no/driver.json"', 'name = "alone"\nalone = true']
    devices += [f'name = "{name}"\ndriver_files = "{path}"' for name, path in OTHER_DRIVERS.items() if path.exists()]
    matrix(context, *devices, repeat=2, options=["verify", "measure", "screenshots=1,last"], label="night")
    results = context.folder / "the results"
    for most in (0, 2, 5):
        farm = start(context, command(context, results.name))
        until(f"{most} results", lambda: len(results_in(results)) >= most and (most > 0 or bool(replays(context.folder))))
        farm.kill()
        farm.communicate()
        until("replays end with their farm", lambda: not replays(context.folder))
    farm = start(context, command(context, results.name))
    until("a replay", lambda: bool(replays(context.folder)))
    farm.send_signal(signal.SIGTERM)
    said = farm.communicate(timeout=patience(60))[1]
    check(farm.returncode == 128 + signal.SIGTERM and "goes on from here" in said and not replays(context.folder), f"{farm.returncode}: {said}")
    both = [start(context, command(context, results.name, "run", "--json")) for _ in range(2)]
    for farm in both:
        out, said = farm.communicate(timeout=patience(120))
        check(farm.returncode in (1, 4), f"{farm.returncode}: {said}")
        check(said.count("the driver's file /there/is/no/driver.json is not there") == 1 and len(said.splitlines()) < 30, said)
        check("Traceback" not in said, said)
    plan = [json.loads(line) for line in (results / "plan.ndjson").read_text().splitlines()]
    check(sum("unreadable" in line for line in plan) == len(devices), "the file that is no trace is not in the plan")
    wanted = {line["key"] for line in plan if "key" in line and line["device"] != "gone"}
    found = results_in(results)
    check({line["key"] for line in found} == wanted and len(found) == len(wanted) == (len(devices) - 1) * 2 * len(APPS), f"{len(found)} results, {len(wanted)} wanted")
    for line in found:
        check(line["outcome"] == "same" or line["device"] in OTHER_DRIVERS, f"{line}")
        check(line["hashes"]["lines"] == line["verify"]["checks"] and line["measure"]["wall_ms"]["p50"] >= 0 and line["label"] == "night", f"{line}")
        for shot in line["files"]["screenshots"]:
            check((results / shot["path"]).read_bytes().startswith(b"\x89PNG"), f"{shot}")
    check({line["trace"]["name"] for line in found} == {STRANGE, *APPS} - {"depth"}, "a name is another one")
    check(all("is not there" in path.read_text() for path in (results / "attempts").iterdir()) and any((results / "attempts").iterdir()), "attempts do not say why")
    check(not list(context.folder.rglob("made")), "a name was run")
    told = json.loads(context.run(command(context, results.name, "status", "--json")).out)
    check((told["runs"], told["done"]) == (len(wanted) + 2 * len(APPS), len(wanted)), f"{told}")
    matrix(context, *devices, repeat=3)
    check("another plan is there" in context.run(command(context, results.name), expect=2).err, "another plan is taken")
    (context.folder / "policy.toml").write_text("flakey = 'fail'\n")
    check("flakey" in context.run(command(context, "new", "run", "--policy", "policy.toml"), expect=2).err and not (context.folder / "new").exists(), "a policy is read late")
    matrix(context, 'name = "here"\nmemry_mib = 1')
    check("'memry_mib'" in context.run(command(context, "other"), expect=2).err, "an unknown key is taken")


@case
def a_fault_of_a_driver_is_named(context: Context) -> None:
    """One texel of one device is wrong: by trace, device, frame and picture."""
    display()
    record(context, "compute", "depth")
    context.capture([*context.installed("vkcube"), "--c", "3"], "traces/cube.lapilli")
    for night, fault in (("old", ""), ("new", f"environment = {{VK_LAYER_PATH = '{context.layer_folder(TEXEL)}', VK_INSTANCE_LAYERS = '{TEXEL}', LAPILLI_TEXEL = '1'}}")):
        matrix(context, 'name = "good"', f'name = "faulty"\n{fault}', label=night, repeat_failures=1, options=["verify", "screenshots=1,last"])
        more = ["--baseline", "old"] if fault else []
        said = context.run(command(context, night, "run", *more), expect=1 if fault else 0).out
        check(("2 new failures" in said) == bool(fault) and ("6 pass" in said) != bool(fault), said)
    found = {(line["trace"]["name"], line["device"]): line for line in map(json.loads, (context.folder / "new/results.ndjson").read_text().splitlines())}
    check({pair for pair, line in found.items() if line["verdict"] == "new failure"} == {("cube", "faulty"), ("depth", "faulty")}, f"{found.keys()}")
    cube = found["cube", "faulty"]
    check("first in frame 1, packet" in cube["why"] and "VkSwapchainKHR:1" in cube["why"], cube["why"])
    shots = [context.folder / night / line["files"]["screenshots"][0]["path"] for night, line in
             (("new", cube), ("old", results_of(context.folder / "old", "cube", "faulty")))]
    (width, height, _, got), (_, _, _, expected) = map(pixels, shots)
    size = len(got) // (width * height)
    away = [i for i in range(width * height) if got[i * size:(i + 1) * size] != expected[i * size:(i + 1) * size]]
    check(away == [8 * width + 8], f"texels that differ: {away[:9]}")
    page = (context.folder / "new/index.html").read_text()
    check(page.count("data:image/png;base64,") >= 2 and base64.b64encode(shots[0].read_bytes()).decode() in page, "the page has not the picture")


def results_of(folder: Path, trace: str, device: str) -> dict:
    return next(line for line in results_in(folder) if (line["trace"]["name"], line["device"]) == (trace, device))


@case
def a_crash_and_a_hang_are_results(context: Context) -> None:
    crashing(context)
    record(context, "compute")
    layer = {name: value for name, value in context.layer_env(CRASH).items() if name.startswith("VK_")}

    def play(seconds: float, *hows: str) -> tuple[dict[str, dict], str]:
        tables = {how: ", ".join(f"{key} = {json.dumps(value)}" for key, value in {**layer, "LAPILLI_CRASH": f"vkQueueSubmit:1:{how}"}.items()) for how in hows}
        matrix(context, *(f'name = "{how}"\nenvironment = {{ {table} }}' for how, table in tables.items()), timeout_s=seconds)
        said = context.run(command(context, f"results of {hows[0]}", "run", "--attempts", "2"), expect=None).err
        return {line["device"]: line for line in results_in(context.folder / f"results of {hows[0]}")}, said
    found, _ = play(1, "hang")
    check(found["hang"]["outcome"] == "timeout" and not replays(context.folder), f"{found}")
    found, said = play(patience(120), "segv", "kill")
    check(set(found) == {"segv"} and (found["segv"]["outcome"], found["segv"]["signal"]) == ("crashed", "SIGSEGV"), f"{found}")
    check(bool(found["segv"]["error"]["text"]) and (context.folder / "results of segv" / found["segv"]["files"]["stderr"]).exists(), f"{found}")
    check("1 runs had no result in 2 attempts" in said and "SIGKILL" in said, said)


@case
def a_full_disk_is_no_result(context: Context) -> None:
    record(context, "compute", "headless")
    matrix(context, 'name = "here"')
    results, full = context.folder / "results", context.folder / "full"

    def farm(seconds: str) -> list[str]:
        return [sys.executable, "-c", FULL_DISK, str(context.build), seconds, *command(context, "results")[2:]]
    full.touch()
    said = context.run(farm("0.2"), expect=4).err
    check("given up after 3 rounds without a new file" in said and "No space left" in said, said)
    check(not results_in(results) and not list(results.glob("runs/*/.*")), "something was left on the full disk")
    process = start(context, farm("600"))
    for line in process.stderr:
        if "waiting" in line:
            break
    full.unlink()
    said = process.communicate(timeout=patience(60))[1]
    check(process.returncode == 0 and [line["outcome"] for line in results_in(results)] == ["same", "same"], f"{process.returncode}: {said}")
    check(not list(results.glob("runs/*/.*")) and not (results / "twice").exists(), "something was left")


@case
def a_farm_ends_when_it_is_cancelled(context: Context) -> None:
    record(context, "compute")
    matrix(context, 'name = "here"', repeat=500)
    farm = start(context, command(context, "results", "run", "--jobs", "1"))
    until("a result", lambda: bool(results_in(context.folder / "results")))
    context.run(command(context, "results", "cancel"))
    said = farm.communicate(timeout=patience(60))[1]
    check(farm.returncode == 4 and "cancelled" in said, f"{farm.returncode}: {said}")


@case
def a_trace_that_changes_is_no_result(context: Context) -> None:
    record(context, "compute", "headless")
    traces = context.folder / "traces"
    (context.folder / "list").write_text("traces/compute.lapilli\n\ntraces/headless.lapilli\n")
    # A device that is slow to start: the trace is another one before it is played.
    shutil.copy(context.program("lapilli-replay"), context.folder / "replay")
    bin_folder = context.folder / "prefix/bin"
    bin_folder.mkdir(parents=True)
    for name in ("lapilli-info", "lapilli-farm"):
        shutil.copy(context.program(name), bin_folder)
    shutil.copytree(context.build / "share/lapilli", context.folder / "prefix/share/lapilli")
    shutil.copytree(context.build / "lib", context.folder / "prefix/lib")
    (bin_folder / "lapilli-replay").write_text(f'#!/bin/sh\ncase "$*" in *--list-gpus*) cat "{traces}/headless.lapilli" > "{traces}/compute.lapilli" ;; esac\n'
                                               f'exec "{context.program("lapilli-replay")}" "$@"\n')
    (bin_folder / "lapilli-replay").chmod(0o755)
    matrix(context, 'name = "here"')
    run = [str(bin_folder / "lapilli-farm"), "run", "--results", "results", "--traces", "list", "--matrix", "matrix.toml", "--jobs", "1"]
    said = context.run(run, expect=4).err
    check("is another trace than was planned" in said, said)
    check([line["trace"]["name"] for line in results_in(context.folder / "results")] == ["headless"], "its result is there")
    check("another plan is there" in context.run(run, expect=2).err, "the plan of other traces is taken")


GIVEN = """
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from farm.work import NoDevice, given_gpu
gpus = [{"uuid": "%032x" % number, "name": "Fast 1"} for number in (7, 8)]
def ask(wanted, **variables):
    try:
        return int(given_gpu(wanted, gpus, variables) or "0", 16)
    except NoDevice as error:
        return str(error)
print([ask("fast", SLURM_JOB_ID="1", CUDA_VISIBLE_DEVICES="1"), ask("", SLURM_JOB_ID="1", CUDA_VISIBLE_DEVICES="GPU-00000000-0000-0000-0000-000000000007,1"),
       ask("", CUDA_VISIBLE_DEVICES="1"), ask("0", SLURM_JOB_ID="1", CUDA_VISIBLE_DEVICES="1"), ask("", SLURM_JOB_ID="1", CUDA_VISIBLE_DEVICES="5"), ask("", SLURM_JOB_ID="1"),
       ask("slow", SLURM_JOB_ID="1", CUDA_VISIBLE_DEVICES="0")])
"""


@case
def the_gpu_that_slurm_gave_is_asked_for_where_that_can_be_told(context: Context) -> None:
    smi = context.folder / "nvidia-smi"
    smi.write_text("#!/bin/sh\nfor n in 0 1; do echo \"GPU $n: Fast 1 (UUID: GPU-00000000-0000-0000-0000-00000000000$((n + 7)))\"; done\n")
    smi.chmod(0o755)
    said = context.run([sys.executable, "-c", GIVEN, str(context.build / "share/lapilli")], {"PATH": f"{context.folder}:{os.environ['PATH']}"}).out
    check(said.strip() == "[8, 7, 0, 0, 0, 0, \"Slurm gave this job the GPU 'Fast 1', and not 'slow'\"]", said)
