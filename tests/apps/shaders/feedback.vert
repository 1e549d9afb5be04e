#version 450
// SPDX-License-Identifier: MIT
layout(xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0, location = 0) out uvec4 captured;

void main()
{
    captured = uvec4(gl_VertexIndex, gl_VertexIndex * 3u, gl_InstanceIndex, 7u);
    gl_Position = vec4(0, 0, 0, 1);
    gl_PointSize = 1.0;
}
