//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_IMPORT_INLINE_PASSES_TD
#define MESHWRIGHT_IMPORT_INLINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def CallInlinePass : Pass<"mpmd-call-inline", "::mlir::ModuleOp"> {
  let summary = "Replaces calls by the bodies of their callees";
  let description = [{
    Replaces every `mpmd.call`, also in loops, by a copy of the callee's body.
    The fragments and fragment calls in the copy get the discardable attributes
    of the call, above all its `call_counter`, in place of their own of the same
    name; other ops get none.

    ```mlir
    %0 = mpmd.call @f(%x) {call_counter = 3 : ui32} : (!m) -> !m
    // with @f holding one fragment becomes
    %0 = mpmd.fragment<mesh="m", origin=["g"]> (%x) {call_counter = 3 : ui32} (%a: !l) {
      mpmd.return %a : !l
    } : (!m) -> !m
    ```

    Requires callees whose body is one block. Leaves alone: `func.call`,
    `mpmd.fragment_call`, and, by default, the callees, which `symbol-dce`
    removes. Locations become call sites. Fails if the copies would have more
    than `max-inlined-ops` operations. Cost: linear in the size of the result.
  }];
  let options = [
    Option<"eraseCallees", "erase-callees", "bool", /*default=*/"false",
           "Erase private callees that nothing refers to any more.">,
    Option<"markNestedLocs", "mark-nested-locations", "bool",
           /*default=*/"true",
           "Turn locations of ops in fragments into call sites, too, not "
           "only those of the fragments.">,
    Option<"maxInlinedOps", "max-inlined-ops", "int64_t",
           /*default=*/"1 << 24",
           "Maximum number of operations to copy; exceeding it is an error.">,
  ];
  let statistics = [
    Statistic<"numCalls", "num-calls", "Calls inlined">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def ExpandCompositesWithEffectsPass
    : Pass<"mpmd-expand-composites-with-effects", "::mlir::ModuleOp"> {
  let summary = "Expands composites with side effects";
  let description = [{
    Replaces each composite whose decomposition has effects by a call of that
    function, so that the effects can be seen where they happen once it is
    inlined.

    ```mlir
    %0 = stablehlo.composite "noise" %x {decomposition = @draw} : (T) -> T
    func.func private @draw(%x: T) -> T { … stablehlo.rng … }
    // becomes
    %0 = func.call @draw(%x) : (T) -> T
    ```

    Acts on modules; requires nothing. Leaves alone: composites without effects,
    and those whose decomposition has no body. Cost: linear.
  }];
  let statistics = [
    Statistic<"numComposites", "num-composites", "Composites replaced">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def InlineNestedCallsPass
    : Pass<"mpmd-inline-nested-calls", "::mlir::ModuleOp"> {
  let summary = "Inlines calls in functions that are called";
  let description = [{
    Schedules order the calls of one level. A call of a function that makes
    calls itself becomes a copy of that function, if it has no `call_counter`
    and is in no loop; otherwise, the calls in the function are inlined into it,
    recursively. Each computation so gets the outermost counter on its call
    path.

    ```mlir
    // in @main
    %0 = mpmd.call @f(%x) : (T) -> T
    // in @f
    %0 = mpmd.call @g(%x) {call_counter = 1 : ui32} : (T) -> T
    %1 = stablehlo.tanh %0 : T
    // becomes, in @main,
    %0 = mpmd.call @g(%x) {call_counter = 1 : ui32} : (T) -> T
    %1 = stablehlo.tanh %0 : T
    ```

    Calls and fragments in a copy get the discardable attributes of the call.
    Requires calls without recursion. Fails if the copies would have more than
    `max-inlined-ops` operations. Erases private functions that only inlined
    calls referred to. Leaves alone: calls of functions that call nothing, and
    `func.call`. Cost: linear in the size of the result.
  }];
  let options = [
    Option<"maxInlinedOps", "max-inlined-ops", "int64_t",
           /*default=*/"meshwright::kMaxInlinedOps",
           "Maximum number of operations to copy; exceeding it is an error.">,
  ];
  let statistics = [
    Statistic<"numCalls", "num-calls", "Calls inlined">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

#endif
