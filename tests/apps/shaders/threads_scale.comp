#version 450
// SPDX-License-Identifier: MIT
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint scale = 1;
layout(set = 0, binding = 0) uniform usamplerBuffer inputs;
layout(set = 0, binding = 1) buffer Scratch { uint scratch[]; };
layout(set = 0, binding = 2) buffer Result { uint results[]; };
layout(push_constant) uniform Push { uint pass; };

void main()
{
    uint i = gl_LocalInvocationIndex;
    if (pass == 0)
        scratch[i] = texelFetch(inputs, int(i)).x * scale;
    else
        results[i] = scratch[i] * scale + 1;
}
