// SPDX-License-Identifier: MIT
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) writeonly buffer Result { uint result[]; };
layout(push_constant) uniform Frame { uint number; } frame;

void main()
{
    result[gl_GlobalInvocationID.y * 65536 + gl_GlobalInvocationID.x] = frame.number;
}
