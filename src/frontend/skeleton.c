/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skeleton.c - TEMPORARY: stand-ins for functions that are being written; whoever writes one deletes it here.
 */
#include "frontend/source.h"



