#version 450
// SPDX-License-Identifier: MIT
// Descriptors of the recorded driver become those of this one (replayer/descriptor/translate.h). A workgroup does one job: it
// looks the bytes of each descriptor up in the table, and writes the bytes that stand there.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
layout(local_size_x = 64) in;

const uint KINDS = 10u;
const uint NONE = 0xffffffffu;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words {
    uint at[];
};

// struct root in replayer/descriptor/table.c
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Root {
    uvec2 table;
    uint mask;         // slots - 1
    uint entry_words;
    uint value_at;     // in an entry
    uint epoch;
    uint from_words[16], to_words[16]; // by kind
    uint apart[218];
    uint unknown;      // descriptors that are no array and whose bytes are not in the table
};

// struct replay_descriptor_job
struct Job {
    uvec2 from, to;
    uint count;
    uint from_stride, to_stride;  // bytes
    uint kinds;                   // 0: plain words
    uint from_second, to_second;  // bytes from an element's first part to ...
    uint from_second_stride, to_second_stride;
    uint from_first_words, to_first_words; // of the first part; NONE: there is no second
    uint single;
    uint from_words; // the most that an element has
};
layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer Jobs {
    Job items[];
};

layout(push_constant) uniform Parameters {
    Root root;
    Jobs jobs;
    uint first, count;
};

uvec2 add(uvec2 address, uint bytes)
{
    uint carry;
    address.x = uaddCarry(address.x, bytes, carry);
    address.y += carry;
    return address;
}

uvec2 element(uvec2 base, uint index, uint stride)
{
    uint high, low, carry;
    umulExtended(index, stride, high, low);
    base = add(base, low);
    base.y += high;
    return base;
}

uint word_of(Words first, Words second, uint first_words, uint i)
{
    return i < first_words ? first.at[i] : second.at[i - first_words];
}

// The entry of a descriptor's bytes; NONE: there is none.
uint find(Words table, uint kind, Words first, Words second, uint first_words)
{
    uint words = root.from_words[kind];
    uint hash = kind * 0x9e3779b1u;
    for (uint i = 0; i < words; i++) {
        hash = (hash ^ word_of(first, second, first_words, i)) * 0x85ebca6bu;
        hash ^= hash >> 13;
    }
    hash |= 1u;
    for (uint slot = (hash >> 4) & root.mask, looked = 0; looked <= root.mask; looked++, slot = (slot + 1) & root.mask) {
        uint entry = slot * root.entry_words;
        uint tag = table.at[entry];
        if (tag == 0)
            return NONE;
        if (tag != hash || table.at[entry + 1] != kind)
            continue;
        bool same = true;
        for (uint i = 0; i < words && same; i++)
            same = table.at[entry + 3 + i] == word_of(first, second, first_words, i);
        if (same)
            return entry;
    }
    return NONE;
}

void main()
{
    uint number = gl_WorkGroupID.x;
    if (number >= count)
        return;
    Job job = jobs.items[first + number];
    Words table = Words(root.table);
    for (uint i = gl_LocalInvocationID.x; i < job.count; i += gl_WorkGroupSize.x) {
        Words from = Words(element(job.from, i, job.from_stride)), to = Words(element(job.to, i, job.to_stride));
        if (job.kinds == 0) {
            to.at[0] = from.at[0];
            continue;
        }
        Words from2 = Words(element(add(job.from, job.from_second), i, job.from_second_stride));
        Words to2 = Words(element(add(job.to, job.to_second), i, job.to_second_stride));
        uint found = NONE, kind = NONE, newest = 0, most = 0;
        bool empty = true;
        for (uint k = 0; k < KINDS; k++) {
            if ((job.kinds >> k & 1) == 0)
                continue;
            most = max(most, root.to_words[k]);
            uint words = root.from_words[k];
            if (words > job.from_words)
                continue;
            for (uint w = 0; w < words && empty; w++)
                empty = word_of(from, from2, job.from_first_words, w) == 0;
            uint entry = words == 0 ? NONE : find(table, k, from, from2, job.from_first_words);
            if (entry != NONE && (found == NONE || table.at[entry + 2] > newest)) {
                found = entry;
                kind = k;
                newest = table.at[entry + 2];
            }
        }
        if (found == NONE && !empty && job.single != 0)
            atomicAdd(root.unknown, 1);
        uint words = found == NONE ? most : root.to_words[kind];
        for (uint w = 0; w < words; w++) {
            uint value = found == NONE ? 0 : table.at[found + root.value_at + w];
            if (w < job.to_first_words)
                to.at[w] = value;
            else
                to2.at[w - job.to_first_words] = value;
        }
    }
}
