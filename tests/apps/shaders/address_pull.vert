#version 450
#extension GL_EXT_buffer_reference : require
struct Corner {
    vec2 place;
    uint color;
    uint spare;
};
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Corners {
    Corner corners[];
};
layout(push_constant) uniform Push {
    Corners corners;
} push;
layout(location = 0) flat out uint color;

void main()
{
    gl_Position = vec4(push.corners.corners[gl_VertexIndex].place, 0, 1);
    color = push.corners.corners[gl_VertexIndex].color;
}
