# SPDX-License-Identifier: MIT
"""lapilli mesh: attributes are what the vertex shader gets and hands on, outputs are where the rasterizer draws."""

from __future__ import annotations

import csv
import json
import struct
from typing import Callable

from e2e.after import draws_of
from e2e.cases import Context, Program, check, prepare_on, programs, skip_lacking

COMPARED = ("triangle-offscreen", "raster", "dynamic", "modern", "churn", "headless-views", "suspended")
WHOLE = ("triangle-offscreen", "raster")  # nothing takes fragments away
SOME = 6  # draws of each trace


def mesh(context: Context, at: str, *arguments: str, env: dict[str, str] | None = None) -> tuple[dict, list[dict]]:
    done = context.run([context.program("lapilli"), "mesh", "--quiet", "--json", "out.lapilli", "--at", at, *arguments], env=env)
    head, *rows = map(json.loads, done.out.splitlines())
    return head["mesh"], rows


def near(one: list[float], other: list[float]) -> bool:
    return len(one) == len(other) and all(abs(a - b) <= 1e-6 * max(1, abs(a)) for a, b in zip(one, other))


def vertices(driver: str | None) -> Callable[[Context], None]:
    """The shader of `vertices` hands its inputs on, so the device's own decoding is the truth."""
    def run(context: Context) -> None:
        context, command = prepare_on(context, Program("vertices", [context.app("vertices")], False), driver)
        context.run([context.program("lapilli"), "capture", "-o", "out.lapilli", "--", *command])
        draws = [draw["position"] for draw in draws_of(context, "out.lapilli")]
        check(len(draws) == 3, f"{draws}")
        same = []
        for at in draws:
            head, rows = mesh(context, at)
            names, taken = [output["name"] for output in head["outputs"]], 0
            for row in rows:
                if row.get("restart"):
                    continue
                out = dict(zip(names, row["out"]))
                for attribute, values in zip(head["inputs"], row["in"]):
                    name = attribute["name"]
                    handed = {"position": out["gl_Position"][:3], "each": out["first"][:1], "turn[0]": out["out_turn"][:2], "turn[1]": out["out_turn"][2:]}
                    check(values is None or near(values, handed.get(name) or out[f"out_{name}"]), f"{at} {row['row']} {name}: {values}, not {out}")
                    taken += values is not None
            same.append(taken)
            check(len(head["inputs"]) == 9 and len(rows) == head["count"], f"{head}")
            done = context.run([context.program("lapilli"), "mesh", "--validate", "--quiet", "out.lapilli", "--at", at])
            check("validate: 0 errors, 0 warnings" in done.out, done.text)
        # The strip restarts once. The last draw begins at vertex 1 of 9, of which the buffer has 7: attributes of instances are always there.
        check(same == [63, 63, 57], f"{same}")
        check([row["vertex"] for row in mesh(context, draws[0])[1]] == [2, 3, 4, 5, None, 6, 7, 8], "the indices have an offset")
        for instance in (1, 2):
            head, rows = mesh(context, draws[1], "--instance", str(instance))
            check(all(row["in"][8] == [0.125 * (instance + 1)] == row["out"][1][:1] for row in rows if "in" in row), f"{instance}: {rows}")
        # What the host wrote needs no device; what a dispatch wrote does.
        nowhere = {"VK_DRIVER_FILES": "/no/driver.json", "VK_ICD_FILENAMES": "/no/driver.json"}
        check([row["in"] for row in mesh(context, draws[0], "--in", env=nowhere)[1] if "in" in row] == [row["in"] for row in mesh(context, draws[1])[1] if "in" in row], "the buffers have the same")
        context.run([context.program("lapilli"), "mesh", "--in", "out.lapilli", "--at", draws[1]], env=nowhere, expect=5)
        for arguments in (("--draw", "1"), ("--instance", "3")):
            context.run([context.program("lapilli"), "mesh", "out.lapilli", "--at", draws[0], *arguments], expect=2)
        check_files(context, draws[0])
    return run


def check_files(context: Context, at: str) -> None:
    for name, arguments in (("out.csv", ()), ("ndc.obj", ()), ("clip.obj", ("--clip",)), ("in.obj", ("--in",)), ("turn.obj", ("--position", "turn[0]"))):
        context.run([context.program("lapilli"), "mesh", "--quiet", "out.lapilli", "--at", at, "-o", name, *arguments])
    head, rows = mesh(context, at)
    table = list(csv.DictReader((context.folder / "out.csv").open()))
    position = [output["name"] for output in head["outputs"]].index("gl_Position")
    for row, line in zip(rows, table, strict=True):
        for i in range(4):
            check(line[f"out gl_Position.{i}"] == ("" if row.get("restart") else f"{row['out'][position][i]:.9g}"), f"{line}, {row}")
    for name in ("ndc.obj", "clip.obj", "in.obj", "turn.obj"):
        points, faces, order = [], [], [*dict.fromkeys(row["vertex"] for row in rows if "in" in row)]
        for line in (context.folder / name).read_text().splitlines():
            kind, *words = line.split()
            if kind == "v":
                points.append([float(word) for word in words])
            elif kind == "f":
                faces.append([order[int(word) - 1] for word in words])
        check(len(points) == 7 and faces == [[2, 3, 4], [3, 5, 4], [6, 7, 8]], f"{name}: {points}, {faces}")
        first = rows[0]
        wanted = {"ndc.obj": first["out"][position][:3], "clip.obj": first["out"][position], "in.obj": first["in"][0], "turn.obj": [*first["in"][6], 0]}[name]
        check(near(points[0], wanted), f"{name}: {points[0]}, not {wanted}")
    context.run([context.program("lapilli"), "mesh", "out.lapilli", "--at", at, "-o", "no.obj", "--position", "none"], expect=2)
    check(not (context.folder / "no.obj").exists(), "a file is left")


def bounds(context: Context, at: str, head: dict, rows: list[dict], whole: bool) -> bool:
    """Whether the triangles are where the rasterizer has fragments; False: it can't be said."""
    view, outputs = head["viewport"], [output["name"] for output in head["outputs"]]
    points = [row["out"][outputs.index("gl_Position")] for row in rows if "out" in row] if "gl_Position" in outputs else []
    if head["topology"] not in ("TRIANGLE_LIST", "TRIANGLE_STRIP") or head["draws"] != 1 or head["instances"] != 1 or not view or not points or None in points or any(p[3] <= 0 or not 0 <= p[2] <= p[3] for p in points):
        return False
    done = context.run([context.program("lapilli"), "image", "out.lapilli", "--quiet", "--json", "--raw", "--rasterized", "--overdraw", at, "-o", f"counts-{at}"], expect=None)
    if done.status or not done.out:
        return False
    line = json.loads(done.out)
    data = (context.folder / line["file"]).read_bytes()
    counts = struct.unpack(f"<{len(data) // 4}I", data)
    covered = [(i % line["width"], i // line["width"]) for i, count in enumerate(counts) if count]
    corners = [((p[0] / p[3] + 1) / 2 * view["width"] + view["x"], (p[1] / p[3] + 1) / 2 * view["height"] + view["y"]) for p in points]
    for axis, size in ((0, line["width"]), (1, line["height"])):
        low, high = (min(max(edge(corner[axis] for corner in corners), 0), size) for edge in (min, max))
        found = [place[axis] for place in covered] or [int(low), int(high) - 1]
        # A scissor, or faces that are culled, take something away.
        inside = low - 1.5 <= min(found) and max(found) + 1 <= high + 1.5
        check(inside and (not whole or (abs(min(found) - low) <= 1.5 and abs(max(found) + 1 - high) <= 1.5)), f"{at}: {low} to {high}, but fragments are from {min(found)} to {max(found)}")
    return bool(covered)


def where_it_draws(program: Program, driver: str | None) -> Callable[[Context], None]:
    """Every draw has its vertices, or says why it has none; and triangles are where their fragments are."""
    def run(context: Context) -> None:
        on, command = prepare_on(context, program, driver)
        skip_lacking(on.run([on.program("lapilli"), "capture", "-o", "out.lapilli", "--", *command], expect=None))
        compared, draws = 0, draws_of(on, "out.lapilli")
        for draw in draws[::max(1, len(draws) // SOME)]:
            at = draw["position"]
            done = on.run([on.program("lapilli"), "mesh", "--quiet", "--json", "out.lapilli", "--at", at], expect=None)
            if done.status:
                check(done.status == 5 and len(done.err.strip().splitlines()) == 1 and "Mesh" in draw["command"], done.text)
                continue
            head, *rows = map(json.loads, done.out.splitlines())
            head = head["mesh"]
            check(len(rows) == head["count"] and (bool(head["outputs"]) or bool(head["no_outputs"])), f"{head}")
            check(all(value is not None for row in rows for value in row.get("out", [])), f"{at}: {rows}")
            compared += bounds(on, at, head, rows, program.name in WHOLE)
        check(compared > 0 or program.name not in WHOLE, "nothing was compared")
    return run


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    found = {program.name: program for program in programs(context)}
    return {"vertices": vertices(None), "vertices/swiftshader": vertices("swiftshader"), **{f"drawn/{name}": where_it_draws(found[name], None) for name in COMPARED if name in found}}
