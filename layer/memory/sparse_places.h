/* SPDX-License-Identifier: MIT */
/*
 * sparse_places: the memory of each page of a sparse buffer or image, where parts of the run may be recorded: a part
 * binds them again. Offsets are those of layer/submit/sparse.h. Under the device's submit.mutex.
 */
#ifndef LAP_LAYER_SPARSE_PLACES_H
#define LAP_LAYER_SPARSE_PLACES_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

struct layer_sparse_place {
    uint64_t offset, bytes;
    uint64_t memory, index; /* handle and index of the record */
    uint64_t memory_offset;
};

struct layer_sparse_places {
    struct layer_sparse_place *items; /* by offset; none overlaps another one */
    uint32_t count, capacity;
};

/* Of an object. */
struct layer_sparse_pages {
    struct layer_sparse_places places, metadata;
};

/* The range has this memory from now on; place->memory 0: none. False: out of memory, and the list is empty. */
bool layer_sparse_places_set(struct layer_sparse_places *places, const struct layer_sparse_place *place);
void layer_sparse_places_finish(struct layer_sparse_places *places);

/* The same for an object, whose pages are made when it gets the first one. */
bool layer_sparse_pages_set(struct layer_sparse_pages **pages, bool metadata, const struct layer_sparse_place *place);
void layer_sparse_pages_destroy(struct layer_sparse_pages *pages);

#endif
