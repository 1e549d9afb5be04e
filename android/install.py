# SPDX-License-Identifier: MIT
"""lapilli android install and clean: Lapilli's app and programs, to the device and away from it."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from android import devices, settings
from android.adb import FAILED, MOVE_SECONDS, UNSUPPORTED, USAGE, Adb, Fault, Tools, line_of
from android.files import no_room
from android.settings import APP, DEVICE_FOLDER, Say

APKS = ("../share/lapilli/lapilli.apk", "../android/lapilli.apk")
ANSWERS = {
    "INSTALL_FAILED_INSUFFICIENT_STORAGE": "it has no room left",
    "INSTALL_FAILED_UPDATE_INCOMPATIBLE": "the one that is there has another signature: lapilli android clean --all removes it",
    "INSTALL_FAILED_VERSION_DOWNGRADE": "a newer one is there: lapilli android clean --all removes it",
    "INSTALL_FAILED_NO_MATCHING_ABIS": "it has no library for this device's processor",
    "INSTALL_FAILED_OLDER_SDK": "this Android is too old for it",
    "INSTALL_FAILED_USER_RESTRICTED": "the device forbids it: allow 'Install via USB' in its developer options, and confirm there",
    "INSTALL_FAILED_VERIFICATION_FAILURE": "the device's verifier of apps over USB refuses it: its developer options can switch that off",
    "INSTALL_PARSE_FAILED": "the file is no APK, or a damaged one",
}


def apk_for(given: str, tools: Tools) -> Path:
    for path in [Path(given)] if given else [tools.folder / place for place in APKS]:
        if path.is_file():
            return path
    raise Fault(f"{given} can't be read" if given else "there is no APK beside this program: 'make apk NDK=DIR' makes BUILD/android/lapilli.apk (docs/build.md), and --apk FILE names it",
                USAGE if given else UNSUPPORTED)


def abis_of(apk: Path) -> set[str]:
    try:
        with zipfile.ZipFile(apk) as archive:
            return {name.split("/")[1] for name in archive.namelist() if re.fullmatch(r"lib/[^/]+/[^/]+\.so", name)}
    except (OSError, zipfile.BadZipFile) as error:
        raise Fault(f"{apk} is no APK: {error}", UNSUPPORTED) from None


def install_app(adb: Adb, apk: Path, abis: list[str], say: Say) -> None:
    there = abis_of(apk)
    if not there & set(abis):
        raise Fault(f"{apk} is for {', '.join(sorted(there)) or 'no processor'}; the device takes {', '.join(abis)}", UNSUPPORTED)
    say(f"installing {apk}")
    # An app sees the one with the layer only where that is queryable (since Android 11).
    done = adb.run("install", "-r", "--force-queryable", str(apk), seconds=MOVE_SECONDS)
    text = done.out + done.err
    if done.status or "Success" not in text:
        reason = next((sentence for key, sentence in ANSWERS.items() if key in text), no_room(done.said))
        raise Fault(f"the device does not take {apk}: {reason}")


def push_programs(adb: Adb, folder: Path, say: Say) -> None:
    if not (folder / "bin/lapilli-replay").is_file():
        raise Fault(f"{folder}/bin has no lapilli-replay: it is to be a folder that make android NDK=DIR ABI=... made", USAGE)
    say(f"copying the programs of {folder} to {DEVICE_FOLDER}")
    adb.ask("mkdir", "-p", DEVICE_FOLDER)
    done = adb.run("push", str(folder / "bin"), str(folder / "lib"), DEVICE_FOLDER, seconds=MOVE_SECONDS)
    if done.status:
        raise Fault(f"the programs can't be copied: {no_room(done.said)}")
    adb.ask("sh", "-c", f"chmod 755 {DEVICE_FOLDER}/bin/*")


def install(adb: Adb, apk: str, programs: str, tools: Tools, say: Say) -> int:
    found = devices.properties(adb)
    devices.check_release(found)
    folders = [tools.folder / "../android" / abi for abi in found["abis"]]
    folder = Path(programs) if programs else next((path for path in folders if path.is_dir()), None)
    if programs and folder.resolve().name not in found["abis"] and re.match(r"arm|x86", folder.resolve().name):
        raise Fault(f"{folder} is for {folder.resolve().name}; the device takes {', '.join(found['abis'])}", UNSUPPORTED)
    if apk or not programs:
        install_app(adb, apk_for(apk, tools), found["abis"], say)
    if folder:
        push_programs(adb, folder, say)
    return 0


def clean(adb: Adb, everything: bool, say: Say) -> int:
    with settings.lock(adb.serial) as held:
        if not held:
            raise Fault(f"another lapilli android records on {adb.serial}: end it first")
        if settings.restore(adb, say):
            say("the settings are restored")
        left, properties = settings.read(adb)
        adb.shell("\n".join(line_of(["setprop", key, ""]) for key in properties))
        for line in adb.run("reverse", "--list").out.splitlines():
            for name in re.findall(r"localabstract:lapilli-r[0-9a-f]{8}\b", line):
                adb.run("reverse", "--remove", name)
        for port in re.findall(rf"^{re.escape(adb.serial)} (tcp:\d+) localabstract:lapilli-run-[0-9a-f]{{8}}$", adb.run("forward", "--list").out, re.M):
            adb.run("forward", "--remove", port)
        adb.ask("rm", "-rf", DEVICE_FOLDER)
        if everything and devices.properties(adb, APP)["packages"]:
            done = adb.run("uninstall", APP, seconds=120)
            if done.status or "Success" not in done.out:
                raise Fault(f"the app can't be removed: {done.said}", FAILED)
        if settings.LAYER in left["gpu_debug_layers"].split(":"):
            say(f"gpu_debug_layers still names the layer, but no recording of this user has put it there: adb shell {line_of(['settings', 'delete', 'global', 'gpu_debug_layers'])}")
    return 0
