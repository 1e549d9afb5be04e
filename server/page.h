/* SPDX-License-Identifier: MIT */
/* page: the files of the page (page/), which the build embeds (page/embed.py). */
#ifndef LAP_SERVER_PAGE_H
#define LAP_SERVER_PAGE_H

#include <stddef.h>

struct lap_page_file {
    const char *name; /* "style.css" */
    const char *type; /* of HTTP */
    const char *etag; /* of its content, in quotes */
    const unsigned char *data;
    size_t bytes;
};

extern const struct lap_page_file lap_page_files[];
extern const size_t lap_page_file_count;

#endif
