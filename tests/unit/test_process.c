/* SPDX-License-Identifier: MIT */
#include "base/process/process.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/machine.h"
#include "tests/unit/unit.h"

/* The number here, twice, and that of a child's child. Exit status of a child: 0 when all are right. */
static int look(int depth)
{
    bool right = lap_process() == getpid() && lap_process() == getpid();
    if (depth > 0) {
        pid_t child = fork();
        int status = -1;
        if (child == 0)
            _exit(look(depth - 1));
        right &= child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return right && lap_process() == getpid() ? 0 : 1;
}

#define NEEDS_WIPED_PAGES                                                                                              \
    if (unit_is_emulated())                                                                                            \
    SKIP("an emulator clears no page in a child (MADV_WIPEONFORK)")

UNIT_TEST(children_have_numbers_of_their_own)
{
    NEEDS_WIPED_PAGES;
    CHECK_EQ_INT(look(2), 0);
    CHECK_EQ_INT(look(2), 0);
    CHECK(atomic_load(&lap_process_page) != NULL);
}

/* No handler of pthread_atfork runs in this one. */
UNIT_TEST(a_fork_by_system_call_is_noticed)
{
    int parent = lap_process(), status = -1;
    NEEDS_WIPED_PAGES;
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0)
        _exit(lap_process() != parent && lap_process() == (int)syscall(SYS_getpid) ? 0 : 1);
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK_EQ_INT(WEXITSTATUS(status), 0);
    CHECK_EQ_INT(lap_process(), parent);
}

/* It is not asked again while nothing was cleared. */
UNIT_TEST(the_process_id_is_asked_for_once)
{
    int number = lap_process();
    atomic_int *page = atomic_load(&lap_process_page);
    if (!page)
        SKIP("the kernel clears no page in a child");
    atomic_store(page, number + 1);
    CHECK_EQ_INT(lap_process(), number + 1);
    atomic_store(page, 0);
    CHECK_EQ_INT(lap_process(), number);
    CHECK_EQ_INT(atomic_load(page), number);
}

static void *ask(void *out)
{
    *(int *)out = lap_process();
    return NULL;
}

UNIT_TEST(threads_have_one_number)
{
    pthread_t threads[4];
    int numbers[4] = {0};
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, ask, &numbers[i]) == 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK_EQ_INT(numbers[i], getpid());
    }
}

UNIT_MAIN();
