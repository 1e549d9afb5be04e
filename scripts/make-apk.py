#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make-apk.py --out FILE [--strip PROGRAM] ABI=FOLDER...: packs and signs the app of docs/android.md. FOLDER/lib has the layer and the replayer
for that ABI. Runs at the top of the repository.

The tools are those of PATH, or of an SDK, where ANDROID_HOME names one: aapt, zipalign, apksigner, keytool. KEYSTORE (and KEY_ALIAS) names the
key to sign with, and KEY_PASS is its password; else it is a key of this machine that is made beside FILE, and kept: Android replaces an app
only by one of the same key."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ABIS = ("arm64-v8a", "armeabi-v7a", "x86_64")
LIBRARIES = ("libVkLayer_lapilli.so", "liblapilli_replay.so")
PAGE_BYTES = 16384  # the largest pages of devices
LEAST_ANDROID = "30"
MANIFEST = Path("manifests/AndroidManifest.xml")
FRAMEWORK = Path("/usr/share/android-framework-res/framework-res.apk")
MADE_KEY = {"KEY_PASS": "android", "KEY_ALIAS": "lapilli"}


class Refused(Exception):
    """Why there is no APK."""


def newest(folder: Path, pattern: str) -> Path | None:
    return max(folder.glob(pattern), key=lambda path: [int(number) for number in re.findall(r"\d+", path.name)], default=None)


def tools(sdk: str | None) -> dict[str, str]:
    """The environment of the tools."""
    found = newest(Path(sdk) / "build-tools", "*") if sdk else None
    environment = {**os.environ, "PATH": f"{found}:{os.environ['PATH']}" if found else os.environ["PATH"]}
    lacking = [name for name in ("aapt", "zipalign", "apksigner", "keytool") if not shutil.which(name, path=environment["PATH"])]
    if lacking:
        raise Refused(f"there is no {lacking[0]}: scripts/install-deps.sh android installs it")
    return environment


def platform(sdk: str | None) -> Path:
    jar = newest(Path(sdk) / "platforms", "android-*") if sdk else None
    path = jar / "android.jar" if jar else FRAMEWORK
    if not path.exists():
        raise Refused(f"there is no {path}: scripts/install-deps.sh android installs Debian's")
    return path


def run(environment: dict[str, str], *command: str | Path) -> None:
    done = subprocess.run([str(word) for word in command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise Refused(f"{command[0]}: {done.stdout.strip()}")


def version() -> tuple[str, str]:
    """The number that Android orders versions by, and the name."""
    name = re.search(r'LAPILLI_VERSION +"(\d+)\.(\d+)\.(\d+)(.*)"', Path("base/version.h").read_text())
    major, minor, patch = map(int, name.groups()[:3])
    return str(major * 10000 + minor * 100 + patch), f"{major}.{minor}.{patch}{name[4]}"


def key(environment: dict[str, str], folder: Path) -> Path:
    """The keystore; its password and the key's name are in the environment."""
    if environment.get("KEYSTORE"):
        environment.setdefault("KEY_PASS", "")
        return Path(environment["KEYSTORE"])
    environment.update(MADE_KEY)
    store = folder / "debug.keystore"
    if not store.exists():
        run(environment, "keytool", "-genkeypair", "-keystore", store, "-storetype", "PKCS12", "-storepass:env", "KEY_PASS", "-alias", MADE_KEY["KEY_ALIAS"],
            "-keyalg", "RSA", "-keysize", "2048", "-validity", "10000", "-dname", "CN=Lapilli debug")
    return store


def add_libraries(apk: Path, folders: dict[str, Path], work: Path, strip: str | None) -> None:
    """Stored, so that Android opens them in the APK; times are none, so that the same libraries make the same bytes."""
    with zipfile.ZipFile(apk, "a", zipfile.ZIP_STORED) as archive:
        for abi, folder in sorted(folders.items()):
            for name in LIBRARIES:
                library = folder / "lib" / name
                if not library.exists():
                    raise Refused(f"there is no {library}")
                if strip:
                    run(dict(os.environ), strip, "--strip-debug", "-o", work / name, library)
                    library = work / name
                archive.writestr(zipfile.ZipInfo(f"lib/{abi}/{name}"), library.read_bytes())


def check(apk: Path) -> None:
    """Android silently skips libraries that lie otherwise."""
    with zipfile.ZipFile(apk) as archive, apk.open("rb") as file:
        for entry in archive.infolist():
            if not entry.filename.endswith(".so"):
                continue
            file.seek(entry.header_offset)
            name_bytes, extra_bytes = struct.unpack("<26xHH", file.read(30))
            begin = entry.header_offset + 30 + name_bytes + extra_bytes
            if entry.compress_type != zipfile.ZIP_STORED or begin % PAGE_BYTES:
                raise Refused(f"{entry.filename} lies at {begin} of the APK, compressed or on no boundary of {PAGE_BYTES} bytes")


def make(out: Path, folders: dict[str, Path], strip: str | None) -> None:
    sdk = os.environ.get("ANDROID_HOME")
    environment = tools(sdk)
    number, name = version()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        work = Path(folder)
        apk, aligned = work / "app.apk", work / "aligned.apk"
        run(environment, "aapt", "package", "-f", "-M", MANIFEST, "-I", platform(sdk), "--version-code", number, "--version-name", name, "-F", apk)
        add_libraries(apk, folders, work, strip)
        run(environment, "zipalign", "-f", str(PAGE_BYTES), apk, aligned)  # -p would be the 4096 bytes of Debian's
        store = key(environment, out.parent)
        alias = ["--ks-key-alias", environment["KEY_ALIAS"]] if environment.get("KEY_ALIAS") else []
        run(environment, "apksigner", "sign", "--min-sdk-version", LEAST_ANDROID, "--ks", store, *alias, "--ks-pass", "env:KEY_PASS", "--out", apk, aligned)
        check(apk)
        apk.replace(out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--strip", help="removes debug information from the libraries")
    parser.add_argument("libraries", nargs="+", metavar="ABI=FOLDER")
    options = parser.parse_args()
    folders = {abi: Path(folder) for abi, _, folder in (word.partition("=") for word in options.libraries)}
    try:
        unknown = [abi for abi in folders if abi not in ABIS]
        if unknown:
            raise Refused(f"ABI is {', '.join(ABIS)}, not \"{unknown[0]}\"")
        make(options.out, folders, options.strip)
    except (Refused, OSError) as error:
        print(f"make-apk: {error}", file=sys.stderr)
        return 1
    print(f"{options.out}: {' '.join(sorted(folders))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
