//===- GPipe.cpp - All forward work, then all backward work ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/BuiltinSchedules.h"
#include <tuple>

using namespace meshwright;

static bool mustPrecede(const WorkItem &first, const WorkItem &second,
                        const MeshPosition &) {
  auto key = [](const WorkItem &item) {
    return std::make_tuple(item.kind != WorkKind::Forward, item.microbatch);
  };
  return key(first) < key(second);
}

const Schedule meshwright::kGPipe = {
    "GPipe", "all forward work by microbatch, then all backward work",
    "Huang et al., GPipe, arXiv:1811.06965", mustPrecede};
