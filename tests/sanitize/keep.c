/* SPDX-License-Identifier: MIT */
/*
 * keep: in instrumented programs libraries are never unloaded, because what drivers leak can be told from what we leak
 * (tests/lsan.supp) only while they are there when the program ends.
 */
__attribute__((visibility("default"))) int dlclose(void *handle);

int dlclose(void *handle)
{
    (void)handle;
    return 0;
}
