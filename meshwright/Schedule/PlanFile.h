//===- PlanFile.h - Plans written by users ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A plan as CSV has a row for each mesh and a cell for each action, in the
// format in which PyTorch's pipelining writes its computations:
//
//   0F0,0F1,0B0,0B1
//   1F0,1B0,,(1F1;1B1)OVERLAP_F_B
//
// Two actions in one cell overlap: the mesh runs them as one step, a forward and a
// backward of another microbatch.
//
// A plan as JSON is what `meshwright schedule --json` prints; needed of that are
//
//   {"meshes": [{"actions": [{"stage": 0, "kind": "F", "microbatch": 1,
//                             "overlaps_next": true}, ...]}, ...]}
//
// Where stages are no chain, a line `towers TEXT` comes before the rows, and in
// JSON `"towers": "TEXT"` (StageGraph.h).
//
// A cell is a stage, F, B, I or W, and a microbatch. An empty cell is an idle
// slot and means nothing; rows may differ in length.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_PLANFILE_H
#define MESHWRIGHT_SCHEDULE_PLANFILE_H

#include "meshwright/Schedule/Plan.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace meshwright {

/// Reads a plan and checks that it can run: each stage and microbatch has one
/// forward and one backward, the latter whole or in two halves, in an order
/// that makes sense, on one mesh per stage, and no meshes wait for each other.
/// Errors name row and column, both counted from 1, or the place in the JSON.
llvm::Expected<Plan> parsePlan(llvm::StringRef text);

/// The same for a file, which errors name.
llvm::Expected<Plan> readPlanFile(llvm::StringRef path);

} // namespace meshwright

#endif
