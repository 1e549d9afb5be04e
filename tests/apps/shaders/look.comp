#version 450
// SPDX-License-Identifier: MIT
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) uniform sampler2D image;
layout(set = 0, binding = 1) writeonly buffer Out { vec4 results[]; };
layout(push_constant) uniform Push { vec2 at; float lod; uint to; };

void main()
{
    results[to] = textureLod(image, at, lod);
}
