// SPDX-License-Identifier: MIT
#version 450
layout(location = 0) in vec2 position;
layout(set = 0, binding = 0) uniform Place { vec4 place; };
layout(push_constant) uniform Push { uint frame, number; } push;
layout(location = 0) out vec4 color;

void main()
{
    gl_Position = vec4(position * place.zw + place.xy, 0.5, 1.0);
    color = vec4(float(push.frame & 255u) / 255.0, float(push.number & 255u) / 255.0, 0.0, 1.0);
}
