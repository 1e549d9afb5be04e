# SPDX-License-Identifier: MIT
"""Shaders that also write their values to a buffer are valid: SPIRV-Tools is the judge."""

from __future__ import annotations

import re
import shutil
import struct

from e2e.cases import Cases, Context, Done, Skip, check

CASES = Cases()
case = CASES.add

# What the shaders of programs lack: calls, loops, switches, structs, matrices, numbers of other sizes.
VALUES = """#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 4) in;
struct Part { vec3 a; ivec2 b; bool c; mat2 d; double e; };
layout(binding = 0) buffer Data { float f[16]; u16vec2 s[4]; u8vec4 bytes[4]; f16vec4 half4; dvec2 d; int64_t l[4]; } data;
layout(push_constant) uniform Push { int count; } push;
float twice(float value, bvec2 which) { return any(which) ? value * 2 : value; }
Part make(int i) { return Part(vec3(i), ivec2(i, -i), i > 2, mat2(i), double(i) / 3); }
Part parts[3];
void fill(inout Part part, float value) { part.a *= value; part.d[1] = vec2(value); }
void main() {
    int i = int(gl_GlobalInvocationID.x), exponent;
    float sum = 0, whole;
    for (int k = 0; k < push.count; k++) {
        if (k == 7) continue;
        for (int n = k; n > 0; n--) { sum += twice(data.f[n & 15], bvec2(n > 3, k < 2)); if (sum > 1000) break; }
    }
    do { sum -= frexp(sum, exponent) + modf(sum, whole); } while (sum > 10);
    switch (i) { case 0: sum += 1; case 1: sum += 2; break; case 5: sum = 0; break; default: sum *= 2; }
    Part part = make(i);
    parts[i % 3] = part;
    fill(parts[1], sum);
    uint carry, low = uaddCarry(uint(i), 0xfffffff0u, carry);
    data.s[i] = u16vec2(data.s[i].yx + uint16_t(1));
    data.bytes[i] = data.bytes[i].wzyx;
    data.half4 = data.half4 * float16_t(2) + f16vec4(sum);
    data.d = sqrt(data.d) + part.e;
    data.l[i] = data.l[i] * 3L - int64_t(low);
    data.f[i] = sum + parts[1].d[1].x + part.a.z + float(carry) + whole + exponent;
}
"""
OUTPUTS = """#version 450
layout(location = 0) in vec4 point;
layout(location = 3, component = 1) out vec3 color;
layout(location = 4) flat out ivec2 numbers[3];
layout(location = 8) out Block { vec2 uv; float unused; mat3 turned; } block;
out gl_PerVertex { vec4 gl_Position; float gl_ClipDistance[2]; float gl_PointSize; };
void place(out vec4 where) { where = point * gl_InstanceIndex; }
void main() {
    place(gl_Position);
    gl_ClipDistance[0] = gl_ClipDistance[1] = point.x;
    for (int i = 0; i < 3; i++) numbers[i] = ivec2(gl_VertexIndex, i);
    block.uv = point.xy;
    block.turned = mat3(point.x);
    if (point.w > 0) return;
    color = point.xyz;
}
"""
TESTED = """#version 450
layout(location = 0) in vec2 uv;
layout(location = 1) flat in int which;
layout(set = 1, binding = 3) uniform sampler2D maps[4];
layout(location = 0) out vec4 color;
layout(location = 1) out uvec2 numbers;
layout(depth_any) out float gl_FragDepth;
vec4 look(sampler2D map, vec2 at) { if (at.x < 0) discard; return textureGrad(map, at, dFdx(at), dFdy(at)); }
void main() {
    color = look(maps[1], uv) + texelFetch(maps[which], ivec2(gl_FragCoord.xy), 0);
    if (gl_FrontFacing) discard;
    numbers = uvec2(gl_SampleMaskIn[0], gl_PrimitiveID);
    gl_SampleMask[0] = gl_SampleMaskIn[0] & 3;
    gl_FragDepth = gl_FragCoord.z * 0.5;
}
"""


OPAQUE = "#version 450\nlayout(location = 0) out vec4 color;\nvoid main() { color = vec4(gl_FragCoord.xy, 0, 1); }\n"
TAKEN = "#version 450\nlayout(set = 7, binding = 2) buffer B { int b; };\nvoid main() { b = 1; }\n"

# What is written of each output: a type, how many of them, and where it is. Those that no code writes are not read.
OUTPUTS_WRITTEN = ["gl_Position float32 x4 +0 built-in 0", "gl_ClipDistance float32 x2 +0 built-in 3", "numbers int32 x6 +0 location 4.0",
                   "uv float32 x2 +0 location 8.0", "turned float32 x9 +0 location 10.0", "color float32 x3 +0 location 3.1"]
TESTED_WRITTEN = ["color float32 x4 +0 location 0.0", "numbers uint32 x2 +0 location 1.0", "gl_SampleMask int32 x1 +0 built-in 20",
                  "gl_FragDepth float32 x1 +0 built-in 22"]
PART = ["- float32 x3 +0", "- int32 x2 +3", "- bool1 x1 +5", "- float32 x4 +6", "- float64 x1 +10"]


def compile_glsl(context: Context, stage: str, source: str, target: str = "spirv1.0") -> str:
    if not shutil.which("glslangValidator"):
        raise Skip("glslangValidator is not there")
    (context.folder / f"it.{stage}").write_text(source)
    file = f"{stage}-{target}.spv"
    context.run(["glslangValidator", "-V", "--target-env", target, "-o", file, f"it.{stage}"])
    return file


def checked(context: Context, *arguments: str) -> Done:
    """What the check says. A check without a judge is none."""
    done = context.run([str(context.build / "tests/bin/instrument-check"), *arguments], expect=None)
    if "built without SPIRV-Tools" in done.err:
        raise Skip(done.err.strip())
    return done


def listed(context: Context, stage: str, source: str) -> list[str]:
    return checked(context, "--list", compile_glsl(context, stage, source)).out.splitlines()


def instrumented(context: Context, *files: str) -> dict[str, int]:
    done = checked(context, *files)
    check(done.status == 0, done.text)
    return {name: int(number) for number, name in re.findall(r"(\d+) ([a-z ]+)", done.out.splitlines()[-1])}


@case
def shaders_of_programs_stay_valid(context: Context) -> None:
    headers = sorted((context.build / "gen/shaders").glob("*.h"))
    for header in headers:
        words = [int(word, 16) for word in re.findall(r"\b0x[0-9a-f]{8}\b", header.read_text())]
        (context.folder / f"{header.stem}.spv").write_bytes(struct.pack(f"<{len(words)}I", *words))
    counts = instrumented(context, *(f"{header.stem}.spv" for header in headers))
    check(counts["entry points"] > 40 and counts["results"] > 1000, f"only {counts}")
    check(counts["refused"] == 0 and counts["not judged"] == 0, f"{counts}")


@case
def other_shaders_stay_valid(context: Context) -> None:
    # Buffers, and interfaces, are declared differently in these.
    files = [compile_glsl(context, stage, source, target) for stage, source in (("comp", VALUES), ("vert", OUTPUTS), ("frag", TESTED))
             for target in ("spirv1.0", "spirv1.3", "spirv1.5")]
    counts = instrumented(context, *files)
    check(counts["modules"] == len(files) and counts["refused"] == 0 and counts["not judged"] == 0, f"{counts}")


@case
def results_say_what_they_are(context: Context) -> None:
    for stage, source, written in (("vert", OUTPUTS, OUTPUTS_WRITTEN), ("frag", TESTED, TESTED_WRITTEN)):
        lines = [line.split(" ", 1)[1].removesuffix(" output") for line in listed(context, stage, source) if re.match(r"2\.0 ", line)]
        check(lines == written, f"{lines}")
    lines = [re.sub(r"^0\.\d+ ", "", line) for line in listed(context, "comp", VALUES) if line.startswith("0.")]
    check(any(lines[i:i + len(PART)] == PART for i in range(len(lines))), f"no struct in {lines}")
    # As wide as it is in the code.
    check({"int64", "float64", "float16", "uint16", "uint8"} <= {line.split()[1] for line in lines}, f"{lines}")


@case
def early_tests_are_for_what_they_do_not_change(context: Context) -> None:
    for source, early in ((OPAQUE, "1"), (TESTED, "0"), (OPAQUE.replace("color =", "if (gl_FragCoord.x > 9) discard; color ="), "0"),
                          (OPAQUE.replace("layout", "layout(binding = 0) buffer B { int b; };\nlayout").replace("color =", "b = 1; color ="), "0")):
        ways = [line for line in listed(context, "frag", source) if line.startswith("way 4:")]
        check(len(ways) == 1 and ways[0].endswith(f"early {early}"), f"{source}: {ways}")


@case
def code_that_uses_the_set_is_refused(context: Context) -> None:
    lines = listed(context, "comp", TAKEN)
    check(any("uses the descriptor set" in line for line in lines) and ", 0 made, 3 refused" in lines[-1], f"{lines}")
