/* SPDX-License-Identifier: MIT */
#include "replayer/static_use.h"

#include <stdlib.h>
#include <string.h>

#include "codegen/support/spirv.h"

/* ---- uses ---- */

static enum lap_status no_memory(void)
{
    return lap_fail(LAP_ERROR_MEMORY, "out of memory for what shaders use");
}

static bool push(struct replay_uses *uses, struct replay_use use)
{
    if (uses->count == uses->capacity) {
        size_t capacity = uses->capacity ? 2 * uses->capacity : 8;
        struct replay_use *more = realloc(uses->uses, capacity * sizeof *more);
        if (!more)
            return false;
        uses->uses = more;
        uses->capacity = capacity;
    }
    uses->uses[uses->count++] = use;
    return true;
}

static int compare_uses(const void *a, const void *b)
{
    const struct replay_use *x = a, *y = b;

    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    return x->binding < y->binding ? -1 : x->binding > y->binding;
}

static void tidy(struct replay_uses *uses)
{
    size_t left = 0;

    if (uses->count)
        qsort(uses->uses, uses->count, sizeof *uses->uses, compare_uses);
    for (size_t i = 0; i < uses->count; i++)
        if (left == 0 || compare_uses(&uses->uses[left - 1], &uses->uses[i]) != 0)
            uses->uses[left++] = uses->uses[i];
    uses->count = left;
}

enum lap_status replay_uses_add(struct replay_uses *to, const struct replay_uses *more)
{
    for (size_t i = 0; i < more->count; i++)
        if (!push(to, more->uses[i]))
            return no_memory();
    tidy(to);
    return LAP_OK;
}

bool replay_uses_have(const struct replay_uses *uses, struct replay_use use)
{
    return uses->count && bsearch(&use, uses->uses, uses->count, sizeof use, compare_uses);
}

void replay_uses_finish(struct replay_uses *uses)
{
    free(uses->uses);
    *uses = (struct replay_uses){0};
}

/* ---- a module ---- */

struct id {
    struct lap_spirv_descriptor descriptor;
    uint32_t reached; /* from this entry point, by its number from 1 on; the last one that does */
    uint32_t places;  /* of a function: where its list of what it calls and uses begins; 0: it has none */
};

/* What a function calls or uses. */
struct place {
    uint32_t id;
    uint32_t next; /* in the list; 0: the last */
    bool call;
};

struct module {
    const uint32_t *words;
    size_t word_count;
    struct id *ids;
    uint32_t bound;
    struct place *places; /* number 0 is none */
    uint32_t place_count, place_capacity;
    uint32_t function; /* that is being read; 0: none */
    bool failed;       /* there is no memory */
};

static struct id *id_of(const struct module *module, uint32_t number)
{
    return &module->ids[number < module->bound ? number : 0]; /* 0 is no id: what is kept there is never used */
}

static bool grow_places(struct module *module)
{
    uint32_t capacity = module->place_capacity ? 2 * module->place_capacity : 64;
    struct place *more;

    if (module->place_count < module->place_capacity)
        return true;
    more = realloc(module->places, capacity * sizeof *more);
    if (!more)
        return false;
    module->places = more;
    module->place_capacity = capacity;
    return true;
}

static void note(struct module *module, uint32_t number, bool call)
{
    struct id *function = id_of(module, module->function);
    const struct id *id = id_of(module, number);

    if (!module->function || (!call && !(id->descriptor.has_set && id->descriptor.has_binding)))
        return;
    if (!grow_places(module)) {
        module->failed = true;
        return;
    }
    if (module->place_count == 0)
        module->place_count = 1;
    module->places[module->place_count] = (struct place){number, function->places, call};
    function->places = module->place_count++;
}

/* The operand that is used, by its place in the instruction; 0: none. */
static uint32_t operand_of(uint32_t op)
{
    switch (op) {
    case OP_STORE:
    case OP_COPY_MEMORY:
    case OP_COPY_MEMORY_SIZED:
    case OP_ATOMIC_STORE:
    case OP_ATOMIC_FLAG_CLEAR:
        return 1;
    case OP_LOAD:
    case OP_IMAGE_TEXEL_POINTER:
    case OP_ACCESS_CHAIN:
    case OP_IN_BOUNDS_ACCESS_CHAIN:
    case OP_PTR_ACCESS_CHAIN:
    case OP_IN_BOUNDS_PTR_ACCESS_CHAIN:
    case OP_RAW_ACCESS_CHAIN_NV:
    case OP_ARRAY_LENGTH:
    case OP_COPY_OBJECT:
    case OP_COPY_LOGICAL:
    case OP_ATOMIC_LOAD:
    case OP_ATOMIC_FLAG_TEST_AND_SET:
    case OP_ATOMIC_F_MIN_EXT:
    case OP_ATOMIC_F_MAX_EXT:
    case OP_ATOMIC_F_ADD_EXT:
        return 3;
    case OP_UNTYPED_ACCESS_CHAIN:
    case OP_UNTYPED_IN_BOUNDS_ACCESS_CHAIN:
    case OP_UNTYPED_PTR_ACCESS_CHAIN:
    case OP_UNTYPED_IN_BOUNDS_PTR_ACCESS_CHAIN:
        return 4;
    default:
        return op >= OP_ATOMIC_EXCHANGE && op <= OP_ATOMIC_XOR ? 3 : 0;
    }
}

/* w[0] is the first word; count >= 1 words are there. Decorations stand before functions. */
static void look_at(struct module *module, const uint32_t *w, uint32_t count)
{
    uint32_t op = w[0] & 0xffff, operand = operand_of(op);

    if (op == OP_DECORATE && count >= 4)
        lap_spirv_decorate(&id_of(module, w[1])->descriptor, w);
    else if (op == OP_FUNCTION && count >= 3)
        module->function = w[2] < module->bound ? w[2] : 0;
    else if (op == OP_FUNCTION_END)
        module->function = 0;
    else if (op == OP_FUNCTION_CALL && count >= 4)
        note(module, w[3], true);
    if (operand && operand < count)
        note(module, w[operand], false);
    if ((op == OP_COPY_MEMORY || op == OP_COPY_MEMORY_SIZED) && count >= 3)
        note(module, w[2], false);
    for (uint32_t i = 4; i < count && (op == OP_FUNCTION_CALL || op == OP_SELECT); i++)
        note(module, w[i], false);
}

/* False: an instruction is longer than what is left. */
static bool read_module(struct module *module)
{
    size_t at = SPIRV_HEADER_WORDS;

    while (at < module->word_count && !module->failed) {
        uint32_t count = lap_spirv_words_at(module->words, module->word_count, at);
        if (count == 0)
            return false;
        look_at(module, &module->words[at], count);
        at += count;
    }
    return !module->failed;
}

/* ---- entry points ---- */

/* What is used from a function on, in whatever it calls. `waiting` has room for all functions. */
static enum lap_status collect(const struct module *module, uint32_t first, uint32_t mark, uint32_t *waiting,
                               struct replay_uses *out)
{
    size_t count = 0;

    if (first && first < module->bound) {
        waiting[count++] = first;
        id_of(module, first)->reached = mark;
    }
    while (count) {
        for (uint32_t at = id_of(module, waiting[--count])->places; at; at = module->places[at].next) {
            const struct place *place = &module->places[at];
            struct id *id = id_of(module, place->id);
            if (place->id >= module->bound || id->reached == mark)
                continue;
            id->reached = mark;
            if (place->call)
                waiting[count++] = place->id;
            else if (out->count == REPLAY_MOST_USES)
                return lap_fail(LAP_ERROR_UNSUPPORTED, "a shader uses more than %u variables of descriptors",
                                REPLAY_MOST_USES);
            else if (!push(out, (struct replay_use){id->descriptor.set, id->descriptor.binding}))
                return no_memory();
        }
    }
    tidy(out);
    return LAP_OK;
}

static enum lap_status add_entry(const struct module *module, const uint32_t *w, uint32_t count, uint32_t *waiting,
                                 struct replay_entry_points *out)
{
    size_t most = ((size_t)count - 3) * 4;
    struct replay_entry_point *entry = &out->entries[out->count];
    size_t bytes = strnlen((const char *)&w[3], most);

    if (bytes == most)
        return LAP_OK; /* a name without an end */
    *entry = (struct replay_entry_point){.model = w[1], .name = strdup((const char *)&w[3])};
    out->count++;
    return entry->name ? collect(module, w[2], (uint32_t)out->count, waiting, &entry->uses) : no_memory();
}

/* They stand before functions, so the module has to be read before. */
static enum lap_status add_entries(const struct module *module, struct replay_entry_points *out)
{
    uint32_t *waiting = malloc(module->bound * sizeof *waiting);
    size_t at = SPIRV_HEADER_WORDS;
    enum lap_status status = LAP_OK;

    out->entries = calloc(REPLAY_MOST_ENTRY_POINTS, sizeof *out->entries);
    if (!waiting || !out->entries)
        status = no_memory();
    while (status == LAP_OK && at < module->word_count && out->count < REPLAY_MOST_ENTRY_POINTS) {
        const uint32_t *w = &module->words[at];
        uint32_t count = w[0] >> 16;
        if ((w[0] & 0xffff) == OP_FUNCTION)
            break;
        if ((w[0] & 0xffff) == OP_ENTRY_POINT && count >= 4)
            status = add_entry(module, w, count, waiting, out);
        at += count;
    }
    free(waiting);
    return status;
}

enum lap_status replay_static_use(const uint32_t *words, size_t word_count, struct replay_entry_points *out)
{
    struct module module = {.words = words, .word_count = word_count};
    enum lap_status status = LAP_OK;

    *out = (struct replay_entry_points){0};
    if (!lap_spirv_is_module(words, word_count))
        return LAP_OK;
    module.bound = words[3];
    module.ids = calloc(module.bound, sizeof *module.ids);
    if (!module.ids)
        return no_memory();
    if (read_module(&module))
        status = add_entries(&module, out);
    if (module.failed)
        status = no_memory();
    free(module.places);
    free(module.ids);
    return status;
}

void replay_entry_points_finish(struct replay_entry_points *points)
{
    for (size_t i = 0; i < points->count; i++) {
        free(points->entries[i].name);
        replay_uses_finish(&points->entries[i].uses);
    }
    free(points->entries);
    *points = (struct replay_entry_points){0};
}

const struct replay_uses *replay_entry_point_uses(const struct replay_entry_points *points, uint32_t model,
                                                  const char *name)
{
    for (size_t i = 0; i < points->count; i++)
        if (points->entries[i].model == model && strcmp(points->entries[i].name, name) == 0)
            return &points->entries[i].uses;
    return NULL;
}
