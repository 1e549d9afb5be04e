/* SPDX-License-Identifier: MIT */
/* trace/crash/journal.c: a thread writes packets into both halves of its log, while another process may read them. */
#include "trace/crash/journal.c"

#include "tests/model/model.h"

#define HALF_BYTES 256u
#define PACKETS    2u
#define MOST_BYTES 24u

static _Alignas(64) uint8_t halves[2][HALF_BYTES];
static struct lap_journal_log writer_log;
static unsigned sizes[2][PACKETS];

static void begin(void)
{
    memset(halves, 0, sizeof halves);
    lap_journal_init(&writer_log, halves, HALF_BYTES, 1);
    for (unsigned i = 0; i < 2 * PACKETS; i++)
        sizes[i / PACKETS][i % PACKETS] = 1 + model_choose(MOST_BYTES);
}

/* Packets are numbered from 1 on, and filled with their number. */
static void write_half(unsigned half)
{
    uint8_t packet[MOST_BYTES + LAP_JOURNAL_SLACK_BYTES];
    struct lap_journal_head head = {.kind = LAP_JOURNAL_PACKETS, .stream = 3, .first = half * PACKETS + 1};
    lap_journal_begin(&writer_log, &head);
    for (unsigned i = 0; i < PACKETS; i++) {
        memset(packet, (int)(half * PACKETS + i + 1), sizeof packet);
        MODEL_CHECK(lap_journal_add_packet(&writer_log, packet, sizes[half][i], head.first + i));
    }
    lap_journal_handed_over(&writer_log, lap_journal_leave(&writer_log), half);
}

/* As much as the half says that it has. half: in the order in which they are written. */
static void read_half(unsigned half)
{
    const uint8_t *from = halves[half ^ 1], *at = from + LAP_JOURNAL_HEAD_BYTES;
    uint8_t head[LAP_JOURNAL_HEAD_BYTES];
    uint64_t both = __atomic_load_n((const uint64_t *)(const void *)(from + USED_AT), __ATOMIC_ACQUIRE);
    struct lap_journal_head found;
    size_t used, bytes = 0;
    if (!(uint32_t)both)
        return;
    memcpy(head, &both, sizeof both);
    memcpy(head + HEAD_AT, from + HEAD_AT, sizeof head - HEAD_AT);
    MODEL_CHECK(lap_journal_head_load(head, HALF_BYTES, 1, &found, &used) == LAP_OK);
    MODEL_CHECK(found.first == half * PACKETS + 1 && found.stream == 3);
    for (unsigned i = 0; i < PACKETS && bytes < used; i++) {
        for (unsigned j = 0; j < sizes[half][i]; j++)
            MODEL_CHECK(at[bytes + j] == found.first + i);
        bytes += sizes[half][i];
        MODEL_CHECK(lap_load_u32(at + bytes) == lap_journal_hash(at + bytes - sizes[half][i], sizes[half][i], found.first + i, 1));
        bytes += LAP_JOURNAL_HASH_BYTES;
    }
    MODEL_CHECK(bytes == used);
}

static void run(unsigned thread)
{
    for (unsigned i = 0; i < 2; i++) {
        if (thread == 0)
            write_half(i);
        else
            read_half(model_choose(2));
    }
}

static void end(void)
{
    read_half(0);
    read_half(1);
}

const struct model model = {.threads = 2, .begin = begin, .run = run, .end = end};
