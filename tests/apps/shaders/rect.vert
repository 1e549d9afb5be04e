#version 450
// SPDX-License-Identifier: MIT
// A rectangle of two triangles (six vertices); its corners are parts of the viewport.
layout(push_constant) uniform Push { vec4 box; vec4 color; float depth; } push;
layout(location = 0) flat out vec4 color;

void main()
{
    const vec2 corners[6] = vec2[](vec2(0, 0), vec2(1, 0), vec2(0, 1), vec2(0, 1), vec2(1, 0), vec2(1, 1));
    gl_Position = vec4(mix(push.box.xy, push.box.zw, corners[gl_VertexIndex % 6]) * 2 - 1, push.depth, 1);
    color = push.color;
}
