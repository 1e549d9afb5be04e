/* SPDX-License-Identifier: MIT */
/* jobs: finds the recorded bytes that become descriptors of this driver, and their places (commands.h, translate.h). */
#include "base/array.h"
#include "replayer/descriptor/commands.h"

#define JOB_ELEMENTS 4096u
#define MOST_JOBS    (16u << 20)

/* The copy that a recorded element comes from, plus 1; 0: none, it lies in its buffer. */
static enum lap_status find_copy(struct replay *r, const struct replay_descriptor_commands *c, uint32_t copies,
                                 VkDeviceAddress begin, VkDeviceSize bytes, uint32_t *out)
{
    *out = 0;
    for (uint32_t i = copies; i > 0; i--) {
        const struct replay_descriptor_copy *copy = &c->copies[i - 1];
        if (copy->end <= begin || copy->to >= begin + bytes)
            continue;
        if (copy->to > begin || copy->end < begin + bytes)
            return replay_refuse(r, "a command buffer copies a part of a descriptor");
        *out = i;
        return LAP_OK;
    }
    return LAP_OK;
}

static enum lap_status add_jobs(struct replay *r, struct replay_descriptor_commands *c,
                                const struct replay_descriptor_job *job)
{
    for (uint32_t done = 0; done < job->count; done += JOB_ELEMENTS) {
        struct replay_descriptor_job part = *job;
        part.count = job->count - done < JOB_ELEMENTS ? job->count - done : JOB_ELEMENTS;
        part.from += (uint64_t)done * job->from_stride;
        part.to += (uint64_t)done * job->to_stride;
        /* Second parts have their own stride, from the first element of the part on. */
        part.from_second += done * (job->from_second_stride - job->from_stride);
        part.to_second += done * (job->to_second_stride - job->to_stride);
        if (c->job_count >= MOST_JOBS)
            return replay_refuse(r, "a command buffer binds more sets than this build follows");
        if (!lap_array_grow(&c->jobs, sizeof *c->jobs, &c->job_capacity, c->job_count + 1))
            return replay_descriptors_no_memory(r);
        c->jobs[c->job_count++] = part;
    }
    return LAP_OK;
}

static struct replay_descriptor_job job_of(const struct replay_region *region,
                                           const struct replay_descriptor_binding *binding)
{
    struct replay_descriptor_job job = {.from = region->from + binding->from,
                                        .to = region->to + binding->to,
                                        .count = replay_region_elements(region, binding),
                                        .from_stride = binding->from_stride,
                                        .to_stride = binding->to_stride,
                                        .kinds = binding->kinds,
                                        .from_second = binding->count * binding->from_stride,
                                        .to_second = binding->count * binding->to_stride,
                                        .from_second_stride = binding->from_samplers,
                                        .to_second_stride = binding->to_samplers,
                                        .from_first_words = REPLAY_DESCRIPTOR_WHOLE,
                                        .to_first_words = REPLAY_DESCRIPTOR_WHOLE,
                                        .single = binding->count == 1,
                                        .from_words = (binding->from_stride + binding->from_samplers) / 4};

    if (binding->kind == LAP_DESCRIPTOR_INLINE) {
        job.count /= 4;
        job.from_stride = job.to_stride = 4;
    }
    if (binding->from_samplers)
        job.from_first_words = binding->from_stride / 4;
    else
        job.from_second = 0;
    if (binding->to_samplers)
        job.to_first_words = binding->to_stride / 4;
    else
        job.to_second = 0;
    return job;
}

static bool is_copied(const struct replay_descriptor_commands *c, uint32_t copies, VkDeviceAddress begin,
                      VkDeviceSize bytes)
{
    for (uint32_t i = 0; i < copies; i++)
        if (c->copies[i].to < begin + bytes && c->copies[i].end > begin)
            return true;
    return false;
}

/* Splits a job at the copies from which its elements come. */
static enum lap_status add_copied(struct replay *r, struct replay_descriptor_commands *c, uint32_t copies,
                                  const struct replay_descriptor_job *job)
{
    struct replay_descriptor_job part = *job;
    enum lap_status status = LAP_OK;
    uint32_t last = 0, begin = 0;

    for (uint32_t i = 0; i <= job->count && status == LAP_OK; i++) {
        VkDeviceAddress at = job->from + (uint64_t)i * job->from_stride;
        uint32_t copy = 0, second = 0;
        if (i < job->count)
            status = find_copy(r, c, copies, at, job->from_stride, &copy);
        if (i < job->count && status == LAP_OK && job->from_second) {
            status = find_copy(r, c, copies, job->from + job->from_second + (uint64_t)i * job->from_second_stride,
                               job->from_second_stride, &second);
            if (status == LAP_OK && second != copy)
                status = replay_refuse(r, "a command buffer copies a part of a descriptor");
        }
        if (status != LAP_OK || (i > 0 && i < job->count && copy == last && !(copy && c->copies[copy - 1].pattern)))
            continue;
        if (i > begin) {
            part.count = i - begin;
            part.to = job->to + (uint64_t)begin * job->to_stride;
            part.from = job->from + (uint64_t)begin * job->from_stride;
            part.from_second = job->from_second + begin * (job->from_second_stride - job->from_stride);
            part.to_second = job->to_second + begin * (job->to_second_stride - job->to_stride);
            if (last) {
                const struct replay_descriptor_copy *source = &c->copies[last - 1];
                part.from = source->from + (source->pattern ? 0 : part.from - source->to);
            }
            if (last && c->copies[last - 1].pattern)
                part.from_second = 0;
            status = add_jobs(r, c, &part);
        }
        begin = i;
        last = copy;
    }
    return status;
}

enum lap_status replay_regions_make_jobs(struct replay *r, struct replay_descriptor_commands *c)
{
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < c->region_count && status == LAP_OK; i++) {
        const struct replay_region *region = &c->regions[i];
        uint32_t copies = region->frozen ? region->copies : (uint32_t)c->copy_count;
        for (uint32_t j = 0; j < region->layout->count && status == LAP_OK; j++) {
            struct replay_descriptor_job job = job_of(region, &region->layout->bindings[j]);
            if (is_copied(c, copies, region->from, region->end - region->from))
                status = add_copied(r, c, copies, &job);
            else
                status = add_jobs(r, c, &job);
        }
    }
    return status;
}
