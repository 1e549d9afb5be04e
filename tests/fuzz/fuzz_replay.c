/* SPDX-License-Identifier: MIT */
/* A whole replay, or a report of lapilli check, on a driver that looks at everything it is given (driver.h). */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replayer/core/handles.h"
#include "replayer/core/report.h"
#include "replayer/device/shader_validation.h"
#include "replayer/play/check_trace.h"
#include "replayer/play/measure.h"
#include "replayer/play/player.h"
#include "tests/fuzz/driver.h"
#include "tests/fuzz/forge.h"
#include "tests/fuzz/fuzz.h"

/* The player's calls of dlopen and dlsym come here (module.mk): the driver stands for the loader. */
void *driver_dlopen(const char *path, int flags);
void *driver_dlsym(void *library, const char *name);

static char driver_library;

void *driver_dlopen(const char *path, int flags)
{
    FUZZ_CHECK(strcmp(path, "libvulkan.so.1") == 0);
    return &driver_library;
}

void *driver_dlsym(void *library, const char *name)
{
    FUZZ_CHECK(library == &driver_library);
    return strcmp(name, "vkGetInstanceProcAddr") == 0 ? (void *)driver_get_instance_proc_addr : NULL;
}

static char folder[] = P_tmpdir "/lapilli-fuzz-XXXXXX"; /* of pictures and dumps */

static void remove_folder(void)
{
    (void)rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    if (!mkdtemp(folder))
        return 1;
    atexit(remove_folder);
    return freopen("/dev/null", "w", stdout) ? 0 : 1;
}

/* Takes most code, and every word of it into account. */
static enum lap_status judge(const struct replay_spirv_target *target, const uint32_t *words, size_t word_count)
{
    uint32_t sum = target->api_version;

    for (size_t i = 0; i < word_count; i++)
        sum = sum * 31 + words[i];
    return sum % 8 ? LAP_OK : lap_fail(LAP_ERROR_REPLAY, "byte 0: it is not liked");
}

/* What is written goes at once: there would be no end of it. */
static void empty_folder(void)
{
    DIR *dir = opendir(folder);

    FUZZ_CHECK(dir != NULL);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.')
            FUZZ_CHECK(unlinkat(dirfd(dir), entry->d_name, 0) == 0);
    closedir(dir);
}

/* Which options: all that change what is done with a trace, and need neither a display nor another GPU. The same input
 * is always played with the same ones. */
static void choose(size_t bytes, struct replay_options *options)
{
    static struct lap_frame_range first_frames = {1, 2};
    uint32_t mixed = (uint32_t)(bytes * 2654435761u) >> 8; /* Fibonacci hashing */

    *options = (struct replay_options){.quiet = true,
                                       .verify = bytes % 2,
                                       .measure_fd = -1,
                                       .screenshot_dir = folder,
                                       .threads = mixed % 4 == 0 ? 3 : 1};
    options->present = mixed / 4 % 2 ? REPLAY_PRESENT_AUTO : REPLAY_PRESENT_OFF;
    options->strict = mixed / 2097152 % 2 == 0;
    options->force = mixed / 8 % 4 == 0;
    options->judge = mixed / 32 % 4 == 0 ? judge : NULL;
    options->measure = mixed / 128 % 4 == 0;
    options->blackhole = mixed / 512 % 8 == 0;
    options->translate_addresses = mixed / 4096 % 4 == 0;
    options->preload = mixed / 16384 % 4 == 0;
    options->ahead_bytes = mixed / 65536 % 4 == 0 ? 65536 : 0;
    if (mixed / 262144 % 8 == 0) {
        options->screenshots = (struct lap_frames){&first_frames, 1};
        options->mismatch_dir = options->dump_dir = options->verify ? folder : NULL;
    }
}

static void play(const char *path, size_t bytes)
{
    const struct lap_log log = {.fd = -1, .level = LAP_LOG_ERROR};
    struct replay_options options;
    struct replay r;
    enum lap_status status;

    choose(bytes, &options);
    options.file = path;
    status = replay_open(&r, &options, &log);
    if (status == LAP_OK)
        status = replay_run(&r);
    FUZZ_CHECK(status >= 0 || lap_error_message()[0]);
    if (status >= 0 && options.measure)
        FUZZ_CHECK(replay_measure_write(&r) == LAP_OK);
    FUZZ_CHECK(replay_close(&r));
    if (options.screenshots.count)
        empty_folder();
}

static void examine(const char *path)
{
    const struct lap_log log = {.fd = -1, .level = LAP_LOG_ERROR};
    struct replay_options options = {.file = path, .quiet = true, .json = true, .present = REPLAY_PRESENT_OFF};
    struct replay_report report = {.count = 0};
    struct replay r;
    enum lap_status status = replay_open(&r, &options, &log);

    r.report = &report;
    if (status == LAP_OK && replay_check_trace(&r) == LAP_OK)
        FUZZ_CHECK(replay_report_write(&report, &r, stdout) == LAP_OK);
    FUZZ_CHECK(replay_close(&r));
    replay_report_finish(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *path = forge_place(data, bytes);

    play(path, bytes);
    driver_reset();
    if (bytes % 8 == 0) {
        examine(path);
        driver_reset();
    }
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t capacity, unsigned seed)
{
    return forge_mutator(data, bytes, capacity, seed);
}
