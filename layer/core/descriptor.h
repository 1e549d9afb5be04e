/* SPDX-License-Identifier: MIT */
/*
 * descriptor: whether two file descriptors of the program are one open file, or one object with an inode of its own.
 * Any thread; nothing is kept.
 */
#ifndef LAP_LAYER_DESCRIPTOR_H
#define LAP_LAYER_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/types.h>

/* Regular files (memfd among them) and dma-bufs have an inode for each exported object. Device nodes, sync files and
 * other nameless files share one: false. */
bool layer_descriptor_name(int fd, dev_t *out_device, ino_t *out_inode);

/* Whether both are the same open file. False also where the kernel does not say. */
bool layer_descriptor_is_same(int a, int b);

#endif
