#version 450
// SPDX-License-Identifier: MIT
layout(location = 0) out vec4 color;
layout(push_constant) uniform Push { uint frame; };

void main()
{
    uvec2 cell = uvec2(gl_FragCoord.xy) / 16u;
    color = vec4(vec2(cell * 32u), float((frame * 16u) & 255u), 255.0) / 255.0;
}
