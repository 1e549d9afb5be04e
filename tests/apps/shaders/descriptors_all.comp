#version 450
// SPDX-License-Identifier: MIT
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) uniform sampler plain_sampler;
layout(set = 0, binding = 1) uniform sampler immutable_sampler;
layout(set = 0, binding = 2) uniform texture2D pictures[2];
layout(set = 0, binding = 3) uniform sampler2D combined;
layout(set = 0, binding = 4, r32ui) uniform readonly uimage2D stored;
layout(set = 0, binding = 5) uniform usamplerBuffer uniform_texels;
layout(set = 0, binding = 6, r32ui) uniform readonly uimageBuffer storage_texels;
layout(set = 0, binding = 7) uniform Plain { uvec4 plain; };
layout(set = 0, binding = 8) writeonly buffer Result { uint results[20]; };
layout(set = 0, binding = 9) uniform Moving { uvec4 moving; };
layout(set = 0, binding = 10) readonly buffer MovingStorage { uint moving_storage[]; };
layout(set = 1, binding = 0) uniform Block { uvec4 block[2]; };
layout(set = 2, binding = 0) readonly buffer Late { uint late[]; };

uint code(vec4 color)
{
    return uint(color.x * 255.0 + 0.5);
}

void main()
{
    const vec2 middle = vec2(0.5);
    results[0] = code(textureLod(sampler2D(pictures[0], plain_sampler), middle, 0.0));
    results[1] = code(textureLod(sampler2D(pictures[1], immutable_sampler), middle, 0.0));
    results[2] = code(textureLod(combined, middle, 0.0));
    results[3] = code(textureLod(sampler2D(pictures[1], plain_sampler), middle, 0.0));
    results[4] = code(textureLod(sampler2D(pictures[0], immutable_sampler), middle, 0.0));
    results[5] = imageLoad(stored, ivec2(3, 3)).x;
    results[6] = texelFetch(uniform_texels, 3).x;
    results[7] = imageLoad(storage_texels, 3).x;
    results[8] = plain.y;
    results[9] = moving.y;
    results[10] = moving_storage[2];
    results[11] = block[1].x;
    results[12] = late[3];
    for (int i = 13; i < 20; i++)
        results[i] = 0;
}
