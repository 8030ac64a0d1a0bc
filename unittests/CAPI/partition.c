/*===- partition.c - The partitioner from C ---------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0                                        *|
\*===----------------------------------------------------------------------===*/

#include "check.h"
#include "meshwright/CAPI/Meshwright.h"
#include <string.h>

static const char *const kProgram =
    "module @jit_step {\n"
    "  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
    "    %0 = mpmd.named_computation<\"head\"> (%x) (%a: tensor<8xf32>) {\n"
    "      %1 = stablehlo.tanh %a : tensor<8xf32>\n"
    "      mpmd.return %1 : tensor<8xf32>\n"
    "    } : (tensor<8xf32>) -> tensor<8xf32>\n"
    "    return %0 : tensor<8xf32>\n"
    "  }\n"
    "}\n";

static MeshwrightResult *run(const char *program, const char *config,
                             unsigned phases) {
  return meshwrightPartition(program, strlen(program), config, strlen(config),
                             phases);
}

void testPartition(void) {
  const char *config = "{\"topology\": {\"m1\": {\"x\": 2}},"
                       " \"assignment\": {\"head\": \"m1\"}}";
  MeshwrightResult *result = run(kProgram, config, MESHWRIGHT_ALL);
  CHECK(meshwrightResultGetError(result) == NULL);
  CHECK(strstr(meshwrightResultGetModule(result), "mpmd.fragment_call"));
  CHECK(strstr(meshwrightResultGetProgram(result), "\"version\":1"));
  CHECK(meshwrightResultGetNumFragments(result) == 1);
  CHECK(!strcmp(meshwrightResultGetFragmentName(result, 0), "p0_head.step"));
  CHECK(strstr(meshwrightResultGetFragmentModule(result, 0), "@main"));
  CHECK(!strstr(meshwrightResultGetFragmentModule(result, 0), "mpmd."));
  CHECK(meshwrightResultGetFragmentName(result, 1) == NULL);
  CHECK(meshwrightResultGetFragmentModule(result, 1) == NULL);
  CHECK(meshwrightResultGetWarning(
            result, meshwrightResultGetNumWarnings(result)) == NULL);
  meshwrightResultDestroy(result);

  result = run(kProgram, config, MESHWRIGHT_IMPORT);
  CHECK(meshwrightResultGetError(result) == NULL);
  CHECK(strstr(meshwrightResultGetModule(result), "mpmd.fragment<"));
  CHECK(!strcmp(meshwrightResultGetProgram(result), ""));
  CHECK(meshwrightResultGetNumFragments(result) == 0);
  meshwrightResultDestroy(result);
}

void testErrors(void) {
  const char *config = "{\"topology\": {\"m1\": {\"x\": 2}},"
                       " \"assignment\": {\"haed\": \"m1\"}}";
  MeshwrightResult *result = run(kProgram, config, MESHWRIGHT_ALL);
  CHECK(strstr(meshwrightResultGetError(result), "did you mean \"head\"?"));
  CHECK(!strcmp(meshwrightResultGetModule(result), ""));
  meshwrightResultDestroy(result);

  result = run("func.func @main(", config, MESHWRIGHT_ALL);
  CHECK(strstr(meshwrightResultGetError(result), "program:1:"));
  meshwrightResultDestroy(result);

  result = run(kProgram, "{", MESHWRIGHT_ALL);
  CHECK(strstr(meshwrightResultGetError(result), "config:1:"));
  meshwrightResultDestroy(result);

  result = run(kProgram, config, 8);
  CHECK(strstr(meshwrightResultGetError(result), "unknown phases 8"));
  meshwrightResultDestroy(result);
}
