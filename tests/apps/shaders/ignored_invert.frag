#version 450
// SPDX-License-Identifier: MIT
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0, input_attachment_index = 0) uniform subpassInput before;

void main()
{
    color = vec4(vec3(1.0) - subpassLoad(before).rgb, 1.0);
}
