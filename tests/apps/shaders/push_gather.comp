#version 450
// SPDX-License-Identifier: MIT
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) writeonly buffer Result { uint results[]; };
layout(set = 1, binding = 0) uniform First { uvec4 first; };
layout(set = 1, binding = 1) uniform Many { uvec4 value; } many[3];
layout(set = 1, binding = 2) uniform sampler plain;
layout(set = 1, binding = 3) uniform texture2D picture;
layout(set = 1, binding = 4) uniform sampler2D combined;
layout(set = 1, binding = 7) readonly buffer Stored { uint stored[]; };
layout(push_constant) uniform Push { uint at; };

uint code(vec4 color)
{
    return uint(color.x * 255.0 + 0.5);
}

void main()
{
    results[at + 0] = first.x;
    results[at + 1] = many[0].value.x;
    results[at + 2] = many[1].value.x;
    results[at + 3] = many[2].value.x;
    results[at + 4] = code(textureLod(sampler2D(picture, plain), vec2(0.5), 0.0));
    results[at + 5] = code(textureLod(combined, vec2(0.5), 0.0));
    results[at + 6] = stored[0];
    results[at + 7] = 77;
}
