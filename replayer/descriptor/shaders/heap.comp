#version 450
// SPDX-License-Identifier: MIT
// Descriptors of the recorded driver in a heap become those of this one (replayer/descriptor/heap_translate.h). Nobody says where
// descriptors lie, so each place where one may begin is looked up in the table. A workgroup looks at 64 places, unless none of
// their bytes is another than last time.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
layout(local_size_x = 64) in;

const uint PLACES = 64u; // of a workgroup
const uint AROUND = 64u; // before them that a descriptor may begin at and reach them: 256 bytes, in words
const uint CLASSES = 10u;
const uint NONE = 0xffffffffu;

layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer Words {
    uint at[];
};

// struct root in replayer/descriptor/table.c
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Root {
    uvec2 table;
    uint mask;         // slots - 1
    uint entry_words;
    uint value_at;     // in an entry
    uint epoch;        // changes when known bytes get another meaning
    uint from_words[16], to_words[16]; // by class
    uint apart[218];
    uint unknown;      // places with bytes that are not in the table
};

// struct parameters in replayer/descriptor/heap_translate.c
layout(push_constant) uniform Parameters {
    Root root;
    uvec2 from, to;
    uvec2 seen;         // recorded words as they were, and then the epoch of each place; 0: none, all is looked up
    uint words;         // from here on
    uint place_words;   // from one place to the next
    uint scale;         // of offsets
    uint classes;
    uint remember;      // only takes down what is there
    uint groups;
};

shared uint entries[PLACES + AROUND]; // of the descriptor that begins at a place; NONE
shared uint lengths[PLACES + AROUND]; // its recorded words
shared bool changed;

// The entry of a descriptor's bytes; NONE: there is none.
uint find(Words table, uint kind, Words bytes, uint begin)
{
    uint count = root.from_words[kind];
    uint hash = kind * 0x9e3779b1u;
    for (uint i = 0; i < count; i++) {
        hash = (hash ^ bytes.at[begin + i]) * 0x85ebca6bu;
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
        for (uint i = 0; i < count && same; i++)
            same = table.at[entry + 3 + i] == bytes.at[begin + i];
        if (same)
            return entry;
    }
    return NONE;
}

// The longest descriptor that begins at a word, if any.
uint longest(Words bytes, uint begin, out uint count)
{
    uint found = NONE;
    count = 0;
    for (uint kind = 0; kind < CLASSES; kind++) {
        uint length = root.from_words[kind];
        if ((classes >> kind & 1) == 0 || length <= count || length > words - begin)
            continue;
        uint entry = find(Words(root.table), kind, bytes, begin);
        if (entry == NONE)
            continue;
        found = entry;
        count = length;
    }
    return found;
}

void put(Words target, uint at, uint value)
{
    if (target.at[at] != value)
        target.at[at] = value;
}

void do_places(uint first, uint places, uint epoch)
{
    Words bytes = Words(from), target = Words(to), old = Words(seen);
    bool has_seen = (seen.x | seen.y) != 0;
    uint local = gl_LocalInvocationID.x, around = (AROUND + place_words - 1) / place_words;
    uint place = first + local, begin = place * place_words;

    changed = !has_seen;
    barrier();
    if (has_seen) {
        uint low = first * place_words, high = min((first + PLACES) * place_words + AROUND, words);
        low = low > AROUND ? low - AROUND : 0;
        bool other = place < places && old.at[words + place] != epoch;
        for (uint i = low + local; i < high && !other; i += gl_WorkGroupSize.x)
            other = bytes.at[i] != old.at[i];
        if (other)
            changed = true;
    }
    barrier();
    bool work = changed;
    barrier();
    if (!work)
        return;
    for (uint i = local; i < PLACES + around; i += gl_WorkGroupSize.x) {
        uint at = first + i, count = 0, entry = NONE;
        if (at >= around && at - around < places)
            entry = longest(bytes, (at - around) * place_words, count);
        entries[i] = entry;
        lengths[i] = count;
    }
    barrier();
    if (place < places) {
        uint mine = around + local, entry = entries[mine];
        bool covered = false;
        for (uint back = 1; back <= around && !covered; back++)
            covered = lengths[mine - back] > back * place_words && lengths[mine - back] > lengths[mine];
        bool empty = true;
        for (uint i = 0; i < place_words; i++)
            empty = empty && bytes.at[begin + i] == 0;
        if (!covered && entry != NONE) {
            uint count = root.to_words[Words(root.table).at[entry + 1]];
            for (uint i = 0; i < count; i++)
                put(target, begin * scale + i, Words(root.table).at[entry + root.value_at + i]);
        } else if (!covered && scale == 1) { // numbers, where pipelines take them from the heap
            for (uint i = 0; i < place_words; i++)
                put(target, begin + i, bytes.at[begin + i]);
        }
        if (has_seen) {
            bool known = covered || entry != NONE || empty;
            if (!known && old.at[begin] != bytes.at[begin])
                atomicAdd(root.unknown, 1);
            memoryBarrierBuffer();
            old.at[words + place] = known ? epoch : 0;
        }
    }
    barrier();
}

void main()
{
    uint places = words / place_words, epoch = root.epoch;
    if (remember != 0) {
        for (uint i = gl_GlobalInvocationID.x; i < words; i += groups * gl_WorkGroupSize.x) {
            uint value = Words(from).at[i];
            put(Words(seen), i, value);
        }
        return;
    }
    for (uint first = gl_WorkGroupID.x * PLACES; first < places; first += groups * PLACES)
        do_places(first, places, epoch);
}
