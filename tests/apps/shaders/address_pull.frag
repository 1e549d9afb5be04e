#version 450
layout(location = 0) flat in uint color;
layout(location = 0) out vec4 target;

void main()
{
    target = unpackUnorm4x8(color);
}
