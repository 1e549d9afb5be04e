/* SPDX-License-Identifier: MIT */
/* layer/core/notes.c: a thread returns from its call while another one notes the call again, in the next file. */
#include "trace/crash/in_flight.c"

#undef MAGIC
#undef HASH_AT
#define hash_of hash_of_thread
#include "trace/crash/notes.c"

#include "layer/core/notes.c"
#include "layer/core/thread.c"

#include "tests/model/model.h"

static pthread_rwlock_t parts_lock;

/* ---- of the writer ---- */

bool lap_writer_reserve_note(struct lap_writer *writer, unsigned large)
{
    return false;
}

uint64_t lap_writer_tickets(const struct lap_writer *writer)
{
    return 0;
}

uint64_t lap_writer_calls_seed(const struct lap_writer *writer)
{
    return 1;
}

bool lap_writer_map_notes(struct lap_writer *writer, void *place)
{
    return true;
}

bool lap_writer_drop_notes(struct lap_writer *writer)
{
    return true;
}

void lap_writer_give_notes_up(struct lap_writer *writer)
{
}

/* ---- the model ---- */

static bool encode(struct lap_enc *enc, enum gen_command command, const void *args, uint64_t *out_command_buffer)
{
    return true;
}

static void ended(struct layer_thread *thread)
{
}

static void next_file(void)
{
    layer_notes_start(NULL, encode, &parts_lock);
}

static void begin(void)
{
    static bool has_key;
    if (!has_key)
        has_key = layer_threads_init(ended);
    next_file();
    MODEL_CHECK(has_key && atomic_load(&layer_notes_on));
}

static void run(unsigned thread)
{
    struct layer_call call;
    if (thread == 1) {
        pthread_rwlock_wrlock(&parts_lock);
        next_file();
        pthread_rwlock_unlock(&parts_lock);
        return;
    }
    MODEL_CHECK(layer_call_begin(&call, (enum gen_command)1, NULL));
    layer_note_encode(&call);
    layer_call_end(&call);
}

static void end(void)
{
    for (const struct layer_thread *thread = layer_threads(); thread; thread = thread->next)
        MODEL_CHECK(!thread->note || thread->note->call[LAP_IN_FLIGHT_STATE_AT] != LAP_IN_FLIGHT_STANDING);
}

const struct model model = {.threads = 2, .begin = begin, .run = run, .end = end};
