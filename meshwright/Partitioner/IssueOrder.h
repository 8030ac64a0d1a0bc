//===- IssueOrder.h - The order in which a program is issued ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A runtime issues everything from one thread, and a device takes only a few
// launches before the next one waits (32 on CPU). Issuing the whole queue of
// one mesh first would starve the others. So items are issued in the order in
// which they would start if every fragment took as long as its FLOPs say and
// transfers took no time. Each mesh keeps the order of its own items,
// transfers included, exactly.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_ISSUEORDER_H
#define MESHWRIGHT_PARTITIONER_ISSUEORDER_H

#include "meshwright/Partitioner/ExportedProgram.h"

namespace meshwright {

/// Meshes, by position in the program, that share devices with each mesh, and
/// so take turns. May be empty: none does.
using SharedMeshes = std::vector<std::vector<unsigned>>;

/// The positions of the items, in the order to issue them. `sorted` has all
/// items in an order that keeps those of the meshes and the data flow, as that
/// of the program itself does. Linear, but for sorting.
std::vector<unsigned> findIssueOrder(const ExportedProgram &program,
                                     llvm::ArrayRef<unsigned> sorted,
                                     const SharedMeshes &sharing = {});

/// The same for the order of the program, which is that of issue where it says so.
std::vector<unsigned> findIssueOrder(const ExportedProgram &program,
                                     const SharedMeshes &sharing = {});

} // namespace meshwright

#endif
