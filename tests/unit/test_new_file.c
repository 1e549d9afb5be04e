/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/new_file.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

/* Opens it, writes a byte and closes it; 0 or an errno. */
static int write_one(const char *path)
{
    int fd = lap_new_file(path), error = fd < 0 ? errno : 0;

    if (fd >= 0)
        CHECK(write(fd, "1", 1) == 1 && close(fd) == 0);
    return error;
}

static bool is(const char *name, mode_t mode, off_t bytes)
{
    struct stat info;
    return stat(inside(name), &info) == 0 && (info.st_mode & 0777) == mode && info.st_size == bytes;
}

UNIT_TEST(an_existing_file_is_not_written_to)
{
    char other[256];
    int fd;

    CHECK(scratch_make());
    CHECK(write_one(inside("new")) == 0 && is("new", 0600, 1));
    snprintf(other, sizeof other, "%s", inside("other"));
    fd = open(other, O_WRONLY | O_CREAT | O_EXCL, 0644);
    CHECK(fd >= 0 && fchmod(fd, 0644) == 0 && write(fd, "four", 4) == 4 && close(fd) == 0);
    CHECK(unlink(inside("new")) == 0 && link(other, inside("new")) == 0);
    CHECK(write_one(inside("new")) == 0 && is("new", 0600, 1) && is("other", 0644, 4));
    CHECK(unlink(inside("new")) == 0 && symlink(other, inside("new")) == 0);
    CHECK_EQ_INT(write_one(inside("new")), ELOOP);
    CHECK(unlink(other) == 0);
    CHECK_EQ_INT(write_one(inside("new")), ELOOP);
    CHECK(access(other, F_OK) != 0);
    CHECK(unlink(inside("new")) == 0 && mkdir(inside("new"), 0700) == 0);
    CHECK_EQ_INT(write_one(inside("new")), EISDIR);
    CHECK(rmdir(inside("new")) == 0 && rmdir(scratch) == 0);
    CHECK_EQ_INT(write_one("/dev/null"), 0);
}

UNIT_TEST(a_pipe_without_a_reader_is_refused_at_once)
{
    int reader;

    CHECK(scratch_make() && mkfifo(inside("pipe"), 0600) == 0);
    CHECK_EQ_INT(write_one(inside("pipe")), ENXIO);
    reader = open(inside("pipe"), O_RDONLY | O_NONBLOCK);
    CHECK(reader >= 0);
    CHECK_EQ_INT(write_one(inside("pipe")), 0);
    CHECK(close(reader) == 0 && unlink(inside("pipe")) == 0 && rmdir(scratch) == 0);
}

UNIT_MAIN();
