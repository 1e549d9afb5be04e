#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 1) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words {
    uint word[];
};
layout(constant_id = 7) const uint64_t source = 0;
layout(push_constant) uniform Push {
    uvec2 spare;
    Words result;
    uvec2 more;
    uint what, slot;
} push;

void main()
{
    push.result.word[push.slot] = Words(source).word[push.what] * 7;
}
