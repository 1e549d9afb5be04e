#version 450
// SPDX-License-Identifier: MIT
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Terms { uint terms[]; };
layout(set = 0, binding = 2) buffer Sums { uint sums[]; };

void main()
{
    sums[gl_LocalInvocationIndex] += terms[gl_LocalInvocationIndex];
}
