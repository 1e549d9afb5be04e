#version 450
#extension GL_EXT_nonuniform_qualifier : require
// SPDX-License-Identifier: MIT
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer Result { uint results[]; };
layout(set = 1, binding = 0) buffer Table { uint words[]; } table[];
layout(push_constant) uniform Push { uint first, count, target, previous; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint value = table[nonuniformEXT(first + i % count)].words[i];
    results[2 * i] = value;
    if (i % 16 == 0) {
        results[2 * i + 1] = table[previous].words[i];
        table[target].words[i] += value;
    } else {
        results[2 * i + 1] = i;
    }
}
