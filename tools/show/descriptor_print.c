/* SPDX-License-Identifier: MIT */
#include "tools/show/descriptor_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_renamed.h"
#include "tools/show/print.h"
#include "tools/show/text.h"

#define SHOWN_BYTES 64u /* of an inline uniform block */

/* The name of an enum's value without what all of them begin with. */
static const char *short_name(const char *type, const char *prefix, int64_t value)
{
    const char *name = lap_text_named(type, value);
    return !name ? "another type" : strncmp(name, prefix, strlen(prefix)) == 0 ? name + strlen(prefix) : name;
}

static const char *type_name(VkDescriptorType type)
{
    return short_name("VkDescriptorType", "VK_DESCRIPTOR_TYPE_", type);
}

static uint32_t end_of(const struct descriptor_set *set, const struct lap_set_binding *binding)
{
    uint32_t slots = descriptor_set_slots(set), end = binding->first + binding->count;
    return end < slots ? end : slots;
}

static uint32_t size_of(const struct descriptor_set *set, const struct lap_set_binding *binding)
{
    uint32_t end = end_of(set, binding);
    return end > binding->first ? end - binding->first : 0;
}

/* ---- text ---- */

struct text {
    FILE *out;
    const struct creation_facts *facts;
    const struct lap_bound_names *names;
    const char *separator;
};

static void put(struct text *t, const char *before, uint32_t type, uint64_t index)
{
    const char *name = t->names && index ? t->names->find(t->names->user, type, index) : NULL;
    char text[LAP_TEXT_HANDLE_MAX];

    fprintf(t->out, "%s%s%s", before, lap_bound_handle(type, index, text), name ? " " : "");
    if (name)
        lap_text_quoted(t->out, name, strlen(name));
}

static void put_descriptor(struct text *t, const struct descriptor *d)
{
    const struct fact_view *view = d->object_type == GEN_HANDLE_VkImageView ? fact_of_view(t->facts, d->object) : NULL;

    t->separator = "";
    if (d->object_type) {
        put(t, "", d->object_type, d->object);
        if (view)
            put(t, " of ", GEN_HANDLE_VkImage, view->image);
        t->separator = ", ";
    }
    if (d->object_type == GEN_HANDLE_VkImageView)
        fprintf(t->out, ", %s", short_name("VkImageLayout", "VK_IMAGE_LAYOUT_", d->layout));
    if (d->object_type == GEN_HANDLE_VkBuffer && d->object) {
        if (d->range == VK_WHOLE_SIZE)
            fprintf(t->out, ", all bytes from %" PRIu64 " on", d->offset);
        else
            fprintf(t->out, ", %" PRIu64 " bytes from %" PRIu64 " on", d->range, d->offset);
    }
    if (d->sampler)
        put(t, t->separator, GEN_HANDLE_VkSampler, d->sampler);
    if (d->ticket)
        fprintf(t->out, ", #%" PRIu64 "\n", d->ticket - 1);
    else
        fputs(" of the layout\n", t->out);
}

static void put_block(FILE *out, const struct descriptor_block *block)
{
    for (uint32_t i = 0; i < block->size && i < SHOWN_BYTES; i++)
        fprintf(out, block->known[i] ? "%s%02x" : "%s--", i % 4 ? "" : " ", block->bytes[i]);
    fprintf(out, "%s, #%" PRIu64 "\n", block->size > SHOWN_BYTES ? " …" : "", block->ticket - 1);
}

static void text_elements(struct text *t, const struct descriptor_set *set, const struct lap_set_binding *binding,
                          uint64_t *most)
{
    uint32_t end = end_of(set, binding);
    uint64_t more = 0;
    struct descriptor d;

    for (uint32_t slot = descriptor_next(set, binding->first, end); slot < end;
         slot = descriptor_next(set, slot + 1, end)) {
        if (!*most) {
            more++;
            continue;
        }
        (*most)--;
        (void)descriptor_get(set, slot, &d);
        fprintf(t->out, "    [%" PRIu32 "]  ", slot - binding->first);
        if (d.type != binding->type)
            fprintf(t->out, "%s  ", type_name(d.type));
        put_descriptor(t, &d);
    }
    if (more)
        fprintf(t->out, "    … and %" PRIu64 " more\n", more);
}

static void text_binding(struct text *t, const struct descriptor_set *set, const struct lap_set_binding *binding,
                         uint64_t *most)
{
    const struct descriptor_block *block = descriptor_block_of(set, binding->binding);
    uint32_t size = size_of(set, binding), end = end_of(set, binding);
    bool has_any = size && descriptor_next(set, binding->first, end) < end;
    struct descriptor d;

    fprintf(t->out, "  binding %" PRIu32 "  %s", binding->binding, type_name(binding->type));
    if (binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
        if (!block) {
            fputs(", never written\n", t->out);
            return;
        }
        fprintf(t->out, ", %" PRIu32 " bytes:", block->size);
        put_block(t->out, block);
        return;
    }
    if (size != 1) {
        fprintf(t->out, ", %" PRIu32 " descriptors%s\n", size, has_any || !size ? "" : ", never written");
        text_elements(t, set, binding, most);
        return;
    }
    if (!has_any) {
        fputs(", never written\n", t->out);
        return;
    }
    (void)descriptor_get(set, binding->first, &d);
    if (d.type != binding->type)
        fprintf(t->out, " as %s", type_name(d.type));
    fputs("  ", t->out);
    put_descriptor(t, &d);
    *most -= *most != 0;
}

void lap_descriptors_text(FILE *out, const struct descriptor_set *set, const struct creation_facts *facts,
                          const struct lap_bound_names *names, uint64_t most)
{
    const struct lap_set_layout *layout = descriptor_set_layout(set);
    struct text t = {.out = out, .facts = facts, .names = names};

    for (uint32_t i = 0; i < layout->binding_count; i++)
        text_binding(&t, set, &layout->bindings[i], &most);
}

/* ---- JSON ---- */

struct json {
    const struct creation_facts *facts;
    bool failed; /* no memory */
};

static cJSON *add(struct json *j, cJSON *into, const char *key, cJSON *item)
{
    bool added = into && item && (key ? cJSON_AddItemToObjectCS(into, key, item) : cJSON_AddItemToArray(into, item));

    if (added)
        return item;
    cJSON_Delete(item);
    j->failed = true;
    return NULL;
}

static void add_named(struct json *j, cJSON *into, const char *key, const char *type, int64_t value)
{
    const char *name = lap_text_named(type, value);
    add(j, into, key, name ? cJSON_CreateString(name) : cJSON_CreateNumber((double)value));
}

static void add_handle(struct json *j, cJSON *into, const char *key, uint32_t type, uint64_t index)
{
    char text[LAP_TEXT_HANDLE_MAX];
    add(j, into, key, index ? cJSON_CreateString(lap_bound_handle(type, index, text)) : cJSON_CreateNull());
}

static void json_descriptor(struct json *j, cJSON *item, const struct descriptor *d)
{
    const struct fact_view *view = d->object_type == GEN_HANDLE_VkImageView ? fact_of_view(j->facts, d->object) : NULL;

    add_named(j, item, "type", "VkDescriptorType", d->type);
    if (d->object_type)
        add_handle(j, item, "object", d->object_type, d->object);
    if (d->object_type == GEN_HANDLE_VkImageView) {
        add_handle(j, item, "image", GEN_HANDLE_VkImage, view ? view->image : 0);
        add_named(j, item, "layout", "VkImageLayout", d->layout);
    }
    if (d->object_type == GEN_HANDLE_VkBuffer) {
        add(j, item, "offset", lap_print_json_number(d->offset));
        add(j, item, "range", d->range == VK_WHOLE_SIZE ? cJSON_CreateNull() : lap_print_json_number(d->range));
    }
    if (d->sampler)
        add_handle(j, item, "sampler", GEN_HANDLE_VkSampler, d->sampler);
    add(j, item, "packet", d->ticket ? lap_print_json_number(d->ticket - 1) : cJSON_CreateNull());
}

static void json_block(struct json *j, cJSON *item, const struct descriptor_block *block)
{
    char text[2 * SHOWN_BYTES + 1];
    cJSON *bytes = add(j, item, "bytes", cJSON_CreateArray());

    /* Runs of at most so many bytes that are known. */
    for (uint32_t from = 0, to; block && from < block->size; from = to) {
        cJSON *run;
        for (to = from + 1; to < block->size && to < from + SHOWN_BYTES && block->known[to] == block->known[from];)
            to++;
        if (!block->known[from])
            continue;
        for (uint32_t i = from; i < to; i++)
            snprintf(text + (size_t)(i - from) * 2, 3, "%02x", block->bytes[i]);
        run = add(j, bytes, NULL, cJSON_CreateObject());
        add(j, run, "offset", cJSON_CreateNumber(from));
        add(j, run, "bytes", cJSON_CreateString(text));
    }
    add(j, item, "packet", block ? lap_print_json_number(block->ticket - 1) : cJSON_CreateNull());
}

static void json_binding(struct json *j, cJSON *list, const struct descriptor_set *set,
                         const struct lap_set_binding *binding, uint64_t *most)
{
    cJSON *item = add(j, list, NULL, cJSON_CreateObject()), *elements;
    uint32_t end = end_of(set, binding);
    uint64_t more = 0;
    struct descriptor d;

    add(j, item, "binding", cJSON_CreateNumber(binding->binding));
    add_named(j, item, "type", "VkDescriptorType", binding->type);
    if (binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
        json_block(j, item, descriptor_block_of(set, binding->binding));
        return;
    }
    add(j, item, "count", cJSON_CreateNumber(size_of(set, binding)));
    elements = add(j, item, "elements", cJSON_CreateArray());
    for (uint32_t slot = descriptor_next(set, binding->first, end); slot < end && !j->failed;
         slot = descriptor_next(set, slot + 1, end)) {
        cJSON *element;
        if (!*most) {
            more++;
            continue;
        }
        (*most)--;
        element = add(j, elements, NULL, cJSON_CreateObject());
        add(j, element, "element", cJSON_CreateNumber(slot - binding->first));
        (void)descriptor_get(set, slot, &d);
        json_descriptor(j, element, &d);
    }
    if (more)
        add(j, item, "more", lap_print_json_number(more));
}

cJSON *lap_descriptors_json(const struct descriptor_set *set, const struct creation_facts *facts, uint64_t most)
{
    const struct lap_set_layout *layout = descriptor_set_layout(set);
    struct json j = {.facts = facts};
    cJSON *list = cJSON_CreateArray();

    for (uint32_t i = 0; i < layout->binding_count && !j.failed; i++)
        json_binding(&j, list, set, &layout->bindings[i], &most);
    if (!j.failed)
        return list;
    cJSON_Delete(list);
    return NULL;
}

/* ---- pushes ---- */

struct lap_pushed {
    uint32_t binding, element;
    size_t order;
    struct descriptor descriptor;
};

static enum lap_status see_writes(struct lap_pushes *pushes, const VkWriteDescriptorSet *writes, uint32_t count)
{
    for (uint32_t i = 0; writes && i < count; i++) {
        uint32_t elements = descriptor_count_of_write(&writes[i]);
        if (!lap_array_grow(&pushes->items, sizeof *pushes->items, &pushes->capacity, pushes->count + elements))
            return lap_no_memory("descriptors");
        for (uint32_t k = 0; k < elements; k++) {
            struct lap_pushed *item = &pushes->items[pushes->count];
            *item = (struct lap_pushed){
                .binding = writes[i].dstBinding, .element = writes[i].dstArrayElement + k, .order = pushes->count++};
            descriptor_of_write(&writes[i], k, &item->descriptor);
        }
    }
    return LAP_OK;
}

enum lap_status lap_pushes_see(struct lap_pushes *pushes, uint32_t command, const void *args)
{
    if (command == GEN_vkCmdPushDescriptorSetKHR) {
        const struct gen_args_vkCmdPushDescriptorSetKHR *a = args;
        return see_writes(pushes, a->pDescriptorWrites, a->descriptorWriteCount);
    }
#ifdef VK_KHR_maintenance6
    if (command == GEN_vkCmdPushDescriptorSet2KHR) {
        const VkPushDescriptorSetInfoKHR *info =
            ((const struct gen_args_vkCmdPushDescriptorSet2KHR *)args)->pPushDescriptorSetInfo;
        return info ? see_writes(pushes, info->pDescriptorWrites, info->descriptorWriteCount) : LAP_OK;
    }
#endif
    return LAP_OK;
}

static int compare_pushed(const void *a, const void *b)
{
    const struct lap_pushed *x = a, *y = b;

    if (x->binding != y->binding)
        return x->binding < y->binding ? -1 : 1;
    if (x->element != y->element)
        return x->element < y->element ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* The last one of each element stays. */
static void keep_last(struct lap_pushes *pushes)
{
    size_t kept = 0;

    if (pushes->count)
        qsort(pushes->items, pushes->count, sizeof *pushes->items, compare_pushed);
    for (size_t i = 0; i < pushes->count; i++) {
        const struct lap_pushed *item = &pushes->items[i];
        if (i + 1 == pushes->count || item->binding != item[1].binding || item->element != item[1].element)
            pushes->items[kept++] = *item;
    }
    pushes->count = kept;
}

cJSON *lap_pushes_json(struct lap_pushes *pushes, const struct creation_facts *facts, uint64_t most)
{
    struct json j = {.facts = facts};
    cJSON *list = cJSON_CreateArray();

    keep_last(pushes);
    for (size_t i = 0, end; i < pushes->count && !j.failed; i = end) {
        const struct lap_pushed *first = &pushes->items[i];
        cJSON *item = add(&j, list, NULL, cJSON_CreateObject()), *elements;
        uint64_t more = 0;
        add(&j, item, "binding", cJSON_CreateNumber(first->binding));
        add_named(&j, item, "type", "VkDescriptorType", first->descriptor.type);
        elements = cJSON_CreateArray();
        for (end = i; end < pushes->count && pushes->items[end].binding == first->binding; end++) {
            cJSON *element = most ? add(&j, elements, NULL, cJSON_CreateObject()) : NULL;
            more += !most;
            if (!element)
                continue;
            most--;
            add(&j, element, "element", cJSON_CreateNumber(pushes->items[end].element));
            json_descriptor(&j, element, &pushes->items[end].descriptor);
        }
        add(&j, item, "count", cJSON_CreateNumber((double)pushes->items[end - 1].element + 1));
        add(&j, item, "elements", elements);
        if (more)
            add(&j, item, "more", lap_print_json_number(more));
    }
    if (!j.failed)
        return list;
    cJSON_Delete(list);
    return NULL;
}
