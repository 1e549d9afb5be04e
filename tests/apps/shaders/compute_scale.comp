#version 450
// SPDX-License-Identifier: MIT
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Input { uint inputs[]; };
layout(set = 0, binding = 1) readonly buffer Constant { uint constants[]; };
layout(set = 0, binding = 2) buffer Result { uint results[]; };
layout(push_constant) uniform Push { uint factor, first, count; };

void main()
{
    if (gl_GlobalInvocationID.x < count) {
        uint i = first + gl_GlobalInvocationID.x;
        results[i] += inputs[i] * factor + constants[i];
    }
}
