/* SPDX-License-Identifier: MIT */
/* A whole replay, or a report of lapilli check, on a driver that looks at everything it is given (driver.h). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/examine.h"
#include "replayer/player.h"
#include "replayer/report.h"
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

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    return freopen("/dev/null", "w", stdout) ? 0 : 1;
}

static void play(const char *path, bool verify, unsigned validation)
{
    const struct lap_log log = {.fd = -1, .level = LAP_LOG_ERROR};
    struct replay_options options = {.file = path,
                                     .quiet = true,
                                     .verify = verify,
                                     .present = REPLAY_PRESENT_OFF,
                                     .validate_descriptors = (enum replay_validation)validation,
                                     .screenshot_dir = ".",
                                     .threads = 1};
    struct replay r;
    enum lap_status status = replay_open(&r, &options, &log);

    if (status == LAP_OK)
        status = replay_run(&r);
    FUZZ_CHECK(status >= 0 || lap_error_message()[0]);
    FUZZ_CHECK(replay_close(&r));
}

static void examine(const char *path)
{
    const struct lap_log log = {.fd = -1, .level = LAP_LOG_ERROR};
    struct replay_options options = {.file = path, .quiet = true, .json = true, .present = REPLAY_PRESENT_OFF};
    struct replay_report report = {.count = 0};
    struct replay r;
    enum lap_status status = replay_open(&r, &options, &log);

    r.report = &report;
    if (status == LAP_OK && replay_examine(&r) == LAP_OK)
        FUZZ_CHECK(replay_report_write(&report, &r, stdout) == LAP_OK);
    FUZZ_CHECK(replay_close(&r));
    replay_report_finish(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *path = forge_place(data, bytes);

    play(path, bytes % 2, bytes / 2 % 3);
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
