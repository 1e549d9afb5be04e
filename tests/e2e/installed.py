# SPDX-License-Identifier: MIT
"""What is made of --help: manual pages that man reads without a warning, and completion that shells take."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import time

from e2e.cases import Cases, Context, Skip, check

CASES = Cases()
case = CASES.add

# Typed, where each tab completes a word; the arguments that come of it.
TYPED = {
    "lapilli pri\t--col\talw\trun\t\n": ["print", "--color", "always", "run.lapilli"],
    "lapilli print ru\t\n": ["print", "run.lapilli"],  # of the files there it is the only trace
    "lapilli help use\t\n": ["help", "uses"],
    "lapilli capture --compr\tlz4h\t-- zeb\trunn\t\n": ["capture", "--compression", "lz4hc", "--", "zebra", "runner.txt"],
    "lapilli compile run.lapilli --res\tfol\t\n": ["compile", "run.lapilli", "--resources", "folder/"],
    "lapilli control unix:s keep-l\t\n": ["control", "unix:s", "keep-last"],
}


def interactive(context: Context, shell: list[str], begin: str, typed: str) -> list[str]:
    """The arguments with which a function lapilli is called by what is typed, in a folder with a trace, a text and a folder."""
    (context.folder / "run.lapilli").touch()
    (context.folder / "runner.txt").touch()
    (context.folder / "folder").mkdir(exist_ok=True)
    program = context.folder / "folder" / "zebra"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(context.folder)
        os.execvpe(shell[0], shell, {**os.environ, "TERM": "dumb", "HOME": str(context.folder), "PATH": f"{program.parent}:{os.environ['PATH']}", "HISTFILE": ""})
    said = b""

    def until(mark: bytes) -> None:
        nonlocal said
        deadline = time.monotonic() + 60
        while mark not in said:
            ready = select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]
            check(bool(ready), f"{shell[0]}, {typed!r}: no {mark!r} in {said.decode(errors='replace')!r}")
            said += os.read(terminal, 4096)

    try:
        # The shell prints the marks; what it echoes has quotes in them.
        os.write(terminal, f"{begin}\nlapilli() {{ printf '<%s>' \"$@\"; echo 'E''ND'; }}; PS1='$ '; echo 'BE''GIN'\n".encode())
        until(b"BEGIN")
        for part in re.findall(r"[^\t\n]*[\t\n]", typed):
            os.write(terminal, part.encode())
        until(b"END")
    finally:
        os.close(terminal)
        os.waitpid(child, 0)
    # Some shells complete --name VALUE, and some --name=VALUE.
    return [word for found in re.findall(r"<([^>]*)>", said.decode(errors="replace").split("BEGIN")[-1]) for word in re.split("(?<=[a-z])=", found)]


def completion(context: Context, path: str, shell: str) -> str:
    if not shutil.which(shell):
        raise Skip(f"{shell} is not installed")
    return str(context.build / "share" / path)


@case
def manual_pages_are_read_without_a_warning(context: Context) -> None:
    if not shutil.which("man"):
        raise Skip("man is not installed")
    pages = sorted((context.build / "share/man").glob("man*/*"))
    names = {program.name for program in (context.build / "bin").iterdir()} | {"lapilli-check", "lapilli-layer"}
    check({page.stem for page in pages} == names, f"{[page.name for page in pages]}")
    for page in pages:
        done = context.run(["man", "--warnings", "-l", str(page)], {"LC_ALL": "C.UTF-8", "MANWIDTH": "90"})
        check(not done.err, f"{page.name}: {done.err}")
        read = re.sub(r"‐\n +", "", done.out)  # words are hyphenated
        check(re.search(rf"^NAME\n +{page.stem} - \S", read, re.M) is not None, f"{page.name}: {done.out[:300]}")
        verb = page.stem.removeprefix("lapilli-")
        if page.stem != "lapilli" and verb != "layer":
            shown = set(re.findall(r"^ {2,6}(?:-\w, )?(--[a-z][a-z-]+)", context.run([context.program("lapilli"), "help", verb]).out, re.M))
            left = shown - set(re.findall(r"^ {7}(?:-\w, )?(--[a-z][a-z-]+)", read, re.M))
            check(not left, f"{page.name} lacks {sorted(left)}")


@case
def a_desktop_opens_traces_with_lapilli(context: Context) -> None:
    for tool in ("update-mime-database", "desktop-file-validate", "gio"):
        if not shutil.which(tool):
            raise Skip(f"{tool} is not installed")
    context.run(["make", "-s", "-C", str(context.root), f"BUILD={context.build}", f"prefix={context.folder}", "install-built"])
    context.run(["desktop-file-validate", "share/applications/lapilli.desktop"])
    context.run(["update-mime-database", "share/mime"])
    context.run(["update-desktop-database", "share/applications"])
    context.run([context.app("headless")], context.layer_env(LAPILLI_FILE="trace.lapilli"))
    shutil.copy(context.folder / "trace.lapilli", context.folder / "of-another-name")
    places = {"XDG_DATA_HOME": str(context.folder / "share"), "XDG_DATA_DIRS": "/usr/share", "PATH": f"{context.folder}/bin:{os.environ['PATH']}"}
    for name in ("trace.lapilli", "of-another-name"):
        done = context.run(["gio", "info", "-a", "standard::content-type", name], places)
        check("content-type: application/x-lapilli\n" in done.out, f"{name}: {done.out}")
    check("lapilli.desktop" in context.run(["gio", "mime", "application/x-lapilli"], places).out, "no program opens them")


@case
def bash_completes_what_is_typed(context: Context) -> None:
    script = completion(context, "bash-completion/completions/lapilli", "bash")
    for typed, wanted in TYPED.items():
        found = interactive(context, ["bash", "--norc", "--noprofile", "-i"], f"source {script}", typed)
        check(found == wanted, f"{typed!r}: {found}")


@case
def zsh_completes_what_is_typed(context: Context) -> None:
    script = completion(context, "zsh/site-functions/_lapilli", "zsh")
    for typed, wanted in TYPED.items():
        begin = f"fpath=({os.path.dirname(script)} $fpath); autoload -Uz compinit; compinit -D"
        found = interactive(context, ["zsh", "-f", "-i"], begin, typed)
        check([word.rstrip("/") for word in found] == [word.rstrip("/") for word in wanted], f"{typed!r}: {found}")  # zsh takes the last / away


@case
def fish_completes_what_is_typed(context: Context) -> None:
    script = completion(context, "fish/vendor_completions.d/lapilli.fish", "fish")
    (context.folder / "run.lapilli").touch()
    (context.folder / "folder").mkdir()
    for line, wanted in {"lapilli pri": "print", "lapilli print --col": "--color", "lapilli print --color alw": "always", "lapilli print ru": "run.lapilli",
                         "lapilli capture --compression lz4h": "lz4hc", "lapilli compile run.lapilli --resources fol": "folder/", "lapilli control unix:s keep-l": "keep-last",
                         "lapilli help use": "uses", "lapilli-uses --unu": "--unused"}.items():
        done = context.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"])
        check([row.split("\t")[0] for row in done.out.splitlines()] == [wanted], f"{line}: {done.out!r} {done.err!r}")
