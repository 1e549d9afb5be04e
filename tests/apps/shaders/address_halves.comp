#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
layout(local_size_x = 1) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words {
    uint word[];
};
layout(constant_id = 3) const uint low = 0;
layout(constant_id = 4) const uint high = 0;
layout(push_constant) uniform Push {
    uvec2 spare;
    Words result;
    uvec2 more;
    uint what, slot;
} push;

void main()
{
    push.result.word[push.slot] = Words(uvec2(low, high)).word[push.what] * 7;
}
