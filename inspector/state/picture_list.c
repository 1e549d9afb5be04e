/* SPDX-License-Identifier: MIT */
#include "inspector/state/picture_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

bool picture_names_have(const char *names, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = names; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == 0 || at[length] == ','))
            return true;
    return false;
}

enum lap_status picture_list_append(struct picture_list *list, const struct picture_target *target)
{
    if (!lap_array_grow(&list->at, sizeof *list->at, &list->capacity, list->count + 1))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    list->at[list->count++] = *target;
    return LAP_OK;
}

enum lap_status picture_list_add(struct picture_list *list, const char *name, const struct content *image)
{
    const size_t length = strspn(name, NAME_CHARACTERS);
    struct picture_target target = {.image = *image};

    if (!length || name[length] || *name == '.' || length >= sizeof target.name)
        return lap_fail(LAP_ERROR_ARGUMENT, "\"%.40s\" is no name for a picture", name);
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->at[i].name, name) == 0)
            return lap_fail(LAP_ERROR_ARGUMENT, "two pictures have the name %s", name);
    memcpy(target.name, name, length);
    return picture_list_append(list, &target);
}

enum lap_status picture_list_read(FILE *from, struct picture_list *list)
{
    char line[192];

    for (size_t number = 1; fgets(line, sizeof line, from); number++) {
        char *rest = strchr(line, ' ');
        struct content image;
        enum lap_status status;
        line[strcspn(line, "\n")] = 0;
        if (!rest || !contents_parse_line(rest + 1, &image) || image.kind != CONTENT_IMAGE)
            return lap_fail(LAP_ERROR_ARGUMENT, "line %zu names no image: \"%.60s\"", number, line);
        *rest = 0;
        status = picture_list_add(list, line, &image);
        if (status != LAP_OK)
            return lap_fail_context(status, "line %zu", number);
    }
    return ferror(from) ? lap_fail(LAP_ERROR_IO, "the list can't be read: %s", strerror(errno)) : LAP_OK;
}

void picture_list_finish(struct picture_list *list)
{
    free(list->at);
    *list = (struct picture_list){.at = NULL};
}
