/* SPDX-License-Identifier: MIT */
#include <xxhash.h>

#include "gen_ids.h"
#include "tools/show/print.h"
#include "vulkan/walk.h"

struct search {
    struct lap_printer *printer;
    uint64_t hash;
};

static void visit(void *user, const struct lap_place *place, const struct lap_value *value)
{
    struct search *search = user;

    (void)place;
    if (value->kind != LAP_VALUE_BYTES || search->printer->has_data ||
        XXH3_64bits(value->data, value->bytes) != search->hash)
        return;
    search->printer->has_data = true;
    (void)fwrite(value->data, 1, value->bytes, search->printer->out);
}

enum lap_status lap_print_data(struct lap_printer *printer, const struct lap_line *line, uint64_t hash)
{
    struct search search = {.printer = printer, .hash = hash};
    const struct lap_visitor visitor = {.value = visit, .user = &search};

    if (!line->bare && line->command != GEN_COMMAND_NONE)
        lap_walk_command(line->command, line->args, line->has_result, &visitor);
    return ferror(printer->out) ? lap_fail(LAP_ERROR_IO, "the output can't be written") : LAP_OK;
}
