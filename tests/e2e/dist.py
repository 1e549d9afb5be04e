# SPDX-License-Identifier: MIT
"""The source package: the same bytes from anywhere, and a build of it that needs no git and takes the headers that are in it."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path
from typing import Callable

from e2e.cases import Cases, Context, Skip, check

CASES = Cases()
case = CASES.add


def cases() -> dict[str, Callable[[Context], None]]:
    return CASES


def packed(context: Context, tree: Path, headers: Path, out: str, umask: int = 0o022, zone: str = "UTC") -> Path:
    """The package of what is committed in a tree, by this tree's script."""
    if not (context.root / ".git").exists() or not shutil.which("git"):
        raise Skip("this tree is no git repository")
    if not headers.exists():
        raise Skip("no headers were fetched")
    script = f'umask {umask:o}; cd "$0" && exec python3 "$@"'
    context.run(["sh", "-c", script, str(tree), str(context.root / "scripts/dist.py"), "--headers", str(headers), "--out", str(context.folder / out)], {"TZ": zone})
    files = sorted((context.folder / out).glob("lapilli-*.tar.xz"))
    check(len(files) == 1, f"{files}")
    return files[0]


@case
def a_package_is_the_same_from_anywhere_and_needs_nothing_else(context: Context) -> None:
    first = packed(context, context.root, context.root / "build/vulkan/usr", "first")
    check("OK" in context.run(["sh", "-c", "cd first && sha256sum -c *.sha256"]).out, "the sum is another one")
    with tarfile.open(first) as tar:
        check({(entry.uid, entry.gid) for entry in tar} == {(0, 0)} and len({entry.mtime for entry in tar}) == 1, "owners or times are not those of a package")
        tar.extractall(context.folder / "unpacked")
    (tree,) = (context.folder / "unpacked").iterdir()
    context.run(["git", "clone", "-q", "--shared", str(context.root), "clone"])
    second = packed(context, context.folder / "clone", tree / "third_party/vulkan", "second", 0o077, "Pacific/Apia")
    check(first.read_bytes() == second.read_bytes(), "two packages of one commit differ")
    stub = context.folder / "stub/git"
    stub.parent.mkdir()
    stub.write_text("#!/bin/sh\necho 'git was called' >&2\nexit 1\n")
    stub.chmod(0o755)
    # It lies in the folder of a repository, which it must not take for its own.
    (context.folder / "unpacked/.git").mkdir()
    make = ["make", "-C", str(tree), "VULKAN_SDK=", "CFLAGS=-O0"]
    clean = {"PATH": f"{stub.parent}:{os.environ['PATH']}", "MAKEFLAGS": ""}
    planned = context.run([*make, "-n", "all"], clean).text
    check("-isystem third_party/vulkan/include" in planned and "--registry third_party/vulkan/share/vulkan/registry/vk.xml" in planned,
          "the build takes other headers")
    check("build/vulkan" not in planned and "git was called" not in planned, "the build looks elsewhere")
    built = context.run([*make, "build/obj/layer/core/settings.o", "build/obj/gen/gen_reflect.o"], clean).text
    check("git was called" not in built and (tree / "build/obj/gen/gen_reflect.o").exists(), built)
    context.run(["python3", str(tree / "scripts/check-docs.py")], clean)
