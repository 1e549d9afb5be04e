# SPDX-License-Identifier: MIT
"""lapilli android with a stand-in for adb (fake_adb.py): what is recorded comes here whole, and the device is as before, however it ends."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Callable

from e2e import fake_adb
from e2e.cases import LAYER, Cases, Context, Done, check, check_verified, children_of, patience
from e2e.server import Server, draws_of_a_frame, read_words

CASES = Cases()
case = CASES.add
GAME, APP = "com.example.game", "org.lapilli.replay"
BEFORE = {"gpu_debug_layers": "VK_LAYER_OTHER", "gpu_debug_layer_app": "com.other.layers", "gpu_debug_app": "com.other.app", "enable_gpu_debug_layers": ""}
STRANGE = "file:a'b $(touch made) \"c\""


class Bench:
    """A device, and a folder of the stand-in for it."""

    def __init__(self, context: Context, *program: str) -> None:
        self.context, self.home, self.folder = context, context.folder / "adb", context.folder
        (self.home / "commands").mkdir(parents=True)
        (self.home / "bin").mkdir()
        (self.home / "bin/adb").symlink_to(Path(fake_adb.__file__).resolve())
        (self.home / "commands/run-as").write_text(fake_adb.RUN_AS)
        (self.home / "commands/run-as").chmod(0o755)
        self.root = self.home / "s"
        (self.root / "data/local/tmp").mkdir(parents=True)
        self.serial = "s"
        game = {"debuggable": True, "activity": f"{GAME}/.Main", "program": list(program), "layer": str(context.layer_folder(LAYER))}
        app = {"debuggable": True, "activity": f"{APP}/android.app.NativeActivity", "program": []}
        self.state = {"devices": {"s": "device"}, "settings": dict(BEFORE), "properties": {"ro.build.version.sdk": "30", "ro.build.version.release": "11",
                      "ro.product.model": "Pixel", "ro.product.cpu.abilist": "arm64-v8a,armeabi-v7a"}, "packages": {GAME: game, APP: app}, "app": app, "reverse": {}, "forward": {}}
        self.save()
        self.env = {"FAKE_ADB": str(self.home), "PATH": f"{self.home}/bin:{os.environ['PATH']}", "XDG_STATE_HOME": str(self.home / "state")}

    def save(self) -> None:
        fake_adb.save(self.state, self.home)

    def set(self, **values: object) -> None:
        self.now().update(values)
        self.save()

    def now(self) -> dict:
        self.state = fake_adb.load(self.home)
        return self.state

    def running(self) -> list[tuple[int, str]]:
        return fake_adb.running(self.home)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-SB", self.context.program("lapilli-android"), *words]  # -S: what a machine adds to Python costs more than the rest

    def run(self, *words: str, expect: int | None = 0) -> Done:
        return self.context.run(self.command(*words), self.env, expect)

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(self.command(*words), cwd=self.folder, env=self.context.environment(self.env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def noted(self) -> bool:
        return (self.home / "state/lapilli/android/s.json").exists()

    def as_before(self, **others: str) -> None:
        state = self.now()
        there = {key: value for key, value in state["settings"].items() if value}
        check(there == {**{key: value for key, value in BEFORE.items() if value}, **others}, f"{there}")
        check(not any(value for key, value in state["properties"].items() if key.startswith("debug.lapilli.")), f"{state['properties']}")
        check(not state["reverse"] and not state["forward"] and not self.noted(), f"{state['reverse']} {state['forward']}")

    def files(self) -> list[str]:
        return [str(path.relative_to(self.root / "data")) for path in sorted((self.root / "data").rglob("*")) if path.is_file() and path.name != "log"]

    def end(self) -> None:
        for pid, _ in self.running():
            fake_adb.end(pid)


def cases() -> dict[str, Callable[[Context], None]]:
    return CASES


def until(what: str, holds: Callable[[], object], process: subprocess.Popen[str] | None = None) -> None:
    late = time.monotonic() + patience(60)
    while not holds():
        check(time.monotonic() < late and (process is None or process.poll() is None), f"never: {what}; {process.stderr.read() if process and process.poll() is not None else ''}")
        time.sleep(0.02)


def game(context: Context, *arguments: str) -> Bench:
    """An app that is a real program under the real layer."""
    program = context.folder / GAME
    shutil.copy(context.app("headless"), program)
    return Bench(context, str(program), *arguments)


def copying(context: Context) -> Bench:
    """An app that leaves a trace that was recorded before."""
    trace = next(iter(sorted((context.root / "tests/golden/v4").glob("*.lapilli"))))
    return Bench(context, "sh", "-c", 'env | grep ^LAPILLI_ | sort > told; [ "$LAPILLI_FILE" ] && cp "$0" "$(echo "$LAPILLI_FILE" | sed "s/%e/com.example.game/")"; sleep 0.1', str(trace))


def begun(bench: Bench) -> bool:
    """Whether the app records."""
    return any(path.stat().st_size > 60000 for path in bench.root.glob(f"data/user/0/{GAME}/files/*.lapilli"))


@case
def an_app_is_recorded_and_the_device_is_as_before(context: Context) -> None:
    bench = game(context)
    bench.state["properties"]["debug.lapilli.frames"] = "900"  # left by somebody
    bench.save()
    done = bench.run("capture", "--verify", "--json", "--compression", "none", GAME)
    [row] = [json.loads(line) for line in done.out.splitlines()]
    check((row["file"], row["complete"], row["ended"]) == (f"{GAME}.lapilli", True, None) and row["frames"] > 0, f"{row}")
    check_verified(context.replay(f"{GAME}.lapilli"))
    check(bench.files() == [], f"{bench.files()}")
    bench.state["properties"].pop("debug.lapilli.frames")
    check(bench.now()["properties"].pop("debug.lapilli.frames") == "900", "a property is not restored")
    bench.save()
    bench.as_before()
    bench.run("capture", "--keep", "--frames", "2,4", "-o", "two.lapilli", GAME)
    check({path.name for path in context.folder.glob("*.lapilli")} == {f"{GAME}.lapilli", "two.lapilli", "two-2.lapilli"}, f"{list(context.folder.glob('*.lapilli'))}")
    check(context.info("two-2.lapilli")["part"]["first_frame"] == 4 and len(bench.files()) == 2, f"{bench.files()}")
    bench.as_before()


@case
def an_app_that_runs_on_is_ended(context: Context) -> None:
    """By Ctrl-C, and by time; the trace then has an end that its process did not write."""
    bench = game(context, "--frames", "1000000")
    process = bench.start("capture", "--json", GAME)
    until("the app records", lambda: begun(bench), process)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=patience(60))
    check(process.returncode == 0 and "Traceback" not in said, f"{process.returncode}: {said}")
    row = json.loads(out)
    check(row["complete"] and row["frames"] > 2 and row["ended"], f"{row}")
    check(bench.files() == [] and not Path(f"{row['file']}.tail").exists(), f"{bench.files()}")
    bench.as_before()
    row = json.loads(bench.run("capture", "--stop-after", "1", "--json", "-o", "timed.lapilli", GAME).out)
    check(row["complete"] and row["frames"] > 2, f"{row}")
    context.replay("timed.lapilli", "--last-frame", "3", expect=None)
    bench.as_before()


@case
def an_app_streams(context: Context) -> None:
    bench = game(context, "--frames", "1000000")
    process = bench.start("capture", "--stream", "--json", "--trigger", "control", "--verify", GAME)
    told = ""
    while "lapilli control" not in told:
        told = process.stderr.readline()
        check(bool(told), "nothing is said of lapilli control")
    command = told.split(": lapilli control ")[1].split()
    control = [context.program("lapilli"), "control", *command[:-1]]
    until("the app is there", lambda: "waiting" in context.run([*control, "status"], expect=None).out)
    context.run([*control, "frames", "3"])
    until("a part is there", lambda: "waiting" in context.run([*control, "status"]).out and list(context.folder.glob("*.lapilli")))
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=patience(60))
    check(process.returncode == 0, f"{process.returncode}: {said}")
    row = json.loads(out)
    check(row["frames"] == 3 and row["complete"] and row["file"].endswith(f"{GAME}.lapilli"), f"{row}")
    check_verified(context.replay(row["file"]))
    check(bench.files() == [] and not Path(command[1]).exists(), "a token is left")
    bench.as_before()


@case
def what_a_killed_recording_left_is_restored_by_the_next_command(context: Context) -> None:
    bench = game(context, "--frames", "1000000")
    process = bench.start("capture", GAME)
    until("the app records", lambda: begun(bench), process)
    check(bench.noted(), "nothing is noted")
    check(bench.now()["settings"]["gpu_debug_layers"] == f"VK_LAYER_OTHER:{LAYER}", f"{bench.state['settings']}")
    check("another lapilli android works on s" in bench.run("capture", GAME, expect=1).err, "two record at a time")
    bench.run("clean", expect=1)
    process.kill()
    process.communicate()
    check(json.loads(bench.run("devices", "--json").out)["to_restore"] is True, "nothing is to be restored")
    check("are to be restored" in bench.run("devices").out, "devices does not say it")
    check("runs, and may still write" in bench.run("pull", GAME, expect=1).err, "a trace that grows is fetched")
    bench.as_before()
    bench.end()
    bench.run("pull", GAME, "-o", "left.lapilli")
    check(context.info("left.lapilli")["ended"] is not None and bench.files() == [], f"{bench.files()}")
    bench.run("pull", GAME, expect=3)


@case
def a_signal_restores_at_once(context: Context) -> None:
    bench = game(context, "--frames", "1000000")
    process = bench.start("capture", "--stream", GAME)
    until("the app records", bench.running, process)
    process.terminate()
    said = process.communicate(timeout=patience(60))[1]
    check(process.returncode == 128 + signal.SIGTERM and f"lapilli android pull {GAME}" in said and "Traceback" not in said, f"{process.returncode}: {said}")
    bench.as_before()
    bench.end()


@case
def a_pulled_cable_loses_nothing(context: Context) -> None:
    bench = copying(context)
    for cut, taken in (("setprop", False), ("cat ./", True), ("settings delete", False)):
        bench.set(cut=cut)
        said = bench.run("capture", "-o", "cut.lapilli", GAME, expect=None)
        check(said.status in (1, 4) and "not there any more" in said.text + "went away" and "Traceback" not in said.err, f"{cut}: {said.status} {said.err}")
        check(bench.noted() and not list(context.folder.glob(".cut*")), f"{cut}: nothing is noted")
        bench.set(devices={"s": "device"})
        if taken:
            bench.run("pull", "-o", "again.lapilli", GAME)
            context.info("again.lapilli")
        else:
            bench.run("clean")
        bench.as_before()


@case
def values_of_others_stay(context: Context) -> None:
    bench = copying(context)
    process = bench.start("capture", "--no-start", GAME)
    until("the settings are there", lambda: bench.now()["settings"].get("enable_gpu_debug_layers") == "1", process)
    process.kill()
    process.communicate()
    check(bench.state["settings"]["gpu_debug_layer_app"] == f"com.other.layers:{APP}", f"{bench.state['settings']}")
    bench.state["settings"].update(gpu_debug_layers=f"VK_LAYER_NEW:{LAYER}:VK_LAYER_LAST", gpu_debug_app="com.third.app")
    bench.state["properties"]["debug.lapilli.file"] = "mine.lapilli"
    bench.save()
    said = bench.run("clean").err
    check("gpu_debug_app was changed meanwhile, and stays 'com.third.app'" in said and f"{LAYER} is taken out" in said and "stays 'mine.lapilli'" in said, said)
    bench.as_before(gpu_debug_app="com.third.app", gpu_debug_layers="VK_LAYER_NEW:VK_LAYER_LAST")


@case
def words_go_through_the_devices_shell_as_they_are(context: Context) -> None:
    bench = copying(context)
    bench.state["settings"] = {}
    bench.save()
    bench.run("capture", "--verify=all", "--trigger", STRANGE, "--keep-last", "10s", "--option", "queue=64", "-o", str(context.folder), GAME)
    told = dict(line.split("=", 1) for line in (bench.root / f"data/user/0/{GAME}/files/told").read_text().splitlines())
    check(re.fullmatch(r"%e\.r[0-9a-f]{8}\.lapilli", told.pop("LAPILLI_FILE")) is not None, f"{told}")
    check(told == {"LAPILLI_VERIFY": "all", "LAPILLI_TRIGGER": STRANGE, "LAPILLI_KEEP_LAST": "10s", "LAPILLI_QUEUE": "64"}, f"{told}")
    check(not list(context.folder.rglob("made")) and (context.folder / f"{GAME}.lapilli").exists() and not bench.now()["settings"], f"{bench.state['settings']}")


@case
def options_are_those_of_lapilli_capture(context: Context) -> None:
    sys.path.insert(0, str(context.build / "share/lapilli"))
    from android import options
    keys = {row["key"] for row in json.loads((context.root / "manifests/settings.json").read_text())}
    check(options.KEYS | options.OWN_KEYS == keys, f"{(options.KEYS | options.OWN_KEYS) ^ keys}")
    known = set(re.findall(r"--[a-z-]+", context.run([context.program("lapilli"), "capture", "--help"]).out))
    check({row.long for row in options.ROWS if row.key} <= known, f"{ {row.long for row in options.ROWS if row.key} - known}")


@case
def every_refusal_has_a_sentence(context: Context) -> None:
    bench = copying(context)
    game_state, app = bench.state["packages"][GAME], bench.state["app"]

    def refused(status: int, sentence: str, *words: str, **state: object) -> None:
        before = bench.now()
        bench.set(**state)
        changed = bench.now()
        said = bench.run(*(words or ("capture", GAME)), expect=status).err
        check(sentence in said and "Traceback" not in said, said)
        check(bench.now() == changed and not bench.noted(), f"{sentence}: something is changed")
        bench.state = before
        bench.save()
    refused(1, "there is no device", devices={})
    refused(2, "there are 2 devices (a, b): choose one with --serial", devices={"a": "device", "b": "device"})
    refused(1, "there is no device c: adb sees s", "capture", "--serial", "c", GAME)
    refused(1, "allow USB debugging", devices={"s": "unauthorized"})
    bench.set(devices={"a": "unauthorized", "b": "offline", "c": "no permissions (user x is in no group); see [http://x]"})
    said = bench.run("devices").out
    check(all(remedy in said for remedy in ("allow USB debugging", "pull the cable", "udev rules")), said)
    bench.set(devices={"s": "device"})
    old = {**bench.state["properties"], "ro.build.version.sdk": "29", "ro.build.version.release": "10"}
    refused(5, "Android 11 (30) or newer is needed", properties=old)
    refused(5, "there is no app com.example.game", packages={APP: app})
    refused(5, "lapilli android install", packages={GAME: game_state})
    refused(5, "package not debuggable", packages={GAME: {**game_state, "debuggable": False}, APP: app})
    refused(2, "--inject-layers needs --stream", "capture", "--inject-layers", GAME, packages={GAME: {**game_state, "debuggable": False}, APP: app})
    refused(2, "a property of Android has at most 91", "capture", "--trigger", f"file:{'x' * 87}", GAME)
    refused(2, "--trigger control needs --stream", "capture", "--trigger", "control", GAME)
    refused(2, "is set by this program itself", "capture", "--option", "file=x", GAME)
    refused(2, "is no package", "capture", "game; reboot")
    refused(127, "no-such-adb is not there", "devices", "--adb", "no-such-adb")
    bench.state["packages"][GAME]["activity"] = "none"
    bench.save()
    said = bench.run("capture", GAME, expect=5).err
    check("no activity that a launcher starts" in said, said)
    said = bench.run("capture", "--activity", ".Other", GAME, expect=1).err
    check("does not exist" in said, said)
    bench.as_before()
    bench.state["packages"][GAME].update(activity=f"{GAME}/.Main", program=["sh", "-c", "sleep 0.2"])
    bench.set(log="E/lapilli ( 77): the disk is full", packages=bench.state["packages"])
    check("nothing was recorded: the disk is full" in bench.run("capture", GAME, expect=3).err, "logcat is not asked")
    bench.as_before()


@case
def an_adb_that_hangs_is_given_up(context: Context) -> None:
    bench = copying(context)
    bench.set(hang="sleep-for-ever")
    code = "import sys; sys.path.insert(0, sys.argv[1])\nfrom android.adb import Adb, Gone\ntry:\n    Adb('adb', 's').shell('sleep-for-ever', seconds=0.5)\nexcept Gone as error:\n    print(error)"
    check("did not end within 0.5 seconds" in context.run([sys.executable, "-c", code, str(context.build / "share/lapilli")], bench.env).out, "it hangs")


def apk(path: Path, abi: str) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"lib/{abi}/libVkLayer_lapilli.so", b"")
    return str(path)


def programs(context: Context) -> str:
    """What a build for the device has: the programs of this one."""
    folder = context.folder / "arm64-v8a"
    (folder / "bin").mkdir(parents=True)
    for name in ("lapilli-replay", "lapilli-run"):
        shutil.copy(context.program(name), folder / "bin")
    shutil.copytree(context.build / "lib", folder / "lib")
    return str(folder)


@case
def app_and_programs_are_installed_and_removed(context: Context) -> None:
    bench = copying(context)
    bench.state["packages"].pop(APP)
    bench.save()
    good = apk(context.folder / "good.apk", "arm64-v8a")
    check("'make apk NDK=DIR'" in bench.run("install", expect=5).err, "no way to an APK is named")
    check("takes arm64-v8a" in bench.run("install", "--apk", apk(context.folder / "bad.apk", "x86_64"), expect=5).err, "an APK of another ABI is taken")
    for answer, sentence in (("INSTALL_FAILED_INSUFFICIENT_STORAGE", "no room left"), ("INSTALL_FAILED_UPDATE_INCOMPATIBLE: x", "clean --all"), ("INSTALL_FAILED_NEW: why", "why")):
        bench.set(install=answer)
        said = bench.run("install", "--apk", good, expect=1).err
        check(sentence in said, said)
    bench.set(install="")
    bench.run("install", "--apk", good, "--programs", programs(context))
    row = json.loads(bench.run("devices", "--json").out)
    check((row["installed"], row["api"], row["gpu"], row["vulkan"], row["to_restore"]) == (True, 30, "Fake 1", "1.3.0", False), f"{row}")
    check("local/tmp/lapilli/bin/lapilli-replay" in bench.files(), f"{bench.files()}")
    bench.run("clean", "--all")
    check(bench.files() == [] and APP not in bench.now()["packages"], f"{bench.files()}")


def position(context: Context, trace: str) -> str:
    """Of a draw."""
    return json.loads(context.run([context.program("lapilli"), "draws", "--json", trace]).out.splitlines()[0])["position"]


@case
def a_trace_is_played_on_the_device(context: Context) -> None:
    context.capture([context.app("headless")], "it's.lapilli")
    bench = copying(context)
    check("lapilli android install" in bench.run("replay", "it's.lapilli", expect=5).err, "programs are there")
    bench.run("install", "--programs", programs(context))
    first = bench.run("replay", "--verify", "it's.lapilli", "--hashes", "a b.json", "--measure=time.json")
    check_verified(first)
    said = bench.run("replay", "it's.lapilli", "--pictures=shots", "--after", position(context, "it's.lapilli")).out
    check("shots/" in said and "/data/" not in said, said)
    check(any(path.read_bytes().startswith(b"\x89PNG") for path in (context.folder / "shots").iterdir()), "there is no picture")
    here = context.run([context.program("lapilli-replay"), "--hashes", "here.json", "it's.lapilli"])
    check((context.folder / "a b.json").read_bytes() == (context.folder / "here.json").read_bytes(), here.text)
    check(json.loads((context.folder / "time.json").read_text()) != {}, "there are no figures")
    again = bench.run("replay", "--verify", "it's.lapilli")
    check("copying" in first.err and "copying" not in again.err, "the trace is copied twice")
    check([name for name in bench.files() if "/runs/" in name] == [], f"{bench.files()}")
    (context.folder / "junk.lapilli").write_text("no trace")
    check("junk.lapilli" in bench.run("replay", "junk.lapilli", expect=3).err, "the device's path is named")
    check(json.loads(bench.run("replay", "--list-gpus", "--json").out) != {}, "no GPU is listed")
    bench.run("replay", "--wait", "3", "it's.lapilli", expect=2)
    bench.set(full=True)
    (context.folder / "more.lapilli").write_text("more")
    check("no room left" in bench.run("replay", "more.lapilli", expect=1).err, "a full device is not told")


@case
def a_trace_is_played_by_the_app(context: Context) -> None:
    context.capture([context.app("headless")], "run.lapilli")
    bench = copying(context)
    player = 'name=$0; "$PLAYER" --present headless "$@" > $name.out 2> $name.err; echo $? > $name.s; mv $name.s $name.status; sleep 0.5'
    bench.state["packages"][APP].update(program=["sh", "-c", player], env={"PLAYER": context.program("lapilli-replay")})
    bench.save()
    check_verified(bench.run("replay", "--window", "--verify", "--hashes", "a,b.json", "run.lapilli"))
    bench.run("replay", "--window", "run.lapilli", "--pictures", "shots", "--after", position(context, "run.lapilli"))
    check((context.folder / "a,b.json").exists() and list((context.folder / "shots").glob("*.png")), "nothing came back")
    check(not [name for name in bench.files() if APP in name], f"{bench.files()}")
    (context.folder / "junk.lapilli").write_text("no trace")
    bench.run("replay", "--window", "junk.lapilli", expect=3)
    bench.state = bench.now()
    bench.state["packages"][APP]["program"] = ["sh", "-c", 'echo "it is lost" > $0.err; kill -9 $$']
    bench.state["crash"] = "F DEBUG : signal 11 (SIGSEGV), code 1"
    bench.save()
    said = bench.run("replay", "--window", "run.lapilli", expect=139).err
    check("it is lost" in said and "SIGSEGV" in said, said)


def players(bench: Bench) -> list[int]:
    """Processes of the device."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [int(path.parent.name)] if os.fsencode(bench.root) in path.read_bytes() else []
        except OSError:  # it has ended
            pass
    return found


@case
def a_served_trace_is_played_on_the_device(context: Context) -> None:
    context.capture([context.app("triangle"), "--offscreen"], "out.lapilli")
    bench = copying(context)
    bench.env["PATH"] = f"{bench.home}/bin:{os.environ['PATH']}"
    check("lapilli android install --programs" in bench.run("serve", "out.lapilli", expect=5).err, "programs are there")
    bench.run("install", "--programs", programs(context))
    before = bench.files()
    _, draws, _ = draws_of_a_frame(context)
    with Server(context, "--device", "s", "out.lapilli", env=bench.env) as server:
        [capture] = server.captures()
        check(len(bench.now()["forward"]) == 1 and players(bench), "nothing waits on the device")

        def waiting() -> set[int]:
            return {child for service in children_of(server.process, "lapilli-serve") for child in children_of(service) if "--wait" in read_words(child)}
        waited = set()
        for at in draws[:2]:
            answer = server.ask(f"{capture}/framebuffer/{at}/color0.png")
            context.run([context.program("lapilli"), "image", "--quiet", "-o", "here", "--after", at, "out.lapilli"])
            check(answer.status == 200 and answer.body == (context.folder / f"here/{at}-color0.png").read_bytes(), f"{at}: {answer.status} {answer.body[:300]}")
            until("one that waited has answered", lambda: not waited or waited - waiting())
            until("two wait", lambda: len(waiting()) == 2)
            waited = waiting()
        check((bench.root / "data/local/tmp/lapilli/cache").is_dir(), "it was not played there")
        server.end(signal.SIGINT)
    until("the end of the device's processes", lambda: not players(bench))
    check([name for name in bench.files() if "/cache/" not in name] == before, f"{bench.files()}")
    bench.as_before()
    for word, sentence in (("--listen", "has ended with 137"), ("shell", "not there any more")):  # the player dies; adb does, as of a pulled cable
        process = bench.start("serve", "--listen", "127.0.0.1:0", "--", "out.lapilli")
        check("token=" in process.stdout.readline(), "there is no address")
        [pid] = [pid for pid in (players(bench) if word == "--listen" else children_of(process)) if word in read_words(pid)]
        os.kill(pid, signal.SIGKILL)
        said = process.communicate(timeout=patience(60))[1]
        check(process.returncode == 1 and sentence in said and "Traceback" not in said, f"{process.returncode}: {said}")
        until("the end of the device's processes", lambda: not players(bench))
        bench.as_before()
