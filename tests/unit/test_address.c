/* SPDX-License-Identifier: MIT */
/* Device addresses in a replay: which ranges there are, and the words of memory that name them. */
#include "replayer/address/address_word.h"

#include <stdlib.h>
#include <string.h>

#include "trace/format/decode.h"
#include "unit.h"

#define RECORDED 0x7f1200000000u
#define LIVE     0x560000000000u

static uint64_t to_live(const struct replay_address_space *space, uint64_t recorded)
{
    uint64_t live = 0;
    return replay_address_to_live(space, recorded, &live) ? live : 0;
}

static uint64_t to_recorded(const struct replay_address_space *space, uint64_t live)
{
    uint64_t recorded = 0;
    return replay_address_to_recorded(space, live, &recorded) ? recorded : 0;
}

static struct replay_address_range *add(struct replay_address_space *space, uint64_t recorded, uint64_t live,
                                        uint64_t bytes)
{
    struct replay_address_range *range;
    CHECK(replay_address_add(space, REPLAY_ADDRESS_BUFFER, 1, recorded, live, bytes, &range) == LAP_OK);
    return range;
}

UNIT_TEST(addresses_are_translated_both_ways)
{
    struct replay_address_space space = {0};
    CHECK_EQ_U64(to_live(&space, 0), 0);
    CHECK_EQ_U64(to_live(&space, RECORDED), 0);
    add(&space, RECORDED, LIVE + 0x5000, 0x100);
    add(&space, RECORDED + 0x1000, LIVE, 0x40);
    CHECK_EQ_U64(to_live(&space, RECORDED), LIVE + 0x5000);
    CHECK_EQ_U64(to_live(&space, RECORDED + 0xff), LIVE + 0x50ff);
    CHECK_EQ_U64(to_live(&space, RECORDED + 0x100), LIVE + 0x5100); /* its end */
    CHECK_EQ_U64(to_live(&space, RECORDED + 0x101), 0);
    CHECK_EQ_U64(to_live(&space, RECORDED - 1), 0);
    CHECK_EQ_U64(to_live(&space, RECORDED + 0x1010), LIVE + 0x10);
    CHECK_EQ_U64(to_live(&space, UINT64_MAX), 0);
    CHECK_EQ_U64(to_recorded(&space, LIVE + 0x10), RECORDED + 0x1010);
    CHECK_EQ_U64(to_recorded(&space, LIVE + 0x5100), RECORDED + 0x100);
    CHECK_EQ_U64(to_recorded(&space, LIVE + 0x5101), 0);
    CHECK_EQ_U64(to_recorded(&space, 0), 0);
    replay_address_space_finish(&space);
}

UNIT_TEST(what_begins_at_an_end_is_meant)
{
    struct replay_address_space space = {0};
    add(&space, RECORDED, LIVE, 0x100);
    add(&space, RECORDED + 0x100, LIVE + 0x8000, 0x100);
    CHECK_EQ_U64(to_live(&space, RECORDED + 0x100), LIVE + 0x8000);
    CHECK_EQ_U64(to_recorded(&space, LIVE + 0x8000), RECORDED + 0x100);
    replay_address_space_finish(&space);
}

UNIT_TEST(of_ranges_that_overlap_the_newest_that_is_alive_is_meant)
{
    struct replay_address_space space = {0};
    struct replay_address_range *inner;
    add(&space, RECORDED, LIVE, 0x1000);
    inner = add(&space, RECORDED + 0x100, LIVE + 0x9000, 0x10);
    CHECK_EQ_U64(to_live(&space, RECORDED + 0x104), LIVE + 0x9004);
    CHECK_EQ_U64(to_live(&space, RECORDED + 0x110), LIVE + 0x110);
    replay_address_end(&space, inner);
    CHECK_EQ_U64(to_live(&space, RECORDED + 0x104), LIVE + 0x104);
    CHECK_EQ_U64(to_recorded(&space, LIVE + 0x9004), RECORDED + 0x104); /* nothing else lies there yet */
    replay_address_space_finish(&space);
}

UNIT_TEST(structures_are_meant_before_the_buffers_around_them)
{
    struct replay_address_space space = {0};
    struct replay_address_range *structure;
    CHECK(replay_address_add(&space, REPLAY_ADDRESS_STRUCTURE, 1, RECORDED + 0x100, LIVE + 0x9000, 1, &structure) ==
          LAP_OK);
    add(&space, RECORDED, LIVE, 0x1000);
    CHECK_EQ_U64(to_live(&space, RECORDED + 0x100), LIVE + 0x9000);
    CHECK_EQ_U64(to_live(&space, RECORDED + 0x104), LIVE + 0x104);
    CHECK_EQ_U64(to_recorded(&space, LIVE + 0x9000), RECORDED + 0x100);
    replay_address_end(&space, structure);
    CHECK_EQ_U64(to_live(&space, RECORDED + 0x100), LIVE + 0x100);
    replay_address_space_finish(&space);
}

UNIT_TEST(what_is_gone_is_known_until_something_takes_its_place)
{
    struct replay_address_space space = {0};
    replay_address_end(&space, add(&space, RECORDED, LIVE, 0x100));
    CHECK_EQ_U64(to_live(&space, RECORDED + 8), 0);
    CHECK(replay_address_is_known(&space, RECORDED + 8));
    CHECK_EQ_U64(to_recorded(&space, LIVE + 8), RECORDED + 8);
    add(&space, RECORDED + 0x4000, LIVE, 0x100);
    CHECK_EQ_U64(to_recorded(&space, LIVE + 8), RECORDED + 0x4008);
    CHECK(replay_address_is_known(&space, RECORDED + 8));
    add(&space, RECORDED, LIVE + 0x200, 0x200);
    CHECK_EQ_U64(to_live(&space, RECORDED + 8), LIVE + 0x208);
    CHECK_EQ_U64(space.gone_count, 0);
    replay_address_space_finish(&space);
}

UNIT_TEST(what_is_gone_does_not_pile_up)
{
    struct replay_address_space space = {0};
    add(&space, RECORDED - 0x100000, LIVE - 0x100000, 8);
    for (uint64_t i = 0; i < 20000; i++)
        replay_address_end(&space, add(&space, RECORDED + i * 16, LIVE + i * 16, 16));
    CHECK(space.gone_count <= 4098);
    CHECK_EQ_U64(to_live(&space, RECORDED - 0x100000), LIVE - 0x100000);
    replay_address_space_finish(&space);
}

UNIT_TEST(ranges_that_can_not_be_are_refused)
{
    struct replay_address_space space = {0};
    struct replay_address_range *range;
    CHECK(replay_address_add(&space, REPLAY_ADDRESS_BUFFER, 1, UINT64_MAX - 4, LIVE, 8, &range) == LAP_ERROR_FORMAT);
    CHECK(replay_address_add(&space, REPLAY_ADDRESS_BUFFER, 1, RECORDED, LIVE, 0, &range) == LAP_ERROR_FORMAT);
    CHECK(replay_address_add(&space, REPLAY_ADDRESS_BUFFER, 1, 0, LIVE, 8, &range) == LAP_ERROR_FORMAT);
    replay_address_space_finish(&space);
}

UNIT_TEST(runs_of_bytes_are_looked_at_in_steps_of_four)
{
    struct replay_address_space space = {0};
    uint32_t words[6] = {1, (uint32_t)(RECORDED + 4), RECORDED >> 32, 0x7f12, 0, 0x7f12}, before[6];
    add(&space, RECORDED, LIVE, 16);
    memcpy(before, words, sizeof words);
    CHECK_EQ_U64(replay_address_replace_recorded(&space, words, sizeof words), 2);
    CHECK_EQ_U64(words[0], 1);
    CHECK_EQ_U64(words[1] | (uint64_t)words[2] << 32, LIVE + 4);
    CHECK_EQ_U64(words[3], 0x7f12);
    CHECK_EQ_U64(words[4] | (uint64_t)words[5] << 32, LIVE);
    CHECK_EQ_U64(replay_address_replace_live(&space, words, sizeof words), 2);
    CHECK(memcmp(words, before, sizeof words) == 0);
    CHECK_EQ_U64(replay_address_replace_recorded(&space, words, 7), 0);
    replay_address_space_finish(&space);
}

/* ---- decoders ---- */

static uint64_t plus_one(void *user, uint64_t recorded)
{
    return recorded + *(const uint64_t *)user;
}

static const void *other_words(void *user, enum lap_words what, struct lap_arena *arena, const void *data, size_t bytes)
{
    return what == LAP_WORDS_UPDATED ? (const void *)"other" : NULL;
}

UNIT_TEST(decoders_ask_only_who_translates)
{
    uint64_t one = 1;
    struct lap_dec_source source = {.user = &one};
    const uint8_t body[] = {5, 5, 0};
    struct lap_arena arena;
    struct lap_dec dec;

    lap_arena_init(&arena, 1 << 20);
    lap_dec_init(&dec, body, sizeof body, &arena, &source);
    CHECK_EQ_U64(lap_get_address(&dec), 5);
    CHECK(lap_dec_words(&dec, LAP_WORDS_UPDATED, "same", 5) != NULL);
    CHECK_STR(lap_dec_words(&dec, LAP_WORDS_UPDATED, "same", 5), "same");
    source.address = plus_one;
    source.words = other_words;
    CHECK_EQ_U64(lap_get_address(&dec), 6);
    CHECK_EQ_U64(lap_get_address(&dec), 0); /* null stays null */
    CHECK_STR(lap_dec_words(&dec, LAP_WORDS_UPDATED, "same", 5), "other");
    CHECK(lap_dec_words(&dec, LAP_WORDS_UPDATED, NULL, 0) == NULL);
    CHECK(dec.status == LAP_OK);
    CHECK(lap_dec_words(&dec, LAP_WORDS_UNIFORM, "same", 5) == NULL);
    CHECK(dec.status < 0);
    lap_arena_finish(&arena);
}

/* ---- words in memory ---- */

#define BUFFER_BYTES 128u

struct memory {
    struct replay_address_words words;
    unsigned char bytes[BUFFER_BYTES]; /* as the device here sees it */
    bool failing;
};

static enum lap_status read_memory(void *user, void *memory, uint64_t offset, void *out, size_t bytes)
{
    const struct memory *m = memory;
    CHECK(offset <= BUFFER_BYTES && bytes <= BUFFER_BYTES - offset);
    memcpy(out, m->bytes + offset, bytes);
    return LAP_OK;
}

static enum lap_status write_memory(void *user, void *memory, uint64_t offset, const void *data, size_t bytes)
{
    struct memory *m = memory;
    CHECK(offset <= BUFFER_BYTES && bytes <= BUFFER_BYTES - offset);
    if (m->failing)
        return lap_fail(LAP_ERROR_REPLAY, "no");
    memcpy(m->bytes + offset, data, bytes);
    return LAP_OK;
}

struct machine {
    struct replay_address_space addresses;
    struct replay_address_word_space words;
    struct memory memory[3];
};

static void begin(struct machine *m)
{
    memset(m, 0, sizeof *m);
    m->words.addresses = &m->addresses;
    m->words.access = (struct replay_address_words_access){read_memory, write_memory, NULL};
    for (int i = 0; i < 3; i++) {
        m->memory[i].words.bytes = BUFFER_BYTES;
        m->memory[i].words.memory = &m->memory[i];
    }
}

static void end(struct machine *m)
{
    for (int i = 0; i < 3; i++)
        replay_address_words_finish(&m->words, &m->memory[i].words);
    CHECK(!m->words.values);
    replay_address_word_space_finish(&m->words);
    replay_address_space_finish(&m->addresses);
}

static uint64_t word_at(const struct memory *memory, uint64_t offset)
{
    uint64_t word;
    memcpy(&word, memory->bytes + offset, 8);
    return word;
}

static void update(struct machine *m, uint64_t offset, const void *data, size_t bytes)
{
    CHECK(replay_address_words_update(&m->words, &m->memory[0].words, offset, data, bytes) == LAP_OK);
}

UNIT_TEST(an_address_may_come_in_pieces)
{
    struct machine m;
    uint64_t address = RECORDED + 0x345678;
    begin(&m);
    add(&m.addresses, RECORDED, LIVE, 0x1000000);
    /* A difference to zeroes has neither the first byte nor the last two. */
    address &= ~(uint64_t)0xff;
    update(&m, 17, (const char *)&address + 1, 5);
    CHECK_EQ_U64(word_at(&m.memory[0], 16), LIVE + 0x345600);
    /* One byte of it, in the middle; then the first, then all. */
    address ^= 0x110000;
    update(&m, 18, (const char *)&address + 2, 1);
    CHECK_EQ_U64(word_at(&m.memory[0], 16), LIVE + 0x255600);
    address |= 0x77;
    update(&m, 16, &address, 1);
    CHECK_EQ_U64(word_at(&m.memory[0], 16), LIVE + 0x255677);
    address = RECORDED + 1;
    update(&m, 16, &address, 8);
    CHECK_EQ_U64(word_at(&m.memory[0], 16), LIVE + 1);
    CHECK_EQ_U64(m.words.updated, 4);
    /* It becomes something else: the bytes that did not change are the recorded ones again. */
    update(&m, 21, "\x33", 1);
    CHECK_EQ_U64(word_at(&m.memory[0], 16), ((RECORDED + 1) & 0xffff00ffffffffffu) | 0x330000000000u);
    CHECK_EQ_U64(word_at(&m.memory[0], 8), 0);
    CHECK_EQ_U64(word_at(&m.memory[0], 24), 0);
    end(&m);
}

UNIT_TEST(neighbours_stay_as_they_are)
{
    struct machine m;
    uint64_t three[3] = {RECORDED + 8, RECORDED + 16, RECORDED + 24};
    begin(&m);
    add(&m.addresses, RECORDED, LIVE, 0x100);
    memset(m.memory[0].bytes, 0x55, BUFFER_BYTES); /* the device's */
    update(&m, 36, three, sizeof three);           /* at a multiple of 4 */
    CHECK_EQ_U64(word_at(&m.memory[0], 36), LIVE + 8);
    CHECK_EQ_U64(word_at(&m.memory[0], 44), LIVE + 16);
    CHECK_EQ_U64(word_at(&m.memory[0], 52), LIVE + 24);
    update(&m, 44, "\x28", 1);
    CHECK_EQ_U64(word_at(&m.memory[0], 36), LIVE + 8);
    CHECK_EQ_U64(word_at(&m.memory[0], 44), LIVE + 0x28);
    CHECK_EQ_U64(word_at(&m.memory[0], 52), LIVE + 24);
    for (unsigned i = 0; i < BUFFER_BYTES; i++)
        if (i < 36 || i >= 60)
            CHECK_EQ_U64(m.memory[0].bytes[i], 0x55);
    /* Up to both ends of the buffer. */
    update(&m, 0, three, 8);
    update(&m, BUFFER_BYTES - 8, three, 8);
    update(&m, BUFFER_BYTES - 1, "", 1);
    CHECK_EQ_U64(word_at(&m.memory[0], 0), LIVE + 8);
    CHECK_EQ_U64(word_at(&m.memory[0], BUFFER_BYTES - 8), LIVE + 8);
    end(&m);
}

UNIT_TEST(what_the_device_stored_is_taken_for_what_it_is)
{
    struct machine m;
    uint64_t word = RECORDED + 8, stored = LIVE + 0x1020;
    begin(&m);
    add(&m.addresses, RECORDED, LIVE, 0x100);
    add(&m.addresses, RECORDED + 0x1000, LIVE + 0x1000, 0x100);
    update(&m, 0, &word, 8);
    memcpy(m.memory[0].bytes, &stored, 8); /* an address, which the host changes by its first byte */
    update(&m, 0, "\x30", 1);
    CHECK_EQ_U64(word_at(&m.memory[0], 0), LIVE + 0x1030);
    memcpy(m.memory[0].bytes, "abcdefgh", 8); /* no address */
    update(&m, 7, "H", 1);
    CHECK(memcmp(m.memory[0].bytes, "abcdefgH", 8) == 0);
    memcpy(m.memory[0].bytes + 8, &stored, 8); /* where the host never wrote */
    update(&m, 9, "", 1);
    CHECK_EQ_U64(word_at(&m.memory[0], 8), LIVE + 0x20);
    end(&m);
}

UNIT_TEST(words_follow_an_address_that_is_given_again)
{
    struct machine m;
    uint64_t words[3] = {RECORDED + 8, RECORDED + 0x18, RECORDED + 0x100};
    struct replay_address_range *range;
    begin(&m);
    range = add(&m.addresses, RECORDED, LIVE, 0x100);
    update(&m, 0, words, sizeof words);
    CHECK_EQ_U64(word_at(&m.memory[0], 16), LIVE + 0x100); /* its end */
    replay_address_end(&m.addresses, range);
    CHECK_EQ_U64(word_at(&m.memory[0], 0), LIVE + 8);
    update(&m, 24, words, 8); /* written while it belongs to nothing */
    CHECK_EQ_U64(word_at(&m.memory[0], 24), RECORDED + 8);
    memcpy(m.memory[0].bytes + 8, "abcdefgh", 8); /* the device has stored over it */
    range = add(&m.addresses, RECORDED, LIVE + 0x4000, 0x100);
    CHECK(replay_address_words_renew(&m.words, range) == LAP_OK);
    CHECK_EQ_U64(word_at(&m.memory[0], 0), LIVE + 0x4008);
    CHECK(memcmp(m.memory[0].bytes + 8, "abcdefgh", 8) == 0);
    CHECK_EQ_U64(word_at(&m.memory[0], 16), LIVE + 0x4100);
    CHECK_EQ_U64(word_at(&m.memory[0], 24), LIVE + 0x4008);
    CHECK_EQ_U64(m.words.renewed, 3);
    m.memory[0].failing = true;
    replay_address_end(&m.addresses, range);
    range = add(&m.addresses, RECORDED, LIVE, 0x100);
    CHECK(replay_address_words_renew(&m.words, range) == LAP_ERROR_REPLAY);
    end(&m);
}

/* ---- against a model ---- */

#define SLOTS  (BUFFER_BYTES / 8)
#define PLACES 12u /* of ranges, in each of the two address spaces */
#define ROOM   0x1000u

/* What a word means in the recorded run. */
struct slot {
    bool unsure; /* the device stored an address whose owner is gone: nobody can tell what it becomes */
    bool by_device;
    uint64_t range; /* number of the range that the device's address is in; 0: none */
};

struct model {
    struct machine m;
    unsigned char recorded[3][BUFFER_BYTES];
    struct slot slots[3][SLOTS];
    struct {
        struct replay_address_range *range;
        uint64_t number;
        unsigned live_place;
    } ranges[PLACES]; /* by place in the recorded space */
    bool live_taken[PLACES];
    uint64_t numbers;
    uint32_t random;
};

static uint32_t draw(struct model *model, uint32_t below)
{
    model->random = model->random * 1664525u + 1013904223u;
    return (model->random >> 8) % below;
}

static void model_create(struct model *model)
{
    unsigned at = draw(model, PLACES), live = draw(model, PLACES);
    if (model->ranges[at].range || model->live_taken[live])
        return;
    model->ranges[at].range =
        add(&model->m.addresses, RECORDED + (uint64_t)at * 2 * ROOM, LIVE + (uint64_t)live * 2 * ROOM, ROOM);
    model->ranges[at].number = ++model->numbers;
    model->ranges[at].live_place = live;
    model->live_taken[live] = true;
    CHECK(replay_address_words_renew(&model->m.words, model->ranges[at].range) == LAP_OK);
}

static void model_destroy(struct model *model)
{
    unsigned at = draw(model, PLACES);
    if (!model->ranges[at].range)
        return;
    for (int b = 0; b < 3; b++)
        for (unsigned s = 0; s < SLOTS; s++)
            model->slots[b][s].unsure |= model->slots[b][s].range == model->ranges[at].number;
    replay_address_end(&model->m.addresses, model->ranges[at].range);
    model->live_taken[model->ranges[at].live_place] = false;
    model->ranges[at].range = NULL;
    model->ranges[at].number = 0;
}

/* An address, alive or not, or a number that is none. */
static uint64_t draw_word(struct model *model, unsigned *out_place)
{
    uint64_t address;
    *out_place = draw(model, PLACES);
    address = RECORDED + (uint64_t)*out_place * 2 * ROOM + draw(model, ROOM);
    if (draw(model, 3) && replay_address_is_known(&model->m.addresses, address)) /* else no program could know it */
        return address;
    *out_place = PLACES;
    return draw(model, 16) | draw(model, 16) << 8 | (uint64_t)draw(model, 16) << 40;
}

/* What has changed goes to the replay, in spans as they come. */
static void send(struct model *model, int b, const unsigned char *before)
{
    const unsigned char *now = model->recorded[b];
    unsigned gap = draw(model, 20);
    for (unsigned i = 0; i < BUFFER_BYTES; i++) {
        unsigned last = i;
        if (before[i] == now[i])
            continue;
        for (unsigned j = i; j < BUFFER_BYTES && j <= last + gap; j++)
            if (before[j] != now[j])
                last = j;
        for (unsigned s = 0; s < SLOTS; s++) {
            bool whole = i <= s * 8 && last + 1 >= s * 8 + 8;
            struct slot *slot = &model->slots[b][s];
            if (whole || (!slot->unsure && i < s * 8 + 8 && last >= s * 8))
                *slot = (struct slot){0};
        }
        CHECK(replay_address_words_update(&model->m.words, &model->m.memory[b].words, i, now + i, last + 1 - i) ==
              LAP_OK);
        i = last;
    }
}

static void model_host(struct model *model)
{
    int b = (int)draw(model, 3);
    unsigned char before[BUFFER_BYTES];
    memcpy(before, model->recorded[b], BUFFER_BYTES);
    for (unsigned n = 1 + draw(model, 4), i = 0; i < n; i++) {
        unsigned place, s = draw(model, SLOTS);
        uint64_t word = draw_word(model, &place);
        memcpy(model->recorded[b] + s * 8, &word, 8);
    }
    send(model, b, before);
}

static void model_device(struct model *model)
{
    int b = (int)draw(model, 3);
    unsigned place, s = draw(model, SLOTS);
    uint64_t word = draw_word(model, &place), live = word;
    struct slot *slot = &model->slots[b][s];
    if (place < PLACES && !model->ranges[place].range)
        return; /* the device knows only what is alive */
    *slot = (struct slot){.by_device = true};
    if (place < PLACES) {
        slot->range = model->ranges[place].number;
        live = model->ranges[place].range->live.begin + (word - model->ranges[place].range->recorded.begin);
    }
    memcpy(model->recorded[b] + s * 8, &word, 8);
    memcpy(model->m.memory[b].bytes + s * 8, &live, 8);
}

static bool model_agrees(const struct model *model)
{
    for (int b = 0; b < 3; b++)
        for (unsigned s = 0; s < SLOTS; s++) {
            uint64_t recorded, expected;
            memcpy(&recorded, model->recorded[b] + s * 8, 8);
            expected = recorded;
            /* An address that belongs to nothing is followed by nobody. */
            if (model->slots[b][s].unsure || (replay_address_is_known(&model->m.addresses, recorded) &&
                                              !replay_address_to_live(&model->m.addresses, recorded, &expected)))
                continue;
            if (word_at(&model->m.memory[b], s * 8) != expected)
                return false;
        }
    return true;
}

static uint64_t run_model(uint32_t seed, unsigned steps)
{
    struct model *model = calloc(1, sizeof *model);
    uint64_t translated;
    bool agrees = true;
    begin(&model->m);
    model->random = seed;
    for (unsigned i = 0; i < steps && agrees; i++) {
        switch (draw(model, 8)) {
        case 0:
        case 1:
            model_create(model);
            break;
        case 2:
            model_destroy(model);
            break;
        case 3:
            model_device(model);
            break;
        default:
            model_host(model);
            break;
        }
        agrees = model_agrees(model);
        if (!agrees)
            fprintf(stderr, "seed %u, step %u\n", seed, i);
    }
    CHECK(agrees);
    translated = model->m.words.updated + model->m.words.renewed;
    end(&model->m);
    free(model);
    return translated;
}

UNIT_TEST(a_replay_sees_what_the_program_meant)
{
    uint64_t translated = 0;
    for (uint32_t seed = 1; seed <= 200; seed++)
        translated += run_model(seed, 500);
    CHECK(translated > 50000);
}

UNIT_MAIN();
