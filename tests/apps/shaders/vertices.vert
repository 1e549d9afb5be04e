#version 450
// SPDX-License-Identifier: MIT
layout(location = 0) in vec3 position;
layout(location = 1) in vec4 swapped;
layout(location = 2) in vec2 normal;
layout(location = 3) in vec4 packed;
layout(location = 4) in ivec4 bones;
layout(location = 5) in uvec2 codes;
layout(location = 6) in mat2 turn;
layout(location = 8) in float each;
layout(location = 0) flat out vec4 first;
layout(location = 1) flat out vec4 out_swapped;
layout(location = 2) flat out vec2 out_normal;
layout(location = 3) flat out vec4 out_packed;
layout(location = 4) flat out ivec4 out_bones;
layout(location = 5) flat out uvec2 out_codes;
layout(location = 6) flat out mat2 out_turn;
layout(location = 8) flat out vec4 out_position;

void main()
{
    gl_Position = vec4(position, 1);
    first = vec4(each);
    out_swapped = swapped;
    out_normal = normal;
    out_packed = packed;
    out_bones = bones;
    out_codes = codes;
    out_turn = turn;
    out_position = vec4(position, each);
}
