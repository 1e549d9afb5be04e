/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "tools/record/launch.h"

#define VARIABLE "LAPILLI_TEST_LIST"

UNIT_TEST(lists_grow_at_the_end_that_was_asked_for)
{
    unsetenv(VARIABLE);
    CHECK(lap_launch_add(VARIABLE, "a", false));
    CHECK_STR(getenv(VARIABLE), "a");
    CHECK(lap_launch_add(VARIABLE, "b", false));
    CHECK_STR(getenv(VARIABLE), "b:a");
    CHECK(lap_launch_add(VARIABLE, "c", true));
    CHECK_STR(getenv(VARIABLE), "b:a:c");
    CHECK(lap_launch_add(VARIABLE, "a", false));
    CHECK_STR(getenv(VARIABLE), "b:a:c");
    CHECK(lap_launch_add(VARIABLE, "aa", true));
    CHECK_STR(getenv(VARIABLE), "b:a:c:aa");
}

UNIT_TEST(layers_of_the_environment_stay)
{
    setenv("VK_INSTANCE_LAYERS", "VK_LAYER_own", 1);
    unsetenv("VK_LAYER_PATH");
    unsetenv("VK_ADD_LAYER_PATH");
    CHECK(lap_launch_layer("/x/explicit_layer.d"));
    CHECK_STR(getenv("VK_INSTANCE_LAYERS"), "VK_LAYER_LAPILLI_capture:VK_LAYER_own");
    CHECK(getenv("VK_LAYER_PATH") == NULL); /* setting it would hide the system's layers */
    CHECK_STR(getenv("VK_ADD_LAYER_PATH"), "/x/explicit_layer.d");
    setenv("VK_LAYER_PATH", "/own", 1);
    CHECK(lap_launch_layer("/x/explicit_layer.d"));
    CHECK_STR(getenv("VK_LAYER_PATH"), "/own:/x/explicit_layer.d");
    CHECK_STR(getenv("VK_INSTANCE_LAYERS"), "VK_LAYER_LAPILLI_capture:VK_LAYER_own");
    CHECK(!lap_launch_layer("/with:colon"));
}

static struct lap_launched run_shell(const char *script)
{
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)script, NULL};
    return lap_launch_run(argv);
}

UNIT_TEST(exit_statuses_are_those_of_a_shell)
{
    char *nothing[] = {(char[]){"/nonexistent/program"}, NULL};
    struct lap_launched launched = run_shell("exit 0");

    CHECK(launched.status == 0 && launched.signal == 0 && launched.error == 0 && launched.process > 0);
    launched = run_shell("exit 37");
    CHECK(launched.status == 37 && launched.signal == 0 && launched.error == 0);
    launched = run_shell("kill -KILL $$");
    CHECK(launched.status == 128 + SIGKILL && launched.signal == SIGKILL && launched.error == 0);
    launched = lap_launch_run(nothing);
    CHECK(launched.status == 127 && launched.error == ENOENT && launched.process == 0);
}

UNIT_TEST(a_signal_to_us_is_passed_on)
{
    CHECK_EQ_INT(run_shell("trap 'kill $!; exit 42' TERM; sleep 10 & kill -TERM $PPID; wait").status, 42);
}

UNIT_MAIN();
