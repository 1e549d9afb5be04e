#version 450
#extension GL_EXT_fragment_shading_rate : require
// SPDX-License-Identifier: MIT
layout(location = 0) out vec4 result;

void main()
{
    result = vec4(float(gl_ShadingRateEXT) * 16 / 255, 1, 0, 1);
}
