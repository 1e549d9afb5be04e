#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
// SPDX-License-Identifier: MIT
// Copies the records of shader binding tables, with the group handles of this device in place of the recorded ones
// (replayer/ray_tracing/binding_table.c, whose structures are the same). A row of workgroups copies one table, and an
// invocation some of its records. All sizes are in words of 32 bits.
layout(local_size_x = 64) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words {
    uint at[];
};

struct Table {
    uvec2 from, to;       // addresses
    uint records;
    uint from_stride, to_stride;
    uint from_size;       // what there is to read
    uint room;            // indirect: what there is to write
    uint spare;
};

layout(std430, set = 0, binding = 0) buffer Plan {
    uvec2 groups;                  // pairs of handles, in the order of the recorded ones
    uvec2 command_from, command_to; // VkTraceRaysIndirectCommand2KHR; 0: none, the tables are given
    uint group_count;
    uint from_handle, to_handle;   // sizes
    uint alignment;                // of a record
    uint failed;                   // set where a table of an indirect command has no room
    uint spare;
    Table tables[4];
};

const uint COMMAND_EXTENT = 22;

// Where a table's address stands in the indirect command: sizes and strides follow, but for the stride of the first.
uint place_of(uint table)
{
    return table == 0 ? 0 : 4 + (table - 1) * 6;
}

bool read_table(uint number, out Table table)
{
    Words command = Words(command_from);
    uint place = place_of(number);
    uint size = command.at[place + 2] / 4;
    uint stride = number == 0 ? size : command.at[place + 4] / 4;

    table = tables[number];
    table.from = uvec2(command.at[place], command.at[place + 1]);
    table.from_size = size;
    table.from_stride = stride == 0 ? size : stride;
    table.records = size == 0 || table.from == uvec2(0) ? 0 : (size + table.from_stride - 1) / table.from_stride;
    if (table.records == 0)
        return true;
    if (table.from_stride < from_handle || command.at[place + 3] != 0)
        return false;
    table.to_stride = (to_handle + table.from_stride - from_handle + alignment - 1) / alignment * alignment;
    return table.records <= table.room / table.to_stride;
}

void write_table(uint number, Table table)
{
    Words command = Words(command_from), to = Words(command_to);
    uint place = place_of(number);
    bool same = number != 0 && command.at[place + 4] == 0;

    to.at[place] = table.records == 0 ? 0 : table.to.x;
    to.at[place + 1] = table.records == 0 ? 0 : table.to.y;
    to.at[place + 2] = table.records * table.to_stride * 4;
    to.at[place + 3] = 0;
    if (number != 0) {
        to.at[place + 4] = same ? 0 : table.to_stride * 4;
        to.at[place + 5] = 0;
    }
}

// An indirect command that can't be followed traces nothing.
void write_extent()
{
    Table table;
    bool fits = read_table(0, table) && read_table(1, table) && read_table(2, table) && read_table(3, table);

    for (uint i = 0; i < 3; i++)
        Words(command_to).at[COMMAND_EXTENT + i] = fits ? Words(command_from).at[COMMAND_EXTENT + i] : 0;
    if (!fits)
        failed = 1;
}

// Less than 0: the record's handle comes before the group's; 0: they are the same.
int compare(Words record, uint first, uint group)
{
    for (uint i = 0; i < from_handle; i++) {
        uint wanted = record.at[first + i], there = Words(groups).at[group * (from_handle + to_handle) + i];
        if (wanted != there)
            return wanted < there ? -1 : 1;
    }
    return 0;
}

// group_count: there is none, as in records that the program never filled or that call no shader.
uint find_group(Words record, uint first)
{
    uint low = 0, high = group_count;

    while (low < high) {
        uint middle = (low + high) / 2;
        int order = compare(record, first, middle);
        if (order == 0)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return group_count;
}

void copy_record(Table table, uint number)
{
    Words from = Words(table.from), to = Words(table.to);
    uint first = number * table.from_stride, target = number * table.to_stride, group = group_count;

    if (first + from_handle <= table.from_size)
        group = find_group(from, first);
    for (uint i = 0; i < to_handle; i++)
        to.at[target + i] =
            group < group_count ? Words(groups).at[group * (from_handle + to_handle) + from_handle + i] : 0;
    for (uint i = from_handle; i < table.from_stride && first + i < table.from_size; i++)
        to.at[target + to_handle + i - from_handle] = from.at[first + i];
}

void main()
{
    uint number = gl_WorkGroupID.y;
    Table table = tables[number];

    if (command_from != uvec2(0)) {
        bool fits = read_table(number, table);
        if (!fits)
            table.records = 0;
        if (gl_GlobalInvocationID.x == 0) {
            write_table(number, table);
            if (number == 0)
                write_extent();
        }
    }
    for (uint i = gl_GlobalInvocationID.x; i < table.records; i += gl_NumWorkGroups.x * 64)
        copy_record(table, i);
}
