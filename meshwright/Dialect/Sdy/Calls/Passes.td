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
    results. Shardings that are still with data-flow edges of the computation
    are taken from there and the edges removed.
  }];
  let statistics = [
    Statistic<"numComputations", "num-computations", "Computations exported">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def FlattenCallGraphPass
    : Pass<"sdy-flatten-call-graph", "::mlir::ModuleOp"> {
  let summary = "Gives each call a function of its own";
  let description = [{
    The first call of a private function keeps it, the others get private clones
    at the end of the module; so do all calls of a public one. Calls in clones are
    treated alike. A clone has the name of the function it was made of as
    `sdy.original_func_name`.

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
           "Fail rather than clone more operations.">,
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

    In-shardings are those of the arguments, out-shardings those of the call or
    else of the results; other attributes of arguments and results are lost.
    Keeps the attributes of the call, and the functions: symbol-dce removes
    those that nothing refers to any more, which are left as they are. Fails on
    recursive calls, and if the copies would have more than `max-inlined-ops`
    operations or nest deeper than 10000. Leaves alone calls of functions without
    a body, with more than one block, or with calls of other dialects in them,
    such as `mpmd.call`. Cost: linear in the size of the result.
  }];
  let options = [
    Option<"maxInlinedOps", "max-inlined-ops", "int64_t",
           /*default=*/"meshwright::kMaxInlinedOps",
           "Fail rather than copy more operations.">,
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
  let summary = "Reshards operands and results of calls that differ from the function";
  let description = [{
    An operand that is sharded otherwise than the argument is resharded before
    the call. A call whose results are sharded otherwise than those of the
    function takes these shardings, and what it said before becomes a reshard
    after it.

    ```mlir
    %0 = call @f(%x) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"} ]>]>} : (tensor<8xf32>) -> tensor<8xf32>
    // becomes, if the argument and the result of @f are not sharded
    %0 = sdy.reshard %x <@mesh, [{} ]> : tensor<8xf32>
    %1 = call @f(%0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{} ]>]>} : (tensor<8xf32>) -> tensor<8xf32>
    %2 = sdy.reshard %1 <@mesh, [{"x"} ]> : tensor<8xf32>
    ```

    Leaves alone where the function has no sharding, or an equivalent one.
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
  let summary = "Gives calls the shardings of the function's results";
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
    Statistic<"numCalls", "num-calls", "Calls that got shardings">,
  ];
}

def UnflattenCallGraphPass
    : Pass<"sdy-unflatten-call-graph", "::mlir::ModuleOp"> {
  let summary = "Merges clones of functions with equal shardings";
  let description = [{
    Private functions made of one function by sdy-flatten-call-graph, with the
    same types and with the same shardings of arguments and results, are called
    under the name of the first of them.

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
           "Merge clones however their arguments and results are sharded.">,
  ];
  let statistics = [
    Statistic<"numCalls", "num-calls", "Calls redirected">,
  ];
}

#endif
