/* SPDX-License-Identifier: MIT */
/* new_file: files for output that other processes can't redirect or read. Any thread. */
#ifndef LAP_BASE_FILE_NEW_FILE_H
#define LAP_BASE_FILE_NEW_FILE_H

/* Opens a file for writing that is new and for its owner alone. A regular one that exists is removed before, so that a
 * file with other names, or open elsewhere, is not overwritten; a device or a pipe is opened as it is; a symbolic link
 * is an error. The caller closes the descriptor; -1: errno says why (ELOOP: the link). */
int lap_new_file(const char *path);

/* A new file for its owner alone that has no name yet, for reading and writing. It goes with its last descriptor,
 * unless linkat names it. -1: errno says why, such as a filesystem that has no such files. */
int lap_nameless_file(const char *folder);

#endif
