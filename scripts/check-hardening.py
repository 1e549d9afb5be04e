#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-hardening.py [--without PROTECTION]... FILES: which protections programs and libraries were built with.

Prints a table and names what is lacking; the exit status is 0 only if nothing is. All is read from the files: the link
(position-independent, relocations read-only and resolved at the start, no stack or segment that can be written and executed)
from their headers, what the compiler does from what it leaves in the code. So is what a layer exports, and whether Android can load what was built for it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

ENDBR64 = bytes.fromhex("f30f1efa")
TAKES_STACK = re.compile(rb"\x48\x81\xec(....)", re.DOTALL)  # sub $N,%rsp
PAGE_BYTES = 4096
# The largest pages of 64-bit devices, and what every app may load: public.libraries.txt of Android 11, as far as there is use for it.
ANDROID_PAGE_BYTES = 16384
ANDROID_LIBRARIES = {"libc.so", "libm.so", "libdl.so", "liblog.so", "libz.so", "libandroid.so", "libnativewindow.so", "libvulkan.so"}
ROOT = Path(__file__).resolve().parent.parent
EXPORTS = {"libVkLayer_": ROOT / "layer/exports.map", "liblapilli_replay": ROOT / "replayer/app/exports.map"}


@dataclass
class Binary:
    path: Path
    headers: str  # readelf -h -l -d
    symbols: str  # readelf -s, of both tables
    sections: dict[str, tuple[int, int, int]]  # address, offset, bytes

    @property
    def is_x86_64(self) -> bool:
        return "X86-64" in self.headers

    @property
    def needed(self) -> set[str]:
        return set(re.findall(r"\(NEEDED\).*\[(.*)\]", self.headers))

    @property
    def is_for_android(self) -> bool:
        return "libc.so" in self.needed

    def bytes_at(self, address: int, count: int) -> bytes:
        for start, offset, size in self.sections.values():
            if start and start <= address < start + size:
                with self.path.open("rb") as file:
                    file.seek(offset + address - start)
                    return file.read(count)
        return b""

    @property
    def code(self) -> bytes:
        _, offset, size = self.sections.get(".text", (0, 0, 0))
        with self.path.open("rb") as file:
            file.seek(offset)
            return file.read(size)


def readelf(path: Path, *options: str) -> str:
    done = subprocess.run(["readelf", "-W", *options, str(path)], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0 or not done.stdout.strip():
        sys.exit(f"check-hardening: {path} can't be read: {done.stderr.strip() or 'it is no ELF file'}")
    return done.stdout


def load(path: Path) -> Binary:
    sections = {}
    for name, address, offset, size in re.findall(r"^\s*\[\s*\d+\] (\S+)\s+\S+\s+([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+) ", readelf(path, "-S"), re.MULTILINE):
        sections[name] = (int(address, 16), int(offset, 16), int(size, 16))
    return Binary(path, readelf(path, "-h", "-l", "-d"), readelf(path, "-s"), sections)


def segments(binary: Binary, kind: str) -> list[str]:
    """The flags of the program headers of a kind: "R E", "RW "."""
    pattern = rf"^\s+{kind}\s+0x\S+ 0x\S+ 0x\S+ 0x\S+ 0x\S+ ([RWE ]{{3}})"
    return re.findall(pattern, binary.headers, re.MULTILINE)


def is_position_independent(binary: Binary) -> bool:
    return re.search(r"Type:\s+DYN", binary.headers) is not None and "TEXTREL" not in binary.headers


def binds_now(binary: Binary) -> bool:
    return re.search(r"\((FLAGS|FLAGS_1|BIND_NOW)\).*(NOW|BIND_NOW)|\(BIND_NOW\)", binary.headers) is not None


def never_writes_and_executes(binary: Binary) -> bool:
    stack = segments(binary, "GNU_STACK")
    return bool(stack) and not any("W" in flags and "E" in flags for flags in stack + segments(binary, "LOAD"))


def is_part(binary: Binary) -> bool:
    """A program whose code lies mostly in the library that is built with it. What it has not itself, that tells."""
    return re.search(r"\(NEEDED\).*\[liblapilli-", binary.headers) is not None


def guards_returns(binary: Binary) -> bool | None:
    return "__stack_chk_fail" in binary.symbols or (None if is_part(binary) else False)


def calls_checked_functions(binary: Binary) -> bool | None:
    """Functions that print are replaced by checked ones wherever they are called; bionic's check by themselves."""
    if any(name != "__stack_chk_fail" for name in re.findall(r"UND (__\w+_chk)\b", binary.symbols)):
        return True
    return None if is_part(binary) and (binary.is_for_android or not re.search(r"UND v?(f|sn)?printf\b", binary.symbols)) else False


def entry_points(binary: Binary) -> list[int]:
    """main of a program; what a library exports."""
    functions = re.findall(r"^\s*\d+: ([0-9a-f]+)\s+\d+ FUNC\s+(\w+ +\w+)\s+\d+ (\w+)", binary.symbols, re.MULTILINE)
    mains = [int(value, 16) for value, _, name in functions if name == "main"]
    return mains or [int(value, 16) for value, how, _ in functions if how.split() == ["GLOBAL", "DEFAULT"]]


def touches_each_page(binary: Binary) -> bool:
    """Large frames are taken page by page, so no function takes more at once."""
    sizes = [int.from_bytes(found, "little") for found in TAKES_STACK.findall(binary.code)]
    if not any(PAGE_BYTES < size < 1 << 31 for size in sizes):
        return True
    # These bytes may also be part of others: the disassembler knows, and takes its time. What is C++ (_Z...) comes with the system, in the
    # archive of the layer utilities.
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(binary.path)], capture_output=True, text=True, check=True).stdout
    function = ""
    for line in code.splitlines():
        if line.endswith(">:"):
            function = line.split("<", 1)[1]
        found = re.search(r"\tsub +\$0x([0-9a-f]+),%rsp$", line)
        if found and PAGE_BYTES < int(found.group(1), 16) < 1 << 31 and not function.startswith("_Z"):
            return False
    return True


def marks_targets(binary: Binary) -> bool:
    entries = entry_points(binary)
    return bool(entries) and all(binary.bytes_at(entry, 4) == ENDBR64 for entry in entries)


def exports_the_interface(binary: Binary) -> bool | None:
    """A layer lies in programs of others, whose symbols it must not take; the app's library beside Android's own."""
    listed = [path for start, path in EXPORTS.items() if binary.path.name.startswith(start)]
    if not listed:
        return None
    exported = set(re.findall(r"(?:GLOBAL|WEAK) +DEFAULT +\d+ (\w+)", readelf(binary.path, "--dyn-syms")))
    return exported == set(re.findall(r"^ +(\w+);", listed[0].read_text(), re.MULTILINE))


def fits_large_pages(binary: Binary) -> bool:
    alignments = re.findall(r"^\s+LOAD\s.* (0x[0-9a-f]+)$", binary.headers, re.MULTILINE)
    return "ELF32" in binary.headers or (bool(alignments) and all(int(found, 16) >= ANDROID_PAGE_BYTES for found in alignments))


def needs_what_is_there(binary: Binary) -> bool:
    return all(name in ANDROID_LIBRARIES or name.startswith("liblapilli-") for name in binary.needed)


def everywhere(binary: Binary) -> bool:
    return True


def on_x86_64(binary: Binary) -> bool:
    return binary.is_x86_64


def on_android(binary: Binary) -> bool:
    return binary.is_for_android


# name: (what is asked; None: the file does not show it; of which files; what is lacking)
CHECKS: dict[str, tuple[Callable[[Binary], bool | None], Callable[[Binary], bool], str]] = {
    "pie": (is_position_independent, everywhere, "lies at a fixed address (-pie)"),
    "relro": (lambda b: "GNU_RELRO" in b.headers, everywhere, "its relocations stay writable (-z relro)"),
    "now": (binds_now, everywhere, "binds lazily (-z now)"),
    "nx": (never_writes_and_executes, everywhere, "has a stack or segment that can be written and executed (-z noexecstack)"),
    "canary": (guards_returns, everywhere, "does not guard return addresses (-fstack-protector-strong)"),
    "fortify": (calls_checked_functions, everywhere, "calls no checked functions of the C library (-D_FORTIFY_SOURCE)"),
    "clash": (touches_each_page, on_x86_64, "does not touch each page of a large frame (-fstack-clash-protection)"),
    "cet": (marks_targets, on_x86_64, "does not mark what may be called indirectly (-fcf-protection)"),
    "exports": (exports_the_interface, everywhere, "exports other symbols than its exports.map lists"),
    "pages": (fits_large_pages, on_android, f"has segments that lie on no boundary of {ANDROID_PAGE_BYTES} bytes (-z max-page-size)"),
    "needed": (needs_what_is_there, on_android, "needs libraries that no app on Android has"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--without", action="append", default=[], choices=list(CHECKS), help="the build does without")
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    lacking = []
    width = max(len(path.name) for path in options.files)
    print(" ".join([" " * width, *(f"{name:8}" for name in CHECKS)]).rstrip())
    for path in options.files:
        binary, row = load(path), []
        for name, (ask, concerns, sentence) in CHECKS.items():
            if name in options.without or not concerns(binary):
                row.append("-")
                continue
            has = ask(binary)
            row.append("yes" if has else "-" if has is None else "NO")
            if has is False:
                lacking.append(f"{path}: {sentence}")
        print(" ".join([f"{path.name:{width}}", *(f"{cell:8}" for cell in row)]).rstrip())
    for line in lacking:
        print(f"check-hardening: {line}", file=sys.stderr)
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
