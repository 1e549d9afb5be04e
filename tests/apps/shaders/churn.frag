#version 450
// SPDX-License-Identifier: MIT
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform sampler2D picture;

void main()
{
    color = texture(picture, vec2(0.5));
}
