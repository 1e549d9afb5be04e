#version 450
// SPDX-License-Identifier: MIT
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0, rgba8) writeonly uniform image2D target;
layout(push_constant) uniform Push { int x, y, width, height; uint value; };

void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (at.x < width && at.y < height)
        imageStore(target, at + ivec2(x, y), unpackUnorm4x8(value));
}
