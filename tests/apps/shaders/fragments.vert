#version 450
// SPDX-License-Identifier: MIT
// Triangles that cover the viewport, each with a depth of its own.
layout(push_constant) uniform Push {
    vec4 color;
    vec2 depths;
    uint turned, discards;
};

void main()
{
    int corner = gl_VertexIndex % 3;
    if (turned != 0 && corner > 0)
        corner = 3 - corner;
    gl_Position = vec4(corner == 1 ? 3.0 : -1.0, corner == 2 ? 3.0 : -1.0, depths[(gl_VertexIndex / 3 + gl_InstanceIndex) & 1], 1.0);
}
