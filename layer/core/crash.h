/* SPDX-License-Identifier: MIT */
/*
 * crash: handlers of crash signals. They stamp signal and thread into the notes (notes.h), and then act as if not
 * installed: the program's handler gets siginfo, context and mask as it would have; without one the process dies of the
 * same signal, at the same instruction.
 *
 * They are installed once, where the disposition is the default or a function: an ignored signal would not stay ignored
 * after exec. A handler that the program sets later replaces the layer's; the call in flight is then named without a
 * signal.
 */
#ifndef LAP_LAYER_CRASH_H
#define LAP_LAYER_CRASH_H

#include <stdbool.h>

/* Once per process, before the notes begin. */
void layer_crash_install(void);
/* True when SIGBUS reaches the layer's handler on threads that do not block it. */
bool layer_crash_hears_bus(void);

#endif
