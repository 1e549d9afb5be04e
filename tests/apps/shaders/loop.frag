#version 450
// SPDX-License-Identifier: MIT
layout(location = 0) flat in vec4 color;
layout(location = 0) out vec4 result;
layout(set = 0, binding = 0) uniform sampler2D image;

void main()
{
    result = vec4(texelFetch(image, ivec2(gl_FragCoord.xy), 0).rgb + color.rgb, 1);
}
