/* SPDX-License-Identifier: MIT */
#include "vm/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES     (LAP_VM_INFO_BYTES + 16) /* of text; info is one line */
#define CONSTANT_LIMIT (UINT64_C(1) << 31)
#define ROW_BYTES      32u /* of constants in a line */

/* A function by its name. */
struct named {
    const char *name;
    uint32_t api, number;
};

static int by_name(const void *a, const void *b)
{
    const struct named *one = a, *other = b;
    int order = strcmp(one->name, other->name);

    if (order)
        return order;
    return one->api != other->api ? (one->api < other->api ? -1 : 1)
                                  : (one->number > other->number) - (one->number < other->number);
}

/* All functions in the order of their names; free it. */
static struct named *sort_functions(const struct lap_vm_program *program, size_t *out_count)
{
    struct named *all;
    size_t count = 0;

    for (unsigned api = 0; api < LAP_VM_APIS; api++)
        count += program->function_counts[api];
    all = calloc(count + 1, sizeof *all);
    *out_count = 0;
    for (unsigned api = 0; all && api < LAP_VM_APIS; api++)
        for (size_t i = 0; i < program->function_counts[api]; i++)
            all[(*out_count)++] = (struct named){program->functions[api][i].name, api, (uint32_t)i};
    if (all)
        qsort(all, count, sizeof *all, by_name);
    return all;
}

/* NULL: no function, or several, have this name. */
static const struct named *find_named(const struct named *all, size_t count, const char *name)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(all[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == count || strcmp(all[low].name, name) != 0 || (low + 1 < count && strcmp(all[low + 1].name, name) == 0))
        return NULL;
    return &all[low];
}

/* ---- writing ---- */

static void write_functions(const struct lap_vm_program *program, FILE *out)
{
    for (unsigned api = 0; api < LAP_VM_APIS; api++)
        for (size_t i = 0; i < program->function_counts[api]; i++) {
            const struct lap_vm_function *function = &program->functions[api][i];

            fprintf(out, "function %u %s %s", api, function->name, lap_vm_type_name(function->result));
            for (unsigned j = 0; j < function->argument_count; j++)
                fprintf(out, " %s", lap_vm_type_name(function->arguments[j]));
            fputc('\n', out);
        }
}

static void write_tables(const struct lap_vm_program *program, FILE *out)
{
    for (size_t i = 0; i < program->resource_count; i++)
        fprintf(out, "resource %016" PRIx64 "%016" PRIx64 " %" PRIu64 " ; %zu\n", program->resources[i].hash[1],
                program->resources[i].hash[0], program->resources[i].bytes, i);
    for (size_t i = 0; i < program->label_count; i++) {
        const struct lap_vm_label *label = &program->labels[i];

        fprintf(out, "label #%" PRIu64, label->packet);
        if (label->command != UINT32_MAX)
            fprintf(out, ".%" PRIu32, label->command);
        fprintf(out, " %" PRIu32 " %" PRIu64 " ; %zu\n", label->frame, label->thread, i);
    }
}

/* Rows of zeros are left out. */
static void write_constants(const struct lap_vm_program *program, FILE *out)
{
    static const uint8_t zeros[ROW_BYTES];

    fprintf(out, "constants %" PRIu64 "\n", program->constant_bytes);
    for (uint64_t at = 0; at < program->constant_bytes; at += ROW_BYTES) {
        uint64_t left = program->constant_bytes - at;
        size_t count = left < ROW_BYTES ? (size_t)left : ROW_BYTES;

        if (memcmp(program->constants + at, zeros, count) == 0)
            continue;
        fprintf(out, "  %" PRIu64 " ", at);
        for (size_t i = 0; i < count; i++)
            fprintf(out, "%02x", program->constants[at + i]);
        fputc('\n', out);
    }
}

static void write_pushed(unsigned type, uint32_t data, FILE *out)
{
    if (type >= LAP_VM_INT8 && type <= LAP_VM_INT64)
        fprintf(out, " %" PRId32, (int32_t)(data << (32 - LAP_VM_ADDRESS_BITS)) >> (32 - LAP_VM_ADDRESS_BITS));
    else
        fprintf(out, " %" PRIu32, data);
}

static void write_instruction(const struct lap_vm_program *program, const struct named *names, size_t name_count,
                              uint32_t word, FILE *out)
{
    unsigned code = lap_vm_code_of(word), type = lap_vm_type_of(word), api = lap_vm_api_of(word);
    unsigned number = lap_vm_function_of(word);
    bool is_typed = code == LAP_VM_PUSH_I || code == LAP_VM_LOAD_C || code == LAP_VM_LOAD_V || code == LAP_VM_LOAD;

    if (code >= LAP_VM_CODE_COUNT || (is_typed && type >= LAP_VM_TYPE_COUNT) ||
        (code == LAP_VM_LOAD && lap_vm_address_of(word)) ||
        ((code == LAP_VM_STORE || code == LAP_VM_POST) && lap_vm_data_of(word)) ||
        (code == LAP_VM_CALL && (word & 0x02f00000 || api >= LAP_VM_APIS || number >= program->function_counts[api]))) {
        fprintf(out, "  word %" PRIu32 "\n", word); /* no instruction */
        return;
    }
    fprintf(out, "  %s", lap_vm_code_name(code));
    if (code == LAP_VM_CALL) {
        const char *name = program->functions[api][number].name;

        if (find_named(names, name_count, name))
            fprintf(out, " %s", name);
        else
            fprintf(out, " %u:%u", api, number);
        if (lap_vm_pushes_return(word))
            fprintf(out, " push");
    } else if (is_typed) {
        fprintf(out, " %s", lap_vm_type_name(type));
        if (code == LAP_VM_PUSH_I)
            write_pushed(type, lap_vm_address_of(word), out);
        else if (code != LAP_VM_LOAD)
            fprintf(out, " %" PRIu32, lap_vm_address_of(word));
    } else if (code != LAP_VM_STORE && code != LAP_VM_POST) {
        fprintf(out, " %" PRIu32, lap_vm_data_of(word));
    }
    fputc('\n', out);
}

enum lap_status lap_vm_text_write(const struct lap_vm_program *program, FILE *out)
{
    size_t name_count;
    struct named *names = sort_functions(program, &name_count);

    if (!names)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for the names of functions");
    fprintf(out, "; a replay program\ninfo %s\nvolatile %" PRIu64 "\n", program->info, program->volatile_bytes);
    write_functions(program, out);
    write_tables(program, out);
    write_constants(program, out);
    fprintf(out, "code\n");
    for (size_t i = 0; i < program->count; i++) {
        if (i == program->initial)
            fprintf(out, "request\n");
        write_instruction(program, names, name_count, program->code[i], out);
    }
    free(names);
    return LAP_OK;
}

/* ---- reading ---- */

struct list {
    void *items;
    size_t count, room, item_bytes;
};

struct text {
    struct list code, functions[LAP_VM_APIS], resources, labels;
    char *info;
    uint8_t *constants;
    uint64_t constant_bytes, volatile_bytes, initial;
    bool has_constants, in_code, has_request;
    struct named *names;
    size_t name_count;
    uint64_t line;
};

static enum lap_status wrong(const struct text *text, const char *what)
{
    return lap_fail(LAP_ERROR_FORMAT, "line %" PRIu64 ": %s", text->line, what);
}

static void *grow(struct list *list)
{
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 64;
        void *items = realloc(list->items, room * list->item_bytes);

        if (!items)
            return NULL;
        list->items = items;
        list->room = room;
    }
    return (uint8_t *)list->items + list->count++ * list->item_bytes;
}

/* The next word of a line, cut off; NULL: there is none. */
static char *word_of(char **rest)
{
    char *word = *rest + strspn(*rest, " \t");

    if (!*word)
        return NULL;
    *rest = word + strcspn(word, " \t");
    if (**rest)
        *(*rest)++ = 0;
    return word;
}

static bool number_of(const char *word, uint64_t most, uint64_t *out)
{
    char *end;

    if (!word || *word < '0' || *word > '9')
        return false;
    errno = 0;
    *out = strtoull(word, &end, 0);
    return !*end && errno == 0 && *out <= most;
}

/* count: how many types there are: with LAP_VM_POINTER, and LAP_VM_NOTHING, or without. */
static bool type_of(const char *word, unsigned count, unsigned *out)
{
    for (*out = 0; word && *out < count; ++*out)
        if (strcmp(word, lap_vm_type_name(*out)) == 0)
            return true;
    return false;
}

static enum lap_status read_function(struct text *text, char *rest)
{
    struct lap_vm_function function = {0}, *to;
    char *name, *word;
    uint64_t api;
    unsigned type;

    if (text->in_code)
        return wrong(text, "functions stand before the code");
    if (!number_of(word_of(&rest), LAP_VM_APIS - 1, &api) || !(name = word_of(&rest)) ||
        !lap_vm_is_name(name, strlen(name)))
        return wrong(text, "function API NAME RESULT ARGUMENTS");
    if (!type_of(word_of(&rest), LAP_VM_NOTHING + 1, &type) || type == LAP_VM_POINTER)
        return wrong(text, "the result of a function is a type, or Nothing");
    function.result = (uint8_t)type;
    while ((word = word_of(&rest)) != NULL) {
        if (function.argument_count == LAP_VM_ARGUMENTS || !type_of(word, LAP_VM_NOTHING, &type))
            return wrong(text, "the arguments of a function are types");
        function.arguments[function.argument_count++] = (uint8_t)type;
    }
    if (text->functions[api].count == LAP_VM_RESERVED_FUNCTION)
        return wrong(text, "an API has no more functions");
    function.name = strdup(name);
    to = function.name ? grow(&text->functions[api]) : NULL;
    if (!to) {
        free((char *)(uintptr_t)function.name);
        return lap_no_memory("the program");
    }
    *to = function;
    return LAP_OK;
}

static enum lap_status read_resource(struct text *text, char *rest)
{
    const char *hash = word_of(&rest);
    struct lap_vm_resource *resource;
    uint64_t bytes;
    char high[17] = "";

    if (!hash || strlen(hash) != 32 || strspn(hash, "0123456789abcdef") != 32 ||
        !number_of(word_of(&rest), LAP_VM_BYTES_MAX, &bytes))
        return wrong(text, "resource HASH BYTES");
    resource = grow(&text->resources);
    if (!resource)
        return lap_no_memory("the program");
    memcpy(high, hash, 16);
    *resource = (struct lap_vm_resource){{strtoull(hash + 16, NULL, 16), strtoull(high, NULL, 16)}, bytes};
    return LAP_OK;
}

static enum lap_status read_label(struct text *text, char *rest)
{
    char *place = word_of(&rest), *dot = place ? strchr(place, '.') : NULL;
    struct lap_vm_label *label;
    uint64_t packet, frame, thread, command = UINT32_MAX;

    if (dot)
        *dot = 0;
    if (!place || *place != '#' || !number_of(place + 1, UINT64_MAX, &packet) ||
        (dot && !number_of(dot + 1, UINT32_MAX, &command)) || !number_of(word_of(&rest), UINT32_MAX, &frame) ||
        !number_of(word_of(&rest), UINT64_MAX, &thread))
        return wrong(text, "label #PACKET.COMMAND FRAME THREAD");
    label = grow(&text->labels);
    if (!label)
        return lap_no_memory("the program");
    *label = (struct lap_vm_label){packet, (uint32_t)frame, (uint32_t)command, thread};
    return LAP_OK;
}

static unsigned digit(char c)
{
    return c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 16;
}

static enum lap_status read_row(struct text *text, const char *place, char *rest)
{
    const char *bytes = word_of(&rest);
    size_t count = bytes ? strlen(bytes) / 2 : 0;
    uint64_t at;

    if (!text->has_constants || !number_of(place, text->constant_bytes, &at) || count == 0 || strlen(bytes) % 2 ||
        count > text->constant_bytes - at)
        return wrong(text, "bytes of the constants: OFFSET DIGITS");
    for (size_t i = 0; i < count; i++) {
        unsigned high = digit(bytes[2 * i]), low = digit(bytes[2 * i + 1]);

        if (high > 15 || low > 15)
            return wrong(text, "bytes of the constants: OFFSET DIGITS");
        text->constants[at + i] = (uint8_t)(high << 4 | low);
    }
    return LAP_OK;
}

static bool find_function(const struct text *text, const char *word, uint64_t *api, uint64_t *number)
{
    const char *colon = word ? strchr(word, ':') : NULL;
    const struct named *named = word && !colon ? find_named(text->names, text->name_count, word) : NULL;
    char first[24];

    if (named) {
        *api = named->api, *number = named->number;
        return true;
    }
    if (!colon || (size_t)(colon - word) >= sizeof first)
        return false;
    memcpy(first, word, (size_t)(colon - word));
    first[colon - word] = 0;
    return number_of(first, LAP_VM_APIS - 1, api) && number_of(colon + 1, UINT16_MAX, number);
}

static enum lap_status read_typed(struct text *text, enum lap_vm_code code, char *rest, uint32_t *out)
{
    uint64_t value = 0;
    const char *word;
    unsigned type;

    if (!type_of(word_of(&rest), LAP_VM_TYPE_COUNT, &type))
        return wrong(text, "a type is missing");
    word = code == LAP_VM_LOAD ? "0" : word_of(&rest);
    if (code == LAP_VM_PUSH_I && word && *word == '-' && type >= LAP_VM_INT8 && type <= LAP_VM_INT64) {
        if (!number_of(word + 1, 1u << (LAP_VM_ADDRESS_BITS - 1), &value))
            return wrong(text, "a number of 20 bits is missing");
        value = (~value + 1) & LAP_VM_ADDRESS_MASK;
    } else if (!number_of(word, LAP_VM_ADDRESS_MASK, &value)) {
        return wrong(text, "a number of 20 bits is missing");
    }
    *out = lap_vm_typed_instruction(code, (enum lap_vm_type)type, (uint32_t)value);
    return LAP_OK;
}

static enum lap_status read_instruction(struct text *text, const char *name, char *rest)
{
    uint64_t value = 0, number;
    uint32_t word = 0, *to;
    enum lap_status status = LAP_OK;
    unsigned code = 0;

    while (code < LAP_VM_CODE_COUNT && strcmp(name, lap_vm_code_name(code)) != 0)
        code++;
    if (strcmp(name, "word") == 0) {
        if (!number_of(word_of(&rest), UINT32_MAX, &value))
            return wrong(text, "word NUMBER");
        word = (uint32_t)value;
    } else if (code == LAP_VM_CODE_COUNT) {
        return wrong(text, "no instruction has this name");
    } else if (code == LAP_VM_CALL) {
        const char *push;

        if (!find_function(text, word_of(&rest), &value, &number))
            return wrong(text, "no function, or more than one, has this name");
        push = word_of(&rest);
        if (push && strcmp(push, "push") != 0)
            return wrong(text, "CALL FUNCTION [push]");
        word = lap_vm_call(push != NULL, (unsigned)value, (unsigned)number);
    } else if (code == LAP_VM_PUSH_I || code == LAP_VM_LOAD_C || code == LAP_VM_LOAD_V || code == LAP_VM_LOAD) {
        status = read_typed(text, (enum lap_vm_code)code, rest, &word);
        rest = (char *)"";
    } else {
        if (code != LAP_VM_STORE && code != LAP_VM_POST && !number_of(word_of(&rest), LAP_VM_DATA_MASK, &value))
            return wrong(text, "a number of 26 bits is missing");
        word = lap_vm_instruction((enum lap_vm_code)code, (uint32_t)value);
    }
    if (status == LAP_OK && word_of(&rest))
        return wrong(text, "more words than the instruction has");
    to = status == LAP_OK ? grow(&text->code) : NULL;
    if (status == LAP_OK && !to)
        return lap_no_memory("the program");
    if (to)
        *to = word;
    return status;
}

static void use(const struct text *text, struct lap_vm_program *out)
{
    out->code = text->code.items, out->count = text->code.count;
    out->initial = text->has_request ? text->initial : text->code.count;
    out->constants = text->constants, out->constant_bytes = text->constant_bytes;
    out->volatile_bytes = text->volatile_bytes;
    for (unsigned api = 0; api < LAP_VM_APIS; api++) {
        out->functions[api] = text->functions[api].items;
        out->function_counts[api] = text->functions[api].count;
    }
    out->resources = text->resources.items, out->resource_count = text->resources.count;
    out->labels = text->labels.items, out->label_count = text->labels.count;
    out->info = text->info ? text->info : "{}";
}

static enum lap_status begin_code(struct text *text, struct lap_vm_program *out)
{
    if (text->in_code)
        return wrong(text, "the code has begun before");
    text->in_code = true;
    use(text, out);
    text->names = sort_functions(out, &text->name_count);
    return text->names ? LAP_OK : lap_no_memory("the program");
}

static enum lap_status begin_constants(struct text *text, char *rest)
{
    if (text->has_constants || !number_of(word_of(&rest), CONSTANT_LIMIT, &text->constant_bytes))
        return wrong(text, "constants BYTES, once");
    text->constants = calloc(1, text->constant_bytes + 64);
    text->has_constants = text->constants != NULL;
    return text->constants ? LAP_OK : lap_no_memory("the program");
}

static enum lap_status read_line(struct text *text, char *line, struct lap_vm_program *out)
{
    char *rest = line, *name;

    if (strncmp(line, "info ", 5) == 0) { /* it may have semicolons */
        if (!lap_vm_is_info(line + 5, strlen(line + 5)))
            return wrong(text, "info has control characters");
        free(text->info);
        text->info = strdup(line + 5);
        return text->info ? LAP_OK : lap_no_memory("the program");
    }
    line[strcspn(line, ";")] = 0;
    name = word_of(&rest);
    if (!name)
        return LAP_OK;
    if (strcmp(name, "code") == 0)
        return begin_code(text, out);
    if (strcmp(name, "request") == 0 && text->in_code && !text->has_request) {
        text->has_request = true;
        text->initial = text->code.count;
        return LAP_OK;
    }
    if (text->in_code)
        return read_instruction(text, name, rest);
    if (strcmp(name, "volatile") == 0)
        return number_of(word_of(&rest), LAP_VM_BYTES_MAX, &text->volatile_bytes) ? LAP_OK
                                                                                  : wrong(text, "volatile BYTES");
    if (strcmp(name, "function") == 0)
        return read_function(text, rest);
    if (strcmp(name, "resource") == 0)
        return read_resource(text, rest);
    if (strcmp(name, "label") == 0)
        return read_label(text, rest);
    if (strcmp(name, "constants") == 0)
        return begin_constants(text, rest);
    return read_row(text, name, rest);
}

/* A line without its end. LAP_END: there is none. */
static enum lap_status next_line(struct text *text, FILE *in, char *line)
{
    size_t count = 0;
    int c;

    while ((c = getc(in)) != EOF && c != '\n') {
        if (c == 0 || count == LINE_BYTES)
            return wrong(text, "this is no line of text");
        line[count++] = (char)c;
    }
    line[count - (count && line[count - 1] == '\r')] = 0;
    return c == EOF && count == 0 ? LAP_END : LAP_OK;
}

enum lap_status lap_vm_text_read(FILE *in, struct lap_vm_program *out)
{
    struct text *text = calloc(1, sizeof *text);
    char *line = malloc(LINE_BYTES + 1);
    enum lap_status status = LAP_OK;

    *out = (struct lap_vm_program){.info = "{}", .owned = text};
    if (!text || !line) {
        free(line);
        return lap_no_memory("the program");
    }
    text->code.item_bytes = sizeof(uint32_t);
    text->resources.item_bytes = sizeof(struct lap_vm_resource);
    text->labels.item_bytes = sizeof(struct lap_vm_label);
    for (unsigned api = 0; api < LAP_VM_APIS; api++)
        text->functions[api].item_bytes = sizeof(struct lap_vm_function);
    while (status == LAP_OK) {
        text->line++;
        status = next_line(text, in, line);
        if (status == LAP_OK)
            status = read_line(text, line, out);
    }
    status = status == LAP_END ? LAP_OK : status;
    if (status == LAP_OK && ferror(in))
        status = lap_fail(LAP_ERROR_IO, "can't read the text: %s", strerror(errno));
    if (status == LAP_OK && !text->in_code)
        status = wrong(text, "there is no code");
    free(line);
    use(text, out);
    return status;
}

void lap_vm_text_release(struct lap_vm_program *program)
{
    struct text *text = program->owned;

    if (text) {
        for (unsigned api = 0; api < LAP_VM_APIS; api++) {
            struct lap_vm_function *functions = text->functions[api].items;

            for (size_t i = 0; i < text->functions[api].count; i++)
                free((char *)(uintptr_t)functions[i].name);
            free(functions);
        }
        free(text->code.items);
        free(text->resources.items);
        free(text->labels.items);
        free(text->constants);
        free(text->names);
        free(text->info);
        free(text);
    }
    *program = (struct lap_vm_program){.info = "{}"};
}
