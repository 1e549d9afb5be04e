/* SPDX-License-Identifier: MIT */
#include "inspector/edit/selection.h"

#include <stdlib.h>

#include "inspector/position/find.h"

static int compare(const void *left, const void *right)
{
    const struct position *a = &((const struct selected *)left)->position;
    const struct position *b = &((const struct selected *)right)->position;

    for (unsigned i = 0; i < a->count && i < b->count; i++)
        if (a->numbers[i] != b->numbers[i])
            return a->numbers[i] < b->numbers[i] ? -1 : 1;
    return a->count < b->count ? -1 : a->count > b->count;
}

enum lap_status selection_init(struct selection *selection, const struct lap_reader *trace,
                               const struct position *positions, size_t count)
{
    char text[POSITION_TEXT_BYTES];
    struct position_found found;

    *selection = (struct selection){.at = calloc(count + 1, sizeof *selection->at)};
    if (!selection->at)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    for (; selection->count < count; selection->count++) {
        const struct position *position = &positions[selection->count];
        if (position->of_packet) {
            enum lap_status status = position_find(trace, position, &found);
            if (status == LAP_OK && !found.is_submit)
                status = lap_fail(LAP_ERROR_ARGUMENT, "%s is no submit, and no command buffer that is submitted",
                                  position_text(position, text));
            if (status != LAP_OK)
                return status;
        }
        selection->at[selection->count] =
            (struct selected){.position = position->of_packet ? found.position : *position, .given = *position};
    }
    if (count)
        qsort(selection->at, count, sizeof *selection->at, compare);
    return LAP_OK;
}

void selection_finish(struct selection *selection)
{
    free(selection->at);
    *selection = (struct selection){.at = NULL};
}

struct selection_part selection_all(const struct selection *selection)
{
    return (struct selection_part){.end = selection->count};
}

/* The first one of the part whose number is not smaller. */
static size_t first_from(const struct selection *selection, struct selection_part part, unsigned depth, uint64_t number)
{
    while (part.first < part.end) {
        size_t middle = part.first + (part.end - part.first) / 2;
        if (selection->at[middle].position.numbers[depth] < number)
            part.first = middle + 1;
        else
            part.end = middle;
    }
    return part.first;
}

struct selection_part selection_in(const struct selection *selection, struct selection_part part, unsigned depth,
                                   uint64_t number)
{
    if (selection_is_empty(part) || depth == POSITION_MOST_NUMBERS)
        return (struct selection_part){.whole = part.whole};
    part.first = first_from(selection, part, depth, number);
    part.end = number == UINT64_MAX ? part.end : first_from(selection, part, depth, number + 1);
    for (; part.first < part.end && selection->at[part.first].position.count == depth + 1; part.first++) {
        selection->at[part.first].found = true;
        part.whole = true;
    }
    return part;
}
