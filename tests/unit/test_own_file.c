/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file/own_file.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

static int create(const char *name)
{
    return open(inside(name), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static void scratch_remove(void)
{
    static const char *const names[] = {"file", "stranger", "moved"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        (void)unlink(inside(names[i]));
    CHECK_EQ_INT(rmdir(scratch), 0);
}

static bool is_file(int fd, const char *name)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && stat(inside(name), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

UNIT_TEST(descriptors_have_high_numbers)
{
    struct lap_own_file file;
    CHECK(scratch_make());
    int low = create("file");
    lap_own_file_init(&file, low, inside("file"));
    int fd = lap_own_file_fd(&file);
    CHECK(fd >= 1024 - 64 && fcntl(low, F_GETFD) < 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) && is_file(fd, "file"));
    CHECK_EQ_INT(lap_own_file_close(&file), 0);
    CHECK(!lap_own_file_is_open(&file) && lap_own_file_fd(&file) < 0 && errno == EBADF && fcntl(fd, F_GETFD) < 0);
    lap_own_file_release(&file);
    scratch_remove();
}

/* Numbers that high are not to be had: it stays where it is. */
UNIT_TEST(a_low_limit_of_descriptors_is_accepted)
{
    struct rlimit limit, low;
    struct lap_own_file file;
    CHECK(scratch_make() && getrlimit(RLIMIT_NOFILE, &limit) == 0);
    low = limit;
    low.rlim_cur = 64;
    CHECK(setrlimit(RLIMIT_NOFILE, &low) == 0);
    lap_own_file_init(&file, create("file"), inside("file"));
    CHECK(is_file(lap_own_file_fd(&file), "file"));
    low.rlim_cur = 256;
    CHECK(setrlimit(RLIMIT_NOFILE, &low) == 0);
    lap_own_file_release(&file);
    lap_own_file_init(&file, open(inside("file"), O_RDWR), inside("file"));
    CHECK(is_file(lap_own_file_fd(&file), "file") && file.fd == 256 - 64);
    lap_own_file_release(&file);
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    scratch_remove();
}

UNIT_TEST(a_descriptor_closed_by_the_program_is_opened_again)
{
    struct lap_own_file file;
    char folder[4096];
    CHECK(scratch_make() && getcwd(folder, sizeof(folder)) && chdir(inside("")) == 0);
    int fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0600);
    lap_own_file_init(&file, fd, "file"); /* it need not say where that is */
    CHECK(chdir(folder) == 0);
    lap_own_file_hold(&file);
    fd = file.fd;
    close(fd);
    int again = lap_own_file_fd(&file), other = open(inside("file"), O_RDONLY);
    CHECK(again >= 0 && is_file(again, "file"));
    CHECK(flock(other, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK);
    close(other);
    lap_own_file_release(&file);
    scratch_remove();
}

/* Nor where the same number stands for it. */
UNIT_TEST(a_descriptor_reused_by_the_program_is_left_alone)
{
    struct lap_own_file file;
    CHECK(scratch_make());
    lap_own_file_init(&file, create("file"), inside("file"));
    int fd = file.fd, stranger = create("stranger");
    CHECK_EQ_INT(dup2(stranger, fd), fd);
    int again = lap_own_file_fd(&file);
    CHECK(again != fd && is_file(again, "file") && is_file(fd, "stranger"));
    CHECK_EQ_INT(dup2(stranger, again), again);
    CHECK(unlink(inside("file")) == 0 && create("file") >= 0); /* another one, perhaps with the same inode */
    CHECK(lap_own_file_fd(&file) < 0 && errno == EBADF);
    CHECK_EQ_INT(lap_own_file_close(&file), 0);
    CHECK(is_file(again, "stranger"));
    lap_own_file_release(&file);

    lap_own_file_init(&file, open(inside("file"), O_RDWR), NULL);
    fd = file.fd;
    CHECK_EQ_INT(dup2(stranger, fd), fd);
    lap_own_file_disown(&file);
    CHECK(is_file(fd, "stranger") && !lap_own_file_is_open(&file));
    lap_own_file_release(&file);
    scratch_remove();
}

/* The numbers that a program takes in a loop, again and again. */
static struct {
    int stranger, first, end;
    _Atomic bool taken; /* all of them, often enough */
} loop;

static void *take_numbers(void *unused)
{
    for (unsigned pass = 0; pass < 20; pass++) {
        for (int fd = loop.first; fd < loop.end; fd++)
            while (dup2(loop.stranger, fd) < 0 && (errno == EBUSY || errno == EINTR))
                ;
        for (int fd = loop.first; fd < loop.end; fd++)
            close(fd);
    }
    loop.taken = true;
    return unused;
}

/* In such a loop the lowest free number, which open() gives, is the next one. */
UNIT_TEST(a_loop_that_takes_all_numbers_does_not_win)
{
    struct rlimit limit;
    struct lap_own_file file;
    pthread_t thread;
    uint64_t lost = 0;
    CHECK(scratch_make() && getrlimit(RLIMIT_NOFILE, &limit) == 0);
    loop.stranger = create("stranger");
    lap_own_file_init(&file, create("file"), inside("file"));
    loop.first = loop.stranger + 1;
    loop.end = limit.rlim_cur < 20000 ? (int)limit.rlim_cur : 20000;
    CHECK(pthread_create(&thread, NULL, take_numbers, NULL) == 0);
    while (!loop.taken)
        lost += lap_own_file_fd(&file) < 0;
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_EQ_U64(lost, 0);
    CHECK(is_file(lap_own_file_fd(&file), "file"));
    lap_own_file_release(&file);
    close(loop.stranger);
    scratch_remove();
}

UNIT_TEST(a_descriptor_that_is_given_away_is_the_callers)
{
    struct lap_own_file file;
    CHECK(scratch_make());
    lap_own_file_init(&file, create("file"), NULL);
    int fd = lap_own_file_give(&file);
    CHECK(is_file(fd, "file") && !lap_own_file_is_open(&file) && lap_own_file_give(&file) < 0);
    lap_own_file_release(&file);
    CHECK(is_file(fd, "file"));
    lap_own_file_init(&file, fd, NULL);
    close(file.fd);
    CHECK(lap_own_file_give(&file) < 0 && !lap_own_file_is_open(&file));
    lap_own_file_release(&file);
    scratch_remove();
}

UNIT_TEST(a_link_is_not_opened_again)
{
    struct lap_own_file file;
    CHECK(scratch_make());
    lap_own_file_init(&file, create("file"), inside("file"));
    close(file.fd);
    char moved[256];
    snprintf(moved, sizeof(moved), "%s", inside("moved"));
    CHECK(rename(inside("file"), moved) == 0);
    CHECK(symlink(moved, inside("file")) == 0 && lap_own_file_fd(&file) < 0);
    lap_own_file_release(&file);
    scratch_remove();
}

UNIT_MAIN();
