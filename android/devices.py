# SPDX-License-Identifier: MIT
"""The devices that adb sees: what they are, and which one is meant."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from android import settings
from android.adb import UNSUPPORTED, USAGE, Adb, Fault, Gone
from android.settings import APP

REMEDIES = {
    "unauthorized": "unlock it, and allow USB debugging for this computer in the window that it shows",
    "authorizing": "unlock it, and allow USB debugging for this computer in the window that it shows",
    "offline": "pull the cable and plug it in again, or run 'adb reconnect offline'",
    "no permissions": "this user may not open the USB device: install udev rules (Debian: android-sdk-platform-tools-common), and plug it in again",
    "recovery": "it runs its recovery: start it as usual",
    "sideload": "it runs its recovery: start it as usual",
    "bootloader": "it runs its boot loader: start it as usual",
}
PROPERTIES = {"model": "ro.product.model", "android": "ro.build.version.release", "api": "ro.build.version.sdk", "abis": "ro.product.cpu.abilist"}


@dataclass
class Device:
    serial: str
    state: str

    def fault(self) -> str:
        """Why it can't be used, with a remedy; "": it can."""
        return "" if self.state == "device" else f"the device {self.serial} is '{self.state}': {REMEDIES.get(self.state, 'it can not be used so')}"


def listed(adb: Adb) -> list[Device]:
    done = Adb(adb.program).run("devices")
    if done.status:
        raise Fault(f"adb lists no devices: {done.said}")
    found = []
    for line in done.out.splitlines():
        match = re.match(r"(\S+)\s+(no permissions|[a-z]+)", line)
        if match and not line.startswith(("*", "List of devices", "adb ")):
            found.append(Device(match.group(1), match.group(2)))
    return found


def choose(adb: Adb) -> Adb:
    """The device of the serial, or the only one."""
    found = listed(adb)
    if adb.serial:
        chosen = [device for device in found if device.serial == adb.serial]
        if not chosen:
            raise Fault(f"there is no device {adb.serial}: adb sees {', '.join(device.serial for device in found) or 'none'}")
    else:
        chosen = [device for device in found if device.state == "device"] or found
        if not chosen:
            raise Fault("there is no device: plug one in, and switch on USB debugging in its developer options")
        if len(chosen) > 1:
            raise Fault(f"there are {len(chosen)} devices ({', '.join(device.serial for device in chosen)}): choose one with --serial", USAGE)
    if chosen[0].fault():
        raise Fault(chosen[0].fault())
    return Adb(adb.program, chosen[0].serial)


def properties(adb: Adb, *packages: str) -> dict:
    """What it is, and which of some packages are installed."""
    answers = adb.answers(*(("getprop", name) for name in PROPERTIES.values()), *(("pm", "path", package) for package in packages))
    values = dict(zip(PROPERTIES, answers))
    return {**values, "packages": [package for package, line in zip(packages, answers[len(PROPERTIES):]) if line.startswith("package:")], "api": int(values["api"]) if values["api"].isdecimal() else 0, "abis": [abi for abi in values["abis"].split(",") if abi]}


def check_release(found: dict) -> None:
    if found["api"] < 30:
        raise Fault(f"{found['model']} has Android {found['android']} (API level {found['api']}): Android 11 (30) or newer is needed", UNSUPPORTED)


def check_program(adb: Adb, path: str) -> None:
    if adb.shell(f"[ -x {path} ]").status:
        raise Fault(f"{path} is not on the device: lapilli android install --programs build/android/ABI", UNSUPPORTED)


def _first(value: object, key: str) -> object:
    """The first member of this name, anywhere in it."""
    if isinstance(value, dict):
        if key in value:
            return value[key]
        value = list(value.values())
    return next((found for found in (_first(item, key) for item in value) if found is not None), None) if isinstance(value, list) else None


def gpu(adb: Adb) -> tuple[str | None, str | None]:
    """Name and version of Vulkan of its first GPU, where the system says so."""
    try:
        told = json.loads(adb.shell("cmd gpu vkjson").out)
    except (ValueError, Fault):
        return None, None
    name, version = _first(told, "deviceName"), _first(told, "apiVersion")
    if isinstance(version, int):
        version = f"{version >> 22 & 127}.{version >> 12 & 1023}.{version & 4095}"
    return (name if isinstance(name, str) else None), (version if isinstance(version, str) else None)


def describe(adb: Adb, device: Device) -> dict:
    """What `lapilli android devices --json` prints of one."""
    row = {"serial": device.serial, "state": device.state, "fault": device.fault() or None, "model": None, "android": None, "api": None, "abis": [],
           "gpu": None, "vulkan": None, "installed": None, "to_restore": settings.path_of(device.serial).exists()}
    if device.fault():
        return row
    one = Adb(adb.program, device.serial)
    try:
        row.update(properties(one, APP))
        row["installed"] = bool(row.pop("packages"))
        row["gpu"], row["vulkan"] = gpu(one)
    except Gone as error:
        row["fault"] = str(error)
    return row


def show(adb: Adb, as_json: bool) -> int:
    rows = [describe(adb, device) for device in listed(adb) if adb.serial in ("", device.serial)]
    for row in rows:
        if as_json:
            print(json.dumps(row))
            continue
        print(f"{row['serial']}  {row['state']}" + (f"  {row['model']}, Android {row['android']} (API level {row['api']}), {', '.join(row['abis'])}" if row["api"] is not None else ""))
        if row["fault"]:
            print(f"  {row['fault']}")
        if row["api"] is not None:
            print(f"  GPU: {row['gpu'] or 'not known'}" + (f", Vulkan {row['vulkan']}" if row["vulkan"] else ""))
            print(f"  Lapilli's app: {'installed' if row['installed'] else 'not installed (lapilli android install)'}")
        if row["to_restore"]:
            print("  settings of a recording are to be restored: the next command that uses the device does it, as lapilli android clean")
    if not rows and not as_json:
        print("no device: plug one in, and switch on USB debugging in its developer options")
    return 0
