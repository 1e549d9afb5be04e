#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-docs.py [--fix]: links, anchors and files that the documents name are there, and sections and files that comments name. README.md is
short. Some shapes of sentences get no more. The newest version of CHANGELOG.md is that of base/version.h.

--fix follows files that have moved within their top folder."""

import re
import subprocess
import sys
from pathlib import Path

README_BYTES = 8192
ROOT = Path(__file__).resolve().parent.parent
PARTS = re.compile(r"\b(?:base|trace|memtrack|codegen|inspector|layer|replayer|tools|tests|scripts|manifests)(?:/[\w.+-]+)+")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
# Shapes of sentences that CONTRIBUTING.md ("Words") advises against, and how often they may be in the documents and
# in headers: fewer times with each change.
SHAPES = {r", of which\b": 7, r"\bis so\b": 1, r" in vain\b": 0, r"(?:^|[.:!?] )What ": 17}
SOURCE = re.compile(r"(?:[\w-]+/)*[\w-]+\.[ch]$")
# Generated, or of others: Vulkan's headers, the kernel's, the NDK's (our android/ has none).
NOT_OURS = re.compile(r"(?:.*/)?(?:(?:gen|vk|vulkan)_|(?:xdg_shell|drm_fourcc)\.h$)|android/")


def files() -> list[str]:
    """All of the repository; of a source package all but what is built and Vulkan's."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
        return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]
    found = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file()]
    return sorted(name for name in found if not re.match(r"build/|third_party/vulkan/(?:include|share)/|.*__pycache__/", name))


def headings(text: str) -> list[str]:
    return re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), re.M)


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def moved(text: str, names: list[str]) -> str:
    """The text with the new paths of files that lie in another folder now, where only one has that name."""
    def follow(match: re.Match[str]) -> str:
        path = match.group(0)
        there = [n for n in names if n.split("/")[0] == path.split("/")[0] and Path(n).name == Path(path).name]
        return path if (ROOT / path).exists() or len(there) != 1 else there[0]
    return PARTS.sub(follow, text)


def gone(text: str, names: list[str]) -> list[str]:
    """Sources that comments name and that are not there: a path from the root or a name alone."""
    tops, bases, paths = {n.split("/")[0] for n in names}, {n.split("/")[-1] for n in names}, set(names)
    words = {word.rstrip(".") for comment in COMMENT.findall(text) for word in re.findall(r"[\w./-]+", comment)}
    cited = [word for word in words if word.endswith((".c", ".h")) and SOURCE.match(word) and not NOT_OURS.match(word)]
    return sorted(word for word in cited if (word.split("/")[0] in tops and word not in paths if "/" in word else word not in bases))


def shapes(names: list[str], documents: dict[str, str]) -> list[str]:
    """Where there are more than SHAPES has. Says where there are fewer."""
    prose = [documents[n] for n in names if n == "README.md" or re.match(r"docs/(?!extensions)[\w-]+\.md$", n)]
    heads = [(ROOT / n).read_text(encoding="utf-8") for n in names if n.endswith(".h") and not n.startswith("tests/")]
    texts = [block.lstrip("- ") for text in prose for block in re.split(r"\n\n|\n *- |\|", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))]
    texts += [re.sub(r"\n\s*\*", " ", comment.strip("/* \n")) for text in heads for comment in COMMENT.findall(text)]
    counts = {shape: sum(len(re.findall(shape, " ".join(text.split()))) for text in texts) for shape in SHAPES}
    for shape, most in SHAPES.items():
        if counts[shape] < most:
            print(f"check-docs: {shape!r} is there {counts[shape]} times: lower its number in SHAPES, {most}")
    return [f"{shape!r} is there {counts[shape]} times, {SHAPES[shape]} at most: another shape is better" for shape in SHAPES if counts[shape] > SHAPES[shape]]


def main() -> int:
    found = []
    names = files()
    documents = {name: (ROOT / name).read_text(encoding="utf-8") for name in names if name.endswith(".md")}
    if "--fix" in sys.argv[1:]:
        documents = {name: moved(text, names) for name, text in documents.items()}
        for name, text in documents.items():
            (ROOT / name).write_text(text, encoding="utf-8")
    anchors = {name: {anchor(h) for h in headings(text)} for name, text in documents.items()}
    for name, text in documents.items():
        for target, place in re.findall(r"\]\(([\w./-]*)(?:#([\w-]+))?\)", text):
            path = ((ROOT / name).parent / target).resolve() if target else ROOT / name
            if not path.exists():
                found.append(f"{name}: there is no {target}")
            elif place and place not in anchors.get(str(path.relative_to(ROOT)), set()):
                found.append(f"{name}: {target or name} has no section #{place}")
        for path in set(PARTS.findall(text)):
            is_placeholder = path.endswith("_") or re.search(r"(?:^|[/_])[A-Z]+\b", path)
            if not is_placeholder and not any((ROOT / (path + end)).exists() for end in ("", ".c", ".h")):
                found.append(f"{name}: there is no {path}")
    for name in names:
        if not name.endswith((".c", ".h", ".py", ".toml", ".sh", ".comp")) or name == "scripts/check-docs.py":
            continue
        if name.endswith((".c", ".h")):
            found += [f"{name}: there is no {path}" for path in gone((ROOT / name).read_text(encoding="utf-8"), names)]
        text = re.sub(r"\n\s*(?:\*|#|//)? ?", " ", (ROOT / name).read_text(encoding="utf-8"))
        for path, section in re.findall(r'\b((?:docs/\w+|README|SECURITY|CONTRIBUTING)\.md)(?:,? (?:\()?"([^"]{1,60})")?', text):
            if path not in documents:
                found.append(f"{name}: there is no {path}")
            elif section and not re.search(rf"^#+ .*{re.escape(section)}|\*\*?{re.escape(section)}", documents[path], re.M | re.I):
                found.append(f'{name}: {path} has no "{section}"')
    if len(documents["README.md"].encode()) > README_BYTES:
        found.append(f"README.md has {len(documents['README.md'].encode())} bytes, {README_BYTES} at most: docs/ has room for the rest")
    version = re.search(r'LAPILLI_VERSION +"([^"]*)"', (ROOT / "base/version.h").read_text(encoding="utf-8"))[1]
    newest = re.search(r"^## ([^\s,]+)", documents["CHANGELOG.md"], re.M)
    if not newest or newest[1] != version:
        found.append(f"CHANGELOG.md: its newest version is {newest[1] if newest else 'none'}, that of base/version.h is {version}")
    found += shapes(names, documents)
    for line in found:
        print(f"check-docs: {line}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
