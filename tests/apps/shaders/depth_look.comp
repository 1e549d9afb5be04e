#version 450
// SPDX-License-Identifier: MIT
// Which of four ranges the depth of a texel is in.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform sampler2D depth;
layout(set = 1, binding = 0) writeonly buffer Result { uint results[]; };
layout(push_constant) uniform Push { uint width, height, base; float steps[3]; };

void main()
{
    uvec2 at = gl_GlobalInvocationID.xy;
    if (at.x >= width || at.y >= height)
        return;
    float d = texelFetch(depth, ivec2(at), 0).x;
    results[base + at.y * width + at.x] = (d > steps[0] ? 1 : 0) + (d > steps[1] ? 1 : 0) + (d > steps[2] ? 1 : 0);
}
