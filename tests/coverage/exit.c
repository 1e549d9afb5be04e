/* SPDX-License-Identifier: MIT */
/* Linked into programs whose coverage is counted (the linker's --wrap): _exit() does not forget the counts. */
#include <gcov.h>
#include <stdnoreturn.h>

noreturn void __real__exit(int code);
noreturn void __wrap__exit(int code);

noreturn void __wrap__exit(int code)
{
    __gcov_dump();
    __real__exit(code);
}
