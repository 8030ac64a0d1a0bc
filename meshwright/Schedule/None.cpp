//===- None.cpp - Program order -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/BuiltinSchedules.h"

using namespace meshwright;

static bool mustPrecede(const WorkItem &, const WorkItem &,
                        const MeshPosition &) {
  return false;
}

const Schedule meshwright::kNone = {"none", "leaves the order of the program",
                                    "", mustPrecede};
