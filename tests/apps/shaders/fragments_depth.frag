#version 450
// SPDX-License-Identifier: MIT
layout(location = 0) out vec4 target;
layout(push_constant) uniform Push {
    vec4 color;
    vec2 depths;
    uint turned, discards;
};

void main()
{
    if (discards != 0)
        discard;
    gl_FragDepth = depths.y;
    target = color;
}
