/* SPDX-License-Identifier: MIT */
/* Lists of what a replay is to read, and files of what it has read. */
#include "inspector/state/contents.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/unit.h"

static enum lap_status read_text(const char *text, struct contents *out)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    enum lap_status status;

    *out = (struct contents){.at = NULL};
    CHECK(file);
    status = contents_read_list(file, out);
    (void)fclose(file);
    return status;
}

UNIT_TEST(a_list_is_read_as_it_was_written)
{
    struct contents written = {.at = NULL}, found;
    const struct content image = {.kind = CONTENT_IMAGE,
                                  .index = 7,
                                  .aspect = VK_IMAGE_ASPECT_STENCIL_BIT,
                                  .level = 3,
                                  .layer = 2,
                                  .layout = VK_IMAGE_LAYOUT_PRESENT_SRC_KHR,
                                  .queue = 4};
    char text[256] = "";
    FILE *file = fmemopen(text, sizeof text, "w");

    CHECK_EQ_INT(contents_add(&written, &(struct content){.index = UINT64_MAX, .offset = 8, .bytes = 1u << 31}),
                 LAP_OK);
    CHECK_EQ_INT(contents_add(&written, &image), LAP_OK);
    CHECK_EQ_INT(contents_add(&written, &(struct content){.kind = CONTENT_QUERIES, .index = 2, .bytes = 16}), LAP_OK);
    CHECK_EQ_INT(contents_write_list(&written, file), LAP_OK);
    (void)fclose(file);
    CHECK_STR(text, "buffer 18446744073709551615 8 2147483648\nimage 7 4 3 2 1000001002 4\nqueries 2 16\n");
    CHECK_EQ_INT(read_text(text, &found), LAP_OK);
    CHECK_EQ_U64(found.count, 3);
    CHECK(found.at[0].kind == CONTENT_BUFFER && found.at[0].index == UINT64_MAX && found.at[0].bytes == 1u << 31);
    CHECK(found.at[1].kind == image.kind && found.at[1].index == image.index && found.at[1].aspect == image.aspect);
    CHECK(found.at[1].level == image.level && found.at[1].layer == image.layer);
    CHECK(found.at[1].layout == image.layout && found.at[1].queue == image.queue);
    CHECK(found.at[2].kind == CONTENT_QUERIES && found.at[2].bytes == 16);
    contents_finish(&written);
    contents_finish(&found);
}

UNIT_TEST(a_line_that_names_nothing_is_an_error_with_its_number)
{
    static const char *const wrong[] = {"buffer 1 2\n",
                                        "buffer 1 2 3 4\n",
                                        "buffer 1 -2 3\n",
                                        "buffer  1 2 3\n",
                                        "image 1 1 0 0 5\n",
                                        "image 1 4294967296 0 0 5 1\n",
                                        "queries 1 4294967296\n",
                                        "buffer 1 2 99999999999999999999\n",
                                        "texture 1\n",
                                        "\n"};
    struct contents found;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[128];
        snprintf(text, sizeof text, "buffer 1 0 4\n%s", wrong[i]);
        CHECK_EQ_INT(read_text(text, &found), LAP_ERROR_ARGUMENT);
        CHECK(strstr(lap_error_message(), "line 2"));
        contents_finish(&found);
    }
}

static int answers(const struct contents_answer *list, size_t count, const char *bytes)
{
    int fd = memfd_create("answers", MFD_CLOEXEC);

    CHECK(fd >= 0);
    for (size_t i = 0; i < count; i++) {
        uint8_t head[CONTENTS_ANSWER_BYTES];
        contents_encode_answer(&list[i], head);
        CHECK(write(fd, head, sizeof head) == (ssize_t)sizeof head);
        CHECK(write(fd, bytes, (size_t)list[i].bytes) == (ssize_t)list[i].bytes);
    }
    return fd;
}

UNIT_TEST(answers_are_found_by_their_lines)
{
    const struct contents_answer list[] = {{true, 7, 0, 4}, {false, 8, 1, 0}, {true, 9, 2, 3}};
    struct contents_file file;
    char bytes[2];
    int fd = answers(list, 3, "abcd");

    CHECK_EQ_INT(contents_open(fd, &file), LAP_OK);
    CHECK(contents_has(&file, 0, 7, 4) && contents_has(&file, 2, 9, 3));
    CHECK(!contents_has(&file, 0, 7, 5) && !contents_has(&file, 0, 8, 4) && !contents_has(&file, 1, 8, 0) &&
          !contents_has(&file, 3, 9, 3));
    CHECK_EQ_INT(contents_read(&file, 2, 1, bytes, 2), LAP_OK);
    CHECK(memcmp(bytes, "bc", 2) == 0);
    contents_close(&file);
    close(fd);
}

UNIT_TEST(a_file_that_breaks_off_or_is_none_is_refused)
{
    const struct contents_answer list[] = {{true, 7, 0, 4}, {true, 8, 1, 4}};
    struct contents_file file;
    int fd = answers(list, 2, "abcd");

    for (off_t end = 1; end < 2 * (CONTENTS_ANSWER_BYTES + 4); end++) {
        int cut = memfd_create("cut", MFD_CLOEXEC);
        uint8_t all[2 * (CONTENTS_ANSWER_BYTES + 4)];
        CHECK(pread(fd, all, sizeof all, 0) == (ssize_t)sizeof all);
        CHECK(write(cut, all, (size_t)end) == end);
        CHECK_EQ_INT(contents_open(cut, &file), end == CONTENTS_ANSWER_BYTES + 4 ? LAP_OK : LAP_ERROR_FORMAT);
        contents_close(&file);
        close(cut);
    }
    CHECK(pwrite(fd, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, 24) == 8); /* more bytes than any file has */
    CHECK_EQ_INT(contents_open(fd, &file), LAP_ERROR_FORMAT);
    contents_close(&file);
    close(fd);
}

UNIT_MAIN();
