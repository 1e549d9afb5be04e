#version 450
// SPDX-License-Identifier: MIT
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) readonly buffer In { uint inputs[]; };
layout(set = 0, binding = 1) buffer Out { uint results[]; };
layout(push_constant) uniform Push { uint from; uint to; uint factor; uint more; };

void main()
{
    results[to + gl_WorkGroupID.x] = inputs[from + gl_WorkGroupID.x] * factor + more;
}
