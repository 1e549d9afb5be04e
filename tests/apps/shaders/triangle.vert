#version 450
// SPDX-License-Identifier: MIT
layout(location = 0) in vec3 position;
layout(location = 1) in vec2 uv;
layout(location = 0) out vec2 out_uv;
layout(set = 0, binding = 0) uniform Uniforms { vec4 offset; vec4 tint; };

void main()
{
    out_uv = uv;
    gl_Position = vec4(position + offset.xyz, 1.0);
}
