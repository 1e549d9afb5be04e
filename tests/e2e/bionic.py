# SPDX-License-Identifier: MIT
"""Sources use nothing that Android 11 lacks, as far as this machine can say: tests/platform/bionic.txt lists what they may use of its C
library, and what is written for Android compiles."""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from e2e.cases import Cases, Context, check

CASES = Cases()
case = CASES.add

ROOMS = ("base", "trace", "memtrack", "layer", "inspector", "replayer", "tools", "server", "vm", "vulkan")
# Of the libraries that a build for Android brings, of other windows, of compilers, and what the linker makes.
NOT_OF_C = re.compile(r"(LZ4_|XXH|ZSTD_|cJSON_|png_|hook_|__gcov_|__aarch64_|__aeabi_)|(__tls_get_addr|__cpu_model|__popcountdi2|_GLOBAL_OFFSET_TABLE_|__real___cxa_atexit)$")
# Sources that a build for Android compiles to something else than this one.
CHANGES = r"__ANDROID__|android/native_activity\.h|jni\.h|__wrap__exit|LAP_HAS_|VK_USE_PLATFORM_|LAP_(NETTLE|MICROHTTPD|SPIRV_TOOLS|SPIRV_CROSS)\b"
PLATFORMS = re.search(r"^PLATFORMS := (.*)$", (Path(__file__).resolve().parents[2] / "Makefile").read_text(), re.MULTILINE).group(1).split()
FLAGS = ["-std=gnu11", "-fPIC", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-D__ANDROID__", "-D__ANDROID_API__=30",
         *PLATFORMS, "-Dandroid_get_device_api_level()=30", "-include", "base/bionic.h"]


def cases():
    return CASES


def listed(root: Path) -> dict[str, set[str]]:
    sections: dict[str, set[str]] = {}
    words: set[str] = set()
    for line in (root / "tests/platform/bionic.txt").read_text().splitlines():
        if line.startswith("["):
            words = sections.setdefault(line.strip("[]"), set())
        elif not line.startswith("#"):
            words.update(line.split())
    return sections


def sources(root: Path) -> list[Path]:
    """Without those that the Makefile leaves out."""
    absent = re.search(r"^ABSENT := (.*)$", (root / "Makefile").read_text(), re.MULTILINE).group(1)
    return [path for room in ROOMS for path in sorted((root / room).rglob("*.c")) if str(path.relative_to(root)) not in re.split(r"[ ,()]+", absent)]


def commands_of_build(context: Context) -> list[str]:
    """The compiler and where headers are, which the build wrote down."""
    headers = (context.build / "gen/sdk").read_text().splitlines()[0]
    return ["gcc", f"-I{context.root}", f"-I{context.build / 'gen'}", "-isystem", f"{context.root}/tests/platform/android", "-isystem", f"{context.root}/vulkan/foreign", *([] if headers == "/usr" else ["-isystem", f"{headers}/include"]), *FLAGS]


def own_lines(context: Context, source: Path) -> str:
    """Of a source that changes, what is left for Android."""
    text, inside = [], False
    for line in context.run([*commands_of_build(context), "-E", "-fdirectives-only", str(source)]).out.splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        inside = marker.group(1) == str(source) if marker else inside
        text.append(line if inside and not marker else "")
    return "\n".join(text)


def complain(what: str, wrong: list[tuple[str, str]]) -> None:
    check(not wrong, "\n".join(f"{where} has {name}: does Android 11 have this {what}? If so, list it in tests/platform/bionic.txt" for where, name in sorted(set(wrong))))


@case
def nothing_is_used_that_android_lacks(context: Context) -> None:
    root, known = context.root, listed(context.root)
    change = re.compile(CHANGES + "|" + r"\b(" + "|".join(re.findall(r"^#define ([a-z]\w+)", (root / "base/bionic.h").read_text(), re.MULTILINE)) + r")\b")
    changing = [path for path in sources(root) if change.search(path.read_text())]
    check(len(changing) > 10, f"{changing}")

    def compiled(path: Path) -> Path:
        target = context.folder / str(path.relative_to(root)).replace("/", "+")
        done = subprocess.run([*commands_of_build(context), "-c", "-o", f"{target}.o", str(path)], capture_output=True, text=True, check=False)
        check(done.returncode == 0, f"{path} does not compile for Android:\n{done.stderr}")
        return Path(f"{target}.o")

    with ThreadPoolExecutor(2) as pool:
        objects = dict(zip(changing, pool.map(compiled, changing)))
    built = [objects.get(path) or context.build / "obj" / path.relative_to(root).with_suffix(".o") for path in sources(root)]
    built += sorted((context.build / "obj/gen").glob("gen_*.o"))
    check(all(path.exists() for path in built), f"not built: {[str(path) for path in built if not path.exists()]}")
    defined, wanted = set(), []
    for line in context.run(["nm", "-A", "-P", *map(str, built)]).out.splitlines():
        where, name, kind = line.split()[:3]
        (wanted.append((Path(where[:-1]).name.replace("+", "/"), name)) if kind in "Uvw" else defined.add(name))
    plain = [(where, re.sub(r"^__(?:isoc\d\d_)?(\w+?)(?:_chk)?$", r"\1", name) if re.match(r"__isoc|__\w+_chk$", name) else name)
             for where, name in wanted if name not in defined and not NOT_OF_C.match(name)]
    complain("function", [(where, name) for where, name in plain if name not in known["functions"] | known["guarded"]])
    headers, calls, libraries = [], [], []
    for path in [*sources(root), *(header for room in ROOMS for header in sorted((root / room).rglob("*.h")))]:
        text, name = path.read_text(), str(path.relative_to(root))
        headers += [(name, found) for found in re.findall(r"#include <([^>]+)>", text) if found not in known["headers"] | known["guarded"]]
        libraries += [(name, found) for found in re.findall(r'dlopen\("([^"]+)"', text) if found not in known["guarded"]]
        if re.search(r"\b(SYS|__NR)_", text):
            text = own_lines(context, path) if path in changing else text
            calls += [(name, found) for found in re.findall(r"\b(?:SYS|__NR)_(\w+)", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)) if found not in known["calls"]]
    complain("header", headers)
    complain("library", libraries)
    complain("system call, and leaves alone who makes it", calls)
