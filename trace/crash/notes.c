/* SPDX-License-Identifier: MIT */
#include "trace/crash/notes.h"

#include <xxhash.h>

#include "trace/format/bytes.h"

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
    lap_note_thread_stamp(note, 0);
    lap_store_u64((uint8_t *)&note->kernel_id, kernel_id);
    lap_store_u64((uint8_t *)&note->hash, hash_of(kernel_id, self, seed));
    atomic_store_explicit(&note->self, self, memory_order_release);
}

void lap_note_thread_end(struct lap_note_thread *note)
{
    lap_in_flight_strike(note->call);
    atomic_store_explicit(&note->self, 0, memory_order_relaxed);
}

/* ---- a reader's side ---- */

#define SELF_AT     offsetof(struct lap_note_thread, self)
#define HASH_AT     offsetof(struct lap_note_thread, hash)
#define SIGNAL_AT   offsetof(struct lap_note_thread, signal)
#define CALL_AT     offsetof(struct lap_note_thread, call)
#define NOTED_AT    offsetof(struct lap_note_command, noted)
#define BYTES_AT    offsetof(struct lap_noted_command, bytes)
#define BODY_AT     offsetof(struct lap_noted_command, body)
#define TWIN_BYTES  sizeof(struct lap_noted_command)
#define MOST_SIGNAL 64u

/* Appends a call, whose body is somewhere else. */
static void append(struct lap_notes_reader *reader, struct lap_in_flight *call)
{
    uint8_t *entry = reader->list + reader->used;
    size_t stride = lap_in_flight_stride(call->bytes);
    call->signal = reader->signal;
    if (reader->signal && call->thread_id == reader->signal_thread)
        call->flags |= LAP_IN_FLIGHT_GUILTY;
    memset(entry, 0, stride);
    if (call->bytes)
        memcpy(entry + LAP_IN_FLIGHT_HEAD_BYTES, call->body, call->bytes);
    lap_in_flight_store(entry, call, reader->seed);
    reader->used += stride;
}

void lap_notes_take_call(struct lap_notes_reader *reader, const uint8_t *place, size_t bytes)
{
    uint8_t state = place[LAP_IN_FLIGHT_STATE_AT];
    struct lap_in_flight call;
    size_t at = 0;
    if (state == 0 || state == LAP_IN_FLIGHT_RETURNED)
        return;
    if (state == LAP_IN_FLIGHT_STANDING && lap_in_flight_next(place, bytes, &at, reader->seed, &call) == LAP_OK)
        append(reader, &call);
    else
        reader->damaged++;
}

static bool is_thread(const uint8_t *note, uint64_t seed)
{
    uint64_t self = lap_load_u64(note + SELF_AT);
    return self && lap_load_u64(note + HASH_AT) == hash_of(lap_load_u64(note), self, seed);
}

/* As the kernel names the thread; 0: not known. */
static uint64_t find_thread(const uint8_t *notes, uint64_t self, uint64_t seed)
{
    for (unsigned i = 0; i < LAP_NOTES_THREADS; i++, notes += sizeof(struct lap_note_thread))
        if (lap_load_u64(notes + SELF_AT) == self && is_thread(notes, seed))
            return lap_load_u64(notes);
    return 0;
}

static void find_signal(struct lap_notes_reader *reader, const uint8_t *notes)
{
    for (unsigned i = 0; i < LAP_NOTES_THREADS && !reader->signal; i++, notes += sizeof(struct lap_note_thread)) {
        uint32_t signal = lap_load_u32(notes + SIGNAL_AT);
        if (!signal || signal > MOST_SIGNAL || !is_thread(notes, reader->seed))
            continue;
        reader->signal = signal;
        reader->signal_thread = lap_load_u64(notes);
    }
}

static bool take_command(struct lap_notes_reader *reader, const uint8_t *note, const uint8_t *notes)
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
                                 .thread_id = find_thread(notes, self, reader->seed),
                                 .command_buffer = lap_load_u64(noted),
                                 .body = p,
                                 .bytes = (size_t)(noted + BODY_AT + bytes - p)};
    append(reader, &call);
    return true;
}

void lap_notes_take(struct lap_notes_reader *reader, const uint8_t *notes)
{
    const uint8_t *thread = notes, *command = notes + offsetof(struct lap_notes, commands);
    find_signal(reader, notes);
    for (unsigned i = 0; i < LAP_NOTES_THREADS; i++, thread += sizeof(struct lap_note_thread))
        lap_notes_take_call(reader, thread + CALL_AT, sizeof(struct lap_note_thread) - CALL_AT);
    for (unsigned i = 0; i < LAP_NOTES_COMMANDS; i++, command += sizeof(struct lap_note_command))
        reader->damaged += !take_command(reader, command, notes);
}
