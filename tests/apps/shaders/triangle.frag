#version 450
// SPDX-License-Identifier: MIT
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform Uniforms { vec4 offset; vec4 tint; };
layout(set = 0, binding = 1) uniform sampler2D picture;

void main()
{
    color = texture(picture, uv) * tint;
}
