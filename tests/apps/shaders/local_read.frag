#version 450
// SPDX-License-Identifier: MIT
layout(input_attachment_index = 0, set = 0, binding = 0) uniform subpassInput color;
layout(input_attachment_index = 1, set = 0, binding = 1) uniform subpassInput depth;
layout(input_attachment_index = 2, set = 0, binding = 2) uniform usubpassInput stencil;
layout(location = 0) out vec4 result;

void main()
{
    result = vec4(subpassLoad(color).r, subpassLoad(depth).r, float(subpassLoad(stencil).r) / 255.0, 1);
}
