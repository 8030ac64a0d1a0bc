//===- Circular.cpp - Several stages on each mesh, in turns ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// With more stages than meshes, as many microbatches as there are meshes (a
// phase) go through all stages before the next phase begins.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/BuiltinSchedules.h"
#include <tuple>

using namespace meshwright;

using Key = std::tuple<int64_t, int64_t, int64_t>;

/// Phase, stage (negated to count it downwards), microbatch.
static Key getKey(const WorkItem &item, const MeshPosition &mesh,
                  int64_t stageSign) {
  return {item.microbatch / mesh.count, stageSign * *item.stage,
          item.microbatch};
}

template <bool reversedBackward>
static bool mustPrecede(const WorkItem &first, const WorkItem &second,
                        const MeshPosition &mesh) {
  if (!first.stage || !second.stage)
    return false;
  bool firstIsForward = first.kind == WorkKind::Forward;
  if (firstIsForward != (second.kind == WorkKind::Forward))
    return firstIsForward;
  if (firstIsForward)
    return getKey(first, mesh, 1) < getKey(second, mesh, 1);
  if (reversedBackward)
    return getKey(first, mesh, 1) > getKey(second, mesh, 1);
  return getKey(first, mesh, -1) < getKey(second, mesh, -1);
}

static constexpr llvm::StringLiteral kSource =
    "Narayanan et al., Efficient Large-Scale Language Model Training on GPU "
    "Clusters Using Megatron-LM, arXiv:2104.04473";

const Schedule meshwright::kCircular = {
    "Circular", "stages of a mesh in turns, a phase of microbatches at a time",
    kSource, mustPrecede<false>};
const Schedule meshwright::kCircularWithReversedBackward = {
    "CircularWithReversedBackward",
    "Circular, with the backward work in exactly the opposite order", kSource,
    mustPrecede<true>};
