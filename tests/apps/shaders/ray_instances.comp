// SPDX-License-Identifier: MIT
// Writes instances, with the addresses of their structures from push constants.
#version 450

layout(local_size_x = 32) in;
layout(set = 0, binding = 0, std430) readonly buffer Plan { uvec4 plan[]; }; // x and y, height, mesh (or ~0), custom index and mask
layout(set = 0, binding = 1, std430) buffer Instances { uint words[]; };
layout(push_constant) uniform Push { uvec2 meshes[4]; uint count; };

void main()
{
    uint i = gl_GlobalInvocationID.x, at = i * 16;

    if (i >= count)
        return;
    uvec4 item = plan[i];
    for (uint word = 0; word < 16; word++)
        words[at + word] = 0;
    words[at] = words[at + 5] = words[at + 10] = floatBitsToUint(1.0);
    words[at + 3] = floatBitsToUint(float(item.x & 0xffff));
    words[at + 7] = floatBitsToUint(float(item.x >> 16));
    words[at + 11] = item.y;
    words[at + 12] = item.w;
    if (item.z < 4) {
        words[at + 14] = meshes[item.z].x;
        words[at + 15] = meshes[item.z].y;
    }
}
