//===- ProgramSummary.h - What runs on each mesh ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_PROGRAMSUMMARY_H
#define MESHWRIGHT_PARTITIONER_PROGRAMSUMMARY_H

#include "meshwright/Cost/CustomCost.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Support/LLVM.h"
#include <set>
#include <string>
#include <vector>

namespace meshwright {

/// One mesh of a partitioned function. Bytes are of global shapes.
struct MeshSummary {
  std::string mesh;
  unsigned fragments = 0;
  /// Fragments that differ in body, operand or result types.
  unsigned distinctPrograms = 0;
  double flops = 0;
  double transcendentals = 0;
  double parameterBytes = 0;
  /// Most bytes of fragment results and received values alive at once, if the
  /// program runs in its textual order.
  double activationBytes = 0;
  unsigned transfersIn = 0, transfersOut = 0;
  double bytesIn = 0, bytesOut = 0;
};

struct ProgramSummary {
  std::vector<MeshSummary> meshes; ///< In the order of the topology.
  /// Custom calls and loops whose work could not be known.
  unsigned unknownWork = 0;
  /// The names of these custom calls.
  std::set<std::string> uncounted;
};

/// Summarizes an MPMD function whose computations are all in fragments, or in
/// the functions that fragments have become.
/// Linear in the size of the function. `customs` is what is known of custom
/// calls.
ProgramSummary summarize(mlir::func::FuncOp func, CustomCosts customs = {});

/// A table with a row per mesh and a row of totals.
void printTable(const ProgramSummary &summary, llvm::raw_ostream &os);

} // namespace meshwright

#endif
