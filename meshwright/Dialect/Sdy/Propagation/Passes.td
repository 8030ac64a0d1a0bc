//===- Passes.td --------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATION_PASSES_TD
#define MESHWRIGHT_DIALECT_SDY_PROPAGATION_PASSES_TD

include "mlir/Pass/PassBase.td"

def RemoveShardingGroupsPass
    : Pass<"sdy-remove-sharding-groups", "::mlir::ModuleOp"> {
  let summary = "Removes sharding groups once shardings have spread";
  let description = [{
    ```mlir
    sdy.sharding_group %0 group_id=0 : tensor<8xf32>
    // becomes nothing
    ```
  }];
  let statistics = [
    Statistic<"numGroups", "num-groups", "Members of groups removed">,
  ];
}

def RemoveUnusedSymbolsPass
    : Pass<"sdy-remove-unused-symbols", "::mlir::ModuleOp"> {
  let summary = "Removes private symbols that nothing refers to";
  let description = [{
    ```mlir
    func.func private @unused() { … }
    // becomes nothing
    ```

    Does what symbol-dce does, but does not look for uses, which takes long in
    large functions, if there is no private symbol.
  }];
  let statistics = [
    Statistic<"numSymbols", "num-symbols", "Symbols removed">,
  ];
}

def ShardingConstraintToReshardPass
    : Pass<"sdy-sharding-constraint-to-reshard", "::mlir::func::FuncOp"> {
  let summary = "Turns constraints, which spread, into reshards, which act";
  let description = [{
    ```mlir
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"} ]> : tensor<8xf32>
    // becomes
    %1 = sdy.reshard %0 <@mesh, [{"x"} ]> : tensor<8xf32>
    ```

    Keeps discardable attributes.
  }];
  let statistics = [
    Statistic<"numReshards", "num-reshards", "Constraints replaced">,
  ];
  let dependentDialects = ["::mlir::sdy::SdyDialect"];
}

def UserPriorityPropagatePass
    : Pass<"sdy-user-priority-propagate", "::mlir::ModuleOp"> {
  let summary = "Spreads shardings from annotated values to all others";
  let description = [{
    Looks at each op through its sharding rule: tensors that share a factor are
    split alike, unless they are closed, replicated, or already split otherwise.

    ```mlir
    %1 = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?} ]>]>} : tensor<8xf32>
    %2 = stablehlo.sine %1 : tensor<8xf32>
    // becomes
    %1 = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?} ]>]>} : tensor<8xf32>
    %2 = stablehlo.sine %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?} ]>]>} : tensor<8xf32>
    ```

    Dimensions with a lower priority number spread before others, and in each
    round ops that cost nothing to keep apart before others. Needs the edges of
    sdy-add-data-flow-edges to cross the border of data-flow ops. Members of a
    sharding group stay alike whatever happens to one of them. Erases pure ops
    without uses. Axes are only added, and no priorities are left.

    Fails on results of dynamic shape and on tuples. Cost: linear in the number
    of ops whose values are sharded; an op is computed once for each kind of op
    and shardings.
  }];
  let options = [
    Option<"keepShardingRules", "keep-sharding-rules", "bool",
           /*default=*/"false",
           "Store the rule of every op as `sdy.sharding_rule`.">,
    Option<"strategy", "propagation-strategy",
           "::mlir::sdy::PropagationStrategy",
           "::mlir::sdy::PropagationStrategy::Aggressive",
           "How far axes spread where tensors of an op disagree.",
           [{::llvm::cl::values(
               clEnumValN(::mlir::sdy::PropagationStrategy::Basic, "basic",
                          "As far as all tensors agree."),
               clEnumValN(::mlir::sdy::PropagationStrategy::Aggressive,
                          "aggressive", "As far as each tensor allows."),
               clEnumValN(
                   ::mlir::sdy::PropagationStrategy::BasicThenAggressive,
                   "basic-then-aggressive",
                   "Everything that all agree on first."))}]>,
  ];
  let statistics = [
    Statistic<"numShardings", "num-shardings", "Shardings new or changed">,
  ];
  let dependentDialects = ["::mlir::sdy::SdyDialect"];
}

#endif
