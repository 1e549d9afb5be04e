/* SPDX-License-Identifier: MIT */
#include <png.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/png.h"
#include "tests/unit/unit.h"

static void check_rgb(enum lap_pixel_layout layout, const void *pixel, unsigned red, unsigned green, unsigned blue)
{
    uint8_t rgb[3] = {1, 2, 3};
    lap_pixels_to_rgb8(layout, pixel, 1, rgb);
    CHECK_EQ_INT(rgb[0], red);
    CHECK_EQ_INT(rgb[1], green);
    CHECK_EQ_INT(rgb[2], blue);
}

static void check_packed(enum lap_pixel_layout layout, uint32_t value, unsigned red, unsigned green, unsigned blue)
{
    const uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24)};
    check_rgb(layout, bytes, red, green, blue);
}

UNIT_TEST(bytes_are_reordered)
{
    const uint8_t pixel[4] = {10, 20, 30, 40};
    check_rgb(LAP_PIXEL_R8, pixel, 10, 10, 10);
    check_rgb(LAP_PIXEL_RG8, pixel, 10, 20, 0);
    check_rgb(LAP_PIXEL_RGB8, pixel, 10, 20, 30);
    check_rgb(LAP_PIXEL_BGR8, pixel, 30, 20, 10);
    check_rgb(LAP_PIXEL_RGBA8, pixel, 10, 20, 30);
    check_rgb(LAP_PIXEL_BGRA8, pixel, 30, 20, 10);
}

UNIT_TEST(packed_channels_are_scaled)
{
    check_packed(LAP_PIXEL_BGR565, 31u << 11, 255, 0, 0);
    check_packed(LAP_PIXEL_BGR565, 63u << 5, 0, 255, 0);
    check_packed(LAP_PIXEL_BGR565, 16, 0, 0, 132);
    check_packed(LAP_PIXEL_RGB565, 31u << 11, 0, 0, 255);
    check_packed(LAP_PIXEL_BGRA5551, 1u << 15 | 31u << 10, 255, 0, 0);
    check_packed(LAP_PIXEL_ABGR1555, 31u << 6 | 1, 0, 255, 0);
    check_packed(LAP_PIXEL_ABGR4, 0x8f10, 136, 255, 17);
    check_packed(LAP_PIXEL_RGBA1010102, 1023u | 512u << 10, 255, 128, 0);
    check_packed(LAP_PIXEL_BGRA1010102, 1023u | 512u << 10, 0, 128, 255);
    check_rgb(LAP_PIXEL_RGBA16, (uint8_t[]){0x00, 0x80, 0xff, 0xff, 0x80, 0x00, 0x12, 0x34}, 128, 255, 0);
}

UNIT_TEST(pixels_stand_side_by_side)
{
    const uint8_t pixels[6] = {1, 2, 3, 4, 5, 6};
    uint8_t rgb[10] = {[9] = 77};
    lap_pixels_to_rgb8(LAP_PIXEL_RG8, pixels, 3, rgb);
    CHECK(memcmp(rgb, (uint8_t[]){1, 2, 0, 3, 4, 0, 5, 6, 0, 77}, sizeof rgb) == 0);
    lap_pixels_to_rgb8(LAP_PIXEL_BGR8, pixels, 2, rgb);
    CHECK(memcmp(rgb, (uint8_t[]){3, 2, 1, 6, 5, 4, 5, 6, 0, 77}, sizeof rgb) == 0);
}

UNIT_TEST(floats_are_clamped_and_encoded)
{
    const float plain[4] = {0.5f, -1.0f, 7.0f, 1.0f};
    const uint8_t half[8] = {0x00, 0x38, 0x00, 0xbc, 0x00, 0x7c, 0x00, 0x3c}; /* 0.5, -1, infinity, 1 */
    const uint8_t nan_half[8] = {0x01, 0x7c, 0x01, 0x00, 0x00, 0x3c, 0, 0};   /* NaN, the smallest one, 1 */

    check_rgb(LAP_PIXEL_RGBA32F, plain, 188, 0, 255);
    check_rgb(LAP_PIXEL_RGBA16F, half, 188, 0, 255);
    check_rgb(LAP_PIXEL_RGBA16F, nan_half, 0, 0, 255);
    check_packed(LAP_PIXEL_RGB11F, 14u << 6 | (15u << 6) << 11, 188, 255, 0);
    check_packed(LAP_PIXEL_RGB11F, (14u << 5) << 22, 0, 0, 188);
}

UNIT_TEST(every_layout_has_a_size)
{
    CHECK_EQ_U64(lap_pixel_bytes(LAP_PIXEL_NONE), 0);
    CHECK_EQ_U64(lap_pixel_bytes(LAP_PIXEL_LAYOUT_COUNT), 0);
    for (int i = LAP_PIXEL_NONE + 1; i < LAP_PIXEL_LAYOUT_COUNT; i++)
        CHECK(lap_pixel_bytes((enum lap_pixel_layout)i) > 0);
}

UNIT_TEST(written_files_are_read_again)
{
    char path[] = "/tmp/test_png.XXXXXX";
    uint8_t pixels[5 * 3 * 4], read[5 * 3 * 3];
    png_image image = {.version = PNG_IMAGE_VERSION};
    int fd = mkstemp(path);

    CHECK(fd >= 0);
    close(fd);
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * 37);
    CHECK_EQ_INT(lap_png_write(path, LAP_PIXEL_BGRA8, pixels, 5, 3), LAP_OK);
    CHECK(png_image_begin_read_from_file(&image, path));
    CHECK_EQ_U64(image.width, 5);
    CHECK_EQ_U64(image.height, 3);
    image.format = PNG_FORMAT_RGB;
    if (PNG_IMAGE_SIZE(image) == sizeof read)
        CHECK(png_image_finish_read(&image, NULL, read, 0, NULL));
    else
        CHECK(!"the picture has another size");
    for (size_t i = 0; i < 15; i++) {
        CHECK_EQ_INT(read[3 * i], pixels[4 * i + 2]);
        CHECK_EQ_INT(read[3 * i + 1], pixels[4 * i + 1]);
        CHECK_EQ_INT(read[3 * i + 2], pixels[4 * i]);
    }
    unlink(path);
}

/* Its own bytes as a row. */
static void fill(const void *context, uint32_t y, void *row)
{
    memcpy(row, (const uint8_t *)context + 4 * y, 4);
}

UNIT_TEST(grey_and_alpha_are_read_again)
{
    static const struct {
        enum lap_png_kind kind;
        uint32_t width;
        int depth, color;
    } kinds[] = {{LAP_PNG_GREY8, 4, 8, PNG_COLOR_TYPE_GRAY},
                 {LAP_PNG_GREY16, 2, 16, PNG_COLOR_TYPE_GRAY},
                 {LAP_PNG_RGBA8, 1, 8, PNG_COLOR_TYPE_RGB_ALPHA}};
    const uint8_t samples[12] = {1, 2, 3, 4, 50, 60, 70, 80, 201, 202, 203, 204};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char path[] = "/tmp/test_png.XXXXXX";
        const int fd = mkstemp(path);
        png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
        png_infop info = png_create_info_struct(png);
        png_bytepp rows;
        FILE *file;

        CHECK(fd >= 0 && close(fd) == 0);
        CHECK_EQ_INT(lap_png_write_rows(path, kinds[i].kind, kinds[i].width, 3, fill, samples), LAP_OK);
        file = fopen(path, "rb");
        png_init_io(png, file);
        png_read_png(png, info, PNG_TRANSFORM_SWAP_ENDIAN, NULL);
        CHECK_EQ_INT(png_get_bit_depth(png, info), kinds[i].depth);
        CHECK_EQ_INT(png_get_color_type(png, info), kinds[i].color);
        CHECK_EQ_U64(png_get_image_width(png, info), kinds[i].width);
        CHECK_EQ_U64(png_get_image_height(png, info), 3);
        rows = png_get_rows(png, info);
        for (size_t y = 0; y < 3; y++)
            CHECK(memcmp(rows[y], samples + 4 * y, 4) == 0);
        png_destroy_read_struct(&png, &info, NULL);
        CHECK(fclose(file) == 0 && unlink(path) == 0);
    }
}

UNIT_TEST(failures_leave_no_file)
{
    const uint8_t pixel[4] = {0};
    char path[] = "/tmp/test_png.XXXXXX";
    int fd = mkstemp(path);

    CHECK(fd >= 0);
    close(fd);
    unlink(path);
    CHECK_EQ_INT(lap_png_write("/nonexistent/x.png", LAP_PIXEL_RGBA8, pixel, 1, 1), LAP_ERROR_IO);
    CHECK(strstr(lap_error_message(), "/nonexistent/x.png") != NULL);
    CHECK_EQ_INT(lap_png_write(path, LAP_PIXEL_NONE, pixel, 1, 1), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(lap_png_write(path, LAP_PIXEL_RGBA8, pixel, 0, 1), LAP_ERROR_ARGUMENT);
    /* libpng itself refuses this width: the error path with a file that is open. */
    CHECK_EQ_INT(lap_png_write(path, LAP_PIXEL_R8, pixel, 2000000, 1), LAP_ERROR_IO);
    CHECK(access(path, F_OK) != 0);
}

UNIT_TEST(what_is_there_is_replaced_and_not_written_to)
{
    static const uint8_t pixels[4];
    char folder[] = "/tmp/test_png.XXXXXX", path[64], other[64], text[9] = "";
    struct stat info;
    FILE *file;

    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/frame_1.png", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    file = fopen(other, "w");
    CHECK(file && fputs("precious", file) >= 0 && fclose(file) == 0);
    CHECK(symlink("other", path) == 0);
    CHECK_EQ_INT(lap_png_write(path, LAP_PIXEL_RGBA8, pixels, 1, 1), LAP_ERROR_IO);
    CHECK(strstr(lap_error_message(), "it is a symbolic link") != NULL);
    CHECK(unlink(path) == 0 && link(other, path) == 0);
    CHECK_EQ_INT(lap_png_write(path, LAP_PIXEL_RGBA8, pixels, 1, 1), LAP_OK);
    CHECK(stat(path, &info) == 0 && info.st_nlink == 1 && info.st_size > 8 && (info.st_mode & 0777) == 0600);
    file = fopen(other, "r");
    CHECK(file && fread(text, 1, 8, file) == 8 && strcmp(text, "precious") == 0 && fclose(file) == 0);
    CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
    CHECK_EQ_INT(lap_png_write(path, LAP_PIXEL_RGBA8, pixels, 1, 1), LAP_ERROR_IO);
    CHECK(rmdir(path) == 0 && unlink(other) == 0 && rmdir(folder) == 0);
}

UNIT_TEST(a_full_disk_is_an_error)
{
    static const uint8_t pixels[64 * 64 * 4];
    struct rlimit old, small;
    char path[] = "/tmp/test_png.XXXXXX";
    int fd = mkstemp(path);

    CHECK(fd >= 0);
    close(fd);
    signal(SIGXFSZ, SIG_IGN);
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    small = old;
    small.rlim_cur = 40;
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    CHECK_EQ_INT(lap_png_write(path, LAP_PIXEL_RGBA8, pixels, 64, 64), LAP_ERROR_IO);
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    CHECK(access(path, F_OK) != 0);
}

/* One pixel. */
static void fill_with_context(const void *context, uint32_t y, void *row)
{
    memcpy(row, context, 4);
}

static void fill_two(const void *context, uint32_t y, void *row)
{
    memcpy(row, context, 2);
}

static void check_read(const char *path, unsigned red, unsigned green, unsigned blue, unsigned alpha)
{
    uint32_t width = 0, height = 0;
    uint8_t *rgba = NULL;

    CHECK_EQ_INT(lap_png_read(path, &rgba, &width, &height), LAP_OK);
    CHECK(rgba && width == 1 && height == 1);
    CHECK_EQ_INT(rgba[0], red);
    CHECK_EQ_INT(rgba[1], green);
    CHECK_EQ_INT(rgba[2], blue);
    CHECK_EQ_INT(rgba[3], alpha);
    free(rgba);
}

UNIT_TEST(every_kind_of_picture_is_read_as_it_was_written)
{
    char path[] = "/tmp/test_png.XXXXXX";
    const uint8_t bytes[4] = {10, 200, 30, 40};
    const uint16_t word = 0x8080;

    close(mkstemp(path));
    CHECK_EQ_INT(lap_png_write(path, LAP_PIXEL_RGBA8, bytes, 1, 1), LAP_OK);
    check_read(path, 10, 200, 30, 255);
    CHECK_EQ_INT(lap_png_write_rows(path, LAP_PNG_RGBA8, 1, 1, fill_with_context, bytes), LAP_OK);
    check_read(path, 10, 200, 30, 40);
    CHECK_EQ_INT(lap_png_write_rows(path, LAP_PNG_GREY16, 1, 1, fill_two, &word), LAP_OK);
    check_read(path, 128, 128, 128, 255);
    unlink(path);
}

UNIT_TEST(a_file_without_a_picture_is_an_error)
{
    /* 65,536 x 65,536 pixels, as the head says. */
    static const uint8_t large[] = {137, 80,  78,  71, 13, 10, 26, 10, 0,  0,  0,  13, 73,  72, 68,
                                    82,  0,   1,   0,  0,  0,  1,  0,  0,  8,  2,  0,  0,   0,  227,
                                    230, 167, 180, 0,  0,  0,  0,  73, 68, 65, 84, 53, 175, 6,  30};
    char path[] = "/tmp/test_png.XXXXXX";
    int fd = mkstemp(path);
    uint32_t width, height;
    uint8_t *rgba;

    CHECK(fd >= 0);
    CHECK_EQ_INT(lap_png_read(path, &rgba, &width, &height), LAP_ERROR_IO);
    CHECK(write(fd, large, sizeof large) == (ssize_t)sizeof large && close(fd) == 0);
    CHECK_EQ_INT(lap_png_read(path, &rgba, &width, &height), LAP_ERROR_LIMIT);
    CHECK(!rgba);
    CHECK_EQ_INT(lap_png_write(path, LAP_PIXEL_RGBA8, (uint8_t[16]){0}, 2, 2), LAP_OK);
    CHECK(truncate(path, 60) == 0);
    CHECK(lap_png_read(path, &rgba, &width, &height) < 0 && !rgba);
    CHECK(unlink(path) == 0);
    CHECK_EQ_INT(lap_png_read(path, &rgba, &width, &height), LAP_ERROR_IO);
    CHECK_EQ_INT(lap_png_read("/tmp", &rgba, &width, &height), LAP_ERROR_IO);
    CHECK(strstr(lap_error_message(), "no regular file") != NULL);
}

UNIT_MAIN();
