#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
layout(local_size_x = 1) in;

layout(buffer_reference) buffer Node;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Node {
    Node next;
    uint value;
    uint spare;
};
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words {
    uint word[];
};
layout(set = 0, binding = 0) uniform Head {
    Node first;
    uvec2 second;
} head;
layout(set = 0, binding = 1) readonly buffer Table {
    Node nodes[8];
    uint odd[3]; // an address in two words that begins at a multiple of 4
} table;
layout(set = 0, binding = 2) readonly buffer Inlined {
    Node nodes[4];
} inlined;
layout(push_constant) uniform Push {
    Node list;
    Words result;
    Node scratch;
    uint what, slot;
} push;

// Variables hold addresses as two words: drivers exist that can't choose between pointers.
uint walk(uvec2 node)
{
    uint sum = 0;
    for (uint place = 1; node != uvec2(0) && place < 100; place++) {
        sum += Node(node).value * place;
        node = uvec2(Node(node).next);
    }
    return sum;
}

// A copy of the list, backwards, in the scratch memory: the last node of it comes first.
uvec2 reversed(uvec2 node)
{
    uvec2 last = uvec2(0), to = uvec2(push.scratch);
    for (uint place = 0; node != uvec2(0) && place < 16; place++) {
        Node(to).next = Node(last);
        Node(to).value = Node(node).value;
        Node(to).spare = 0;
        node = uvec2(Node(node).next);
        last = to;
        to = uvec2(to.x + 16, to.y + (to.x + 16 < 16 ? 1 : 0));
    }
    return last;
}

void main()
{
    uint sum = 0;
    if (push.what == 0) {
        sum = walk(uvec2(push.list));
    } else if (push.what == 1) {
        sum = head.first.value * 3 + Node(head.second).value * 5;
    } else if (push.what == 2) {
        for (uint i = 0; i < 8; i++)
            sum += table.nodes[i].value * (i + 1);
        sum += Node(uvec2(table.odd[1], table.odd[2])).value * table.odd[0];
    } else if (push.what == 3) {
        for (uint i = 0; i < 4; i++)
            sum += inlined.nodes[i].value * (i + 1);
    } else if (push.what == 4) {
        uvec2 last = reversed(uvec2(push.list));
        push.result.word[push.slot] = last.x;
        push.result.word[push.slot + 1] = last.y;
        return;
    } else if (push.what == 5) { // the list that begins in two words of the result
        sum = walk(uvec2(push.result.word[push.slot + 1], push.result.word[push.slot + 2]));
    }
    if (push.what == 6)
        sum = push.result.word[push.slot] + push.list.value;
    push.result.word[push.slot] = sum;
}
