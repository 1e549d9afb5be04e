#version 450
// SPDX-License-Identifier: MIT
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) uniform sampler2DArray layers;
layout(set = 0, binding = 1) uniform samplerCube cube;
layout(set = 0, binding = 2) uniform sampler3D volume;
layout(set = 0, binding = 3) writeonly buffer Result { uint results[14]; };

uint code(vec4 color)
{
    return uint(color.x * 255.0 + 0.5);
}

void main()
{
    const vec3 faces[6] = vec3[](vec3(1, 0, 0), vec3(-1, 0, 0), vec3(0, 1, 0), vec3(0, -1, 0), vec3(0, 0, 1),
                                 vec3(0, 0, -1));
    for (int i = 0; i < 6; i++) {
        results[i] = code(textureLod(layers, vec3(0.5, 0.5, float(i % 2)), float(i / 2)));
        results[6 + i] = code(textureLod(cube, faces[i], 0.0));
    }
    results[12] = code(textureLod(volume, vec3(0.5), 0.0));
    results[13] = code(textureLod(volume, vec3(0.5), 1.0));
}
