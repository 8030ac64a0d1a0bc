//===- Meshwright.cpp - The partitioner for C -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/CAPI/Meshwright.h"
#include "meshwright/Partitioner/TextPartitioner.h"

using namespace meshwright;

static_assert(MESHWRIGHT_IMPORT == kTextImport);
static_assert(MESHWRIGHT_OPTIMIZE == kTextOptimize);
static_assert(MESHWRIGHT_PARTITION == kTextPartition);

struct MeshwrightResult {
  TextResult result;
  std::string error;
  std::vector<std::string> warnings;
};

const char *meshwrightGetVersion(void) { return MESHWRIGHT_VERSION; }

MeshwrightResult *meshwrightPartition(const char *program, size_t programLength,
                                      const char *config, size_t configLength,
                                      unsigned phases) {
  TextRequest request;
  request.program = {program, programLength};
  request.config = {config, configLength};
  request.phases = phases;
  auto *result = new MeshwrightResult{partitionText(request), "", {}};
  if (!result->result.succeeded)
    result->error = describeErrors(result->result.diagnostics);
  for (const TextDiagnostic &diagnostic : result->result.diagnostics)
    if (diagnostic.severity == "warning")
      result->warnings.push_back(diagnostic.text);
  return result;
}

void meshwrightResultDestroy(MeshwrightResult *result) { delete result; }

const char *meshwrightResultGetError(const MeshwrightResult *result) {
  return result->result.succeeded ? nullptr : result->error.c_str();
}

size_t meshwrightResultGetNumWarnings(const MeshwrightResult *result) {
  return result->warnings.size();
}

const char *meshwrightResultGetWarning(const MeshwrightResult *result,
                                       size_t index) {
  return index < result->warnings.size() ? result->warnings[index].c_str()
                                         : nullptr;
}

const char *meshwrightResultGetModule(const MeshwrightResult *result) {
  return result->result.module.c_str();
}

const char *meshwrightResultGetProgram(const MeshwrightResult *result) {
  return result->result.program.c_str();
}

size_t meshwrightResultGetNumFragments(const MeshwrightResult *result) {
  return result->result.fragments.size();
}

const char *meshwrightResultGetFragmentName(const MeshwrightResult *result,
                                            size_t index) {
  const auto &fragments = result->result.fragments;
  return index < fragments.size() ? fragments[index].first.c_str() : nullptr;
}

const char *meshwrightResultGetFragmentModule(const MeshwrightResult *result,
                                              size_t index) {
  const auto &fragments = result->result.fragments;
  return index < fragments.size() ? fragments[index].second.c_str() : nullptr;
}
