//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_DIALECT_SDY_CALLS_PASSES_TD
#define MESHWRIGHT_DIALECT_SDY_CALLS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExportNamedComputationsPass
    : Pass<"sdy-export-named-computations", "::mlir::ModuleOp"> {
  let summary = "Outlines named computations into functions";
  let description = [{
    The body becomes a private function at the end of the module, with the
    name of the computation, made unique by `_0`, `_1` and so on. Inner
    computations come before outer ones.

    ```mlir
    %0 = sdy.named_computation<"f">(%x) in_shardings=[<@mesh, [{"x"} ]>] (%a: tensor<8xf32>) {
      sdy.return %a : tensor<8xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    // becomes
    %0 = call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
    // and
    func.func private @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"} ]>}) -> tensor<8xf32> {
      return %a : tensor<8xf32>
    }
    ```

    The call has the attributes of the computation and the shardings of its
    results. Shardings that data-flow edges of the computation still hold are
    taken from them, and the edges are removed.
  }];
  let statistics = [
    Statistic<"numComputations", "num-computations", "Computations exported">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def FlattenCallGraphPass
    : Pass<"sdy-flatten-call-graph", "::mlir::ModuleOp"> {
  let summary = "Clones functions so that each call has its own callee";
  let description = [{
    The first call of a private function keeps it; every other call, and every
    call of a public function, gets a private clone at the end of the module.
    Calls in clones are handled in the same way. A clone records the name of its
    original in `sdy.original_func_name`.

    ```mlir
    %0 = call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @f(%y) : (tensor<8xf32>) -> tensor<8xf32>
    // becomes
    %0 = call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @f_0(%y) : (tensor<8xf32>) -> tensor<8xf32>
    ```

    Fails on recursive calls, and if it would clone more than `max-inlined-ops`
    operations. Leaves alone calls of functions without a body.
    Cost: linear in the size of the program with all calls inlined.
  }];
  let options = [
    Option<"maxInlinedOps", "max-inlined-ops", "int64_t",
           /*default=*/"meshwright::kMaxInlinedOps",
           "Maximum number of operations to clone; exceeding it is an error.">,
  ];
  let statistics = [
    Statistic<"numClones", "num-clones", "Functions cloned">,
  ];
}

def ImportFuncCallsPass
    : Pass<"sdy-import-func-calls", "::mlir::ModuleOp"> {
  let summary = "Turns calls into named computations";
  let description = [{
    Replaces each call by a `sdy.named_computation` with the name of the function
    and a copy of its body.

    ```mlir
    func.func private @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"} ]>}) -> tensor<8xf32> {
      return %a : tensor<8xf32>
    }
    %0 = call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
    // becomes
    %0 = sdy.named_computation<"f">(%x) in_shardings=[<@mesh, [{"x"} ]>] (%a: tensor<8xf32>) {
      sdy.return %a : tensor<8xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    ```

    In-shardings are those of the arguments; out-shardings are those of the
    call, or of the function's results if the call has none. Keeps the
    attributes of the call and drops other attributes of arguments and results.
    Keeps the functions: symbol-dce removes unreferenced ones. Fails on
    recursive calls, and if the copies would have more than `max-inlined-ops`
    operations or nest deeper than 10000. Leaves alone calls of functions
    without a body, with more than one block, or with calls of other dialects in
    them, such as `mpmd.call`. Cost: linear in the size of the result.
  }];
  let options = [
    Option<"maxInlinedOps", "max-inlined-ops", "int64_t",
           /*default=*/"meshwright::kMaxInlinedOps",
           "Maximum number of operations to copy; exceeding it is an error.">,
    Option<"addDataFlowEdgesOnNamedComputations",
           "add-data-flow-edges-on-named-computations", "bool",
           /*default=*/"true",
           "Give the named computations data-flow edges.">,
  ];
  let statistics = [
    Statistic<"numCalls", "num-calls", "Calls imported">,
  ];
  let dependentDialects = ["::mlir::sdy::SdyDialect"];
}

def InsertFuncCallReshardsPass
    : Pass<"sdy-insert-func-call-reshards", "::mlir::ModuleOp"> {
  let summary = "Reshards operands and results of calls to match the callee";
  let description = [{
    An operand whose sharding differs from that of the argument is resharded
    before the call. A call whose result shardings differ from those of the
    function takes the function's shardings, and a reshard after the call
    restores its own.

    ```mlir
    %0 = call @f(%x) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"} ]>]>} : (tensor<8xf32>) -> tensor<8xf32>
    // becomes, if the argument and the result of @f are not sharded
    %0 = sdy.reshard %x <@mesh, [{} ]> : tensor<8xf32>
    %1 = call @f(%0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{} ]>]>} : (tensor<8xf32>) -> tensor<8xf32>
    %2 = sdy.reshard %1 <@mesh, [{"x"} ]> : tensor<8xf32>
    ```

    Leaves alone values for which the function has no sharding, or an equivalent
    one.
  }];
  let statistics = [
    Statistic<"numReshards", "num-reshards", "Reshards inserted">,
  ];
  let dependentDialects = ["::mlir::sdy::SdyDialect"];
}

def PreOrderFuncsPass : Pass<"sdy-pre-order-funcs", "::mlir::ModuleOp"> {
  let summary = "Orders functions so that callers come before callees";
  let description = [{
    ```mlir
    func.func private @callee() { … }
    func.func @caller() { call @callee() … }
    // becomes
    func.func @caller() { call @callee() … }
    func.func private @callee() { … }
    ```

    Leaves the module alone if it is ordered already; otherwise functions move
    after all other ops.
  }];
  let statistics = [
    Statistic<"numFunctions", "num-functions", "Functions reordered">,
  ];
}

def PropagateShardingFromFuncToCallPass
    : Pass<"sdy-propagate-sharding-from-func-to-call", "::mlir::ModuleOp"> {
  let summary = "Copies shardings of function results to calls";
  let description = [{
    ```mlir
    func.func private @f() -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"} ]>})
    %0 = call @f() : () -> tensor<8xf32>
    // becomes
    %0 = call @f() {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"} ]>]>} : () -> tensor<8xf32>
    ```

    A result without sharding counts as open if another has one. Leaves alone
    calls that have shardings.
  }];
  let statistics = [
    Statistic<"numCalls", "num-calls", "Calls given shardings">,
  ];
}

def UnflattenCallGraphPass
    : Pass<"sdy-unflatten-call-graph", "::mlir::ModuleOp"> {
  let summary = "Merges clones of functions with equal shardings";
  let description = [{
    Of the private functions that sdy-flatten-call-graph made of one function,
    those with equal types and equal shardings of arguments and results are
    replaced by the first of them in all calls.

    ```mlir
    %0 = call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @f_0(%y) : (tensor<8xf32>) -> tensor<8xf32>
    // becomes
    %0 = call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @f(%y) : (tensor<8xf32>) -> tensor<8xf32>
    ```

    Keeps the functions: symbol-dce removes those that nothing calls any more.
    Removes `sdy.original_func_name`.
  }];
  let options = [
    Option<"dedupFunctionsFully", "dedup-functions-fully", "bool",
           /*default=*/"false",
           "Merge clones even if the shardings of arguments and results "
           "differ.">,
  ];
  let statistics = [
    Statistic<"numCalls", "num-calls", "Calls redirected">,
  ];
}

#endif
