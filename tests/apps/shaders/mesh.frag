#version 450
#extension GL_EXT_mesh_shader : require
// SPDX-License-Identifier: MIT
layout(location = 0) perprimitiveEXT flat in vec4 color;
layout(location = 0) out vec4 result;

void main()
{
    result = color;
}
