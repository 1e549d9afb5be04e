/* SPDX-License-Identifier: MIT */
/* folder: makes and removes folders. Any thread. */
#ifndef LAP_BASE_FILE_FOLDER_H
#define LAP_BASE_FILE_FOLDER_H

#include "base/status.h"

/* Makes a folder and those above it, as far as they are missing; like `mkdir -p`. LAP_ERROR_IO, with the folder and the
 * reason, when that can't be done (what was made stays); LAP_ERROR_ARGUMENT when the name is too long. */
enum lap_status lap_folder_make(const char *path) LAP_MUST_CHECK;

/* Removes a folder with all that is in it, as far as that can be done. Links in it are not followed. */
void lap_folder_remove(const char *path);

#endif
