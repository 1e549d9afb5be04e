#version 450
// SPDX-License-Identifier: MIT
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) buffer Results { uint results[]; };

void main()
{
    results[gl_GlobalInvocationID.x] = results[gl_GlobalInvocationID.x] * 2 + gl_GlobalInvocationID.x;
}
