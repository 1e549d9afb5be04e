/* SPDX-License-Identifier: MIT */
/*
 * closes: closes descriptors that it did not open while it works, as daemons and launchers do, and has files of its own
 * under their numbers then. Nobody may write to those, cut them or close them. Not in list.txt: a driver could mind.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/app.h"

#define WORDS      (64u << 10)
#define FILES      61u
#define FILE_BYTES 1000
#define MOST       4200 /* numbers that --what 4 takes */

static uint32_t what;

enum { COUNTS = 1, ALL = 2, EACH = 4, DELETE = 8, KILL = 16, ABORT = 32 };

static struct {
    int files[FILES];
    int all; /* behind many numbers */
} own;

static void fill(uint8_t bytes[FILE_BYTES], uint32_t seed)
{
    for (uint32_t i = 0; i < FILE_BYTES; i++)
        bytes[i] = (uint8_t)app_random(&seed);
}

/* Another thread's open() may have the number and not yet the file (EBUSY of dup2(2)). */
static void take_number(int file, int number)
{
    int taken;
    do
        taken = dup2(file, number);
    while (taken < 0 && (errno == EBUSY || errno == EINTR));
    CHECK(taken == number);
}

/* It gets the lowest number that is free. */
static int make_file(uint32_t seed)
{
    char name[] = "/tmp/lapilli-closes-XXXXXX";
    uint8_t bytes[FILE_BYTES];
    int file = mkstemp(name);
    CHECK(file >= 0 && unlink(name) == 0);
    fill(bytes, seed);
    CHECK(write(file, bytes, sizeof(bytes)) == sizeof(bytes));
    return file;
}

static void check_file(const struct app *app, int file, uint32_t seed)
{
    uint8_t bytes[FILE_BYTES], expected[FILE_BYTES];
    struct stat now;
    CHECK(fstat(file, &now) == 0);
    EXPECT_EQ(app, now.st_size, FILE_BYTES);
    EXPECT_EQ(app, lseek(file, 0, SEEK_CUR), FILE_BYTES);
    fill(expected, seed);
    EXPECT_EQ(app, pread(file, bytes, sizeof(bytes), 0), FILE_BYTES);
    EXPECT_EQ(app, memcmp(bytes, expected, sizeof(bytes)), 0);
}

static void take_descriptors(void)
{
    const char *name = getenv("LAPILLI_FILE");
    own.all = -1;
    if (what & COUNTS)
        for (int fd = 3; fd < 64; fd++)
            close(fd);
    if (what & (ALL | EACH))
        CHECK(close_range(3, ~0u, 0) == 0);
    for (uint32_t i = 0; i < FILES; i++)
        own.files[i] = make_file(i + 1);
    if (what & EACH) {
        own.all = make_file(FILES + 1);
        for (int fd = own.all + 1; fd < MOST; fd++)
            take_number(own.all, fd);
    }
    if (what & DELETE && name)
        CHECK(unlink(name) == 0);
}

static void check_descriptors(const struct app *app)
{
    for (uint32_t i = 0; i < FILES; i++)
        check_file(app, own.files[i], i + 1);
    if (own.all < 0)
        return;
    for (int fd = own.all; fd < MOST; fd++)
        CHECK(fcntl(fd, F_GETFD) >= 0);
    check_file(app, own.all, FILES + 1);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--what",
         "1: close 3 to 63, 2: close all, 4: all, and a file of its own gets each number; +8: delete the trace, "
         "+16: end by SIGKILL, +32: by SIGABRT",
         NULL, &what},
        {0}};
    static const struct app_program program = {
        .name = "closes", .what = "Closes descriptors that it did not open.", .frames = 40, .options = options};
    struct app_buffer upload, result;
    struct app app;
    uint32_t seed = 1;

    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    app_buffer_create(&app, &upload, WORDS * 4, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(&app, &result, WORDS * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        const VkBufferCopy region = {0, 0, WORDS * 4};
        if (frame == app.frames / 2)
            take_descriptors();
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
    }
    check_descriptors(&app);
    if (what & KILL)
        raise(SIGKILL);
    if (what & ABORT)
        abort();
    app_buffer_destroy(&app, &upload);
    app_buffer_destroy(&app, &result);
    return app_finish(&app);
}
