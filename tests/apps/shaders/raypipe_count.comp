#version 450
// SPDX-License-Identifier: MIT
// A dispatch behind the rays, with what was bound before them.
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Result {
    uint result[];
};
layout(push_constant) uniform Push {
    uint first;
} push;

void main()
{
    result[push.first] += 1;
}
