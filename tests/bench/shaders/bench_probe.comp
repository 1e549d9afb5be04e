// SPDX-License-Identifier: MIT
#version 450
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) readonly buffer Source { uint source[]; };
layout(std430, set = 0, binding = 1) buffer Result { uint result; };
layout(push_constant) uniform Probe { uint word; } probe;

void main()
{
    result += source[probe.word];
}
