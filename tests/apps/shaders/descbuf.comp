#version 450
// SPDX-License-Identifier: MIT
layout(local_size_x = 1) in;
layout(constant_id = 0) const bool EMBEDDED = true;
layout(set = 0, binding = 0) uniform sampler plain_sampler;
layout(set = 0, binding = 1) uniform texture2D pictures[3];
layout(set = 0, binding = 2) uniform sampler2D combined[2];
layout(set = 0, binding = 3, r32ui) uniform readonly uimage2D stored;
layout(set = 0, binding = 4) uniform usamplerBuffer uniform_texels;
layout(set = 0, binding = 5, r32ui) uniform readonly uimageBuffer storage_texels;
layout(set = 0, binding = 6) uniform Plain { uvec4 plain; };
layout(set = 0, binding = 7) buffer Result { uint results[16]; };
layout(set = 1, binding = 0) uniform Block { uvec4 block; };
layout(set = 1, binding = 1) readonly buffer Many { uvec4 word; } many[4];
layout(set = 2, binding = 0) uniform sampler embedded_sampler;

uint code(vec4 color)
{
    return uint(color.x * 255.0 + 0.5);
}

void main()
{
    const vec2 middle = vec2(0.5);
    results[0] = code(textureLod(sampler2D(pictures[0], plain_sampler), middle, 0.0));
    results[1] = code(textureLod(sampler2D(pictures[1], plain_sampler), middle, 0.0));
    if (EMBEDDED)
        results[2] = code(textureLod(sampler2D(pictures[2], embedded_sampler), middle, 0.0));
    else
        results[2] = code(textureLod(sampler2D(pictures[2], plain_sampler), middle, 0.0));
    results[3] = code(textureLod(combined[0], middle, 0.0));
    results[4] = code(textureLod(combined[1], middle, 0.0));
    results[5] = imageLoad(stored, ivec2(1, 1)).x;
    results[6] = texelFetch(uniform_texels, 3).x;
    results[7] = imageLoad(storage_texels, 2).x;
    results[8] = plain.y;
    results[9] = block.z;
    results[10] = many[0].word.x;
    results[11] = many[1].word.x;
    results[12] = many[2].word.x;
    results[13] = many[3].word.x;
    results[14] += 1;
}
