#version 450
// SPDX-License-Identifier: MIT
layout(location = 0) in vec2 place;
layout(location = 1) in vec4 tint;
layout(location = 0) flat out vec4 color;

void main()
{
    color = tint;
    gl_Position = vec4(place, 0.0, 1.0);
}
