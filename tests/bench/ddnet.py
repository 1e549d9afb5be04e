# SPDX-License-Identifier: MIT
"""Runs the game DDNet for some seconds in a home of its own and counts its frames; prints what the other workloads print. Its
menu is drawn as fast as it can be. The exit status is 77 where something is lacking.

Debian's package brings the game's shaders as GLSL only, so they are compiled first: without them it takes OpenGL, silently."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SHADERS = Path("/usr/share/games/ddnet/data/shader/vulkan")
SKIPPED = 77
# What the game loads: the source's name, what its name gets behind, and what is defined. Some have the definitions in one stage only.
VARIANTS = [("prim", "", []), ("prim", "_textured", ["TW_TEXTURED"]), ("prim3d", "", []), ("prim3d", "_textured", ["TW_TEXTURED"]),
            ("text", "", []), ("primex", "", []), ("primex", "_rotationless", ["vert:TW_ROTATIONLESS"]),
            ("primex", "_tex", ["frag:TW_TEXTURED"]), ("primex", "_tex_rotationless", ["frag:TW_TEXTURED", "vert:TW_ROTATIONLESS"]),
            ("spritemulti", "", []), ("spritemulti", "_push", ["TW_PUSH_CONST"]), ("tile", "", []), ("tile", "_textured", ["TW_TILE_TEXTURED"]),
            ("tile", "_border", ["TW_TILE_BORDER"]), ("tile", "_border_textured", ["TW_TILE_BORDER", "TW_TILE_TEXTURED"]),
            ("tile", "_border_line", ["TW_TILE_BORDER_LINE"]),
            ("tile", "_border_line_textured", ["TW_TILE_BORDER_LINE", "TW_TILE_TEXTURED"]), ("quad", "", []),
            ("quad", "_push", ["TW_PUSH_CONST"]), ("quad", "_textured", ["TW_QUAD_TEXTURED"]),
            ("quad", "_push_textured", ["TW_QUAD_TEXTURED", "TW_PUSH_CONST"])]


def skip(reason: str) -> None:
    print(reason)
    sys.exit(SKIPPED)


def compile_shaders(folder: Path) -> None:
    if folder.is_dir():
        return
    folder.mkdir(parents=True)
    for name, suffix, definitions in VARIANTS:
        for stage in ("vert", "frag"):
            own = [d.split(":")[-1] for d in definitions if ":" not in d or d.startswith(stage)]
            subprocess.run(["glslangValidator", "--client", "vulkan100", *[f"-D{d}" for d in own], SHADERS / f"{name}.{stage}",
                            "-o", folder / f"{name}{suffix}.{stage}.spv"], check=True, stdout=subprocess.DEVNULL)


def play(game: str, home: Path, seconds: int) -> tuple[str, list[float]]:
    """What the game said, and how long each of its frames took, in microseconds."""
    environment = {**os.environ, "HOME": str(home), "ALSOFT_DRIVERS": "null", "SDL_AUDIODRIVER": "dummy"}
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        environment.pop(name, None)
    times = home / "times.txt"
    done = subprocess.run([game, "gfx_backend Vulkan", "snd_enable 0", "gfx_fullscreen 0", "gfx_screen_width 640", "gfx_screen_height 360",
                           f"benchmark_quit {seconds} {times}"], env=environment, capture_output=True, text=True, errors="replace",
                          check=False)
    said = done.stdout + done.stderr
    if done.returncode != 0 or not times.exists():
        print(said[-500:], file=sys.stderr)
        sys.exit(f"the game ends with {done.returncode}")
    return said, [float(line.split()[1]) for line in times.read_text().splitlines() if line.startswith("Frametime")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=6)
    parser.add_argument("--shaders", type=Path, required=True, help="a folder that takes the compiled shaders, or has them already")
    parser.add_argument("--no-check", action="store_true", help="nothing is checked anyway")
    options = parser.parse_args()
    game = shutil.which("DDNet", path=f"{os.environ.get('PATH', '')}:/usr/games")
    if not game or not SHADERS.is_dir():
        skip("DDNet is not there (Debian packages ddnet and ddnet-data)")
    if not shutil.which("glslangValidator"):
        skip("there is no glslangValidator (Debian package glslang-tools)")
    with tempfile.TemporaryDirectory(prefix="ddnet-") as folder:
        home = Path(folder)
        compile_shaders(options.shaders)
        (home / ".local/share/ddnet/shader").mkdir(parents=True)
        (home / ".local/share/ddnet/shader/vulkan").symlink_to(options.shaders.resolve())
        said, frames = play(game, home, options.seconds)
    if "Created Vulkan" not in said:
        sys.exit("the game does not use Vulkan")
    device = next((line.split("GPU renderer: ")[1] for line in said.splitlines() if "GPU renderer: " in line), "")
    print(json.dumps({"workload": "ddnet", "frames": options.seconds, "device": device, "series": {},
                      "counts": {"frames": len(frames), "microseconds": round(sum(frames)), "median_microseconds": round(statistics.median(frames))}}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
