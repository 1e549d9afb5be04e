/* SPDX-License-Identifier: MIT */
/*
 * lives: a program that has its Vulkan in a library which it opens (plugins/engine.c), as games do, and that ends in
 * ways of which each is allowed and few programs take: it closes that library and opens it again, leaves with all of
 * its objects alive, works in destructors and in handlers of exit().
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 3 /* of --reopen */

static void (*end)(void);
static bool in_destructor, behind_destructors;

static void *open_plugin(const char *name)
{
    char path[PATH_MAX + 32];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    void *library;
    path[length > 0 ? length : 0] = '\0';
    char *folder = strrchr(path, '/');
    snprintf(folder ? folder : path, 32, "/plugins/%s.so", name);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return library;
}

static bool has_option(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return false;
}

static void call_end(int status, void *unused)
{
    end();
}

__attribute__((destructor)) static void program_ends(void)
{
    if (in_destructor)
        end();
    /* It was there before what libraries register meanwhile, so it is called after that. */
    if (behind_destructors)
        on_exit(call_end, NULL);
}

int main(int argc, char **argv)
{
    bool reopen = has_option(argc, argv, "--reopen");
    int status = 0;
    for (int round = 0; round < (reopen ? ROUNDS : 1) && status == 0; round++) {
        void *engine = open_plugin("engine");
        int (*run)(int, char **) = (int (*)(int, char **))dlsym(engine, "engine_run");
        end = (void (*)(void))dlsym(engine, "engine_end");
        status = run(argc, argv);
        if (reopen)
            dlclose(engine);
    }
    in_destructor = has_option(argc, argv, "--destructor");
    behind_destructors = has_option(argc, argv, "--behind");
    if (has_option(argc, argv, "--plugin"))
        *(void (**)(void))dlsym(open_plugin("last"), "last_call") = end;
    return status;
}
