/* SPDX-License-Identifier: MIT */
/*
 * Memory for the layer utilities' C++ (tables of formats when the library is loaded, the settings file). When out of
 * memory, their operator new would throw through C and out of a constructor: that ends the program. So it falls back to
 * a reserve, which takes no pages until then. Only this library sees these functions (exports.map); their names are
 * those that the Itanium C++ ABI gives to operator new and operator delete.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define RESERVE_BYTES ((size_t)1 << 20) /* many times the use of both */

/* The letter is the ABI's for size_t. */
#ifdef __LP64__
#define OF_SIZE(name) name##m
#else
#define OF_SIZE(name) name##j
#endif

void *OF_SIZE(_Znw)(size_t bytes);
void *OF_SIZE(_Zna)(size_t bytes);
void _ZdlPv(void *memory);
void _ZdaPv(void *memory);
void OF_SIZE(_ZdlPv)(void *memory, size_t bytes);
void OF_SIZE(_ZdaPv)(void *memory, size_t bytes);

static _Alignas(max_align_t) unsigned char reserve[RESERVE_BYTES];
static atomic_size_t used;

void *OF_SIZE(_Znw)(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    size_t whole = (bytes + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1), at;
    if (memory)
        return memory;
    at = whole < RESERVE_BYTES ? atomic_fetch_add(&used, whole) : RESERVE_BYTES;
    if (at + whole > RESERVE_BYTES)
        abort(); /* as an uncaught exception would */
    return reserve + at;
}

void *OF_SIZE(_Zna)(size_t bytes)
{
    return OF_SIZE(_Znw)(bytes);
}

void _ZdlPv(void *memory)
{
    uintptr_t at = (uintptr_t)memory;
    if (at < (uintptr_t)reserve || at >= (uintptr_t)reserve + RESERVE_BYTES)
        free(memory);
}

void _ZdaPv(void *memory)
{
    _ZdlPv(memory);
}

void OF_SIZE(_ZdlPv)(void *memory, size_t bytes)
{
    _ZdlPv(memory);
}

void OF_SIZE(_ZdaPv)(void *memory, size_t bytes)
{
    _ZdlPv(memory);
}
