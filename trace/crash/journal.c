/* SPDX-License-Identifier: MIT */
#include "trace/crash/journal.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <xxhash.h>

#include "trace/format/bytes.h"

#define MAGIC       0x4a50414cu /* "LAPJ" little-endian */
#define USED_AT     0u
#define HEAD_AT     8u /* the hash begins here */
#define HASH_AT     48u
#define SHORT_BYTES 512u /* below this a call of memcpy costs too much */

/* Stores the used size of the half, twice: a damaged bit does not make another valid number. Released for a reader in
 * another process: so many bytes behind the head are whole. */
static void set_used(uint8_t *half, size_t used)
{
    uint8_t bytes[8];
    uint64_t both;
    lap_store_u32(bytes, (uint32_t)used);
    lap_store_u32(bytes + 4, ~(uint32_t)used);
    memcpy(&both, bytes, sizeof(both));
    __atomic_store_n((uint64_t *)(void *)(half + USED_AT), both, __ATOMIC_RELEASE);
}

static uint8_t *half_of(const struct lap_journal_log *log)
{
    return log->halves + log->half * log->half_bytes;
}

void lap_journal_set_state(struct lap_journal *journal, enum lap_journal_state state)
{
    bool is_masked = lap_journal_is_masked();
    if (is_masked)
        lap_journal_unmask();
    atomic_store(&journal->state, (uint8_t)state);
    if (is_masked)
        lap_journal_mask();
}

void lap_journal_init(struct lap_journal_log *log, void *halves, size_t half_bytes, uint64_t seed)
{
    *log = (struct lap_journal_log){.halves = halves, .half_bytes = half_bytes, .seed = seed};
}

void lap_journal_begin(struct lap_journal_log *log, const struct lap_journal_head *head)
{
    log->half ^= 1;
    uint8_t *half = half_of(log);
    set_used(half, 0);
    atomic_thread_fence(memory_order_release); /* no reader finds the old size with the new head */
    lap_store_u32(half + HEAD_AT, MAGIC);
    half[HEAD_AT + 4] = (uint8_t)head->kind;
    memset(half + HEAD_AT + 5, 0, 3);
    lap_store_u32(half + HEAD_AT + 8, head->stream);
    lap_store_u32(half + HEAD_AT + 12, 0);
    lap_store_u64(half + HEAD_AT + 16, head->thread_id);
    lap_store_u64(half + HEAD_AT + 24, head->first);
    lap_store_u64(half + HEAD_AT + 32, head->epoch);
    lap_store_u64(half + HASH_AT, XXH3_64bits_withSeed(half + HEAD_AT, HASH_AT - HEAD_AT, log->seed));
    log->at = half + LAP_JOURNAL_HEAD_BYTES;
    log->end = half + log->half_bytes;
}

uint32_t lap_journal_hash(const uint8_t *packet, size_t bytes, uint64_t ticket, uint64_t seed)
{
    return (uint32_t)XXH3_64bits_withSeed(packet, bytes, seed + ticket);
}

static void publish(struct lap_journal_log *log, size_t bytes)
{
    log->at += bytes;
    uint8_t *half = half_of(log);
    set_used(half, (size_t)(log->at - half) - LAP_JOURNAL_HEAD_BYTES);
}

bool lap_journal_add_packet(struct lap_journal_log *log, const uint8_t *packet, size_t bytes, uint64_t ticket)
{
    if (bytes + LAP_JOURNAL_HASH_BYTES + LAP_JOURNAL_SLACK_BYTES > (size_t)(log->end - log->at))
        return false;
    if (bytes <= SHORT_BYTES)
        lap_copy_words(log->at, packet, bytes);
    else
        memcpy(log->at, packet, bytes);
    lap_store_u32(log->at + bytes, lap_journal_hash(log->at, bytes, ticket, log->seed));
    publish(log, bytes + LAP_JOURNAL_HASH_BYTES);
    return true;
}

bool lap_journal_add_blob(struct lap_journal_log *log, const uint8_t *entry, size_t bytes)
{
    if (bytes > (size_t)(log->end - log->at))
        return false;
    memcpy(log->at, entry, bytes);
    publish(log, bytes);
    return true;
}

bool lap_journal_is_masked(void)
{
    sigset_t blocked;
    return pthread_sigmask(SIG_BLOCK, NULL, &blocked) != 0 || sigismember(&blocked, SIGBUS) != 0;
}

static void change_mask(int how)
{
    sigset_t bus;
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    pthread_sigmask(how, &bus, NULL);
}

void lap_journal_unmask(void)
{
    change_mask(SIG_UNBLOCK);
}

void lap_journal_mask(void)
{
    change_mask(SIG_BLOCK);
}

enum lap_status lap_journal_head_load(const uint8_t in[LAP_JOURNAL_HEAD_BYTES], size_t half_bytes, uint64_t seed,
                                      struct lap_journal_head *out, size_t *out_used)
{
    static const uint8_t nothing[LAP_JOURNAL_HEAD_BYTES];
    uint32_t used = lap_load_u32(in + USED_AT);
    if (memcmp(in, nothing, sizeof(nothing)) == 0)
        return LAP_END;
    if (~used != lap_load_u32(in + USED_AT + 4) || used > half_bytes - LAP_JOURNAL_HEAD_BYTES)
        return lap_fail(LAP_ERROR_FORMAT, "a part of the journal is damaged");
    if (used == 0) /* its head was being written */
        return LAP_END;
    if (lap_load_u64(in + HASH_AT) != XXH3_64bits_withSeed(in + HEAD_AT, HASH_AT - HEAD_AT, seed) ||
        lap_load_u32(in + HEAD_AT) != MAGIC)
        return lap_fail(LAP_ERROR_FORMAT, "a part of the journal is damaged");
    *out = (struct lap_journal_head){.kind = (enum lap_journal_kind)in[HEAD_AT + 4],
                                     .stream = lap_load_u32(in + HEAD_AT + 8),
                                     .thread_id = lap_load_u64(in + HEAD_AT + 16),
                                     .first = lap_load_u64(in + HEAD_AT + 24),
                                     .epoch = lap_load_u64(in + HEAD_AT + 32)};
    *out_used = used;
    return LAP_OK;
}
