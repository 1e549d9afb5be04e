# SPDX-License-Identifier: MIT
"""What users, scripts and test farms rely on: options, exit codes, ways to switch the layer on, and what bad input gives."""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Callable

from e2e.cases import SHAPE, Cases, Context, Skip, check, check_verified, patience, chunks_of, display
from e2e.shaders import xxh3

CASES = Cases()
case = CASES.add


def cases() -> dict[str, Callable[[Context], None]]:
    return CASES


def one_sentence(err: str) -> None:
    lines = [line for line in err.splitlines() if line.strip()]
    check(len(lines) == 1, f"expected one sentence on stderr:\n{err}")


@case
def what_was_not_filled_in_is_not_recorded(context: Context) -> None:
    """What a driver leaves as it was of a structure is the program's memory: there is nothing of it in a trace."""
    done = context.capture([context.app("unfilled"), "--garbage"])
    secret = int(re.search(r"^secret: (\d+)$", done.out, re.MULTILINE).group(1))
    text = json.dumps(context.print_lines())
    numbers = set(map(int, re.findall(r"\d+", text)))
    check("vkGetPhysicalDeviceMemoryProperties" in text and "vkGetQueryPoolResults" in text, "the program's questions are not there")
    check(not numbers & {secret, secret << 32 | secret}, "the program's memory is in the trace")
    check(secret.to_bytes(4, "little").hex() * 2 not in text, "the program's memory is in the trace as bytes")
    check(context.info()["unknown_structs"] == 0, "unwritten memory was taken for a chain")
    context.replay()


@case
def nothing_recorded_depends_on_what_nobody_wrote(context: Context) -> None:
    """A sample of what `make check-valgrind` does for all programs."""
    if not shutil.which("valgrind"):
        raise Skip("valgrind is not installed (scripts/install-deps.sh valgrind)")
    if context.driver_dir:
        raise Skip("valgrind knows the system's C library only")
    done = context.run([sys.executable, str(context.root / "tests/valgrind.py"), "--build", str(context.build), "--match", "^unfilled$"],
                       expect=None)
    check(done.status == 0, done.text[-3000:])


@case
def the_exit_status_is_the_programs(context: Context) -> None:
    context.run([context.program("lapilli"), "capture", "-o", "a.lapilli", "--", "sh", "-c", "exit 7"], expect=7)
    context.run([context.program("lapilli"), "capture", "-o", "a.lapilli", "--", "sh", "-c", "kill -TERM $$"], expect=128 + signal.SIGTERM)


@case
def a_program_without_vulkan_leaves_no_trace(context: Context) -> None:
    done = context.run([context.program("lapilli"), "capture", "-o", "a.lapilli", "--", "true"])
    one_sentence(done.err)
    check(not (context.folder / "a.lapilli").exists(), "a trace was written")


@case
def a_program_that_does_not_exist_is_exit_status_127(context: Context) -> None:
    one_sentence(context.run([context.program("lapilli"), "capture", "-o", "a.lapilli", "--", "./no-such-program"], expect=127).err)


@case
def an_output_that_can_not_be_made_is_reported_once(context: Context) -> None:
    done = context.run([context.program("lapilli"), "capture", "-o", "/no/such/folder/a.lapilli", "--", context.app("headless")], expect=2)
    one_sentence(done.err)
    # Without the command-line tool: one message, and the program runs on.
    done = context.run([context.app("headless")], context.layer_env(LAPILLI_FILE="/no/such/folder/a.lapilli"))
    check("ok headless" in done.out, done.text)
    check("nothing is recorded" in done.err, f"nothing says that nothing is recorded: {done.err}")


@case
def a_missing_file_is_exit_status_3(context: Context) -> None:
    for command in (["replay"], ["check"], ["info"], ["print"], ["tree"], ["draws"], ["shaders"], ["state", "--at", "1"], ["uses", "--unused"], ["report"], ["image", "--after", "1.1.1.1", "-o", "shot"], ["repair"],
                    ["compile", "-o", "new"], ["export", "-o", "new"], ["asm", "-o", "new"], ["disasm"], ["run"], ["import", "-o", "new"]):
        one_sentence(context.run([context.program("lapilli"), *command, "no-such.lapilli"], expect=3).err)
    one_sentence(context.run([context.program("lapilli"), "find", "no-such.lapilli", "text"], expect=3).err)
    one_sentence(context.run([context.program("lapilli"), "pixel", "no-such.lapilli", "--at", "1", "0,0"], expect=3).err)
    one_sentence(context.run([context.program("lapilli"), "debug", "no-such.lapilli", "--at", "1.1.1.1", "--texel", "0,0"], expect=3).err)
    one_sentence(context.run([context.program("lapilli"), "mesh", "no-such.lapilli", "--at", "1.1.1.1"], expect=3).err)
    one_sentence(context.run([context.program("lapilli"), "assert", "no-such.lapilli", "frames == 0"], expect=3).err)
    one_sentence(context.run([context.program("lapilli"), "profile", "no-such.lapilli"], expect=3).err)


@case
def a_file_that_is_no_trace_is_exit_status_3(context: Context) -> None:
    (context.folder / "a.lapilli").write_bytes(os.urandom(5000))
    (context.folder / "b.lapilli").write_bytes(b"")
    for command in (["replay"], ["check"], ["info"], ["print"], ["tree"], ["draws"], ["shaders"], ["state", "--at", "1"], ["uses", "--unused"], ["report"], ["image", "--after", "1.1.1.1", "-o", "shot"],
                    ["trim", "--draw", "1.1.1.1", "-o", "new"], ["compress", "-o", "new"], ["repair"],
                    ["compile", "-o", "new"], ["export", "-o", "new"], ["asm", "-o", "new"], ["disasm"], ["import", "-o", "new"]):
        for name in ("a.lapilli", "b.lapilli", "."):
            one_sentence(context.run([context.program("lapilli"), *command, name], expect=3).err)
            one_sentence(context.run([context.program("lapilli"), "find", name, "text"], expect=3).err)
            one_sentence(context.run([context.program("lapilli"), "pixel", name, "--at", "1", "0,0"], expect=3).err)
            one_sentence(context.run([context.program("lapilli"), "assert", name, "frames == 0", "different == 0"], expect=3).err)
            one_sentence(context.run([context.program("lapilli"), "profile", name], expect=3).err)


@case
def wrong_usage_is_exit_status_2(context: Context) -> None:
    for command in (["replay"], ["replay", "--no-such-option", "f"], ["replay", "--present", "sideways", "f"], ["info"], ["print"],
                    ["capture"], ["capture", "--no-such-option", "--", "true"], ["compress", "f"], ["compress", "--in-place", "-o", "g", "f"],
                    ["compress", "-o", "g", "--codec", "rar", "f"], ["repair"], ["repair", "f", "g"], ["repair", "--sandbox=open", "f"],
                    ["print", "--frames", "0", "f"], ["print", "--frames", "-0", "f"], ["print", "--data", "12", "f"], ["print", "--at", "0", "f"], ["print", "--at", "1", "--frames", "1", "f"],
                    ["compress", "-o", "g", "--level", "99", "f"], ["capture", "--screenshot", "5-3", "--", "true"],
                    ["replay", "--screenshot", "1,", "f"], ["check"], ["check", "--no-such-option", "f"], ["replay", "--json", "f"],
                    ["tree"], ["tree", "--at", "0", "f"], ["tree", "--at", "1.x", "f"], ["tree", "--depth", "0", "f"], ["tree", "--children", "2-1", "f"], ["tree", "--all", "--quick", "f"], ["draws"], ["draws", "--at", "1", "--frames", "1", "f"], ["draws", "--state", "f"], ["draws", "--rows", "0", "f"],
                    ["find", "f"], ["find", "f", "a", "b"], ["find", "f", ""], ["find", "--limit", "0", "f", "a"], ["find", "--limit", "1x", "f", "a"],
                    ["shaders"], ["shaders", "f", "12x4"], ["shaders", "f", "123"], ["shaders", "--search", "", "f"], ["shaders", "--search", "a", "f", "1234"], ["shaders", "-o", "g", "f"],
                    ["shaders", "-o", "g", "--json", "f", "1234"], ["shaders", "--glsl", "f"], ["shaders", "--ignore-case", "f"], ["shaders", "--pipeline", "1", "f"],
                    ["state", "f"], ["state", "--at", "0", "f"], ["state", "--diff", "1", "f"], ["state", "--at", "1", "--diff", "1", "2", "f"], ["uses", "f"], ["uses", "--unused", "f", "VkBuffer:1"],
                    ["uses", "--unused", "--at", "1", "f"], ["uses", "--at", "1", "--frames", "1", "f", "VkBuffer:1"], ["uses", "--type", "VkBuffer", "f", "VkBuffer:1"], ["trim", "--draw", "0.1.1.1", "-o", "g", "f"],
                    ["image", "f"], ["image", "--after", "1.1.1.1", "f"], ["image", "-o", "g", "f"], ["image", "--after", "0", "-o", "g", "f"],
                    ["image", "--after", "1", "-o", "g"], ["image", "--after", "1", "-o", "g", "--range", "1,1", "f"], ["image", "--after", "1", "-o", "g", "--channels", "x", "f"],
                    ["image", "--after", "1", "-o", "g", "--raw", "--range", "0,1", "f"], ["image", "--at", "1", "-o", "g", "f"], ["image", "--at", "1", "f", "VkImage:1"],
                    ["image", "--at", "1", "-o", "g", "f", "VkBuffer:1"], ["image", "--at", "1", "--gpu", "0", "-o", "g", "f", "VkImage:1"], ["image", "--after", "1", "--mip", "1", "-o", "g", "f"], ["image", "--each", "1", "--image", "VkImage:1", "-o", "g", "f"],
                    ["image", "--at", "1", "--mip", "x", "-o", "g", "f", "VkImage:1"], ["memory", "f"], ["memory", "f", "VkBuffer:1"], ["memory", "--at", "1", "f", "VkImage:1"],
                    ["memory", "--at", "1", "--as", "u7", "f", "VkBuffer:1"], ["memory", "--at", "1", "--as", "vec4", "--stride", "8", "f", "VkBuffer:1"],
                    ["memory", "--at", "1", "f", "VkBuffer:1", "x"], ["memory", "--at", "1", "f", "VkBuffer:1", "0", "0"], ["memory", "--at", "1", "--gpu", "0", "f", "VkBuffer:1"], ["memory", "--at", "1", "--after", "1", "f", "VkBuffer:1"], ["replay", "--buffer", "VkBuffer:1", "f"], ["replay", "--targets", "depth", "f"], ["replay", "--pictures", "g", "f"],
                    ["image", "--at", "1", "--raw=also", "-o", "g", "f", "VkImage:1"], ["image", "--after", "1", "--raw=png", "-o", "g", "f"], ["replay", "--progress", "1", "f"], ["replay", "--progress", "999", "f"],
                    ["compile", "f"], ["compile", "-o", "g"], ["compile", "-o", "g", "f", "f"], ["compile", "-o", "g", "--frames", "2-1", "f"], ["compile", "-o", "g", "--at", "0", "f"], ["compile", "-o", "g", "--at-most-draws", "-1", "f"],
                    ["compile", "-o", "g", "--skip", "x", "f"], ["compile", "-o", "g", "--replace-shader", "1", "f"], ["compile", "-o", "g", "--sandbox=open", "f"],
                    ["export", "f"], ["export", "-o", "g"], ["export", "-o", "g", "--no-resources", "f"], ["export", "-o", "g", "--frames", "0", "f"], ["export", "-o", "g", "--sandbox=open", "f"],
                    ["asm", "f"], ["asm", "-o", "g"], ["asm", "-o", "g", "--json", "f"], ["asm", "-o", "g", "--sandbox=open", "f"], ["disasm"], ["disasm", "f", "g"], ["disasm", "-o", "g", "f"],
                    ["run"], ["run", "f", "--sandbox=off"], ["run", "f", "--replace-shader", "1=f"], ["run", "--listen", "unix:g", "f"], ["run", "--listen", "tcp://192.0.2.1:9"], ["run", "--cache", "g", "f"],
                    ["import", "f"], ["import", "-o", "g"], ["import", "-o", "g", "f", "f"], ["import", "-o", "g", "--sandbox=open", "f"],
                    ["pixel"], ["pixel", "f"], ["pixel", "--at", "1", "f"], ["pixel", "f", "1,2"], ["pixel", "--at", "0", "f", "1,2"], ["pixel", "--at", "1", "f", "1"], ["pixel", "--at", "1", "f", "1,-2"],
                    ["pixel", "--at", "1", "f", "1,2", "3"], ["debug"], ["debug", "f"], ["debug", "f", "--at", "1.1.1.1"], ["debug", "f", "--texel", "1,2"], ["debug", "f", "g", "--at", "1.1.1.1", "--texel", "1,2"],
                    ["debug", "f", "--at", "1.1.1.1", "--texel", "1"], ["debug", "f", "--at", "1.1.1.1", "--vertex", "x"], ["debug", "f", "--at", "1.1.1.1", "--invocation", "1,2"],
                    ["debug", "f", "--at", "1.1.1.1", "--texel", "1,2", "--vertex", "1"], ["debug", "f", "--at", "1.1.1.1", "--texel", "1,2", "--instance", "1"],
                    ["mesh"], ["mesh", "f"], ["mesh", "--at", "1.1.1.1"], ["mesh", "f", "--at", "x"], ["mesh", "f", "--at", "1.1.1.1", "--in", "--out"], ["mesh", "f", "--at", "1.1.1.1", "--rows", "2-1"], ["mesh", "f", "--at", "1.1.1.1", "--rows", "x"],
                    ["mesh", "f", "--at", "1.1.1.1", "-o", "g.txt"], ["mesh", "f", "--at", "1.1.1.1", "-o", "g.csv", "--json"], ["mesh", "f", "--at", "1.1.1.1", "--clip"], ["mesh", "f", "--at", "1.1.1.1", "-o", "g.obj", "--rows", "1"],
                    ["mesh", "f", "--at", "1.1.1.1", "--instance", "-1"], ["replay", "--mesh-rows", "1", "f"], ["replay", "--mesh", "1.1.1.1", "--skip", "1.1.1.1", "f"], ["replay", "--mesh", "1.1.1.1", "--mesh-as", "x", "f"],
                    ["replay", "--debug", "1.1.1.1", "f"], ["replay", "--texel", "1,2", "f"], ["replay", "--debug", "1.1.1.1", "--texel", "1,2", "--skip", "1.1.1.1", "f"],
                    ["pixel", "--at", "1", "--target", "VkBuffer:1", "f", "1,2"], ["pixel", "--at", "1", "--target", "VkImage:1,", "f", "1,2"], ["pixel", "--at", "1", "--aspect", "x", "f", "1,2"],
                    ["replay", "--pixel", "1,2", "f"], ["replay", "--pixel-at", "1", "f"], ["replay", "--fragments", "f"], ["replay", "--pixel", "1,2", "--pixel-at", "1", "--pictures", "g", "f"], ["replay", "--pixel", "1,2", "--pixel-at", "1", "--skip", "1.1.1.1", "f"],
                    ["farm"], ["farm", "fly"], ["farm", "run", "--results", "g"], ["farm", "status", "--results", "g"],
                    ["android"], ["android", "fly"], ["android", "capture"], ["android", "capture", "game"], ["android", "capture", "--stop-after", "x", "a.b"], ["android", "capture", "--option", "x=1", "a.b"],
                    ["android", "pull"], ["android", "replay"], ["android", "replay", "--listen", "unix:g"], ["android", "serve"], ["android", "clean", "f"], ["android", "devices", "f"],
                    ["report"], ["report", "--frames", "0", "f"], ["report", "--server", "http://x/#/1", "f"], ["report", "--html", "g", "--server", "x", "f"], ["report", "--gpu", "0", "f"], ["report", "--messages", "5", "f"], ["report", "--validate", "--messages", "0", "f"], ["replay", "--messages", "5", "f"], ["report", "--profile", "no-such.json", "f"], ["report", "--validate", "--sandbox=open", "f"],
                    ["assert"], ["assert", "f"], ["assert", "f", "frames"], ["assert", "--junit", "", "f", "frames == 1"], ["assert", "--sandbox=open", "f", "frames == 1"],
                    ["profile"], ["profile", "--frames", "0", "f"], ["profile", "--frames", "3-", "f"], ["profile", "--loops", "0", "f"], ["profile", "--sort", "x", "f"], ["profile", "--progress", "2", "f"],
                    ["profile", "--progress", "999", "f"], ["profile", "f", "g"],
                    ["no-such-verb"]):
        done = context.run([context.program("lapilli"), *command], expect=2)
        check(bool(done.err.strip()) and not done.out.strip(), f"{command}: usage errors belong on stderr")
    for command in (["--help"], ["help"], ["capture", "--help"], ["replay", "--help"], ["check", "--help"], ["help", "check"], ["info", "--help"],
                    ["print", "--help"], ["tree", "--help"], ["draws", "--help"], ["find", "--help"], ["shaders", "--help"], ["state", "--help"], ["memory", "--help"], ["uses", "--help"], ["report", "--help"], ["image", "--help"], ["pixel", "--help"], ["debug", "--help"], ["mesh", "--help"], ["serve", "--help"], ["mcp", "--help"], ["compress", "--help"], ["repair", "--help"],
                    ["compile", "--help"], ["export", "--help"], ["asm", "--help"], ["disasm", "--help"], ["run", "--help"], ["import", "--help"], ["assert", "--help"], ["profile", "--help"], ["farm", "--help"],
                    ["android", "--help"], ["android", "capture", "--help"], ["android", "replay", "--help"], ["android", "serve", "--help"], ["android", "devices", "--help"]):
        done = context.run([context.program("lapilli"), *command])
        check(len(done.out.splitlines()) > 5, f"{command} is no help")
    version = json.loads(context.run([context.program("lapilli"), "--version", "--json"]).out)
    said = context.run([context.program("lapilli"), "--version"]).out
    check(said.startswith(f"lapilli {version['version']}\n") and f"registry {version['registry']}\n" in said, said)
    for name, is_in in version["parts"].items():
        check(f"{'with   ' if is_in else 'without'} {name} (" in said, f"{name}: {said}")
    context.run([context.app("headless")], context.layer_env())
    check(context.info()["format_version"] == version["trace_format"], f"{version}")
    for name, program, library in (("nettle", "lapilli-receive", "libnettle"), ("libmicrohttpd", "lapilli-serve", "libmicrohttpd"),
                                   ("spirv-cross", "lapilli-shaders", "libspirv-cross"), ("xcb", "lapilli-replay", "libxcb")):
        loaded = context.run(["env", "LD_TRACE_LOADED_OBJECTS=1", context.program(program)]).out
        check((library in loaded) == version["parts"][name], f"{name}: {loaded}")
    for program in (context.build / "bin").iterdir():
        check(program.name == "lapilli" or context.run([str(program), "--version"]).out == f"{program.name} {version['version']}\n", program.name)


@case
def the_documented_options_are_those_of_help(context: Context) -> None:
    """docs/cli.md has a section for each verb, and in it each option that --help prints, and no other one in its tables."""
    text = (context.root / "docs/cli.md").read_text(encoding="utf-8")
    sections = {verb: body for verb, body in re.findall(r"^## lapilli ([\w-]+)\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)}
    verbs = set(re.findall(r"^  lapilli ([a-z][a-z-]+) ", context.run([context.program("lapilli"), "--help"]).out, re.MULTILINE)) - {"help"}
    check(verbs == set(sections), f"--help has {sorted(verbs)}, docs/cli.md {sorted(sections)}")
    check(verbs == set(re.findall(r"^\| \[`([\w-]+)`\]", text, re.MULTILINE)), "the table of verbs has others")
    for verb, body in sections.items():
        printed = context.run([context.program("lapilli"), "help", verb]).out
        shown = set(re.findall(r"^ {2,6}(?:-\w, )?(--[a-z][a-z-]+)", printed, re.MULTILINE)) - {"--help", "--version"}
        named = set(re.findall(r"`(?:-\w`, `)?(--[a-z][a-z-]+)", body))
        tabled = {option for cell in re.findall(r"^\| (`-[^|]*) \|", body, re.MULTILINE) for option in re.findall(r"`(--[a-z][a-z-]+)", cell)}
        check(bool(shown) or verb in ("compare-checks", "disasm"), f"{verb}: --help prints no options")
        check(shown <= named, f"{verb}: docs/cli.md lacks {sorted(shown - named)}")
        check(tabled <= shown, f"{verb}: --help lacks {sorted(tabled - shown)}")


@case
def data_are_those_of_their_hash(context: Context) -> None:
    context.run([context.app("modern")], context.layer_env())
    printed = context.run([context.program("lapilli"), "print", "--json", "out.lapilli"]).out
    data = dict(re.findall(r'\{"bytes":(\d+),"hash":"([0-9a-f]{16})"\}', printed))
    check(len(data) > 5, f"{data}")
    for size, hash_ in data.items():
        context.run(["sh", "-c", f'"$0" print --data {hash_} out.lapilli > bytes', context.program("lapilli")])
        found = (context.folder / "bytes").read_bytes()
        check(len(found) == int(size) and xxh3(found) == hash_, f"{hash_}: {len(found)} bytes")
    done = context.run([context.program("lapilli"), "print", "--data", "0" * 16, "out.lapilli"], expect=2)
    check("no data there" in done.err and not done.out, done.text)


@case
def the_documented_paths_are_those_of_the_server(context: Context) -> None:
    """docs/server.md has the table that lapilli serve --routes prints."""
    table = context.run([context.program("lapilli"), "serve", "--routes"]).out
    check(table.count("\n") > 20 and f"\n{table}\n" in (context.root / "docs/server.md").read_text(encoding="utf-8"), table)


@case
def a_cut_trace_replays_its_prefix(context: Context) -> None:
    display()
    context.capture([*context.installed("vkcube"), "--c", "30"])
    data = (context.folder / "out.lapilli").read_bytes()
    # Where the frames lie in so short a file depends on what comes before the first one.
    info = {}
    for percent in range(98, 40, -2):
        (context.folder / "cut.lapilli").write_bytes(data[:len(data) * percent // 100])
        info = context.info("cut.lapilli", expect=None)
        if info["frames"] < 30:
            break
    check(0 < info["frames"] < 30, f"{info['frames']} frames")
    check(info["complete"] is False and info["stopped"], f"{info}")
    done = context.replay("cut.lapilli", "--quiet", expect=4)
    check("verify: " in done.out.splitlines()[-1], done.text)
    one_sentence(done.err)


@case
def the_number_of_checks_is_reported(context: Context) -> None:
    """At the end of a recording, in info, and why a replay has nothing to compare."""
    capture, info = [context.program("lapilli"), "capture"], [context.program("lapilli"), "info"]
    said = context.run([*capture, "--verify", "-o", "out.lapilli", "--", context.app("texels")]).err
    kinds = context.info()["checks"]
    check(kinds["presents"] == 0 < kinds["buffers"] < kinds["images"] and context.info()["verify"] is True, f"{kinds}")
    sentence = f"{kinds['buffers']} of buffers, {kinds['images']} of images"
    check(f"{sum(kinds.values())} checks: {sentence}\n" in said, said)
    check(re.search(f"^checks +{sentence}$", context.run([*info, "out.lapilli"]).out, re.M) is not None, "info")
    check(check_verified(context.replay()) == sum(kinds.values()), "the replay compares something else")
    said = context.run([*capture, "-o", "plain.lapilli", "--", context.app("texels")]).err
    check("check" not in said, said)
    check(re.search("^checks +none: recorded without --verify$", context.run([*info, "plain.lapilli"]).out, re.M) is not None, "info")
    done = context.replay("plain.lapilli", expect=1)
    check("there was nothing to compare: the trace was recorded without --verify\n" in done.err, done.err)
    said = context.run([*capture, "--verify", "-o", "idle.lapilli", "--", *context.installed("vulkaninfo"), "--summary"]).err
    check("no checks: there was nothing that could be compared" in said, said)
    done = context.replay("idle.lapilli", expect=1)
    check("there was nothing to compare: the trace was recorded with --verify, but there is nothing in it that" in done.err, done.err)
    check(done.out.splitlines()[-1] == "verify: 0 checks, 0 different", done.out)


def compiled(context: Context, file: str, expect: int = 0) -> bytes:
    """The replay program of a trace, where there are some."""
    if not context.has("compile"):
        return b""
    (context.folder / "out.lapvm").unlink(missing_ok=True)
    context.run([context.program("lapilli"), "compile", "-o", "out.lapvm", file], expect=expect)
    return (context.folder / "out.lapvm").read_bytes()


@case
def compressed_traces_are_the_same(context: Context) -> None:
    """Recorded in every way, rewritten with every codec; what a cut file has is kept, and said to be cut."""
    for way in ("lz4", "lz4hc", "none"):
        context.capture([context.app("triangle"), "--offscreen"], f"{way}.lapilli", env={"LAPILLI_COMPRESSION": way})
        check_verified(context.replay(f"{way}.lapilli"))
    compress = [context.program("lapilli"), "compress"]
    program = compiled(context, "none.lapilli")
    for codec in ("zstd", "lz4hc", "lz4", "none"):
        context.run([*compress, "--codec", codec, "-o", "new.lapilli", "none.lapilli"])
        check_verified(context.replay("new.lapilli"))
        check(context.print_lines("new.lapilli") == context.print_lines("none.lapilli"), f"{codec}: other calls")
        check(compiled(context, "new.lapilli") == program, f"{codec}: another replay program")
        (context.folder / "new.lapilli").unlink()
    before = (context.folder / "lz4.lapilli").stat().st_size
    done = context.run([*compress, "--in-place", "--json", "lz4.lapilli"])
    sizes = json.loads(done.out)
    check(sizes["bytes_before"] == before and sizes["bytes_after"] == (context.folder / "lz4.lapilli").stat().st_size < before, done.out)
    check_verified(context.replay("lz4.lapilli"))
    context.run([*compress, "-o", "none.lapilli", "lz4.lapilli"], expect=1)  # nothing is overwritten
    check_verified(context.replay("none.lapilli"))
    data = (context.folder / "none.lapilli").read_bytes()
    (context.folder / "cut.lapilli").write_bytes(data[:len(data) * 9 // 10])
    done = context.run([*compress, "--in-place", "cut.lapilli"], expect=4)
    check(context.info("cut.lapilli")["complete"] is False, "it passes for whole")
    check(not program or len(compiled(context, "cut.lapilli", expect=4)) < len(program), "more calls than there are")
    # What is behind a damage is not thrown away: neither the index, so that the file is scanned, nor a chunk are good.
    damaged, packets = bytearray(data), chunks_of(data, 3)
    damaged[-500] ^= 1
    damaged[packets[len(packets) // 2] + 80] ^= 1
    (context.folder / "damaged.lapilli").write_bytes(damaged)
    done = context.run([*compress, "--in-place", "damaged.lapilli"], expect=1)
    check("use -o" in done.err and (context.folder / "damaged.lapilli").read_bytes() == damaged, done.text)
    context.run([*compress, "-o", "front.lapilli", "damaged.lapilli"], expect=4)
    (context.folder / "cut.lapilli").write_bytes(data[:len(data) * 8 // 10])
    (context.folder / "cut.lapilli.tail").write_bytes(b"a tail of another time")
    done = context.run([*compress, "--in-place", "cut.lapilli"], expect=1)
    check("use -o" in done.err and (context.folder / "cut.lapilli.tail").exists(), done.text)
    # Somebody's shell may ignore the ends of children.
    context.run(["sh", "-c", f"trap '' CHLD; exec {compress[0]} compress -o deaf.lapilli none.lapilli"])
    context.run(["sh", "-c", f"trap '' CHLD; exec {compress[0]} capture -o other.lapilli -- sh -c 'exit 7'"], expect=7)
    check(sorted(p.name for p in context.folder.glob("*.new")) == [], "something is left behind")


@case
def a_killed_program_leaves_a_trace(context: Context) -> None:
    display()
    environment = context.environment(context.layer_env(LAPILLI_VERIFY="1"))
    process = subprocess.Popen(context.installed("vkcube"), cwd=context.folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    file = context.folder / "out.lapilli"
    until = time.monotonic() + patience(60)
    while time.monotonic() < until and (not file.exists() or file.stat().st_size < 300000):
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = context.replay(expect=4)
    check(" 0 different" in done.out.splitlines()[-1] and not done.out.splitlines()[-1].startswith("verify: 0 "), done.text)


@case
def a_killed_program_loses_no_frame(context: Context) -> None:
    """Every frame whose present has returned is in the trace or in the tail file beside it, however the trace is packed."""
    display()
    environment = context.environment(context.layer_env(LAPILLI_VERIFY="1"))
    recovered = {"lz4": 0, "none": 0, "lz4hc": 0}
    for number in range(6):
        file, way = f"killed{number}.lapilli", list(recovered)[number % 3]
        process = subprocess.Popen([context.app("triangle"), "--present", "--frames", "100000", "--tell"], cwd=context.folder,
                                   env={**environment, "LAPILLI_FILE": file, "LAPILLI_COMPRESSION": way}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        told = b""
        while told.count(b"frame\n") < 20 + 7 * number:
            piece = os.read(process.stdout.fileno(), 4096)
            check(bool(piece), "the program ended by itself")
            told += piece
        process.send_signal(signal.SIGKILL)
        told += process.stdout.read()
        process.wait()
        presented = told.count(b"frame\n")
        info = context.info(file, expect=None)
        check(info["frames"] >= presented, f"{info['frames']} frames, but {presented} presents had returned")
        recovered[way] += info["recovered"]["frames"]
        done = context.replay(file, expect=4)
        check(check_verified(done) >= presented, done.text)
    check(all(recovered.values()), f"nothing was taken from a tail file: {recovered}")


@case
def a_settings_file_sets_the_options(context: Context) -> None:
    (context.folder / "vk_layer_settings.txt").write_text("lapilli_capture.file = settings.lapilli\nlapilli_capture.verify = true\n")
    environment = context.layer_env()
    del environment["LAPILLI_FILE"]
    context.run([context.app("headless")], environment)
    check_verified(context.replay("settings.lapilli"))


@case
def a_trace_overwrites_no_file(context: Context) -> None:
    for _ in range(3):
        context.run([context.app("headless")], context.layer_env())
    names = sorted(p.name for p in context.folder.glob("*.lapilli"))
    check(names == ["out-2.lapilli", "out-3.lapilli", "out.lapilli"], f"{names}")
    for name in names:
        check(stat.S_IMODE((context.folder / name).stat().st_mode) == 0o600, f"{name} can be read by others")


@case
def outputs_follow_no_link(context: Context) -> None:
    """Somebody who can make files where traces and pictures go (in /tmp, say) must not decide what is written over."""
    display()
    (context.folder / "victim").write_text("precious")
    (context.folder / "out.lapilli").symlink_to("victim")
    (context.folder / "out-2.lapilli").symlink_to("nowhere")
    (context.folder / "out-3.lapilli").mkdir()
    (context.folder / "out-4.lapilli.tail").symlink_to("victim")
    (context.folder / "frame_1.png").symlink_to("victim")
    os.link(context.folder / "victim", context.folder / "frame_2.png")
    done = context.run([context.app("triangle"), "--present"], context.layer_env(LAPILLI_SCREENSHOT="1-2"))
    check("ok triangle" in done.out, done.text)
    check("frame_1.png: it is a symbolic link" in done.err, done.err)
    check((context.folder / "victim").read_text() == "precious" and not (context.folder / "nowhere").exists(), "a link was followed")
    check((context.folder / "frame_2.png").read_bytes().startswith(b"\x89PNG"), "no picture in the place of another file")
    check(stat.S_IMODE((context.folder / "frame_2.png").stat().st_mode) == 0o600, "others can read the picture")
    check((context.folder / "out-4.lapilli").is_file() and not (context.folder / "out-4.lapilli").is_symlink(), f"{sorted(p.name for p in context.folder.iterdir())}")


@case
def patterns_name_the_trace_and_wrong_ones_are_refused(context: Context) -> None:
    context.run([context.app("headless")], context.layer_env(LAPILLI_FILE="%e-%n-100%%-%p-%t.lapilli"))
    names = [p.name for p in context.folder.glob("*.lapilli")]
    check(len(names) == 1 and re.fullmatch(r"headless-1-100%-\d+-\d{8}T\d{6}\.lapilli", names[0]) is not None, f"{names}")
    for pattern in ("a%x.lapilli", "%", "%P%"):
        (context.folder / names[0]).unlink()
        done = context.run([context.app("headless")], context.layer_env(LAPILLI_FILE=pattern))
        one_sentence(done.err)
        check(f"LAPILLI_FILE={pattern}: this is not a path" in done.err and "the default is used" in done.err, done.err)
        names = [p.name for p in context.folder.glob("*lapilli*")]
        check(names == ["headless.lapilli"], f"{names}")
        done = context.run([context.program("lapilli"), "capture", "-o", pattern, "--", context.app("headless")], expect=2)
        one_sentence(done.err)
        check(f"--output can't be '{pattern}'" in done.err and not done.out, done.text)


@case
def missing_hardening_is_found(context: Context) -> None:
    """What was built without is found out."""
    compiler = shutil.which("gcc")
    if not compiler or platform.machine() != "x86_64":
        raise Skip("this is about gcc's programs for x86-64")
    script = str(context.root / "scripts/check-hardening.py")
    (context.folder / "weak.c").write_text("#include <stdio.h>\n#include <string.h>\n"
                                           "int main(int count, char **words) { char copy[9000]; strcpy(copy, words[0]); return puts(copy) < 0; }\n")
    options = {"pie": ("-no-pie", "-pie"), "relro": ("-Wl,-z,norelro", "-Wl,-z,relro"), "now": ("-Wl,-z,lazy", "-Wl,-z,now"),
               "nx": ("-Wl,-z,execstack", "-Wl,-z,noexecstack"), "canary": ("-fno-stack-protector", "-fstack-protector-strong"),
               "fortify": ("-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"), "clash": ("-fno-stack-clash-protection", "-fstack-clash-protection"),
               "cet": ("-fcf-protection=none", "-fcf-protection")}
    for weak in [None, *options]:
        chosen = [option[name != weak] for name, option in options.items()]
        context.run([compiler, "-O1", "-fPIE", "-U_FORTIFY_SOURCE", *chosen, "-o", "weak", "weak.c"])
        done = context.run([script, "weak"], expect=1 if weak else 0)
        head, row = (line.split() for line in done.out.splitlines())
        found = dict(zip(head, row[1:]))
        check({name: found[name] for name in options} == {name: "NO" if name == weak else "yes" for name in options}, f"without {weak}: {found}")
        check(len(done.err.splitlines()) == (1 if weak else 0), done.err)
        if weak:
            context.run([script, "--without", weak, "weak"])
    check("can't be read" in context.run([script, "weak.c"], expect=1).err, "a file that is no program")
    # A layer with a symbol of its own, and what stands in for a program for Android, with segments for small pages and a library of nobody's.
    (context.folder / "more.c").write_text("int vkGetInstanceProcAddr(void) { return 0; }\nint more(void) { return 0; }\n")
    library = [compiler, "-shared", "-fPIC", "-nostdlib", "-Wl,-z,now", "more.c", "-o"]
    context.run([*library, "libVkLayer_more.so"])
    for name in ("libc.so", "libnobody.so"):
        context.run([*library, name, f"-Wl,-soname,{name}"])
    context.run([*library, "android", "-Wl,--no-as-needed,-z,max-page-size=4096", "libc.so", "libnobody.so"])
    without = [word for name in ("canary", "fortify", "cet") for word in ("--without", name)]
    done = context.run([script, *without, "libVkLayer_more.so", "android"], expect=1)
    check([line.split(": ")[1:] for line in done.err.splitlines()] == [
        ["libVkLayer_more.so", "exports other symbols than layer/exports.map lists"],
        ["android", "has segments that lie on no boundary of 16384 bytes (-z max-page-size)"],
        ["android", "needs libraries that no app on Android has"]], done.err)


@case
def without_a_free_name_nothing_is_recorded(context: Context) -> None:
    for number in range(1, 10000):
        (context.folder / (f"out-{number}.lapilli" if number > 1 else "out.lapilli")).touch()
    done = context.run([context.app("headless")], context.layer_env(LAPILLI_FILE="out.lapilli"))
    check("ok headless" in done.out, done.text)
    check("nothing is recorded" in done.err, f"nothing says that nothing is recorded: {done.err}")
    check(not any(p.stat().st_size for p in context.folder.glob("*.lapilli")), "a file was written to")


@case
def each_process_has_a_trace_of_its_own(context: Context) -> None:
    done = context.run([context.program("lapilli"), "capture", "-o", "two.lapilli", "--", "sh", "-c",
                        f"{context.app('headless')} & {context.app('compute')} & wait"])
    names = sorted(p.name for p in context.folder.glob("*.lapilli"))
    check(len(names) == 2, f"{names}")
    for name in names:
        line = [x for x in done.err.splitlines() if name in x]
        check(len(line) == 1 and "frame" in line[0], f"no line names {name} with frames and size:\n{done.err}")


@case
def programs_find_the_functions_of_the_driver(context: Context) -> None:
    """Under the layer a program finds no function more and none less; what it is given it can call."""
    answers = [[line for line in context.run([context.app("asks")], environment).out.splitlines() if ": instance " in line]
               for environment in ({}, context.layer_env())]
    check(len(answers[0]) > 10, f"asks says too little: {answers[0]}")
    check(answers[0] == answers[1], "\n".join(sorted(set(answers[0]) ^ set(answers[1]))))
    # The null driver leaves the number of tools unwritten.
    null = replace(context, driver=context.build / "tests/null/null_icd.json")
    null.run([context.app("asks"), "--no-check"], null.layer_env(LAPILLI_FILE="null.lapilli"))
    check(null.info("null.lapilli")["recorded_on"]["driver"] ==
          "a driver that does nothing, and says so at length with a version that nobody could ever remember", "the driver's name is cut")


@case
def screenshots_of_recording_and_replay_are_the_same(context: Context) -> None:
    display()
    folders = ("recorded/here", "by/layer", "replayed/there")
    context.run([context.program("lapilli"), "capture", "--verify", "--screenshot", "5", "--screenshot-dir", folders[0],
                 "-o", "out.lapilli", "--", *context.installed("vkcube"), "--c", "10"])
    context.run([*context.installed("vkcube"), "--c", "10"],
                context.layer_env(LAPILLI_FILE="layer.lapilli", LAPILLI_SCREENSHOT="5", LAPILLI_SCREENSHOT_DIR=folders[1]))
    check_verified(context.replay("out.lapilli", "--screenshot", "5", "--screenshot-dir", folders[2]))
    pictures = [list(context.folder.glob(f"{where}/*.png")) for where in folders]
    check([len(p) for p in pictures] == [1, 1, 1], f"{pictures}")
    recorded, by_layer, replayed = (p[0].read_bytes() for p in pictures)
    check(recorded.startswith(b"\x89PNG") and recorded == replayed == by_layer, "the pictures differ")


@case
def screenshots_of_frames_that_do_not_come_are_reported(context: Context) -> None:
    context.capture([context.app("headless")])
    done = context.replay("out.lapilli", "--screenshot", "1-3,7")
    for frame in (3, 7):
        check(f"there is no picture of frame {frame}: 0 frames were presented" in done.err, done.text)
    check(not list(context.folder.glob("*.png")), "there are pictures")


@case
def screenshots_have_the_frames_of_the_trace(context: Context) -> None:
    """The first frame ends with a submit, as there is no surface yet."""
    display()
    context.run([context.program("lapilli"), "capture", "--verify", "--screenshot", "1-4", "--screenshot-dir", "recorded", "-o", "out.lapilli", "--",
                 context.app("wsi"), "--early"])
    done = context.replay("out.lapilli", "--screenshot", "1,2-4", "--screenshot-dir", "replayed")
    check("there is no picture of frame 1: frames 2 to " in done.err, done.text)
    presents = [line["frame"] for line in context.print_lines("out.lapilli") if line["name"] == "vkQueuePresentKHR"]
    check(presents[:3] == [2, 3, 4], f"{presents}")
    for folder in ("recorded", "replayed"):
        found = sorted(path.name for path in (context.folder / folder).iterdir())
        check(found == [f"frame_{frame}.png" for frame in presents[:3]], f"{folder}: {found}")
    for frame in presents[:3]:
        pictures = [(context.folder / folder / f"frame_{frame}.png").read_bytes() for folder in ("recorded", "replayed")]
        check(pictures[0] == pictures[1], f"frame {frame}: the pictures differ")


@case
def a_screenshot_folder_that_can_not_be_made_is_exit_status_2(context: Context) -> None:
    context.capture([context.app("triangle"), "--offscreen"])
    (context.folder / "file").write_text("no folder")
    for arguments in (["--screenshot", "1", "--screenshot-dir", "file/under"], ["--mismatch-dir", "file"], ["--dump-checks", "file"]):
        done = context.replay("out.lapilli", *arguments, expect=2)
        check("the folder file can't be made: " in done.err, done.text)
        check("verify:" not in done.out, "it was played all the same")
    done = context.run([context.program("lapilli"), "capture", "--screenshot", "1", "--screenshot-dir", "file/under", "-o",
                        "other.lapilli", "--", context.app("triangle"), "--offscreen"], expect=2)
    check("the folder file can't be made: " in done.err, done.text)


@case
def threads_that_ask_together_get_the_same_swapchain_images(context: Context) -> None:
    """Also where several threads ask for them at once, as tests/apps/wsi does 100 times. (A race: a layer that loses it is not found every time.)"""
    display()
    context.capture([context.app("wsi"), "--ask-together"])
    asked = [line["args"] for line in context.print_lines() if line["name"] == "vkGetSwapchainImagesKHR"]
    images: dict[str, set[tuple[str, ...]]] = {}
    for args in asked:
        if args["pSwapchainImages"]:
            images.setdefault(args["swapchain"], set()).add(tuple(args["pSwapchainImages"]))
    check(len(images) > 100, f"{len(images)} swapchains")
    several = {name: lists for name, lists in images.items() if len(lists) != 1}
    check(not several, f"{several}")


@case
def print_is_complete(context: Context) -> None:
    context.capture([context.app("compute")])
    lines = context.print_lines()
    for key in ("index", "thread", "ticket", "frame", "name", "args"):
        check(all(key in line for line in lines), f"a line has no {key}")
    dispatches = [line for line in lines if line["name"] == "vkCmdDispatch"]
    check(bool(dispatches) and dispatches[0]["args"]["groupCountX"] > 0, "vkCmdDispatch has no arguments")
    create = next(line for line in lines if line["name"] == "vkCreateInstance")
    check(create["result"] == "VK_SUCCESS", f"{create['result']}")
    buffers = [line["args"]["pBuffer"] for line in lines if line["name"] == "vkCreateBuffer"]
    check("VkBuffer:1" in json.dumps(buffers), f"{buffers}")
    done = context.run([context.program("lapilli"), "print", "--frames", "5000-", "out.lapilli"])
    check("there is no frame 5000: the trace has " in done.err and not done.out, done.text)


def remove(paths: list[Path]) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)


@case
def output_that_can_not_be_written_is_exit_status_1(context: Context) -> None:
    """A result that did not get out is no good result."""
    context.capture([context.app("enables")])  # whose --json is larger than what the C library buffers
    trace = context.folder / "out.lapilli"
    whole, made = trace.read_bytes(), [context.folder / name for name in ("small", "part", "made", "folder")]
    if context.has("compile"):
        context.run([context.program("lapilli"), "compile", "-o", "out.lapvm", "out.lapilli"])
    for way in ([], ["stdbuf", "-oL"]):  # line by line the write that fails is not the last one
        for command in (["lapilli-replay", "--verify", "--quiet", "--present", "off", "out.lapilli"], ["lapilli-replay", "--check", "--json", "out.lapilli"],
                        ["lapilli-info", "out.lapilli"], ["lapilli-info", "--json", "out.lapilli"], ["lapilli-print", "out.lapilli"],
                        ["lapilli-tree", "out.lapilli"], ["lapilli-tree", "--json", "out.lapilli"], ["lapilli-draws", "out.lapilli"], ["lapilli-draws", "--json", "--state", "out.lapilli"], ["lapilli-find", "out.lapilli", "VkDevice:1"],
                        ["lapilli-shaders", "out.lapilli"], ["lapilli-shaders", "--json", "out.lapilli"],
                        ["lapilli-state", "--at", "1", "out.lapilli"], ["lapilli-state", "--at", "1", "--json", "out.lapilli"], ["lapilli-uses", "out.lapilli", "VkDevice:1"],
                        ["lapilli-assert", "out.lapilli", "frames > 0", "calls > 1"], ["lapilli-assert", "--json", "out.lapilli", "frames > 0"],
                        ["lapilli-profile", "--loops", "1", "out.lapilli"], ["lapilli-profile", "--loops", "1", "--json", "out.lapilli"],
                        ["lapilli-uses", "--unused", "out.lapilli"], ["lapilli-report", "out.lapilli"], ["lapilli-report", "--json", "out.lapilli"], ["lapilli-repair", "--json", "out.lapilli"],
                        ["lapilli-compress", "-o", "small", "out.lapilli"], ["lapilli-trim", "--frames", "1", "--no-gpu", "-o", "part", "out.lapilli"],
                        ["lapilli-compile", "-o", "made", "out.lapilli"], ["lapilli-compile", "--json", "-o", "made", "out.lapilli"], ["lapilli-disasm", "out.lapvm"],
                        ["lapilli-export", "-o", "folder", "out.lapilli"], ["lapilli-export", "--json", "-o", "folder", "out.lapilli"],
                        ["lapilli-info", "--help"], ["lapilli", "--version"]):
            if not context.has(command[0].removeprefix("lapilli-")):
                continue
            done = context.run(["sh", "-c", '"$@" > /dev/full', "sh", *way, context.program(command[0]), *command[1:]], expect=1)
            one_sentence(done.err.splitlines()[-1])
            check("the output can't be written" in done.err, done.err)
            check(trace.read_bytes() == whole, f"{command} has changed the trace")
            remove(made)
            # A reader that wants no more is content.
            done = context.run(["bash", "-c", '"$@" | head -c 1 > /dev/null; exit ${PIPESTATUS[0]}', "bash", *way, context.program(command[0]), *command[1:]], expect=None)
            check(done.status in (0, 141) and "can't be written" not in done.err, f"{command}: exit status {done.status}\n{done.err}")
            remove(made)


def breaks(context: Context, program: str, says: str) -> None:
    """--verify must fail when the replay shows something else: the bytes of an update are changed in the file."""
    context.run([context.app(program)], context.layer_env(LAPILLI_VERIFY="1", LAPILLI_COMPRESSION="none"))
    tool = context.build / "tests/bin/break-check"
    if not tool.exists():
        raise Skip("break-check is not built")
    context.run([str(tool), "out.lapilli", "broken.lapilli"])
    done = context.replay("broken.lapilli", expect=1)
    last = done.out.splitlines()[-1]
    check(last.startswith("verify: ") and not last.endswith(" 0 different"), done.text)
    check(re.search(r"frame \d+, after vk\w+ \(packet \d+\): " + says, done.err) is not None,
          f"nothing says frame, command and object: {done.err}")


@case
def a_mismatch_is_found(context: Context) -> None:
    breaks(context, "compute", r"VkBuffer:\d+ differs")


@case
def a_mismatch_in_a_linear_image_is_found(context: Context) -> None:
    breaks(context, "texels", r"VkImage:\d+ differs in level 0, layer 0, slice 0, rows \d+ to \d+")


@case
def a_mismatch_in_an_attachment_is_found(context: Context) -> None:
    breaks(context, "attached", r"VkImage:\d+ differs in level 0, layer 0, slice 0, rows \d+ to \d+")


def dumped(context: Context, folder: str) -> list[tuple[dict, bytes]]:
    """What --dump-checks wrote: each check and its bytes, one after the other."""
    everything, at, result = (context.folder / folder / "checks.bin").read_bytes(), 0, []
    for number, line in enumerate((context.folder / folder / "checks.ndjson").read_text().splitlines(), 1):
        entry = json.loads(line)
        check((entry["check"], entry["offset"]) == (number, at), f"number {number} at {at}: {line}")
        at += entry["bytes"]
        result.append((entry, everything[entry["offset"]:at]))
    check(at == len(everything), f"{len(everything)} bytes, of which {at} are named")
    return result


@case
def dump_checks_writes_what_is_compared(context: Context) -> None:
    context.run([context.app("texels")], context.layer_env(LAPILLI_VERIFY="1", LAPILLI_COMPRESSION="none"))
    count = check_verified(context.replay("out.lapilli", "--dump-checks", "deep/good"))
    good = dumped(context, "deep/good")
    check(len(good) == count and {entry["kind"] for entry, _ in good} == {"buffer", "image"}, f"{count} checks: {good[:3]}")
    tickets = {line["ticket"]: line for line in context.print_lines() if line["name"].startswith("lapilliCheck")}
    for entry, _ in good:
        args = tickets[entry["packet"]]["args"]
        check(entry["same"] and entry["object"] == args.get("buffer", args.get("image")), f"{entry} of {args}")
        wanted = {"buffer": {"at": args.get("offset"), "bytes": args.get("size")},
                  "image": {"row": args.get("row"), "rows": args.get("rowCount"), "bytes_in_row": args.get("bytesInRow")}}
        check(wanted[entry["kind"]].items() <= entry.items(), f"{entry} of {args}")
    context.run([str(context.build / "tests/bin/break-check"), "out.lapilli", "broken.lapilli"])
    context.replay("broken.lapilli", "--dump-checks", "broken", expect=1)
    broken = dumped(context, "broken")
    check(any(not entry["same"] for entry, _ in broken), "all is the same")
    for (entry, data), (_, before) in zip(broken, good):
        check(entry["same"] == (data == before), f"{entry}: the bytes are {'the same' if data == before else 'others'}")
    done = context.replay("out.lapilli", "--dump-checks", "/dev/full", expect=2)
    check("verify:" not in done.out, "it was played all the same")
    done = context.run([context.program("lapilli-replay"), "--dump-checks", "x", "out.lapilli"], expect=2)
    check("--dump-checks is for --verify" in done.err, done.err)


@case
def dump_checks_without_room_is_an_error(context: Context) -> None:
    """On a file system of its own, of 8 KiB. (A limit of files' sizes would hold for the driver's memory, too.)"""
    context.run([context.app("texels")], context.layer_env(LAPILLI_VERIFY="1"))
    mounted = ["unshare", "--map-root-user", "--mount", "sh", "-c", 'mkdir -p full && mount -t tmpfs -o size=8k none full && exec "$@"', "sh"]
    if context.run([*mounted, "true"], expect=None).status != 0:
        raise Skip("nothing can be mounted here")
    done = context.run([*mounted, context.program("lapilli-replay"), "--verify", "--present", "headless", "--dump-checks", "full", "out.lapilli"], expect=1)
    check(f"the checks can't be written: {os.strerror(errno.ENOSPC)}" in done.err, done.text)


@case
def info_has_the_documented_keys(context: Context) -> None:
    context.capture([context.app("compute")])
    info = context.info()
    kinds = {"format_version": int, "complete": bool, "frames": int, "threads": int, "calls": int, "commands": int,
             "objects": dict, "submits": int, "draws": int, "dispatches": int, "blocks": dict,
             "updates": dict, "blobs": dict, "bytes": dict, "recovered": dict, "program": str, "recorded_on": dict, "write_watch": str, "backing": str, "uses": dict}
    for key, kind in kinds.items():
        check(isinstance(info.get(key), kind), f"{key}: {info.get(key)!r}")
    check("stopped" in info and info["stopped"] is None, f"stopped: {info.get('stopped')!r}")
    for key, members in {"blocks": ["recorded", "stored"], "objects": ["made", "most_alive"], "updates": ["count", "bytes"], "blobs": ["count", "bytes"],
                         "bytes": ["file", "raw"], "recovered": ["frames", "bytes", "packets"], "recorded_on": ["device", "driver", "api_version"],
                         "uses": ["extensions", "features"]}.items():
        check(all(member in info[key] for member in members), f"{key}: {info[key]}")
    check(info["program"].endswith("/compute"), info["program"])
    check(info["bytes"]["file"] == (context.folder / "out.lapilli").stat().st_size, f"{info['bytes']}")
    text = context.run([context.program("lapilli"), "info", "out.lapilli"]).out
    check("compute" in text and info["recorded_on"]["device"] in text, text)
    # A program of Vulkan 1.0 asks for no properties of the driver.
    context.capture([context.app("compute"), "--timeline", "--old"], "old.lapilli")
    check(context.info("old.lapilli")["recorded_on"] == info["recorded_on"], f"{context.info('old.lapilli')['recorded_on']}")


@case
def all_ways_of_presenting_verify(context: Context) -> None:
    display()
    context.capture([*context.installed("vkcube"), "--c", "20"])
    for present in ("window", "headless", "off"):
        done = context.run([context.program("lapilli"), "replay", "--verify", "--present", present, "out.lapilli"])
        check(check_verified(done) == 20, done.text)


@case
def a_device_that_lacks_an_extension_is_refused_by_name(context: Context) -> None:
    other = context.on("swiftshader")
    context.capture([context.app("modern"), "--khr"])
    check_verified(context.replay())
    done = other.replay("out.lapilli", "--quiet", expect=5)
    one_sentence(done.err)
    check("VK_" in done.err, f"nothing names what is missing: {done.err}")
    # The report before a replay says it in the same words, and names each thing.
    report = json.loads(other.run([other.program("lapilli"), "check", "--json", "out.lapilli"], expect=1).out)
    check(report["can_replay"] is False and done.err.strip().endswith(report["refusal"]), f"{report['refusal']!r}, but the replay: {done.err}")
    refused = [finding["name"] for finding in report["findings"] if finding["area"] in ("extension", "feature") and finding["outcome"] == "refused"]
    check(bool(refused) and all(name in done.err for name in refused), f"{refused}, but the replay: {done.err}")
    text = other.run([other.program("lapilli-replay"), "--check", "out.lapilli"], expect=1).out
    check(report["refusal"] in text, text)
    # Left out on request, it is no reason to refuse the device.
    forced = json.loads(other.run([other.program("lapilli"), "check", "--json", "--force", "out.lapilli"], expect=None).out)
    dropped = [finding["name"] for finding in forced["findings"] if finding["outcome"] == "dropped"]
    check(set(refused) <= set(dropped), f"{dropped} are dropped, {refused} were refused")


@case
def unknown_structures_are_left_out(context: Context) -> None:
    """A program chains what the registry does not have: the trace counts it, and is played without."""
    context.capture([context.app("ignored"), "--sloppy"])
    check(context.info()["unknown_structs"] >= 2, f"{context.info()}")
    calls = [line for line in context.print_lines() if line["name"] in ("vkCreateBuffer", "vkCmdBeginRenderPass")]
    check(len(calls) > 2 and not any("1999999000" in json.dumps(line) for line in calls), f"{calls}")
    check_verified(context.replay())


@case
def ignored_numbers_are_no_needs(context: Context) -> None:
    """What a pipeline library does not read is neither in the trace nor in what `check` says of it."""
    context.capture([context.app("dynamic"), "--libraries", "--garbage"])
    report = json.loads(context.run([context.program("lapilli"), "check", "--json", "out.lapilli"]).out)
    check(report["can_replay"] and not report["may_fail"], f"{report}")
    made = [info for line in context.print_lines() if line["name"] == "vkCreateGraphicsPipelines" for info in line["args"]["pCreateInfos"]]
    masks = [s for info in made for s in info["pNext"] if s["sType"] == "VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO"]
    check(bool(masks) and {(s["viewMask"], s["colorAttachmentCount"]) for s in masks} == {(0, 0), (0, 1)}, f"{masks}")


@case
def check_and_replay_agree_on_another_machine(context: Context) -> None:
    """A driver without a format, and one that wants other offsets: the report says what the replay then does."""
    context.capture([context.app("descriptors")], "descriptors.lapilli")
    context.capture([context.app("headless")])
    formats = {line["args"]["pCreateInfo"]["format"] for line in context.print_lines() if line["name"] == "vkCreateImage"}
    check("VK_FORMAT_R8G8B8A8_UNORM" in formats, f"{formats}")
    environment = context.layer_env(SHAPE, LAPILLI_SHAPE="formats=37")  # another order of components stands for it
    check_verified(context.replay("out.lapilli", "--quiet", env=environment))
    report = json.loads(context.run([context.program("lapilli"), "check", "--json", "out.lapilli"], environment).out)
    mapped = [finding["name"] for finding in report["findings"] if finding["area"] == "format" and finding["outcome"] == "mapped"]
    check(mapped == ["VK_FORMAT_R8G8B8A8_UNORM"], f"{mapped}")
    environment = context.layer_env(SHAPE, LAPILLI_SHAPE="formats=37+44+51")  # no order is left
    done = context.replay("out.lapilli", "--quiet", env=environment, expect=5)
    report = json.loads(context.run([context.program("lapilli"), "check", "--json", "out.lapilli"], environment, expect=1).out)
    check(done.err.strip().endswith(report["refusal"]), f"{report['refusal']!r}, but the replay: {done.err}")
    refused = [(finding["area"], finding["name"]) for finding in report["findings"] if finding["outcome"] == "refused"]
    check(refused == [("format", "VK_FORMAT_R8G8B8A8_UNORM")], f"{refused}")
    environment = context.layer_env(SHAPE, LAPILLI_SHAPE="offsets=65536")
    report = json.loads(context.run([context.program("lapilli"), "check", "--json", "descriptors.lapilli"], environment).out)
    ignored = {finding["name"] for finding in report["findings"] if finding["area"] == "limit" and finding["outcome"] == "ignored"}
    check({"minUniformBufferOffsetAlignment", "minStorageBufferOffsetAlignment"} & ignored != set(), f"{report}")


@case
def calls_that_are_not_valid_are_left_out(context: Context) -> None:
    """A driver bore null fences: the replay goes on without them, says so once for each command, and ends with --strict."""
    library = Path("/usr/lib/chromium/libVkICD_mock_icd.so")  # accepts everything, and computes nothing
    if not library.exists():
        raise Skip(f"{library} is not there")
    manifest = context.folder / "mock_icd.json"
    manifest.write_text(json.dumps({"file_format_version": "1.0.0", "ICD": {"library_path": str(library), "api_version": "1.3.0"}}))
    replace(context, driver=manifest).capture([context.app("nulls"), "--no-check"])
    replay = [context.program("lapilli-replay"), "--present", "off", "out.lapilli"]
    done = context.run(replay)
    warnings = [line for line in done.err.splitlines() if "--strict ends the replay there" in line]
    named = [re.search(r"frame 2, packet \d+ \((\w+)\), chunk at offset \d+, byte \d+: .*: the call is (left out|made without it)", line) for line in warnings]
    check([match.groups() if match else None for match in named] == [("vkWaitForFences", "made without it"), ("vkGetFenceStatus", "left out"),
                                                                     ("vkResetFences", "made without it")], done.err)
    check("12 calls that are not valid were left out, or made in part: vkResetFences 4, vkGetFenceStatus 4, vkWaitForFences 4" in done.err, done.err)
    context.run([*replay, "--measure=measure.json"])
    check(json.loads((context.folder / "measure.json").read_text())["invalid_calls"] == 12, "they are not counted")
    done = context.run([*replay, "--strict"], expect=1)
    check("pFences is null" in done.err and "left out" not in done.err, done.err)


@case
def a_wait_without_a_signal_is_refused(context: Context) -> None:
    """A driver that does nothing bore two signals of a semaphore, then two waits. Others would wait for ever in the second one."""
    null = replace(context, driver=context.build / "tests/null/null_icd.json")
    null.run([context.app("invalid"), "--semaphore"], null.layer_env())
    done = context.run([context.program("lapilli-replay"), "out.lapilli"], expect=1)
    check(re.search(r"warning: packet \d+: VkSemaphore:(\d+) is signalled again, .* is left out \(said once\)\n"
                    r".*error: frame \d+, packet \d+ \(vkQueueSubmit\), .*: VkSemaphore:\1 is waited for, but nothing has signalled it since the last wait\n",
                    done.err) is not None, done.err)


@case
def the_error_of_a_device_that_can_not_be_made_is_reported(context: Context) -> None:
    context.capture([context.app("compute")])
    environment = context.layer_env(SHAPE, LAPILLI_SHAPE="no-device")
    for command in ([context.program("lapilli-replay"), "out.lapilli"], [context.program("lapilli"), "check", "out.lapilli"]):
        done = context.run(command, environment, expect=1)
        check("VK_ERROR_INITIALIZATION_FAILED" in done.text, done.text)


@case
def check_finds_nothing_lacking_on_the_recording_machine(context: Context) -> None:
    """Traces of this machine can be played here, and nothing is said to be lacking."""
    for program in ("compute", "descriptors", "texels", "modern", "triangle"):
        context.capture([context.app(program)], f"{program}.lapilli")
        report = json.loads(context.run([context.program("lapilli"), "check", "--json", f"{program}.lapilli"]).out)
        check(report["can_replay"] is True and report["refusal"] is None and report["complete"] is True, f"{program}: {report}")
        check(report["gpu"] == context.info(f"{program}.lapilli")["recorded_on"]["device"], f"{program}: {report['gpu']}")
        check(all(finding["outcome"] == "mapped" and finding["area"] == "queue family" for finding in report["findings"]), f"{program}: {report}")
        check(len(report["findings"]) > 0, f"{program}: no queue family")
    text = context.run([context.program("lapilli"), "check", "compute.lapilli"]).out
    check(text.splitlines()[-1].split() == ["replay", "yes"] and report["gpu"] in text, text)
    lacking = context.run([context.program("lapilli"), "check", "--gpu", "no such gpu", "compute.lapilli"], expect=1)
    played = context.run([context.program("lapilli"), "replay", "--gpu", "no such gpu", "compute.lapilli"], expect=5)
    sentence = lacking.out.splitlines()[-1].split("no: ", 1)[1]
    check(sentence in played.err, f"{sentence!r}, but the replay: {played.err}")
