#version 450
// SPDX-License-Identifier: MIT
// A square for each instance.
struct Thing {
    vec2 corner;
    float size;
    uint number;
    vec4 color;
};
layout(set = 0, binding = 1, std430) readonly buffer Things {
    uint count;
    Thing things[];
};
layout(location = 0) flat out vec4 color;

void main()
{
    const Thing thing = things[gl_InstanceIndex];
    gl_Position = vec4(thing.corner + thing.size * vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1), 0, 1);
    color = thing.number < count ? thing.color : vec4(0);
}
