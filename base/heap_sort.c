/* SPDX-License-Identifier: MIT */
#include "base/heap_sort.h"

static void swap(unsigned char *a, unsigned char *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        unsigned char kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

void lap_heap_sort(void *elements, size_t count, size_t bytes, int (*compare)(const void *, const void *, void *),
                   void *context)
{
    unsigned char *at = elements;

    for (size_t start = count / 2, end = count; end > 1;) {
        size_t root = 0, child;
        if (start > 0) {
            root = --start;
        } else {
            end--;
            swap(at, at + end * bytes, bytes);
        }
        for (; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && compare(at + child * bytes, at + (child + 1) * bytes, context) < 0)
                child++;
            if (compare(at + root * bytes, at + child * bytes, context) >= 0)
                break;
            swap(at + root * bytes, at + child * bytes, bytes);
        }
    }
}
