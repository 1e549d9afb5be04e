/* SPDX-License-Identifier: MIT */
#include "trace/format/dictionary.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "trace/format/decode.h"
#include "trace/format/encode.h"
#include "trace/format/format.h"

/* Printable ASCII without space; only number 0 may be without a name. */
static bool name_is_good(const char *name, size_t length, uint64_t number)
{
    if (length > LAP_NAME_MAX_BYTES || (length == 0 && number != 0))
        return false;
    for (size_t i = 0; i < length; i++)
        if (name[i] <= ' ' || name[i] > '~')
            return false;
    return true;
}

enum lap_status lap_dictionary_encode(const struct lap_names *names, uint8_t **out_payload, size_t *out_bytes)
{
    const struct lap_name_list *lists[LAP_DICTIONARY_LISTS] = {&names->commands, &names->structs, &names->handle_types};
    struct lap_enc enc;
    lap_enc_init(&enc, NULL);
    enum lap_status status = LAP_OK;
    for (unsigned l = 0; status == LAP_OK && l < LAP_DICTIONARY_LISTS; l++) {
        if (lap_enc_reserve(&enc, LAP_WIRE_MAX_VARINT))
            lap_put_u64(&enc, lists[l]->count);
        for (uint32_t i = 0; status == LAP_OK && i < lists[l]->count; i++) {
            const char *name = lists[l]->names[i];
            size_t length = name ? strlen(name) : 0;
            if (!name_is_good(name, length, i)) {
                status = lap_fail(LAP_ERROR_ARGUMENT, "a name that a trace can't have: \"%s\"", name ? name : "");
            } else if (lap_enc_reserve(&enc, LAP_WIRE_MAX_VARINT)) {
                lap_put_u64(&enc, length);
                lap_enc_raw(&enc, name, length);
            }
        }
    }
    if (status == LAP_OK && enc.failed)
        status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
    size_t bytes = enc.base ? (size_t)(enc.p - enc.base) : 0;
    if (status == LAP_OK && bytes > LAP_CHUNK_MAX_RAW)
        status = lap_fail(LAP_ERROR_LIMIT, "more names than a trace can have");
    if (status != LAP_OK) {
        lap_enc_finish(&enc);
        return status;
    }
    *out_payload = enc.base;
    *out_bytes = bytes;
    return LAP_OK;
}

enum lap_status lap_dictionary_decode(const uint8_t *payload, size_t bytes, struct lap_name_table *out)
{
    struct lap_dec dec;
    memset(out, 0, sizeof(*out));
    lap_dec_init(&dec, payload, bytes, NULL, NULL);
    /* A name takes its length and its bytes in the payload, and here its bytes and a NUL. */
    out->text = malloc(bytes + 1);
    if (!out->text)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");

    char *text = out->text;
    for (unsigned l = 0; l < LAP_DICTIONARY_LISTS; l++) {
        uint64_t count = lap_get_u64(&dec);
        if (count > (uint64_t)(dec.end - dec.p) || count > LAP_DICTIONARY_MAX_NAMES) {
            lap_dec_fail(&dec, "a list of more names than there can be");
            break;
        }
        out->lists[l].names = calloc((size_t)count + 1, sizeof(*out->lists[l].names));
        if (!out->lists[l].names) {
            lap_dictionary_finish(out);
            return lap_fail(LAP_ERROR_MEMORY, "out of memory");
        }
        for (uint64_t i = 0; i < count; i++) {
            uint64_t length = lap_get_u64(&dec);
            if (dec.status != LAP_OK || length > (uint64_t)(dec.end - dec.p) ||
                !name_is_good((const char *)dec.p, (size_t)length, i)) {
                lap_dec_fail(&dec, "no name");
                break;
            }
            out->lists[l].names[i] = text;
            lap_dec_raw(&dec, text, (size_t)length);
            text += length;
            *text++ = 0;
        }
        out->lists[l].count = (uint32_t)count;
    }
    if (dec.p != dec.end)
        lap_dec_fail(&dec, "needless bytes");
    if (dec.status != LAP_OK) {
        lap_dictionary_finish(out);
        return lap_fail_context(dec.status, "the dictionary");
    }
    return LAP_OK;
}

void lap_dictionary_finish(struct lap_name_table *dictionary)
{
    for (unsigned l = 0; l < LAP_DICTIONARY_LISTS; l++)
        free((void *)dictionary->lists[l].names);
    free(dictionary->text);
    memset(dictionary, 0, sizeof(*dictionary));
}
