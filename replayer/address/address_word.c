/* SPDX-License-Identifier: MIT */
#include "replayer/address/address_word.h"

#include <stdlib.h>
#include <string.h>

#define WORD 8u /* size of an address */
#define STEP 4u /* alignment of addresses: shaders also store them as two 32-bit words */

/* An address that the host wrote. */
struct word {
    struct lap_tree_node place, value; /* value.begin: the recorded address */
    struct replay_address_words *home;
    uint64_t live; /* the address that the replay wrote */
};

#define OF_PLACE(node) ((struct word *)((char *)(node)-offsetof(struct word, place)))
#define OF_VALUE(node) ((struct word *)((char *)(node)-offsetof(struct word, value)))

static void drop(struct replay_address_word_space *space, struct word *word)
{
    lap_tree_remove(&space->values, &word->value);
    lap_tree_remove(&word->home->places, &word->place);
    free(word);
}

void replay_address_words_finish(struct replay_address_word_space *space, struct replay_address_words *words)
{
    while (words->places)
        drop(space, OF_PLACE(words->places));
    words->memory = NULL;
}

void replay_address_word_space_finish(struct replay_address_word_space *space)
{
    free(space->scratch);
    space->scratch = NULL;
    space->scratch_bytes = 0;
}

static enum lap_status keep(struct replay_address_word_space *space, struct replay_address_words *words,
                            uint64_t offset, uint64_t recorded, uint64_t live)
{
    struct word *word = calloc(1, sizeof *word);

    if (!word)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for an address");
    word->home = words;
    word->live = live;
    word->place.begin = offset;
    word->place.end = offset + WORD;
    word->value.begin = recorded;
    word->value.end = recorded + 1;
    word->place.order = word->value.order = ++space->order;
    lap_tree_insert(&words->places, &word->place);
    lap_tree_insert(&space->values, &word->value);
    return LAP_OK;
}

/* ---- updates ---- */

/* An update examines [begin, end): the bytes that the host wrote, plus one more word on either side. */
struct update {
    struct replay_address_word_space *space;
    struct replay_address_words *words;
    uint64_t offset, after; /* [offset, after): the host's bytes */
    uint64_t begin, end;
    uint64_t first, last; /* [first, last): the bytes to write */
    unsigned char *bytes; /* of [begin, end), first with recorded addresses, then with those of the replay device */
};

static uint64_t load(const void *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

static bool reserve(struct replay_address_word_space *space, size_t bytes)
{
    unsigned char *more = bytes > space->scratch_bytes ? realloc(space->scratch, bytes) : space->scratch;

    if (!more)
        return false;
    if (bytes > space->scratch_bytes)
        space->scratch_bytes = bytes;
    space->scratch = more;
    return true;
}

static void write_too(struct update *u, uint64_t begin, uint64_t end)
{
    u->first = begin < u->first ? begin : u->first;
    u->last = end > u->last ? end : u->last;
}

/* A word that the update overwrites in part. Puts its recorded address into u->bytes, because the other half is about
 * to change. Returns false if the memory holds no address there. */
static bool unfold(struct update *u, uint64_t offset, const struct word *word)
{
    uint64_t holds = load(u->bytes + (offset - u->begin)), recorded;

    /* If the bytes differ from those that the replay wrote, the device has stored something there. */
    if (word && holds == word->live)
        recorded = word->value.begin;
    else if (!replay_address_to_recorded(u->space->addresses, holds, &recorded))
        return false;
    memcpy(u->bytes + (offset - u->begin), &recorded, WORD);
    write_too(u, offset, offset + WORD);
    return true;
}

/* Restores the recorded address of a word across `edge`, one end of the update. u->bytes has the contents of the
 * memory. */
static void unfold_edge(struct update *u, uint64_t edge)
{
    uint64_t step = edge / STEP * STEP;
    const struct lap_tree_node *node = edge ? lap_tree_first(u->words->places, edge - 1, edge) : NULL;

    if (node && node->end > edge) {
        (void)unfold(u, node->begin, OF_PLACE(node));
        return;
    }
    for (uint64_t at = step >= STEP ? step - STEP : 0; at < edge; at += STEP)
        if (at + WORD > edge && at + WORD <= u->end && !lap_tree_first(u->words->places, at, at + WORD) &&
            unfold(u, at, NULL))
            return;
}

/* Reads the whole words around both ends of the update, and not the bytes between. */
static enum lap_status read_around(struct update *u)
{
    const struct replay_address_words_access *access = &u->space->access;
    uint64_t head = u->offset + 2 * WORD, tail = u->after > 2 * WORD ? u->after - 2 * WORD : 0;
    enum lap_status status;

    head = head < u->end ? head : u->end;
    tail = tail > u->begin ? tail : u->begin;
    if (tail <= head)
        return access->read(access->user, u->words->memory, u->begin, u->bytes, (size_t)(u->end - u->begin));
    status = access->read(access->user, u->words->memory, u->begin, u->bytes, (size_t)(head - u->begin));
    if (status != LAP_OK)
        return status;
    return access->read(access->user, u->words->memory, tail, u->bytes + (tail - u->begin), (size_t)(u->end - tail));
}

static void drop_overwritten(struct update *u)
{
    struct lap_tree_node *node;

    while ((node = lap_tree_first(u->words->places, u->offset, u->after)))
        drop(u->space, OF_PLACE(node));
}

/* Translates and registers the addresses in all words that overlap the update. */
static enum lap_status translate(struct update *u)
{
    const struct replay_address_space *addresses = u->space->addresses;

    for (uint64_t at = u->begin; at + WORD <= u->end && at < u->after; at += STEP) {
        uint64_t recorded = load(u->bytes + (at - u->begin)), live = recorded;
        enum lap_status status;
        if (!replay_address_may_be_recorded(addresses, recorded) || at + WORD <= u->offset ||
            !replay_address_is_known(addresses, recorded))
            continue;
        /* A neighbouring word that is a known address shares no byte with another address. */
        if ((at < u->offset || at + WORD > u->after) && lap_tree_first(u->words->places, at, at + WORD))
            continue;
        u->space->updated += replay_address_to_live(addresses, recorded, &live) && live != recorded;
        memcpy(u->bytes + (at - u->begin), &live, WORD);
        write_too(u, at, at + WORD);
        status = keep(u->space, u->words, at, recorded, live);
        if (status != LAP_OK)
            return status;
        at += STEP; /* skips both halves of the address */
    }
    return LAP_OK;
}

enum lap_status replay_address_words_update(struct replay_address_word_space *space, struct replay_address_words *words,
                                            uint64_t offset, const void *data, size_t bytes)
{
    struct update u = {.space = space, .words = words, .offset = offset, .after = offset + bytes};
    enum lap_status status;

    if (bytes == 0)
        return LAP_OK;
    /* A word across an end of the update begins at most 8 bytes before that end; so does the word before it. */
    u.begin = offset / STEP * STEP;
    u.begin = u.begin > WORD ? u.begin - WORD : 0;
    u.end = words->bytes - u.after > 2 * WORD ? u.after + 2 * WORD : words->bytes;
    u.first = offset;
    u.last = u.after;
    if (!reserve(space, (size_t)(u.end - u.begin)))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for an update");
    u.bytes = space->scratch;
    status = read_around(&u);
    if (status != LAP_OK)
        return status;
    unfold_edge(&u, u.offset);
    if (u.last == u.after) /* otherwise the first edge's word covers this edge too */
        unfold_edge(&u, u.after);
    memcpy(u.bytes + (offset - u.begin), data, bytes);
    drop_overwritten(&u);
    status = translate(&u);
    if (status != LAP_OK)
        return status;
    return space->access.write(space->access.user, words->memory, u.first, u.bytes + (u.first - u.begin),
                               (size_t)(u.last - u.first));
}

/* ---- addresses of later buffers ---- */

struct renewal {
    struct word **words;
    size_t count, capacity;
};

static void count_word(void *context, struct lap_tree_node *node)
{
    struct renewal *renewal = context;

    if (renewal->words && renewal->count < renewal->capacity)
        renewal->words[renewal->count] = OF_VALUE(node);
    renewal->count++;
}

static enum lap_status renew(struct replay_address_word_space *space, struct word *word)
{
    uint64_t holds = 0, live;
    enum lap_status status =
        space->access.read(space->access.user, word->home->memory, word->place.begin, &holds, sizeof holds);

    if (status != LAP_OK)
        return status;
    if (holds != word->live) { /* the device has stored something else there */
        drop(space, word);
        return LAP_OK;
    }
    if (!replay_address_to_live(space->addresses, word->value.begin, &live) || live == word->live)
        return LAP_OK;
    word->live = live;
    space->renewed++;
    return space->access.write(space->access.user, word->home->memory, word->place.begin, &live, sizeof live);
}

enum lap_status replay_address_words_renew(struct replay_address_word_space *space,
                                           const struct replay_address_range *range)
{
    uint64_t begin = range->recorded.begin, end = range->recorded.end + 1; /* the end is an address too */
    struct renewal renewal = {.count = 0};
    enum lap_status status = LAP_OK;

    lap_tree_visit(space->values, begin, end, count_word, &renewal);
    if (renewal.count == 0)
        return LAP_OK;
    renewal.capacity = renewal.count;
    renewal.count = 0;
    renewal.words = calloc(renewal.capacity, sizeof *renewal.words);
    if (!renewal.words)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for addresses");
    lap_tree_visit(space->values, begin, end, count_word, &renewal);
    for (size_t i = 0; i < renewal.count && status == LAP_OK; i++)
        status = renew(space, renewal.words[i]);
    free(renewal.words);
    return status;
}
