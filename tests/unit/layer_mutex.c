/* SPDX-License-Identifier: MIT */
/* For tests that link modules of the layer without its threads (layer/core/thread.h). */
#include "layer/core/thread.h"

void layer_mutex_init(pthread_mutex_t *mutex)
{
    pthread_mutex_init(mutex, NULL);
}
