#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dist.py --headers ROOT --out FOLDER [REF]: writes the source package of a commit, FOLDER/lapilli-VERSION.tar.xz and its .sha256, with
the Vulkan headers and registry of ROOT in third_party/vulkan. Runs at the top of the repository. REF is HEAD where none is given. ROOT is
what scripts/fetch-headers.sh made (FOLDER/usr), or third_party/vulkan of another source package.

The same commit and headers make the same bytes, whoever packs them and where: names are sorted, times are the commit's, owners 0."""

import argparse
import gzip
import hashlib
import io
import lzma
import re
import subprocess
import sys
import tarfile
from pathlib import Path

PLACE = "third_party/vulkan"
TAKEN = ("include/vulkan/*.h", "include/vulkan/layer/*.h", "include/vulkan/utility/*.h", "include/vk_video/*.h",
         "share/vulkan/registry/vk.xml", "share/vulkan/registry/video.xml", "version", "copyright.*")
PACKAGES = ("libvulkan-dev", "vulkan-utility-libraries-dev")


class Refused(Exception):
    """Why there is no package."""


def git(*arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, check=False)
    except OSError as error:
        raise Refused(f"git can't be run: {error.strerror}") from error
    if done.returncode:
        raise Refused(done.stderr.decode(errors="replace").strip())
    return done.stdout


def headers(root: Path) -> dict[str, bytes]:
    """By their names below PLACE."""
    result = {str(path.relative_to(root)): path.read_bytes() for pattern in TAKEN for path in root.glob(pattern)}
    if "share/vulkan/registry/vk.xml" not in result or "include/vulkan/vulkan_core.h" not in result:
        raise Refused(f"{root} has no Vulkan headers and registry: make deps fetches them")
    if "version" in result:
        return result
    numbers = re.search(rb"define VK_HEADER_VERSION_COMPLETE VK_MAKE_API_VERSION\(0, (\d+), (\d+), VK_HEADER_VERSION\)", result["include/vulkan/vulkan_core.h"])
    patch = re.search(rb"define VK_HEADER_VERSION (\d+)", result["include/vulkan/vulkan_core.h"])
    if not numbers or not patch:
        raise Refused(f"{root}/include/vulkan/vulkan_core.h names no version")
    version = ["Vulkan " + b".".join([*numbers.groups(), patch[1]]).decode()]
    for package in PACKAGES:
        doc = root / "share/doc" / package
        try:
            result[f"copyright.{package}"] = (doc / "copyright").read_bytes()
            change = gzip.decompress((doc / "changelog.Debian.gz").read_bytes()).split(b"\n", 1)[0].decode()
        except OSError as error:
            raise Refused(f"{error.filename} is not there: headers are packed with their licences, as Debian's packages have them") from error
        version.append(f"{package} {change.split('(')[1].split(')')[0]}")
    result["version"] = ("\n".join(version) + "\n").encode()
    return result


def pack(ref: str, root: Path) -> tuple[str, bytes, str]:
    """Name and bytes of a package, not compressed, and the versions of its headers."""
    commit = git("rev-parse", "--verify", f"{ref}^{{commit}}").decode().strip()
    time = int(git("log", "-1", "--format=%ct", commit))
    version = re.search(rb'LAPILLI_VERSION *"([^"]*)"', git("show", f"{commit}:base/version.h"))
    if not version:
        raise Refused(f"{ref} has no version in base/version.h")
    name = f"lapilli-{version[1].decode()}"
    added = headers(root)
    members: dict[str, tuple[tarfile.TarInfo, bytes]] = {}

    def add(path: str, kind: bytes, mode: int, content: bytes = b"", link: str = "") -> None:
        info = tarfile.TarInfo(f"{name}/{path}" if path else name)
        info.type, info.mode, info.mtime, info.linkname, info.size = kind, mode, time, link, len(content)
        members[info.name] = (info, content)

    with tarfile.open(fileobj=io.BytesIO(git("archive", "--format=tar", commit))) as tree:
        for entry in tree:
            content = tree.extractfile(entry) if entry.isreg() else None
            add(entry.name, entry.type, 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644, content.read() if content else b"", entry.linkname)
    for path, content in added.items():
        add(f"{PLACE}/{path}", tarfile.REGTYPE, 0o644, content)
    for path in {str(parent) for path in added for parent in Path(f"{PLACE}/{path}").parents if str(parent) != "."} | {""}:
        add(path, tarfile.DIRTYPE, 0o755)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT, pax_headers={"comment": commit}) as tar:
        for _, (info, content) in sorted(members.items()):
            tar.addfile(info, io.BytesIO(content))
    return name, packed.getvalue(), added["version"].decode().strip().replace("\n", ", ")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--headers", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("ref", nargs="?", default="HEAD")
    options = parser.parse_args()
    try:
        name, packed, versions = pack(options.ref, options.headers)
        changed = git("status", "--porcelain") if options.ref == "HEAD" else b""
    except Refused as refused:
        print(f"dist: {refused}", file=sys.stderr)
        return 1
    if changed:
        print(f"dist: {len(changed.splitlines())} files differ from HEAD; the package has those of HEAD", file=sys.stderr)
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / f"{name}.tar.xz"
    file.write_bytes(lzma.compress(packed, check=lzma.CHECK_CRC64, preset=6))
    line = f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
    file.with_name(f"{file.name}.sha256").write_text(line)
    print(f"{line}{hashlib.sha256(packed).hexdigest()}  (not compressed)\n{file} has {file.stat().st_size} bytes, and the headers of {versions}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
