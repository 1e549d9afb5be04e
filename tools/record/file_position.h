/* SPDX-License-Identifier: MIT */
/* file_position: how far another process of this user has read a file, for the progress of a program that says nothing
 * of it. Any thread. */
#ifndef LAP_TOOLS_RECORD_FILE_POSITION_H
#define LAP_TOOLS_RECORD_FILE_POSITION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* file: its device and inode. False: the process does not have it open, or can't be looked at. */
bool lap_file_position(pid_t process, const struct stat *file, uint64_t *out);

#endif
