#version 450
// SPDX-License-Identifier: MIT
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform Uniform { vec4 red; };
layout(set = 0, binding = 1) readonly buffer Storage { float values[8]; };
layout(push_constant) uniform Push { vec4 rest; };

void main()
{
    color = vec4(red.x, values[4], rest.z, rest.w);
}
