/* SPDX-License-Identifier: MIT */
#include "tools/show/print.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/process/signal_name.h"
#include "base/utf8.h"
#include "gen_ids.h"
#include "tools/show/text.h"
#include "vulkan/walk.h"

#define EXACT_INTEGER (UINT64_C(1) << 53) /* JSON readers store numbers as doubles */

struct tree {
    cJSON *stack[LAP_WALK_MAX_DEPTH + 2];
    unsigned depth;
    const struct gen_member *result_member; /* its value goes next to "args" */
    cJSON *result;
    bool no_outputs; /* the call did not return */
    bool failed;
};

static cJSON *number(uint64_t magnitude, bool negative)
{
    char text[24];
    text[0] = '-';
    lap_text_number(magnitude, text + negative);
    return magnitude > EXACT_INTEGER ? cJSON_CreateString(text) : cJSON_CreateRaw(text);
}

static void put(struct tree *tree, const struct lap_place *place, cJSON *value)
{
    cJSON *into = tree->stack[tree->depth];
    bool added = value && (place->in_array ? cJSON_AddItemToArray(into, value)
                                           : cJSON_AddItemToObjectCS(into, gen_member_name(place->member), value));
    if (!added) {
        cJSON_Delete(value);
        tree->failed = true;
    }
}

static bool begin(struct tree *tree, const struct lap_place *place, cJSON *value)
{
    if (tree->failed || tree->depth + 1 >= sizeof tree->stack / sizeof tree->stack[0]) {
        cJSON_Delete(value);
        tree->failed = true;
        return false;
    }
    put(tree, place, value);
    if (tree->failed)
        return false;
    tree->stack[++tree->depth] = value;
    return true;
}

static bool begin_struct(void *user, const struct lap_place *place, uint32_t struct_number)
{
    return begin(user, place, cJSON_CreateObject());
}

static void end_struct(void *user, const struct lap_place *place, uint32_t struct_number)
{
    ((struct tree *)user)->depth--;
}

static bool begin_array(void *user, const struct lap_place *place, uint64_t count)
{
    return begin(user, place, cJSON_CreateArray());
}

static void end_array(void *user, const struct lap_place *place)
{
    ((struct tree *)user)->depth--;
}

static void null(void *user, const struct lap_place *place)
{
    struct tree *tree = user;
    if (!tree->no_outputs || !(place->member->flags & GEN_MEMBER_OUTPUT))
        put(tree, place, cJSON_CreateNull());
}

static cJSON *bytes_object(const void *data, size_t bytes)
{
    char hash[20];
    cJSON *object = cJSON_CreateObject();

    snprintf(hash, sizeof hash, "%016" PRIx64, (uint64_t)XXH3_64bits(data, bytes));
    if (object && (!cJSON_AddItemToObjectCS(object, "bytes", number(bytes, false)) ||
                   !cJSON_AddItemToObjectCS(object, "hash", cJSON_CreateString(hash)))) {
        cJSON_Delete(object);
        return NULL;
    }
    return object;
}

static cJSON *string_item(const char *text, size_t bytes)
{
    char *clean = lap_utf8(text, bytes);
    cJSON *item = clean ? cJSON_CreateString(clean) : NULL;
    free(clean);
    return item;
}

static cJSON *value_item(const struct lap_value *value)
{
    char buffer[LAP_TEXT_FLAGS_MAX];
    const char *name;

    switch (value->kind) {
    case LAP_VALUE_UNSIGNED:
        return number(value->u, false);
    case LAP_VALUE_SIGNED:
        return number(value->i < 0 ? 0 - (uint64_t)value->i : (uint64_t)value->i, value->i < 0);
    case LAP_VALUE_FLOAT:
        lap_text_float(value->f, value->width, buffer);
        return strchr(buffer, 'N') || strchr(buffer, 'I') ? cJSON_CreateString(buffer) : cJSON_CreateRaw(buffer);
    case LAP_VALUE_BOOL:
        return value->u <= 1 ? cJSON_CreateBool(value->u != 0) : number(value->u, false);
    case LAP_VALUE_ENUM:
        name = lap_text_enum(value->type, value->i);
        return name ? cJSON_CreateString(name)
                    : number(value->i < 0 ? 0 - (uint64_t)value->i : (uint64_t)value->i, value->i < 0);
    case LAP_VALUE_FLAGS:
        lap_text_flags(value->type, value->u, buffer);
        return cJSON_CreateString(buffer);
    case LAP_VALUE_HANDLE:
        if (!value->u)
            return cJSON_CreateNull();
        lap_text_handle(value->type, value->u, buffer);
        return cJSON_CreateString(buffer);
    case LAP_VALUE_STRING:
        return string_item(value->data, value->bytes);
    case LAP_VALUE_BYTES:
        return bytes_object(value->data, value->bytes);
    case LAP_VALUE_ADDRESS:
        if (!value->u)
            return cJSON_CreateNull();
        snprintf(buffer, sizeof buffer, "0x%" PRIx64, value->u);
        return cJSON_CreateString(buffer);
    }
    return NULL;
}

static void visit(void *user, const struct lap_place *place, const struct lap_value *value)
{
    struct tree *tree = user;
    if (place->member == tree->result_member && tree->depth == 0) {
        tree->result = value_item(value);
        tree->failed |= !tree->result;
    } else {
        put(tree, place, value_item(value));
    }
}

static cJSON *flags_array(uint32_t flags)
{
    static const struct {
        uint32_t flag;
        const char *name;
    } names[] = {{LAP_PACKET_BARRIER, "barrier"},
                 {LAP_PACKET_INFO, "info"},
                 {LAP_PACKET_FAILED, "failed"},
                 {LAP_PACKET_ENTRY, "entry"}};
    cJSON *array = cJSON_CreateArray();

    for (size_t i = 0; array && i < sizeof names / sizeof names[0]; i++)
        if (flags & names[i].flag && !cJSON_AddItemToArray(array, cJSON_CreateString(names[i].name))) {
            cJSON_Delete(array);
            array = NULL;
        }
    return array;
}

/* False: out of memory. Takes `item`, which may be NULL, in any case. */
static bool add(cJSON *object, const char *key, cJSON *item)
{
    bool added = item && cJSON_AddItemToObjectCS(object, key, item);

    if (!added)
        cJSON_Delete(item);
    return added;
}

static bool put_in_flight(cJSON *object, const struct lap_line *line)
{
    const struct lap_in_flight *call = line->in_flight;
    char name[LAP_SIGNAL_NAME_MAX];
    cJSON *how;

    if (!add(object, "thread", number(call->thread_id, false)) || !add(object, "ticket", number(call->ticket, false)))
        return false;
    how = cJSON_AddObjectToObject(object, "inFlight");
    return add(how, "guilty", cJSON_CreateBool(call->flags & LAP_IN_FLIGHT_GUILTY)) &&
           add(how, "signal",
               call->signal ? cJSON_CreateString(lap_signal_name(call->signal, name)) : cJSON_CreateNull());
}

static bool put_place(cJSON *object, const struct lap_line *line)
{
    char handle[LAP_TEXT_HANDLE_MAX];

    if (!add(object, "index", number(line->index, false)) ||
        !add(object, "thread", number(line->packet->thread_id, false)) ||
        !add(object, "ticket", number(line->packet->ticket, false)) ||
        !add(object, "frame", number(line->packet->frame + 1, false)))
        return false;
    if (!line->in_block)
        return add(object, "flags", flags_array(line->packet->flags));
    lap_text_handle(GEN_HANDLE_VkCommandBuffer, line->command_buffer, handle);
    return add(object, "block", number(line->block, false)) &&
           add(object, "command", number(line->command_index, false)) &&
           add(object, "commandBuffer", cJSON_CreateString(handle));
}

/* Adds the members in front of the arguments. */
static bool put_head(cJSON *object, const struct lap_line *line)
{
    return (line->in_flight ? put_in_flight(object, line) : put_place(object, line)) &&
           add(object, "name", cJSON_CreateString(line->name));
}

cJSON *lap_print_json_number(uint64_t value)
{
    return number(value, false);
}

cJSON *lap_print_json_args(uint32_t command, const void *args)
{
    struct tree tree = {.depth = 0};
    struct lap_visitor visitor = {begin_struct, end_struct, begin_array, end_array, null, visit, &tree};
    cJSON *object = cJSON_CreateObject();

    if (!object)
        return NULL;
    tree.stack[0] = object;
    lap_walk_command(command, args, false, &visitor);
    if (tree.failed) {
        cJSON_Delete(object);
        return NULL;
    }
    return object;
}

enum lap_status lap_print_json(const struct lap_printer *printer, const struct lap_line *line)
{
    struct tree tree = {.no_outputs = line->in_flight != NULL};
    struct lap_visitor visitor = {begin_struct, end_struct, begin_array, end_array, null, visit, &tree};
    cJSON *object = cJSON_CreateObject();
    char *text = NULL;

    if (!put_head(object, line))
        goto out;
    if (line->bare) {
        if (!add(object, "args", cJSON_CreateNull()))
            goto out;
    } else if (line->command == GEN_COMMAND_NONE) {
        if (!add(object, "undecoded", number(line->packet->bytes, false)))
            goto out;
    } else {
        cJSON *args = cJSON_CreateObject();
        if (!add(object, "args", args))
            goto out;
        tree.stack[0] = args;
        tree.result_member = lap_walk_result_member(line->command);
        lap_walk_command(line->command, line->args, line->has_result, &visitor);
        if (tree.result && cJSON_AddItemToObjectCS(object, "result", tree.result))
            tree.result = NULL;
        if (tree.failed)
            goto out;
    }
    text = cJSON_PrintUnformatted(object);
out:
    cJSON_Delete(tree.result);
    cJSON_Delete(object);
    if (!text)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for the JSON of %s", line->name);
    fputs(text, printer->out);
    fputc('\n', printer->out);
    cJSON_free(text);
    return LAP_OK;
}
