/* SPDX-License-Identifier: MIT */
/* What a trace says of its recording, with and without memory for it. Only the layer's description.c. */
#include "layer/core/description.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "layer/core/layer.h"
#include "tests/unit/starved_json.h"
#include "tests/unit/unit.h"

#define WHOLE "{\"machine\":{\"name\":\"it\",\"number\":7},\"flag\":true}"

struct layer_state layer = {.log = {.fd = -1, .level = LAP_LOG_WARNING}};
static char said[128];

void layer_recording_info(const char *json)
{
    snprintf(said, sizeof said, "%s", json);
}

void layer_options_program_path(const struct layer_options *options, char out[LAYER_PROGRAM_BYTES])
{
    *out = '\0';
}

static void describe(void)
{
    struct layer_description description = layer_describe_begin();
    struct cJSON *machine = layer_describe_object(&description, "machine");

    layer_describe_text(&description, machine, "name", "it");
    layer_describe_number(&description, machine, "number", 7);
    layer_describe_flag(&description, NULL, "flag", true);
    layer_describe_end(&description, "the machine");
}

UNIT_TEST(a_description_short_of_memory_is_left_out)
{
    int ends[2];
    unsigned failed = 0;

    CHECK_EQ_INT(pipe(ends), 0);
    layer.log.fd = ends[1];
    for (bool whole = false; !whole; failed++) {
        char line[256] = "";
        said[0] = '\0';
        starve_json(failed);
        describe();
        feed_json();
        whole = said[0] != '\0';
        if (whole)
            CHECK(strcmp(said, WHOLE) == 0);
        else
            CHECK(read(ends[0], line, sizeof line - 1) > 0 && strstr(line, "no memory for the trace's description of "
                                                                           "the machine"));
    }
    CHECK(failed > 8); /* each member was without once */
    close(ends[0]);
    close(ends[1]);
}

UNIT_MAIN();
