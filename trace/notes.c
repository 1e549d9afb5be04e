/* SPDX-License-Identifier: MIT */
#include "trace/notes.h"

#include <xxhash.h>

#include "trace/bytes.h"

static uint64_t hash_of(uint64_t kernel_id, uint64_t self, uint64_t seed)
{
    uint8_t bytes[16];
    lap_store_u64(bytes, kernel_id);
    lap_store_u64(bytes + 8, self);
    return XXH3_64bits_withSeed(bytes, sizeof(bytes), seed);
}

/* ---- the program's side ---- */

void lap_note_thread_begin(struct lap_note_thread *note, uintptr_t self, uint64_t kernel_id, uint64_t seed)
{
    lap_in_flight_strike(note->call);
    lap_store_u64((uint8_t *)&note->kernel_id, kernel_id);
    lap_store_u64((uint8_t *)&note->hash, hash_of(kernel_id, self, seed));
    atomic_store_explicit(&note->self, self, memory_order_release);
}

void lap_note_thread_end(struct lap_note_thread *note)
{
    lap_in_flight_strike(note->call);
    atomic_store_explicit(&note->self, 0, memory_order_relaxed);
}

void lap_note_command_begin(struct lap_note_command *note, uint64_t command_buffer)
{
    atomic_store_explicit(&note->thread, 0, memory_order_relaxed);
    for (unsigned i = 0; i < 2; i++) {
        note->noted[i].command_buffer = command_buffer;
        note->noted[i].zero = 0;
    }
}

/* ---- a reader's side ---- */

#define SELF_AT    offsetof(struct lap_note_thread, self)
#define HASH_AT    offsetof(struct lap_note_thread, hash)
#define CALL_AT    offsetof(struct lap_note_thread, call)
#define NOTED_AT   offsetof(struct lap_note_command, noted)
#define BYTES_AT   offsetof(struct lap_noted_command, bytes)
#define BODY_AT    offsetof(struct lap_noted_command, body)
#define TWIN_BYTES sizeof(struct lap_noted_command)

bool lap_notes_take_call(const uint8_t *place, size_t bytes, uint64_t seed, uint8_t *list, size_t *used)
{
    uint8_t state = place[LAP_IN_FLIGHT_STATE_AT];
    struct lap_in_flight call;
    size_t at = 0, stride;
    if (state == 0 || state == LAP_IN_FLIGHT_RETURNED)
        return true;
    if (state != LAP_IN_FLIGHT_STANDING || lap_in_flight_next(place, bytes, &at, seed, &call) != LAP_OK)
        return false;
    stride = lap_in_flight_stride(call.bytes);
    memcpy(list + *used, place, LAP_IN_FLIGHT_HEAD_BYTES + call.bytes);
    memset(list + *used + LAP_IN_FLIGHT_HEAD_BYTES + call.bytes, 0, stride - LAP_IN_FLIGHT_HEAD_BYTES - call.bytes);
    *used += stride;
    return true;
}

/* As the kernel names the thread; 0: not known. */
static uint64_t find_thread(const uint8_t *notes, uint64_t self, uint64_t seed)
{
    for (unsigned i = 0; i < LAP_NOTES_THREADS; i++, notes += sizeof(struct lap_note_thread))
        if (lap_load_u64(notes + SELF_AT) == self &&
            lap_load_u64(notes + HASH_AT) == hash_of(lap_load_u64(notes), self, seed))
            return lap_load_u64(notes);
    return 0;
}

static bool take_command(const uint8_t *note, const uint8_t *notes, uint64_t seed, uint8_t *list, size_t *used)
{
    uint64_t self = lap_load_u64(note), number;
    const uint8_t *noted = note + NOTED_AT, *p = noted + BODY_AT;
    uint32_t bytes = lap_load_u32(noted + BYTES_AT);
    if (!self)
        return true;
    if (bytes > LAP_NOTE_COMMAND_MOST || memcmp(noted, noted + TWIN_BYTES, BODY_AT + bytes) != 0)
        return false;
    number = lap_in_flight_number(&p, p + bytes);
    if (number == 0 || number > UINT32_MAX)
        return false;
    struct lap_in_flight call = {.command = (uint32_t)number,
                                 .flags = LAP_IN_FLIGHT_COMMAND,
                                 .thread_id = find_thread(notes, self, seed),
                                 .command_buffer = lap_load_u64(noted),
                                 .bytes = (size_t)(noted + BODY_AT + bytes - p)};
    memset(list + *used, 0, lap_in_flight_stride(call.bytes));
    memcpy(list + *used + LAP_IN_FLIGHT_HEAD_BYTES, p, call.bytes);
    lap_in_flight_store(list + *used, &call, seed);
    *used += lap_in_flight_stride(call.bytes);
    return true;
}

unsigned lap_notes_take(const uint8_t *notes, uint64_t seed, uint8_t *list, size_t *used)
{
    const uint8_t *thread = notes, *command = notes + offsetof(struct lap_notes, commands);
    unsigned damaged = 0;
    for (unsigned i = 0; i < LAP_NOTES_THREADS; i++, thread += sizeof(struct lap_note_thread))
        damaged += !lap_notes_take_call(thread + CALL_AT, sizeof(struct lap_note_thread) - CALL_AT, seed, list, used);
    for (unsigned i = 0; i < LAP_NOTES_COMMANDS; i++, command += sizeof(struct lap_note_command))
        damaged += !take_command(command, notes, seed, list, used);
    return damaged;
}
