/*===- Meshwright.h - The partitioner for C ---------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0                                        *|
\*===----------------------------------------------------------------------===*/
/*
 * Texts in, texts out:
 *
 *   MeshwrightResult *result = meshwrightPartition(program, programLength,
 *                                                  config, configLength,
 *                                                  MESHWRIGHT_ALL);
 *   if (meshwrightResultGetError(result))
 *     fputs(meshwrightResultGetError(result), stderr);
 *   else
 *     puts(meshwrightResultGetProgram(result));
 *   meshwrightResultDestroy(result);
 *
 * Calls share no state and may come from any thread. Strings end in a null
 * character, are UTF-8, belong to the result and live as long as it does.
 */

#ifndef MESHWRIGHT_CAPI_MESHWRIGHT_H
#define MESHWRIGHT_CAPI_MESHWRIGHT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MESHWRIGHT_EXPORTED __attribute__((visibility("default")))

/* Phases, to be combined by `|`. */
enum {
  MESHWRIGHT_IMPORT = 1,
  MESHWRIGHT_OPTIMIZE = 2,
  MESHWRIGHT_PARTITION = 4, /* Shardings and export. */
  MESHWRIGHT_ALL = 7
};

typedef struct MeshwrightResult MeshwrightResult;

/* "major.minor.patch". */
MESHWRIGHT_EXPORTED const char *meshwrightGetVersion(void);

/* Partitions a module (text or bytecode) as a configuration in JSON says, see
 * docs/config.md. Never null; ask it for its error first. A mistake
 * in the compiler (a failed assertion, an access to memory that is not there) is
 * an error too: while a call runs, handlers of such signals are set for the
 * process, and what the failed call has used is lost. */
MESHWRIGHT_EXPORTED MeshwrightResult *
meshwrightPartition(const char *program, size_t programLength,
                    const char *config, size_t configLength, unsigned phases);

MESHWRIGHT_EXPORTED void meshwrightResultDestroy(MeshwrightResult *result);

/* What went wrong, with places, a line each; null if nothing did. */
MESHWRIGHT_EXPORTED const char *
meshwrightResultGetError(const MeshwrightResult *result);

/* Warnings, also of a run that failed. */
MESHWRIGHT_EXPORTED size_t
meshwrightResultGetNumWarnings(const MeshwrightResult *result);
/* Null if there is no such warning. */
MESHWRIGHT_EXPORTED const char *
meshwrightResultGetWarning(const MeshwrightResult *result, size_t index);

/* The partitioned module as text; empty after an error. */
MESHWRIGHT_EXPORTED const char *
meshwrightResultGetModule(const MeshwrightResult *result);

/* What a runtime has to do, as JSON (docs/schedule-json.md); empty after an
 * error or without MESHWRIGHT_PARTITION. */
MESHWRIGHT_EXPORTED const char *
meshwrightResultGetProgram(const MeshwrightResult *result);

/* The distinct programs of fragments, each a StableHLO module. */
MESHWRIGHT_EXPORTED size_t
meshwrightResultGetNumFragments(const MeshwrightResult *result);
/* Null if there is no such fragment. */
MESHWRIGHT_EXPORTED const char *
meshwrightResultGetFragmentName(const MeshwrightResult *result, size_t index);
MESHWRIGHT_EXPORTED const char *
meshwrightResultGetFragmentModule(const MeshwrightResult *result, size_t index);

#ifdef __cplusplus
}
#endif

#endif
