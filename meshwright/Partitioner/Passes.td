//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_PARTITIONER_PASSES_TD
#define MESHWRIGHT_PARTITIONER_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApplyConfigurationPass
    : Pass<"mpmd-apply-configuration", "::mlir::ModuleOp"> {
  let summary = "Applies a configuration to the entry function";
  let description = [{
    Gives a function its topology, marks the arguments whose buffers it may
    reuse, and makes it public, since passes treat a private function without
    calls as unused.

    ```mlir
    func.func private @main(%x: T) -> T
    // becomes, with topology={<<"m": <["x"=2]>>>} donate=0
    func.func public @main(%x: T {jax.buffer_donor = true}) -> T
        attributes {topology = #mpmd.topology<<"m" : <["x"=2]>>>}
    ```

    Every other pass relies on this; the tools and the library run it first.
    Fails if the function does not exist, if it lacks an argument to donate, or
    if the program donates one that the list, if there is any, leaves out.
    Leaves alone arguments that the program itself donates. Cost: linear in the
    number of arguments.
  }];
  let options = [
    Option<"function", "function", "::meshwright::TextOption",
           /*default=*/"\"main\"", "The symbol of the function.">,
    Option<"topology", "topology", "::meshwright::TextOption", /*default=*/"",
           "Its meshes, in the syntax that follows #mpmd.topology in an "
           "attribute.">,
    ListOption<"donate", "donate", "int64_t",
               "Indices of arguments whose buffers may be reused.">,
  ];
  let statistics = [
    Statistic<"numFunctions", "num-functions", "Functions configured">,
    Statistic<"numDonated", "num-donated", "Arguments marked">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

#endif
