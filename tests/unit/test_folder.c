/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/folder.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

UNIT_TEST(folders_are_made_where_they_are_missing)
{
    CHECK(scratch_make());
    CHECK_EQ_INT(lap_folder_make(scratch), LAP_OK);
    CHECK_EQ_INT(lap_folder_make(inside("a/b//c/")), LAP_OK);
    CHECK(is_folder(inside("a/b/c")));
    CHECK_EQ_INT(lap_folder_make(inside("a/b/d")), LAP_OK);
    CHECK(is_folder(inside("a/b/d")));
    CHECK_EQ_INT(lap_folder_make("/"), LAP_OK);
    CHECK_EQ_INT(lap_folder_make("."), LAP_OK);
    CHECK_EQ_INT(chdir(scratch), 0);
    CHECK_EQ_INT(lap_folder_make("e/f"), LAP_OK);
    CHECK(is_folder(inside("e/f")));
    CHECK_EQ_INT(symlink("a", inside("link")), 0);
    CHECK_EQ_INT(lap_folder_make(inside("link/g")), LAP_OK);
    CHECK(is_folder(inside("a/g")));
}

UNIT_TEST(a_folder_that_can_not_be_made_is_named)
{
    char name[PATH_MAX + 2];
    FILE *file = fopen(inside("file"), "w");
    CHECK(file != NULL);
    if (file)
        fclose(file);
    CHECK_EQ_INT(lap_folder_make(inside("file")), LAP_ERROR_IO);
    CHECK(strstr(lap_error_message(), "/file can't be made: ") != NULL);
    CHECK_EQ_INT(lap_folder_make(inside("file/under")), LAP_ERROR_IO);
    CHECK(strstr(lap_error_message(), "/file can't be made: ") != NULL);
    CHECK_EQ_INT(lap_folder_make(""), LAP_ERROR_IO);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    CHECK_EQ_INT(lap_folder_make(name), LAP_ERROR_ARGUMENT);
}

UNIT_TEST(a_failure_leaves_no_folder)
{
    static const char *const made[] = {"a/b/c", "a/b/d", "a/b", "a/g", "link", "a", "e/f", "e", "file"};
    CHECK_EQ_INT(chdir("/"), 0);
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        CHECK_EQ_INT(remove(inside(made[i])), 0);
    CHECK_EQ_INT(rmdir(scratch), 0);
}

UNIT_MAIN();
