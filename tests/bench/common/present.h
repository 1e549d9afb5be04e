/* SPDX-License-Identifier: MIT */
/* present: frames that end with a present of nothing in particular, so that a recorder knows where they end. */
#ifndef BENCH_PRESENT_H
#define BENCH_PRESENT_H

#include "bench.h"
#include "tests/apps/common/target.h"

/* As app_target_create; nobody looks at what is shown. */
void bench_target_create(struct app *app, struct app_target *target);
/* Submits and presents an image of undefined contents. */
void bench_present(struct app_target *target);

#endif
