//===- ItemRoles.h - Forward, backward, and of which microbatch -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An exported program has neither stages nor microbatches any more; origins and
// data flow tell them:
//
//   call [enc]     reads arguments         forward, stage 0, microbatch 0
//   call [enc]     reads arguments         forward, stage 0, microbatch 1
//   call [dec]     reads the first         forward, stage 1, microbatch 0
//   call [dec(1)]  reads that              backward, stage 1, microbatch 0
//   call [dec(1)]  reads that again        weight, stage 1, microbatch 0
//   call [adam]    reads gradients         optimizer
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_PROGRAM_ITEMROLES_H
#define MESHWRIGHT_SIMULATOR_PROGRAM_ITEMROLES_H

#include "meshwright/Partitioner/ExportedProgram.h"
#include "meshwright/Simulator/Workload.h"

namespace meshwright {

struct ItemRole {
  ItemKind kind = ItemKind::Other;
  int32_t stage = -1;
  int32_t microbatch = -1;
};

/// The role of each item. A stage is what has the same origins on a mesh, in
/// the order of its first forward; microbatches are numbered in the order in
/// which the first stage takes them.
std::vector<ItemRole> findRoles(const ExportedProgram &program);

} // namespace meshwright

#endif
