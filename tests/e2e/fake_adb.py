#!/usr/bin/env -S python3 -SIB
# SPDX-License-Identifier: MIT
"""What stands for adb and for the devices behind it, in tests. FAKE_ADB names a folder: `state.json` says which devices there are, and
what fails; `settings/` and `properties/` have a file for each; `SERIAL/` is the root of a device's files. Lines for a device's shell are run by
sh, with the functions below for the commands that Android has besides, and with the device's /data below its root. Apps are real programs,
which get the layer as Android would load it, and its properties as variables."""
import json
import os
import sys

HOME = os.environ.get("FAKE_ADB", "")
LAYER = "VK_LAYER_LAPILLI_capture"
# The commands of a device. `am` is this program, run-as is a file, since no function can have this name.
SHELL = """
settings() { case $1 in
    get) cat "$FAKE_ADB/settings/$3" 2> /dev/null && echo || echo null ;;
    put) printf %s "$4" > "$FAKE_ADB/settings/$3" ;;
    delete) rm -f "$FAKE_ADB/settings/$3" ;;
    esac; }
getprop() { if [ $# = 1 ]; then cat "$FAKE_ADB/properties/$1" 2> /dev/null; echo; else
    for file in "$FAKE_ADB"/properties/*; do echo "[${file##*/}]: [$(cat "$file")]"; done; fi; }
setprop() { if [ ${#2} -gt 91 ]; then echo "Failed to set property '$1' to '$2'" >&2; return 1; fi; printf %s "$2" > "$FAKE_ADB/properties/$1"; }
pm() { [ -e "$FAKE_ADB/installed/$2" ] && echo "package:/data/app/$2/base.apk"; }
ps() { [ ! -e "$FAKE_ADB/running" ] || while read -r pid package; do case $(cut -d ' ' -f 3 "/proc/$pid/stat" 2> /dev/null) in "" | Z) ;; *) echo "$pid $package" ;; esac; done < "$FAKE_ADB/running"; }
pidof() { ps | sed -n "s/ $1\$//p"; }
cmd() { case $1 in
    gpu) echo '{"devices": [{"properties": {"deviceName": "Fake 1", "apiVersion": 4206592}}]}' ;;
    *) echo priority=0; cat "$FAKE_ADB/installed/$6" ;;
    esac; }
id() { echo 2000; }
su() { echo "su: inaccessible or not found" >&2; return 127; }
logcat() { case $* in *crash*) cat "$FAKE_ADB/crash" ;; *) cat "$FAKE_ADB/log" ;; esac 2> /dev/null; }
am() { case $1 in get-current-user) echo 0 ;; *) "$FAKE_ADB/bin/adb" am "$@" ;; esac; }
"""
RUN_AS = """#!/bin/sh
[ -e "$FAKE_ADB/debuggable/$1" ] || { echo "run-as: package not debuggable: $1" >&2; exit 1; }
mkdir -p "$FAKE_DEVICE/data/user/0/$1" && cd "$FAKE_DEVICE/data/user/0/$1" && shift && exec "$@"
"""


def load(home=HOME):
    with open(f"{home}/state.json", encoding="utf-8") as file:
        state = json.load(file)
    for kind in ("settings", "properties"):
        state[kind] = {name: open(f"{home}/{kind}/{name}", encoding="utf-8").read() for name in os.listdir(f"{home}/{kind}")}
    return state


def save(state, home=HOME):
    """Also for the functions of the shell. Of an installed package they want the activity."""
    tables = {kind: state[kind] for kind in ("settings", "properties")}
    tables["installed"] = {name: package.get("activity", "") + "\n" for name, package in state["packages"].items()}
    tables["debuggable"] = {name: "" for name, package in state["packages"].items() if package.get("debuggable")}
    for kind, table in tables.items():
        os.makedirs(f"{home}/{kind}", exist_ok=True)
        for name in set(os.listdir(f"{home}/{kind}")) - set(table):
            os.unlink(f"{home}/{kind}/{name}")
        for name, value in table.items():
            with open(f"{home}/{kind}/{name}", "w", encoding="utf-8") as file:
                file.write(value)
    for name in ("log", "crash"):
        with open(f"{home}/{name}", "w", encoding="utf-8") as file:
            file.write(state.get(name, ""))
    with open(f"{home}/state.{os.getpid()}", "w", encoding="utf-8") as file:
        json.dump({key: value for key, value in state.items() if key not in ("settings", "properties")}, file)
    os.replace(f"{home}/state.{os.getpid()}", f"{home}/state.json")


def die(text, status=1):
    print(text, file=sys.stderr)
    sys.exit(status)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def running(home=HOME):
    try:
        with open(f"{home}/running", encoding="utf-8") as file:
            return [(int(line.split()[0]), line.split()[1]) for line in file]
    except OSError:
        return []


def end(pid):
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        pass
    while alive(pid):
        os.sched_yield()


def launch(state, device, package, arguments=()):
    """As Android: the layer is loaded where the settings name it, this app, and an app that has it."""
    app, settings = state["packages"][package], state["settings"]
    files = f"{device}/data/user/0/{package}/files"
    os.makedirs(files, exist_ok=True)
    env = {key: value for key, value in os.environ.items() if not key.startswith("LAPILLI_")} | app.get("env", {})
    loads = settings.get("enable_gpu_debug_layers") == "1" and settings.get("gpu_debug_app") == package and {*settings.get("gpu_debug_layer_app", "").split(":")} & {*state["packages"]}
    if loads and LAYER in settings.get("gpu_debug_layers", "").split(":"):
        env |= {"LAPILLI_" + key.rpartition(".")[2].upper(): value for key, value in state["properties"].items() if key.startswith("debug.lapilli.") and value}
        env |= {"VK_INSTANCE_LAYERS": LAYER, "VK_LAYER_PATH": app["layer"]}
    if not (pid := os.fork()):
        os.setsid()
        os.chdir(files)
        log = os.open("../log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for fd, to in ((os.open(os.devnull, os.O_RDONLY), 0), (log, 1), (log, 2)):
            os.dup2(fd, to)
        os.execvpe(app["program"][0], [*app["program"], *arguments], env)
    with open(f"{HOME}/running", "a", encoding="utf-8") as file:
        file.write(f"{pid} {package}\n")


def am(state, device, words):
    if words[0] == "force-stop":
        for pid, package in running():
            if package == words[1]:
                end(pid)
        return
    name = words[words.index("-n") + 1]
    package = name.partition("/")[0]
    if state["packages"].get(package, {}).get("activity") != name:
        print("Starting: Intent\nError type 3\nError: Activity class {%s} does not exist." % name)
        return
    extra = []
    if "--esa" in words:  # Lapilli's app: commas part words, but those behind a backslash
        text = words[words.index("--esa") + 2].replace("\\,", "\0")
        extra = [words[words.index("--es") + 2], *(word.replace("\0", ",") for word in text.split(","))]
    launch(state, device, package, extra)
    print("Status: ok")


def passing(listener, family, address):
    """What adb reverse and forward do: connections go on to somewhere else."""
    import socket
    import threading

    def copy(source, to):
        try:
            while data := source.recv(1 << 16):
                to.sendall(data)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass
    while True:
        one = listener.accept()[0]
        other = socket.socket(family)
        other.connect(address)
        for pair in ((one, other), (other, one)):
            threading.Thread(target=copy, args=pair, daemon=True).start()


def ways(state, kind, serial, words):
    """adb reverse and forward."""
    import socket
    there = state[kind]
    if words[0] == "--list":
        return print("\n".join(f"{serial if kind == 'forward' else 'UsbFfs'} {name} {way[1]}" for name, way in there.items()))
    if words[0] == "--remove":
        if words[1] not in there:
            die(f"adb: error: listener '{words[1]}' not found")
        end(there.pop(words[1])[0])
        return save(state)

    def place(text):
        kind, _, name = text.partition(":")
        return (socket.AF_UNIX, "\0" + name) if kind == "localabstract" else (socket.AF_INET, ("127.0.0.1", int(name)))
    family, address = place(words[0])
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen()
    if not (pid := os.fork()):
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        passing(listener, *place(words[1]))
    if words[0] == "tcp:0":
        print(listener.getsockname()[1])
        words[0] = f"tcp:{listener.getsockname()[1]}"
    there[words[0]] = (pid, words[1])
    save(state)


def shell(device, line, raw):
    os.environ.update(PATH=f"{HOME}/commands:{os.environ['PATH']}", FAKE_DEVICE=device)
    source, to = os.pipe()
    if not (pid := os.fork()):
        if not raw:
            os.dup2(to, 1)
        os.execvp("sh", ["sh", "-c", SHELL + line.replace("/data/", f"{device}/data/")])
    os.close(to)
    with open(source, "rb") as out:
        for part in out:
            sys.stdout.buffer.write(part.replace(os.fsencode(device), b""))
    sys.stdout.flush()
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def install(state, words):
    with open(words[-1], "rb") as apk:
        apk.read(2)
    if state.get("install"):
        print("Performing Streamed Install")
        die(f"adb: failed to install {words[-1]}: Failure [{state['install']}]")
    state["packages"]["org.lapilli.replay"] = state["app"]
    save(state)
    print("Performing Streamed Install\nSuccess")


def adb(words):
    state = load()
    if words[0] == "devices":
        print("* daemon not running; starting now at tcp:5037\n* daemon started successfully\nList of devices attached")
        return print("\n".join(f"{serial}\t{how}" for serial, how in state["devices"].items()))
    serial = words[1] if words[0] == "-s" else next(iter(state["devices"]), "")
    words = words[2:] if words[0] == "-s" else words
    cut = state.get("cut")  # the cable is pulled in front of a call that has this in it
    if cut and any(cut in word for word in words):
        state["devices"].pop(serial)
        state.pop("cut")
        save(state)
    if serial not in state["devices"]:
        die(f"adb: device '{serial}' not found")
    device = f"{HOME}/{serial}"
    if words[0] in ("shell", "exec-out"):
        if state.get("hang") and state["hang"] in words[1]:
            os.execvp("sleep", ["sleep", "3600"])
        shell(device, words[1], words[0] == "exec-out")
    elif words[0] == "push":
        if state.get("full"):
            die("adb: error: failed to copy: remote No space left on device")
        os.execvp("cp", ["cp", "-rL", *words[1:-1], device + words[-1]])
    elif words[0] in ("reverse", "forward"):
        ways(state, words[0], serial, words[1:])
    elif words[0] == "install":
        install(state, words)
    elif words[0] == "uninstall":
        state["packages"].pop(words[1])
        save(state)
        print("Success")


if __name__ == "__main__":
    if sys.argv[1] == "am":
        am(load(), os.environ["FAKE_DEVICE"], sys.argv[2:])
    else:
        adb(sys.argv[1:])
