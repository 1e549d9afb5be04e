#version 460
#extension GL_EXT_ray_tracing : require
// SPDX-License-Identifier: MIT
layout(shaderRecordEXT, std430) buffer Record {
    uint word;
} record;
layout(location = 0) rayPayloadInEXT uint value;
hitAttributeEXT vec2 place;

void main()
{
    value = record.word + gl_InstanceCustomIndexEXT * 1000;
}
