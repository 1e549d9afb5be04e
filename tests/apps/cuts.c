/* SPDX-License-Identifier: MIT */
/*
 * cuts: cuts or deletes a file while it works, such as the one that it is recorded into. It must not be harmed by that.
 * Not in list.txt: what is then in the file is up to --what.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/app.h"

#define WORDS (64u << 10)

static uint32_t what;

enum { TAIL = 1, TRACE = 2, DELETE = 4, KILL = 8, EMPTY = 16 };

/* To half of its size, or to nothing. */
static void cut(const char *name, const char *suffix)
{
    char path[4096];
    struct stat now;
    snprintf(path, sizeof(path), "%s%s", name, suffix);
    if (stat(path, &now) != 0)
        return;
    CHECK((what & DELETE ? unlink(path) : truncate(path, what & EMPTY ? 0 : now.st_size / 2)) == 0);
    printf("cut %s\n", path);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--what", "1: the tail file, 2: the trace, +4: delete, not cut, +8: end by SIGKILL, +16: cut to nothing", NULL,
         &what},
        {0}};
    static const struct app_program program = {
        .name = "cuts", .what = "Cuts the files that it is recorded into.", .frames = 40, .options = options};
    const char *name = getenv("LAPILLI_FILE");
    struct app_buffer upload, result;
    struct app app;
    uint32_t seed = 1;

    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    app_buffer_create(&app, &upload, WORDS * 4, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(&app, &result, WORDS * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        const VkBufferCopy region = {0, 0, WORDS * 4};
        for (uint32_t i = 0; i < WORDS; i++)
            ((uint32_t *)upload.mapped)[i] = app_random(&seed);
        app_buffer_flush(&app, &upload, 0, VK_WHOLE_SIZE);
        VkCommandBuffer commands = app_begin(&app);
        vkCmdCopyBuffer(commands, upload.buffer, result.buffer, 1, &region);
        app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                           VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
        app_run(&app, commands);
        app_buffer_invalidate(&app, &result, 0, VK_WHOLE_SIZE);
        CHECK(memcmp(upload.mapped, result.mapped, WORDS * 4) == 0);
        if (frame == app.frames / 2 && name && (what & TAIL))
            cut(name, ".tail");
        if (frame == app.frames / 2 && name && (what & TRACE))
            cut(name, "");
    }
    if (what & KILL)
        raise(SIGKILL);
    app_buffer_destroy(&app, &upload);
    app_buffer_destroy(&app, &result);
    return app_finish(&app);
}
