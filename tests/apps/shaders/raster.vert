#version 450
// SPDX-License-Identifier: MIT
layout(location = 0) in vec3 position;
layout(location = 1) in vec4 tint;
layout(location = 2) in vec2 shift;
layout(location = 0) flat out vec4 color;

void main()
{
    gl_Position = vec4(position.xy + shift, position.z, 1);
    color = tint;
}
