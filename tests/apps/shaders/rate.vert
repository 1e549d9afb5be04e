#version 450
#extension GL_EXT_fragment_shading_rate : require
// SPDX-License-Identifier: MIT
// A rectangle of two triangles with a shading rate of its own.
layout(push_constant) uniform Push { vec4 box; int rate; } push;

void main()
{
    const vec2 corners[6] = vec2[](vec2(0, 0), vec2(1, 0), vec2(0, 1), vec2(0, 1), vec2(1, 0), vec2(1, 1));
    gl_Position = vec4(mix(push.box.xy, push.box.zw, corners[gl_VertexIndex % 6]) * 2 - 1, 0.5, 1);
    gl_PrimitiveShadingRateEXT = push.rate;
}
