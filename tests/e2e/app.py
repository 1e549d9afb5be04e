# SPDX-License-Identifier: MIT
"""The app of docs/android.md: its library plays under a program that plays the part of Android (activity.c), and what is made of it is an APK
that Android takes."""

from __future__ import annotations

import os
import re
import shutil
import zipfile
from pathlib import Path

from e2e.cases import Cases, Context, Done, Skip, check, check_verified, display

CASES = Cases()
case = CASES.add

APP_LIBRARIES = ("libVkLayer_lapilli.so", "liblapilli_replay.so")
PAGE_BYTES = 16384


def cases():
    return CASES


def play(context: Context, how: str, name: str, *words: str, expect: int | None = 0) -> Done:
    display()
    tests = context.build / "tests"
    return context.run([str(tests / "bin/activity"), how, str(tests / "lib/liblapilli_replay.so"), str(context.folder), name, *words], expect=expect)


def status(context: Context, name: str) -> str:
    check(not (context.folder / f"{name}.status.tmp").exists(), f"{name}.status is not finished")
    return (context.folder / f"{name}.status").read_text()


@case
def a_window_goes_and_comes(context: Context) -> None:
    """Each window has one swapchain, though the turned device calls it suboptimal; nothing of one is left when its callback returns."""
    context.capture([context.app("triangle"), "--frames", "300"])
    plain = context.run([context.program("lapilli-replay"), "--verify", "--screenshot", "1,150,300", "--screenshot-dir", "plain", "out.lapilli"])
    (context.folder / "run.status").write_text("7\n")
    done = play(context, "windows", "run", "--verify", "--screenshot", "1,150,300", "--screenshot-dir", "shots", "--present", "window", "out.lapilli")
    windows, swapchains = map(int, re.search(r"windows (\d+), swapchains (\d+)", done.out).groups())
    check(windows > 10 and windows - 5 < swapchains < windows + 5, done.out)
    check(status(context, "run") == "0\n", status(context, "run"))
    out, err = ((context.folder / f"run.{ending}").read_text() for ending in ("out", "err"))
    check(check_verified(Done(0, out, err)) == check_verified(plain), out + err)
    for picture in sorted((context.folder / "plain").iterdir()):
        check(picture.read_bytes() == (context.folder / "shots" / picture.name).read_bytes(), f"{picture.name} differs")


@case
def ends_leave_a_status(context: Context) -> None:
    """As the user leaves, at a crash, where the replay ends its process, and where it does not begin."""
    context.capture([context.app("triangle"), "--frames", "300"])
    play(context, "leave", "left", "out.lapilli")
    check(status(context, "left") == "0\n", status(context, "left"))
    play(context, "crash", "crash", "out.lapilli", expect=None)
    check(status(context, "crash") == "139\n" and "crashed (SIGSEGV)" in (context.folder / "crash.err").read_text(), status(context, "crash"))
    play(context, "stuck", "stuck", "--wait-limit", "1", "out.lapilli", expect=1)
    check(status(context, "stuck") == "1\n" and "1 s were not enough" in (context.folder / "stuck.err").read_text(), status(context, "stuck"))
    for words, code, sentence in ((["--sandbox", "auto", "out.lapilli"], 2, "--sandbox wants off"), (["no.lapilli"], 3, "can't open no.lapilli")):
        play(context, "windows", "none", *words, expect=code)
        check(status(context, "none") == f"{code}\n" and sentence in (context.folder / "none.err").read_text(), status(context, "none"))


@case
def what_is_not_asked_for_is_not_played(context: Context) -> None:
    before = set(context.folder.iterdir())
    check("nothing is asked for" in play(context, "windows", "").out, "no run")
    for name in ("a/b", "..%2f", "a" * 65):
        check("run is 1 to 64 letters" in play(context, "windows", name, "out.lapilli", expect=2).out, name)
    check(set(context.folder.iterdir()) == before, "files were made")


@case
def an_apk_is_what_android_takes(context: Context) -> None:
    """Libraries stored at pages, an activity without Java, a signature; a given key signs as well."""
    for tool in ("aapt", "zipalign", "apksigner", "keytool"):
        if not shutil.which(tool):
            raise Skip(f"there is no {tool} (scripts/install-deps.sh android)")
    if not Path("/usr/share/android-framework-res/framework-res.apk").exists():
        raise Skip("there is no android-framework-res (scripts/install-deps.sh android)")
    abis = ("arm64-v8a", "x86_64")
    for abi in abis:
        (context.folder / abi / "lib").mkdir(parents=True)
        for name in APP_LIBRARIES:
            shutil.copy(context.build / "tests/bin/activity", context.folder / abi / "lib" / name)
    folders = [f"{abi}={context.folder / abi}" for abi in abis]
    make = ["env", "-u", "ANDROID_HOME", "-C", str(context.root), str(context.root / "scripts/make-apk.py"), "--out"]
    apk = context.folder / "app.apk"
    context.run([*make, str(apk), *folders])
    check("(OK)" in context.run(["zipalign", "-c", "-v", str(PAGE_BYTES), str(apk)]).out, "zipalign")
    with zipfile.ZipFile(apk) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        names = {f"lib/{abi}/{name}" for abi in abis for name in APP_LIBRARIES}
        check({name for name in entries if name.startswith("lib/")} == names, f"{list(entries)}")
        check(all(entries[name].compress_type == zipfile.ZIP_STORED for name in names), "compressed")
        check(archive.read(f"lib/x86_64/{APP_LIBRARIES[0]}") == (context.build / "tests/bin/activity").read_bytes(), "another library")
    badging = context.run(["aapt", "dump", "badging", str(apk)]).out
    for line in ("package: name='org.lapilli.replay'", "sdkVersion:'30'", "application-debuggable", "launchable-activity: name='android.app.NativeActivity'",
                 "native-code: 'arm64-v8a' 'x86_64'"):
        check(line in badging, f"{line}\n{badging}")
    tree = context.run(["aapt", "dump", "xmltree", str(apk), "AndroidManifest.xml"]).out
    for attribute in (r"hasCode\(.*\)=.*0x0$", r"extractNativeLibs\(.*\)=.*0x0$", r'value\(.*\)="lapilli_replay"'):
        check(re.search(attribute, tree, re.MULTILINE) is not None, f"{attribute}\n{tree}")

    def signer(of: Path) -> str:
        return re.search(r"SHA-256 digest: (\w+)", context.run(["apksigner", "verify", "--print-certs", str(of)]).out).group(1)

    context.run([*make, str(context.folder / "given/app.apk"), folders[0]], {"KEYSTORE": str(context.folder / "debug.keystore"), "KEY_PASS": "android"})
    check(signer(apk) == signer(context.folder / "given/app.apk"), "another key")
    check(os.listdir(context.folder / "given") == ["app.apk"], "a key was made, though one is given")
    check("ABI is" in context.run([*make, str(apk), "mips=x"], expect=1).err, "mips")
