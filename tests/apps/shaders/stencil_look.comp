#version 450
// SPDX-License-Identifier: MIT
// The stencil of each texel.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform usampler2D stencil;
layout(set = 0, binding = 1) writeonly buffer Result { uint results[]; };
layout(push_constant) uniform Push { uint width, height; };

void main()
{
    uvec2 at = gl_GlobalInvocationID.xy;
    if (at.x < width && at.y < height)
        results[at.y * width + at.x] = texelFetch(stencil, ivec2(at), 0).x;
}
