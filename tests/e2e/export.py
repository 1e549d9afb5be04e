# SPDX-License-Identifier: MIT
"""Exported folders: they play what their trace plays, elsewhere and with what they bring along, and are there as a whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import time
from pathlib import Path
from typing import Callable

from e2e.cases import Cases, Context, Skip, check, patience
from e2e.experiments import play
from e2e.program import SUMS, compile_trace
from e2e.trim import end_all, faulty, is_stopped, start_until

CASES = Cases()
case = CASES.add

# Parts of the C library, by the start of their names, are those of the machine.
C_LIBRARY = re.compile(r"ld-|lib(c|m|mvec|pthread|dl|rt|util|resolv|anl|nsl)\.so")


def export(context: Context, file: str, to: str, *options: str, expect: int = 0, **more) -> str:
    if not context.has("export"):
        raise Skip("replay programs are of 64-bit builds")
    return context.run([context.program("lapilli"), "export", *options, "-o", to, file], expect=expect, **more).err


def recorded(context: Context, name: str = "modern") -> list[str]:
    """What the verification of the trace says."""
    context.run([context.app(name)], context.layer_env(LAPILLI_VERIFY="all"))
    sums = SUMS.findall(play(context, "out.lapilli", "--verify").out)
    check(len(sums) == 1 and sums[0].endswith(" 0 different") and " 0 checks" not in sums[0], str(sums))
    return sums


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def loaded(folder: Path) -> list[str]:
    """Paths of the libraries that programs have loaded, by the notes of the dynamic linker."""
    return [path for notes in folder.glob("notes.*") for path in re.findall(r"calling init: (.*)", notes.read_text(errors="replace"))]


def bare(context: Context, **more: str) -> list[str]:
    """An environment with nothing in it but the driver."""
    driver = context.environment().get("VK_DRIVER_FILES")
    return ["env", "-i", *([f"VK_DRIVER_FILES={driver}"] if driver else []), *(f"{name}={value}" for name, value in more.items())]


@case
def a_folder_plays_in_another_place(context: Context) -> None:
    """No library comes from elsewhere that the folder has, and it has all that the replayer is linked with."""
    if context.driver_dir:
        raise Skip("this build's programs take libraries from a folder that they name")
    sums = recorded(context)
    report = json.loads(context.run([context.program("lapilli"), "export", "--json", "-o", "made", "out.lapilli"]).out)
    moved = context.folder / "another place: with a colon" / "it"
    moved.parent.mkdir()
    (context.folder / "made").rename(moved)
    context.folder.joinpath("out.lapilli").unlink()
    done = context.run([*bare(context, LD_DEBUG="files", LD_DEBUG_OUTPUT=str(context.folder / "notes")), str(moved / "run"), "--verify", "--present", "headless"])
    check(SUMS.findall(done.out) == sums, done.text)
    own, used = {path.name for path in (moved / "lib").iterdir() if path.is_file()}, loaded(context.folder)
    check(own == set(report["libraries"]) and report["loader"] == (moved / "lib/vulkan/libvulkan.so.1").exists(), f"{own}, {report}")
    linked = re.findall(r"\(NEEDED\).*\[(.*)\]", context.run(["readelf", "-d", str(moved / "lapilli-replay")]).out)
    check(bool(linked) and {name for name in linked if not C_LIBRARY.match(name)} <= own, f"{linked}, {own}")
    check(own <= {Path(path).name for path in used} and not any(map(C_LIBRARY.match, own)), f"{own}, {used}")
    foreign = [path for path in used if Path(path).name in own and str(moved) not in path or str(context.build) in path]
    check(not foreign, str(foreign))
    context.run(["sh", "-c", f"cd '{moved}' && sh run --help && cd .. && it/run --quiet --present headless"])


@case
def a_bare_root_is_enough(context: Context) -> None:
    """One with a shell, the C library and a driver with its libraries; without a Vulkan loader, and with its own, which goes before that of the folder."""
    manifest = context.driver or Path("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")
    own = ["unshare", "--map-root-user", "--mount", "sh", "-c", 'mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"', "root"]
    root = context.folder / "root"
    for name in ("proc", "bin", "usr/share/vulkan/icd.d"):
        (root / name).mkdir(parents=True)

    def put(path: str) -> None:
        """A file and what it is linked with."""
        for one in [path, *re.findall(r"(?:=> |^\t)(/\S+) \(0x", context.run(["ldd", path]).out, re.MULTILINE)]:
            (root / one.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
            if not (root / one.lstrip("/")).exists():
                shutil.copy(one, root / one.lstrip("/"))

    if context.driver_dir or not manifest.exists():
        raise Skip(f"{manifest} is not there, or is not the system's")
    shutil.copy(shutil.which("sh") or "/bin/sh", root / "bin/sh")
    put(os.path.realpath("/bin/sh"))
    driver = json.loads(manifest.read_text())["ICD"]["library_path"]
    put(driver if "/" in driver else f"/usr/lib/x86_64-linux-gnu/{driver}")
    shutil.copy(manifest, root / "usr/share/vulkan/icd.d")
    if context.run([*own, "/bin/sh", "-c", ":"], expect=None).status != 0:
        raise Skip("there is no other root to be had here")
    sums = recorded(context)
    export(context, "out.lapilli", "root/made")
    nothing = {"VK_DRIVER_FILES": f"/usr/share/vulkan/icd.d/{manifest.name}", "VK_ICD_FILENAMES": ""}
    run = [*own, "/made/run", "--verify", "--present", "headless"]
    check(not list(root.glob("**/x86_64-linux-gnu/libvulkan.so*")), "the root has a Vulkan loader")
    check(SUMS.findall(context.run(run, nothing).out) == sums, "with the loader of the folder")
    shutil.move(root / "made/lib/vulkan/libvulkan.so.1", root / "usr/lib/libvulkan.so.1")
    (root / "made/lib/vulkan/libvulkan.so.1").write_text("no library")
    check(SUMS.findall(context.run(run, nothing).out) == sums, "with that of the machine")


@case
def a_program_is_as_compile_makes_it(context: Context) -> None:
    """From a trace with the same options, and from a program, which is taken as it is if it has all that a replay needs."""
    context.run([context.app("triangle"), "--offscreen"], context.layer_env())
    compile_trace(context, "out.lapilli", "part.lapvm", "--frames", "-1", "--wireframe")
    compile_trace(context, "out.lapilli", "none.lapvm", "--no-resources")
    made = (context.folder / "part.lapvm").read_bytes()
    export(context, "out.lapilli", "of-trace", "--frames", "-1", "--wireframe")
    export(context, "part.lapvm", "of-program/")
    check(all((context.folder / name / "program.lapvm").read_bytes() == made for name in ("of-trace", "of-program")), "other programs")
    check("resource 0 is not in the program" in export(context, "none.lapvm", "no", expect=3), "no sentence")
    check("it is a replay program" in export(context, "part.lapvm", "no", "--wireframe", expect=2), "no sentence")
    (context.folder / "cut.lapvm").write_bytes(made[:300])
    check(export(context, "cut.lapvm", "no", expect=3).count("\n") == 1 and not (context.folder / "no").exists(), "no sentence")


@case
def names_do_not_escape(context: Context) -> None:
    """Of the recorded program and of the trace."""
    hostile = "a\x1b[31m\x9b\n$(touch pwned)`touch pwned`'\""
    shutil.copy(context.app("compute"), context.folder / hostile)
    context.run([str(context.folder / hostile)], context.layer_env())
    (context.folder / "out.lapilli").rename(context.folder / f"{hostile}.lapilli")
    export(context, f"{hostile}.lapilli", "made")
    text = (context.folder / "made/README").read_bytes()
    check(re.search(rb"[^\n -~]", text) is None and text.count(b"\\x1b[31m") == 2, str(text))
    check(b"touch" not in (context.folder / "made/run").read_bytes(), "a name is in the script")
    context.run([str(context.folder / "made/run"), "--quiet", "--present", "headless"])
    check(not list(context.folder.rglob("pwned")), "a name was executed")


@case
def what_fails_leaves_nothing(context: Context) -> None:
    recorded(context, "compute")
    (context.folder / "taken").mkdir()
    (context.folder / "link").symlink_to("taken")
    (context.folder / "a.lapilli").write_bytes(b"no trace" * 99)
    (context.folder / "tight").mkdir()
    before = sorted(context.folder.rglob("*"))
    for to, status, says in (("taken", 1, "File exists"), ("link", 1, "File exists"), ("a.lapilli", 1, "File exists"), ("no/such/folder", 1, "No such file"), ("", 1, "can't create")):
        check(says in export(context, "out.lapilli", to, expect=status), f"{to}: no sentence")
    check("it has" in export(context, "out.lapilli", "new", "--frames", "900", expect=2), "no sentence")
    export(context, "a.lapilli", "new", expect=3)
    export(context, "missing.lapilli", "new", expect=3)
    context.run(["sh", "-c", '"$0" export -o new out.lapilli > /dev/full', context.program("lapilli")], expect=1)
    check(sorted(context.folder.rglob("*")) == before, f"left: {set(context.folder.rglob('*')) - set(before)}")
    full = 'mount -t tmpfs -o size=9m none tight && "$0" export -o tight/new out.lapilli; status=$?; ls -A tight; exit $status'
    done = context.run(["unshare", "--map-root-user", "--mount", "sh", "-c", full, context.program("lapilli")], expect=None)
    if "mount:" not in done.err and "unshare:" not in done.err:
        check(done.status == 1 and "No space left" in done.err and done.out == "", done.text)


@case
def ctrl_c_leaves_nothing_or_all(context: Context) -> None:
    """In calls that read the trace, and in those that make the folder."""
    recorded(context, "compute")
    before, ends = sorted(context.folder.rglob("*")), set()
    for at in (1, 4, 8, 12, 20, 30, 60):
        for number in (signal.SIGINT, signal.SIGTERM):
            command = [context.program("lapilli"), "export", "--quiet", "-o", "new", "out.lapilli"]
            end_all(start_until(context, command, faulty(context, at, "stop"), is_stopped), number)
            ends.add((context.folder / "new/README").exists())
            shutil.rmtree(context.folder / "new", ignore_errors=not (context.folder / "new/README").exists())
            check(sorted(context.folder.rglob("*")) == before, f"{number} in call {at}: {set(context.folder.rglob('*')) - set(before)}")
    check(ends == {False, True}, f"{ends}: not both")


@case
def a_name_that_is_taken_meanwhile_is_kept(context: Context) -> None:
    recorded(context, "compute")
    process = start_until(context, [context.program("lapilli"), "export", "-o", "new", "out.lapilli"], faulty(context, 10, "stop"), is_stopped)
    (context.folder / "new").mkdir()
    before = sorted(context.folder.rglob("*"))
    end = time.monotonic() + patience(60)
    while process.poll() is None and time.monotonic() < end:  # the one that reads and the one that makes the folder, each in its tenth call
        if is_stopped(process.pid):
            os.killpg(process.pid, signal.SIGCONT)
    _, err = process.communicate(timeout=patience(60))
    check(process.returncode == 1 and f"can't create new: {os.strerror(errno.EEXIST)}" in err, err)
    check(sorted(context.folder.rglob("*")) == before, f"left: {set(context.folder.rglob('*')) - set(before)}")


@case
def any_call_may_fail(context: Context) -> None:
    """Then there is nothing, or all that there should be: a filesystem may have no files without names, nor links to them, nor renames that
    replace nothing."""
    recorded(context, "compute")
    export(context, "out.lapilli", "whole")
    whole, before, ends = contents(context.folder / "whole"), sorted(context.folder.rglob("*")), []
    for at in range(1, 120):
        done = context.run([context.program("lapilli"), "export", "-o", "new", "out.lapilli"], faulty(context, at, str(errno.EINVAL)), expect=None)
        made = contents(context.folder / "new")
        check(done.status in (0, 1, 3) and (made == whole if done.status == 0 else not made and done.err.count("\n") == 1), f"call {at}: {done.status} {done.text}")
        ends.append(done.status)
        shutil.rmtree(context.folder / "new", ignore_errors=done.status != 0)
        check(sorted(context.folder.rglob("*")) == before, f"call {at}: left: {set(context.folder.rglob('*')) - set(before)}")
    check(ends[0] == 0 and ends.count(1) > 10 and ends[-1] == 0, str(ends))


@case
def a_cut_trace_is_exported_up_to_there(context: Context) -> None:
    recorded(context)
    data = (context.folder / "out.lapilli").read_bytes()
    (context.folder / "cut.lapilli").write_bytes(data[:len(data) * 2 // 3])
    check("is incomplete" in export(context, "cut.lapilli", "made", expect=4), "no sentence")
    check(SUMS.findall(play(context, "cut.lapilli", "--verify", expect=4).out) ==
          SUMS.findall(context.run([str(context.folder / "made/run"), "--verify", "--quiet", "--present", "headless"]).out), "other checks")


def cases() -> dict[str, Callable[[Context], None]]:
    return dict(CASES)
