#version 450
// SPDX-License-Identifier: MIT
// The texels of a level, in order, become those of a picture from `first` on.
layout(set = 0, binding = 0) uniform sampler2DArray layers;
layout(set = 0, binding = 1) uniform sampler3D volume;
layout(location = 0) out vec4 color;
layout(push_constant) uniform Which {
    uint is_volume, level, first, count; // texels of a level, and where they go
    uint width, height;                  // of the level
    uint wide;                           // 0: colors of 0 to 1; 1: -1 to 1; 2: floats
};

void main()
{
    uint i = uint(gl_FragCoord.y) * 256u + uint(gl_FragCoord.x) - first;
    if (i >= count)
        discard;
    ivec3 at = ivec3(i % width, i / width % height, i / width / height);
    color = is_volume != 0u ? texelFetch(volume, at, int(level)) : texelFetch(layers, at, int(level));
    if (wide == 1u)
        color = color * 0.5 + 0.5;
    if (wide == 2u)
        color = log2(abs(color) + 1.0) / 16.0;
}
