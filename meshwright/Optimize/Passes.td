//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_OPTIMIZE_PASSES_TD
#define MESHWRIGHT_OPTIMIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def RematFragmentPass : Pass<"mpmd-remat-fragment", "::mlir::func::FuncOp"> {
  let summary = "Recomputes forward fragments before their backward fragments";
  let description = [{
    Clones a forward fragment in front of each backward fragment that reads it
    directly and has the same stage and call counter, unless that is the next
    fragment on the mesh anyway. The backward fragment then reads the clone.

    ```mlir
    %0 = fragment<"m", ["f"]> (%x) {call_counter = 4 : ui32}
    %1 = fragment<"m", ["g"]> (%y)
    %2 = fragment<"m", ["f"(1)]> (%0) {call_counter = 4 : ui32}
    // becomes
    %0 = fragment<"m", ["f"]> (%x) {call_counter = 4 : ui32}
    %1 = fragment<"m", ["g"]> (%y)
    %3 = fragment<"m", ["f"]> (%x) {call_counter = 4 : ui32, remat}
    %2 = fragment<"m", ["f"(1)]> (%3) {call_counter = 4 : ui32}
    // or, merged
    %2 = fragment<"m", ["f", "f"(1)]> (%x) {call_counter = 4 : ui32, remat}
    ```

    Acts on distributed functions, on the fragments directly in their bodies;
    requires nothing. Leaves alone: fragments without call counter, and the
    original fragment, even if nothing reads it any more. A clone has all
    attributes of the original; of those of the backward fragment, merging keeps
    the call counter. Cost: linear in fragments and their uses.
  }];
  let options = [
    Option<"mergeRematFragments", "merge-remat-fragments", "bool",
           /*default=*/"false",
           "Merge each clone with the backward fragment that reads it.">,
  ];
  let statistics = [
    Statistic<"numFragments", "num-fragments", "Fragments recomputed">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

#endif
