# SPDX-License-Identifier: MIT
"""lapilli debug: the values that a shader computes are those that it stores and draws, and those that its arithmetic gives."""

from __future__ import annotations

import json
import math
import random
import re
import struct
from typing import Callable

from e2e.after import draws_of
from e2e.cases import Cases, Context, Program, check, prepare_on, programs, skip_lacking
from e2e.waiting import wait, words

CASES = Cases()
case = CASES.add

COMPARED = ("triangle-offscreen", "enables-geometry", "modern", "dynamic", "headless", "raster", "churn")
SOME = 4  # draws of each trace, with two texels each

# Calls, loops that end early, and values of many types; what a Python of the same steps computes.
CODE = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Input { uint inputs[]; };
layout(binding = 1) readonly buffer Constant { uint constants[]; };
layout(binding = 2) buffer Result { uint results[]; };
layout(push_constant) uniform Push { uint factor, first, count; };
struct Pair { uint number; vec2 both; };
uint next(uint value) { return (value & 1u) == 0u ? value / 2u : 3u * value + 1u; }
Pair pair(uint value) { return Pair(value, vec2(value, -float(value))); }
void main()
{
    uint value = gl_GlobalInvocationID.x + 27u, steps = 0u;
    while (value != 1u && steps < 20u) {
        value = next(value);
        steps++;
    }
    Pair last = pair(value);
    bool odd = (last.number & 1u) != 0u;
    if (gl_GlobalInvocationID.x < count)
        results[first + gl_GlobalInvocationID.x] += inputs[first + gl_GlobalInvocationID.x] * factor + constants[first + gl_GlobalInvocationID.x] + (odd ? 0u : steps * 0u);
}
"""


def debug(context: Context, file: str, at: str, *arguments: str, name: str = "debug") -> tuple[dict, list[dict]]:
    """The head, and the invocations."""
    done = context.run([context.program("lapilli"), name, "--quiet", "--json", file, "--at", at, *arguments])
    head, *found = map(json.loads, done.out.splitlines())
    return head["debug"], [line["invocation"] for line in found]


# ---- arithmetic ----

def number(value: float, kind: str) -> float | int | bool:
    """As 32 bits of the type have it."""
    if kind == "float":
        return struct.unpack("f", struct.pack("f", max(-3.4e38, min(3.4e38, value))))[0] if math.isfinite(value) else value
    return bool(value) if kind == "bool" else (int(value) & 0xffffffff) - (1 << 32 if kind == "int" and int(value) & 0x80000000 else 0)


EACH: dict[str, Callable] = {
    "IAdd": lambda a, b: a + b, "ISub": lambda a, b: a - b, "IMul": lambda a, b: a * b, "UDiv": lambda a, b: a // b, "UMod": lambda a, b: a % b,
    "FAdd": lambda a, b: a + b, "FSub": lambda a, b: a - b, "FMul": lambda a, b: a * b, "FDiv": lambda a, b: a / b, "FNegate": lambda a: -a, "SNegate": lambda a: -a,
    "BitwiseAnd": lambda a, b: a & b, "BitwiseOr": lambda a, b: a | b, "BitwiseXor": lambda a, b: a ^ b, "ShiftLeftLogical": lambda a, b: a << b,
    "ShiftRightLogical": lambda a, b: (a & 0xffffffff) >> b, "Not": lambda a: ~a, "ConvertUToF": float, "ConvertSToF": float, "ConvertFToU": int, "ConvertFToS": int,
    "IEqual": lambda a, b: a == b, "INotEqual": lambda a, b: a != b, "ULessThan": lambda a, b: a < b, "SLessThan": lambda a, b: a < b, "UGreaterThan": lambda a, b: a > b,
    "FOrdLessThan": lambda a, b: a < b, "FOrdGreaterThan": lambda a, b: a > b, "LogicalAnd": lambda a, b: a and b, "LogicalOr": lambda a, b: a or b,
    "LogicalNot": lambda a: not a, "Select": lambda c, a, b: a if c else b, "Bitcast": lambda a: a}


def compute(op: str, words_: list[str], values: dict[str, list]) -> list | None:
    """What the operands' values give; None: it is not known."""
    if op == "CompositeConstruct":
        return sum((values[word] for word in words_), []) if all(word in values for word in words_) else None
    if op == "VectorShuffle" and words_[0] in values and words_[1] in values:
        both = values[words_[0]] + values[words_[1]]
        return [both[int(index)] for index in words_[2:]]
    if op == "Dot" and all(word in values for word in words_):
        return [sum(a * b for a, b in zip(values[words_[0]], values[words_[1]]))]
    if op == "VectorTimesScalar" and all(word in values for word in words_):
        return [value * values[words_[1]][0] for value in values[words_[0]]]
    if op not in EACH or not all(word in values for word in words_):
        return None
    operands = [values[word] for word in words_]
    width = max(map(len, operands))
    return [EACH[op](*(operand[i if len(operand) > 1 else 0] for operand in operands)) for i in range(width)]


def arithmetic(context: Context, file: str, head: dict, invocation: dict) -> int:
    """Checks each step whose operands are known; how many there were."""
    text = context.run([context.program("lapilli"), "shaders", file, head["shader"]]).out
    lines = [line for line in text.splitlines() if re.match(r"\s*(%\w+ = )?Op\w+", line)]
    values: dict[str, list] = {}
    for line in lines:
        if found := re.match(r"\s*(%\w+) = Op(Constant|ConstantTrue|ConstantFalse) (%\w+) ?(\S*)", line):
            values[found[1]] = [found[2] == "ConstantTrue" if found[2] != "Constant" else float(found[4]) if "." in found[4] or "float" in found[3] else int(found[4])]
        elif (found := re.match(r"\s*(%\w+) = OpConstantComposite %\w+ (.*)", line)) and all(word in values for word in found[2].split()):
            values[found[1]] = sum((values[word] for word in found[2].split()), [])
    checked = 0
    for index, found_values in invocation["steps"]:
        result = head["results"][index]
        parts = re.match(r"\s*(%\w+) = Op(\w+) %\w+ ?(.*)", lines[result["instruction"]])
        check(parts is not None, lines[result["instruction"]])
        kind, same = result["type"], True
        expected = compute(parts[2], parts[3].split(), values) if result["bits"] == 32 or kind == "bool" else None
        if expected is not None and not any(isinstance(value, str) for value in found_values) and len(expected) == len(found_values):
            for one, other in zip(expected, found_values):
                wanted = number(one, kind) if not (parts[2] == "Bitcast") else None
                same &= wanted is None or (math.isclose(wanted, other, rel_tol=1e-4, abs_tol=1e-5) if kind == "float" else wanted == other)
            check(same, f"{lines[result['instruction']]}: {found_values}, not {expected}")
            checked += parts[2] != "Bitcast"
        if any(isinstance(value, str) for value in found_values) or result["bits"] == 64:
            values.pop(parts[1], None)
        else:
            values[parts[1]] = found_values
    return checked


# ---- cases ----

def drawn(program: Program, driver: str | None) -> Callable[[Context], None]:
    """The output is what the texel has, and a replay with the probe has the pictures of one without."""
    def run(context: Context) -> None:
        on, command = prepare_on(context, program, driver)
        skip_lacking(on.run([on.program("lapilli"), "capture", "-o", "out.lapilli", "--", *command], expect=None))
        draws, chance, compared, checked = draws_of(on, "out.lapilli"), random.Random(program.name), 0, 0
        for draw in chance.sample(draws, min(SOME, len(draws))):
            position = draw["position"]
            replay = [on.program("lapilli-replay"), "out.lapilli", "--quiet", "--raw", "--after", position]
            before = [json.loads(line) for line in on.run([*replay, "--json", "--pictures", f"plain-{position}"]).out.splitlines()]
            picture = next(one for one in before if one["name"].startswith("color0"))
            data, size = (on.folder / picture["file"]).read_bytes(), picture["width"] * picture["height"]
            for _ in range(2):
                x, y = chance.randrange(picture["width"]), chance.randrange(picture["height"])
                head, found = debug(on, "out.lapilli", position, "--texel", f"{x},{y}")
                check((head["position"], head["stage"], head["at"], head["kept"]) == (position, "fragment", [x, y], len(found)), f"{head}")
                returned = [one for one in found if one["returned"]]
                checked += sum(arithmetic(on, "out.lapilli", head, one) for one in returned)
                texel = data[len(data) // size * (y * picture["width"] + x):][:4]
                if returned and "UNORM" in picture["format"] and len(data) == 4 * size and program.name in OPAQUE:
                    color = next(one for one, output in zip(returned[-1]["outputs"], head["outputs"]) if output["location"] == 0)
                    order = (2, 1, 0, 3) if "B8G8R8A8" in picture["format"] else (0, 1, 2, 3)
                    check(all(abs(255 * min(max(color[i], 0), 1) - texel[order[i]]) <= 1 for i in range(len(color))), f"{position} {x},{y}: {color}, {texel.hex()}")
                    compared += 1
                with_probe = on.run([*replay, "--json", "--pictures", f"probe-{position}-{x}-{y}", "--debug", position, "--texel", f"{x},{y}"])
                for one in before:
                    other = on.folder / f"probe-{position}-{x}-{y}" / one["file"].split("/")[-1]
                    check(other.read_bytes() == (on.folder / one["file"]).read_bytes(), f"{position}: {one['name']} differs: {with_probe.text}")
        # Old layers take attributes of instances for longer than their buffer, up to what lies behind it.
        done = on.run([on.program("lapilli"), "debug", "--validate" if program.name == "raster" else "--validate=sync", "out.lapilli", "--at", draws[0]["position"], "--texel", "1,1"], expect=None)
        check(done.status == 5 or "validate: 0 errors, 0 warnings" in done.out, done.text)
        check(compared > 0 or program.name not in OPAQUE, "no output was compared")
    return run


OPAQUE = ("triangle-offscreen", "headless", "enables-geometry")


@case
def loops_and_calls(context: Context) -> None:
    context, command = prepare_on(context, Program("compute", [context.app("compute")], False), None)
    context.run([context.program("lapilli"), "capture", "-o", "out.lapilli", "--", *command])
    context.folder.joinpath("code.comp").write_text(CODE)
    dispatch = next(line.split("\t")[0] for line in context.run([context.program("lapilli"), "draws", "--no-header", "out.lapilli"]).out.splitlines())
    shader = debug(context, "out.lapilli", dispatch, "--invocation", "3,0,0")
    check(arithmetic(context, "out.lapilli", shader[0], shader[1][0]) > 0, f"{shader}")
    # What is stored is in the buffer behind the submit.
    _, (named,) = debug(context, "out.lapilli", dispatch, "--invocation", "3,0,0", "--name", "i")
    bound = json.loads(context.run([context.program("lapilli"), "state", "--json", "--at", dispatch, "out.lapilli"]).out)["bound"]["compute"]
    result = bound["sets"][0]["bindings"][2]["elements"][0]
    frame, number = map(int, dispatch.split(".")[:2])
    submit = [line for line in context.print_lines("out.lapilli") if line["name"] == "vkQueueSubmit" and line["frame"] == frame][number - 1]
    context.folder.joinpath("list").write_text(f"buffer {result['object'].split(':')[1]} {result['offset'] + 4 * named['steps'][-1][1][0]} 4\n")
    context.run([context.program("lapilli-replay"), "--quiet", "--present", "off", "--stop-at", str(submit["ticket"]), "--read", "list", "--read-to", "word", "out.lapilli"])
    stored, = struct.unpack("<I", (context.folder / "word").read_bytes()[-4:])
    check(shader[1][0]["steps"][-1][1] == [stored] and stored > 0, f"{stored}: {shader[1][0]['steps'][-1]}")
    replaced = ("--replace-shader", f"{shader[0]['shader']}=code.comp")
    head, (one,) = debug(context, "out.lapilli", dispatch, "--invocation", "3,0,0", *replaced)
    check(one["returned"] and not one["cut"] and one["global"] == [3, 0, 0], f"{one}")
    # The rounds of the loop, by the steps of the same sequence.
    value, rounds = 30, []
    while value != 1 and len(rounds) < 20:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        rounds.append(value)
    table = context.run([context.program("lapilli"), "debug", "--quiet", "out.lapilli", "--at", dispatch, "--invocation", "3,0,0", "--name", "value", *replaced]).out.splitlines()
    ids = {line.split()[2] for line in table[2:]}
    check(any([int(line.split()[3]) for line in table[2:] if line.split()[2] == one_id] == rounds for one_id in ids), f"{rounds}: {table}")
    some, (named,) = debug(context, "out.lapilli", dispatch, "--invocation", "3,0,0", "--name", "value", *replaced)
    wanted = {f"%{result['id']}" for result in some["results"]}
    check(wanted == ids and len(named["steps"]) == len(table) - 2 and named["outputs"] == one["outputs"], f"{some}: {table}")
    # A part of the text: values of later rounds stand below the first one.
    text = context.run([context.program("lapilli"), "debug", "--quiet", "out.lapilli", "--at", dispatch, "--invocation", "3,0,0", *replaced]).out
    check("[16]" in text and "more rounds" in text and text.count("OpFunctionEnd") == 3 and "OpTypeVoid" not in text, text)
    none = debug(context, "out.lapilli", dispatch, "--invocation", "9999,0,0")
    check(none[0]["invocations"] == 0 and none[1] == [], f"{none}")
    warm = wait(context, "out.lapilli", 1, words("--json", "--debug", dispatch, "--invocation", "3,0,0"))
    check([json.loads(line) for line in warm.out.splitlines()[1:]] == [{"invocation": shader[1][0]}], warm.text)


@case
def a_vertex(context: Context) -> None:
    """Positions of a triangle's vertices are those that the program gave, moved."""
    context, command = prepare_on(context, next(one for one in programs(context) if one.name == "triangle-offscreen"), None)
    context.run([context.program("lapilli"), "capture", "-o", "out.lapilli", "--", *command])
    draw = draws_of(context, "out.lapilli")[0]["position"]
    for vertex in range(3):
        head, found = debug(context, "out.lapilli", draw, "--vertex", str(vertex))
        check(found and all(one["vertex"] == vertex and one["instance"] == 0 for one in found), f"{found}")
        position = found[0]["outputs"][next(i for i, output in enumerate(head["outputs"]) if output["built_in"] == 0)]
        check(arithmetic(context, "out.lapilli", head, found[0]) >= 0 and len(position) == 4 and position[3] == 1, f"{position}")
    check(debug(context, "out.lapilli", draw, "--vertex", "999")[1] == [], "a vertex that is not there")


def counts(context: Context, at: str, *arguments: str) -> tuple[dict, tuple[int, ...]]:
    """The line, and the counts of all texels in rows."""
    done = context.run([context.program("lapilli"), "image", "out.lapilli", "--quiet", "--json", "--raw", "--overdraw", at, "-o", "counts", *arguments])
    line = json.loads(done.out)
    data = (context.folder / line["file"]).read_bytes()
    found = struct.unpack(f"<{len(data) // 4}I", data)
    check(len(found) == line["width"] * line["height"] and sum(found) == line["fragments"] and max(found) == line["most"]["fragments"]
          and sum(map(bool, found)) == line["covered"], f"{line}")
    return line, found


@case
def fragments_are_counted(context: Context) -> None:
    """As often as debug finds them; the shader does not run for those that fail a test in front of it."""
    context, command = prepare_on(context, Program("depth", [context.app("depth")], False), None)
    context.run([context.program("lapilli"), "capture", "-o", "out.lapilli", "--", *command])
    draws, chance, fewer = draws_of(context, "out.lapilli"), random.Random(1), 0
    for draw in chance.sample(draws, 3):
        at = draw["position"]
        (line, shaded), (_, rasterized) = counts(context, at), counts(context, at, "--rasterized")
        check(line["draws"] == 1 and line["position"] == at and all(one <= other for one, other in zip(shaded, rasterized)), f"{line}")
        fewer += sum(rasterized) - sum(shaded)
        for _ in range(2):
            x, y = chance.randrange(line["width"]), chance.randrange(line["height"])
            check(debug(context, "out.lapilli", at, "--texel", f"{x},{y}")[0]["invocations"] == rasterized[y * line["width"] + x], f"{at} {x},{y}")
        # The picture without the draw differs only where its shader runs.
        pictures = []
        for skip in ((), ("--skip", at)):
            done = context.run([context.program("lapilli"), "image", "out.lapilli", "--quiet", "--json", "--raw", "--after", at, "--targets", "color0", "-o", f"pictures{len(pictures)}", *skip])
            pictures.append((context.folder / json.loads(done.out)["file"]).read_bytes())
        size = len(pictures[0]) // len(shaded)
        changed = [i for i in range(len(shaded)) if pictures[0][size * i:size * i + size] != pictures[1][size * i:size * i + size]]
        check(all(shaded[i] for i in changed), f"{at}: {changed}")
    check(fewer > 0, "no fragment failed a test")
    whole, _ = counts(context, draws[0]["pass"])
    check(whole["draws"] == sum(one["pass"] == draws[0]["pass"] for one in draws) > 0, f"{whole}")
    picture = context.run([context.program("lapilli"), "image", "out.lapilli", "--validate", "--overdraw", draws[0]["pass"], "-o", "shots"], expect=None)
    check(picture.status == 5 or ("validate: 0 errors, 0 warnings" in picture.out and (context.folder / f"shots/{draws[0]['pass']}-shaded.png").exists()), picture.text)


@case
def what_has_no_values_is_refused(context: Context) -> None:
    for name, arguments, sentence in (("shader_objects", (), "shader objects"), ("descbuf", (), "from buffers"), ("dynamic", ("--libraries",), "libraries"),
                                      ("feedback", (), "transform feedback"), ("suspended", (), "resumes that of another"), ("raypipe", (), "no compute shader")):
        done = context.run([context.program("lapilli"), "capture", "-o", f"{name}.lapilli", "--", context.app(name), *arguments], expect=None)
        if done.status == 77:
            continue
        said = []
        for line in context.run([context.program("lapilli"), "draws", "--no-header", f"{name}.lapilli"]).out.splitlines():
            position, command = line.split("\t")[:2]
            wish = ("--texel", "1,1") if command.startswith("vkCmdDraw") else ("--invocation", "0,0,0")
            said.append(context.run([context.program("lapilli"), "debug", "--quiet", f"{name}.lapilli", "--at", position, *wish], expect=None))
        if name == "suspended":  # where rendering goes on in another command buffer of the submit, that runs, too
            suspends = draws_of(context, "suspended.lapilli")[0]["position"]
            done = context.run([context.program("lapilli"), "debug", "--validate", "suspended.lapilli", "--at", suspends, "--texel", "3,3"], expect=None)
            check(done.status == 5 or "validate: 0 errors, 0 warnings" in done.out, done.text)
        check(any(sentence in one.err and one.status == (2 if name == "raypipe" else 5) for one in said), f"{name}: {[one.text for one in said]}")
    context.run([context.app("triangle"), "--offscreen"], context.layer_env())
    draw = draws_of(context, "out.lapilli")[0]["position"]
    for status, arguments in ((2, ("--at", draw, "--invocation", "0,0,0")), (2, ("--at", "1", "--texel", "1,1")), (2, ("--at", "999.1.1.1", "--texel", "1,1")),
                              (2, ("--at", draw, "--texel", "1,1", "--vertex", "1")), (2, ("--at", draw, "--texel", "1")), (2, ("--at", draw)), (2, ("--texel", "1,1")),
                              (2, ("--at", draw, "--texel", "100,100", "--name", "no such"))):
        done = context.run([context.program("lapilli"), "debug", "--quiet", "out.lapilli", *arguments], expect=status)
        check("lapilli" in done.err and not done.out.count("OpLabel"), done.text)


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    found = {program.name: program for program in programs(context)}
    return {**CASES, **{f"drawn/{name}": drawn(found[name], None) for name in COMPARED if name in found},
            "drawn/swiftshader/headless": drawn(found["headless"], "swiftshader")}
