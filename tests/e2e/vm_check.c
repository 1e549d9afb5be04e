/* SPDX-License-Identifier: MIT */
/*
 * vm-check PROG: runs a replay program without Vulkan and prints what it does, for tests/e2e/vm.py: a line for each
 * call, with the bytes that pointers lead to, and for each post, and first where the memories lie. Functions return the
 * sum of their numbers, or where they have a pointer to return, 64 bytes of the host. Resources count up from their
 * number. The last line is "done", "refused: …" by the verifier, or "failed: …".
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/machine.h"
#include "vm/program_file.h"
#include "vm/verify.h"

#define SHOWN_BYTES 4u

static struct lap_vm_program program;
static struct lap_vm_machine *machine;
static uint8_t memory[64], *bytes;

static bool reaches(void *user, uintptr_t address, size_t count, bool writes)
{
    uint64_t at = address - (uintptr_t)memory;

    (void)user, (void)writes;
    return at <= sizeof memory && count <= sizeof memory - at;
}

static enum lap_status call(void *user, unsigned api, unsigned number, const uint64_t *arguments, uint64_t *out_result)
{
    const struct lap_vm_function *function = &program.functions[api][number];
    uint64_t sum = number;

    (void)user;
    printf("call %s", function->name);
    for (unsigned i = 0; i < function->argument_count; i++) {
        uint8_t shown[SHOWN_BYTES];

        if (function->arguments[i] != LAP_VM_POINTER) {
            printf(" %" PRIu64, arguments[i]);
            sum += arguments[i];
        } else if (!arguments[i]) {
            printf(" null");
        } else {
            enum lap_status status = lap_vm_reach(machine, (uintptr_t)arguments[i], SHOWN_BYTES, false);

            if (status != LAP_OK) {
                putchar('\n');
                return status;
            }
            memcpy(shown, (const void *)(uintptr_t)arguments[i], SHOWN_BYTES);
            putchar(' ');
            for (unsigned j = 0; j < SHOWN_BYTES; j++)
                printf("%02x", shown[j]);
        }
    }
    putchar('\n');
    *out_result = lap_vm_is_pointer(function->result) ? (uint64_t)(uintptr_t)memory : sum;
    return LAP_OK;
}

static enum lap_status resource(void *user, uint32_t number, const uint8_t **out_data)
{
    (void)user;
    bytes = realloc(bytes, program.resources[number].bytes + 1);
    if (!bytes)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    for (uint64_t i = 0; i < program.resources[number].bytes; i++)
        bytes[i] = (uint8_t)(number + 1 + i);
    *out_data = bytes;
    return LAP_OK;
}

static enum lap_status post(void *user, uint32_t label, const void *data, size_t count)
{
    (void)user;
    printf("post %" PRIu32 " ", label);
    for (size_t i = 0; i < count; i++)
        printf("%02x", ((const uint8_t *)data)[i]);
    putchar('\n');
    return LAP_OK;
}

int main(int argc, char **argv)
{
    const struct lap_vm_host host = {.call = call, .resource = resource, .reaches = reaches, .post = post};
    int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;

    if (fd < 0 || lap_vm_program_read(fd, &program) != LAP_OK) {
        fprintf(stderr, "vm-check: %s\n", lap_error_message());
        return 1;
    }
    if (lap_vm_verify(&program, UINT64_C(1) << 32) != LAP_OK)
        printf("refused: %s\n", lap_error_message());
    else if (lap_vm_create(&program, &host, &machine) == LAP_OK) {
        printf("at %" PRIuPTR " %" PRIuPTR " %" PRIuPTR "\n", (uintptr_t)program.constants,
               (uintptr_t)lap_vm_volatile_memory(machine), (uintptr_t)memory);
        if (lap_vm_run(machine, program.count) == LAP_OK)
            printf("done\n");
        else
            printf("failed: %s\n", lap_error_message());
    }
    lap_vm_destroy(&machine);
    lap_vm_program_release(&program);
    free(bytes);
    return 0;
}
