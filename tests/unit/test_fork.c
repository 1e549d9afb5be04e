/* SPDX-License-Identifier: MIT */
/* What a child of fork() finds of the layer's tables and locks. Only the layer's fork.c; devices are bare records. */
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layer/core/layer.h"
#include "tests/unit/unit.h"

enum { GOOD = 7 };

struct layer_state layer;
const bool gen_handle_global[GEN_HANDLE_COUNT] = {[GEN_HANDLE_VkInstance] = true, [GEN_HANDLE_VkDevice] = true};
static unsigned forgotten_files;

void layer_recording_forked(void)
{
    forgotten_files++;
}

static struct layer_instance instance;
static struct layer_device devices[2];
static struct layer_memory memory;
static struct layer_buffer buffer;

static void begin(void)
{
    static bool begun;
    if (begun)
        return;
    begun = true;
    layer_mutex_init(&layer.recording_mutex);
    layer_mutex_init(&layer.devices_mutex);
    lap_map_init(&layer.instances_by_table);
    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++) {
        layer_mutex_init(&layer.object_mutex[type]);
        lap_map_init(&layer.maps[type]);
    }
    for (unsigned i = 0; i < 2; i++) {
        struct lap_memtrack_options options = {.watch = LAP_WATCH_COMPARE};
        layer_mutex_init(&devices[i].submit.mutex);
        layer_mutex_init(&devices[i].descriptors.mutex);
        layer_mutex_init(&devices[i].verify.mutex);
        for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++)
            lap_map_init(&devices[i].own_maps[type]);
        CHECK_EQ_INT(lap_memtrack_create(&options, &devices[i].memtrack), LAP_OK);
        layer_fork_add(&devices[i]);
    }
    CHECK_EQ_INT(lap_mem_create(devices[0].memtrack, 4096, LAP_MEM_HOST_VISIBLE, &memory.mem), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(devices[0].memtrack, &buffer, 4096, true, &buffer.memobj), LAP_OK);
    CHECK_EQ_INT(lap_map_put(&devices[0].own_maps[GEN_HANDLE_VkDeviceMemory], 64, &memory, NULL), LAP_OK);
    CHECK_EQ_INT(lap_map_put(&devices[0].own_maps[GEN_HANDLE_VkBuffer], 64, &buffer, NULL), LAP_OK);
    CHECK_EQ_INT(lap_map_put(&layer.maps[GEN_HANDLE_VkInstance], 64, &instance, NULL), LAP_OK);
    CHECK(layer_fork_watch());
}

static bool is_free(pthread_mutex_t *mutex)
{
    return pthread_mutex_trylock(mutex) == 0 && pthread_mutex_unlock(mutex) == 0;
}

static bool all_free(void)
{
    bool all =
        is_free(&layer.devices_mutex) && is_free(&layer.recording_mutex) && is_free(&layer.instances_by_table.mutex);
    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++)
        all = all && is_free(&layer.object_mutex[type]) && is_free(&layer.maps[type].mutex);
    for (unsigned i = 0; i < 2; i++) {
        all = all && is_free(&devices[i].submit.mutex) && is_free(&devices[i].descriptors.mutex) &&
              is_free(&devices[i].verify.mutex) && is_free(&devices[i].submit.resources.mutex) &&
              (!devices[i].memtrack || is_free(lap_memtrack_mutex(devices[i].memtrack)));
        for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++)
            all = all && (gen_handle_global[type] || is_free(&devices[i].own_maps[type].mutex));
    }
    return all;
}

/* Forks; the child says whether its locks are free, everything is known as its parent's, and the first device is whole.
 */
static bool fork_and_look(bool whole)
{
    alarm(60); /* ends what hangs */
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        bool good = all_free() && forgotten_files == 1 && instance.tables.inherited && devices[0].tables.inherited &&
                    devices[1].tables.inherited && devices[0].torn == !whole &&
                    (devices[0].memtrack != NULL) == whole && (memory.mem != NULL) == whole &&
                    (buffer.memobj != NULL) == whole && !devices[0].verify.readback;
        /* A device can go on and end either way. */
        layer_fork_remove(&devices[0]);
        lap_mem_destroy(&memory.mem);
        lap_memobj_destroy(&buffer.memobj);
        lap_memtrack_destroy(&devices[0].memtrack);
        _exit(good ? GOOD : 1);
    }
    int status = 0;
    bool ended = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == GOOD;
    alarm(0);
    return ended;
}

/* A thread that holds locks until it is told to stop. */
struct holder {
    pthread_mutex_t *mutexes[GEN_HANDLE_COUNT];
    unsigned count;
    sem_t held, stop;
    pthread_t thread;
};

static void *hold(void *argument)
{
    struct holder *holder = argument;
    for (unsigned i = 0; i < holder->count; i++)
        pthread_mutex_lock(holder->mutexes[i]);
    sem_post(&holder->held);
    sem_wait(&holder->stop);
    for (unsigned i = 0; i < holder->count; i++)
        pthread_mutex_unlock(holder->mutexes[i]);
    return NULL;
}

static void start_holding(struct holder *holder)
{
    sem_init(&holder->held, 0, 0);
    sem_init(&holder->stop, 0, 0);
    if (pthread_create(&holder->thread, NULL, hold, holder) != 0)
        abort();
    sem_wait(&holder->held);
}

static void stop_holding(struct holder *holder)
{
    sem_post(&holder->stop);
    pthread_join(holder->thread, NULL);
}

UNIT_TEST(a_fork_without_other_threads_forgets_the_parents_devices)
{
    begin();
    CHECK(fork_and_look(true));
    CHECK(all_free() && forgotten_files == 0 && !devices[0].tables.inherited && !instance.tables.inherited);
}

UNIT_TEST(what_the_forking_thread_holds_is_no_obstacle)
{
    begin();
    pthread_mutex_lock(&devices[0].submit.mutex);
    pthread_mutex_lock(&layer.object_mutex[GEN_HANDLE_VkFence]);
    CHECK(fork_and_look(true));
    /* and it still holds them */
    CHECK_EQ_INT(pthread_mutex_lock(&devices[0].submit.mutex), EDEADLK);
    CHECK_EQ_INT(pthread_mutex_unlock(&layer.object_mutex[GEN_HANDLE_VkFence]), 0);
    CHECK_EQ_INT(pthread_mutex_unlock(&devices[0].submit.mutex), 0);
    CHECK(all_free());
}

UNIT_TEST(what_another_thread_keeps_is_forgotten)
{
    begin();
    pthread_mutex_t *const kept[] = {&devices[0].submit.mutex, lap_memtrack_mutex(devices[0].memtrack),
                                     &devices[0].submit.resources.mutex, &layer.devices_mutex};
    for (unsigned i = 0; i < 4; i++) {
        struct holder holder = {.mutexes = {kept[i]}, .count = 1};
        start_holding(&holder);
        CHECK(fork_and_look(false));
        CHECK(!devices[0].torn && devices[0].memtrack && memory.mem);
        stop_holding(&holder);
        CHECK(all_free());
    }
}

UNIT_TEST(what_guards_no_device_takes_none_along)
{
    begin();
    struct holder holder = {.mutexes = {&layer.recording_mutex, &devices[1].submit.mutex, &devices[0].verify.mutex}};
    holder.count = 3;
    start_holding(&holder);
    CHECK(fork_and_look(true));
    stop_holding(&holder);
    CHECK(all_free());
}

UNIT_TEST(more_locks_than_can_be_noted_leave_the_rest_locked)
{
    begin();
    struct holder holder = {.count = 0};
    for (uint32_t type = 1; type < 30; type++)
        holder.mutexes[holder.count++] = &layer.object_mutex[type];
    start_holding(&holder);
    CHECK(fork_and_look(false)); /* its tracker's lock comes behind those */
    CHECK(!is_free(&layer.object_mutex[20]) && is_free(&layer.recording_mutex));
    stop_holding(&holder);
    CHECK(all_free());
}

UNIT_MAIN();
