/* SPDX-License-Identifier: MIT */
/* lapilli print and lapilli info, as text and as JSON, of a whole trace. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/forge.h"
#include "tests/fuzz/fuzz.h"

/* The main functions of both programs, under other names: tests/fuzz/module.mk. */
int print_main(int argc, char **argv);
int info_main(int argc, char **argv);

/* Instead of lap_calls_shut_in: libFuzzer writes what it finds. */
void stay_outside(void);
void stay_outside(void) {}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    /* What the programs say goes nowhere; libFuzzer and sanitizers speak on stderr. */
    return freopen("/dev/null", "w", stdout) ? 0 : 1;
}

static int run(int (*program)(int, char **), const char *option, const char *path)
{
    char *argv[] = {(char *)"lapilli", (char *)option, (char *)path, NULL};

    optind = 0;
    return program(3, argv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const struct {
        int (*program)(int, char **);
        const char *option;
    } ways[] = {{print_main, "--color=never"}, {print_main, "--json"}, {info_main, "--"}, {info_main, "--json"}};
    int code = run(ways[bytes % 4].program, ways[bytes % 4].option, forge_place(data, bytes));

    FUZZ_CHECK(code == 0 || code == 3 || code == 4);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t capacity, unsigned seed)
{
    return forge_mutator(data, bytes, capacity, seed);
}
