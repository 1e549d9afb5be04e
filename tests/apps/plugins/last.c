/* SPDX-License-Identifier: MIT */
/*
 * last: a library that is opened when all others have been. Its destructor calls who asked for that.
 */
__attribute__((visibility("default"))) extern void (*last_call)(void);
void (*last_call)(void);

__attribute__((destructor)) static void call(void)
{
    if (last_call)
        last_call();
}
