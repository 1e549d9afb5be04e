#version 450
#extension GL_EXT_buffer_reference : require
// SPDX-License-Identifier: MIT
layout(local_size_x = 4) in;
layout(constant_id = 0) const uint more = 0;
layout(buffer_reference, std430) buffer Results { uint values[]; };
layout(push_constant) uniform Push { Results results; uint factor; uint first; };

void main()
{
    results.values[first + gl_GlobalInvocationID.x] = (first + gl_GlobalInvocationID.x) * factor + more;
}
