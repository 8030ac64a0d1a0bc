//===- Passes.td --------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATION_PASSES_TD
#define MESHWRIGHT_DIALECT_SDY_PROPAGATION_PASSES_TD

include "mlir/Pass/PassBase.td"

defvar commonOptions = [
  Option<"conservativePropagation", "conservative-propagation", "bool",
         /*default=*/"false", "Propagate whole axes only, no sub-axes.">,
  Option<"debugPropagationEdgeSharding", "debug-propagation-edge-sharding",
         "bool", /*default=*/"false",
         "Record on each op, as `sdy.propagation_edges`, which axis "
         "propagated from which value to which others in each step.">,
  Option<"debugShardingOrigins", "debug-sharding-origins", "bool",
         /*default=*/"false",
         "Record on each value, as `sdy.sharding_origins`, which annotation "
         "each axis comes from.">,
  Option<"keepShardingRules", "keep-sharding-rules", "bool",
         /*default=*/"false",
         "Store the rule of every op as `sdy.sharding_rule`.">,
  Option<"moduleDumpDirectory", "module-dump-directory", "std::string",
         /*default=*/"",
         "Existing folder in which to write the module after each user "
         "priority but the last, as "
         "`00.propagation_after_user_priority_<p>.mlir`. Nothing is written "
         "without user priorities.">,
];

defvar strategyOption =
  Option<"strategy", "propagation-strategy",
         "::mlir::sdy::PropagationStrategy",
         "::mlir::sdy::PropagationStrategy::Aggressive",
         "How far axes propagate where tensors of an op disagree.",
         [{::llvm::cl::values(
             clEnumValN(::mlir::sdy::PropagationStrategy::Basic, "basic",
                        "As far as all tensors agree."),
             clEnumValN(::mlir::sdy::PropagationStrategy::Aggressive,
                        "aggressive", "As far as each tensor allows."),
             clEnumValN(
                 ::mlir::sdy::PropagationStrategy::BasicThenAggressive,
                 "basic-then-aggressive",
                 "First as basic, then as aggressive."))}]>;

defvar opPriorityOption =
  Option<"runOpPriorityPropagation", "run-op-priority-propagation", "bool",
         /*default=*/"true",
         "Propagate first through ops that need no communication, such as "
         "elementwise ones.">;

def AggressivePropagatePass
    : Pass<"sdy-aggressive-propagate", "::mlir::ModuleOp"> {
  let summary = "Propagates shardings as far as each tensor allows";
  let description = [{
    One sweep over all ops, without priorities: where tensors disagree, each
    takes the axes it can, and if two factors compete for an axis the larger
    tensor decides. Otherwise like sdy-user-priority-propagate.

    ```mlir
    // %x [{"a", ?} ], %y [{?}, {"a", ?} ]
    %0 = stablehlo.add %x, %y : tensor<8x8xf32>
    // becomes
    %0 = stablehlo.add %x, %y {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a", ?}, {?} ]>]>} : tensor<8x8xf32>
    ```
  }];
  let options = !listconcat(commonOptions, [strategyOption]);
  let statistics = [
    Statistic<"numShardings", "num-shardings", "Shardings added or changed">,
  ];
  let dependentDialects = ["::mlir::sdy::SdyDialect"];
}

def BasicPropagatePass
    : Pass<"sdy-basic-propagate", "::mlir::ModuleOp"> {
  let summary = "Propagates shardings as far as all tensors of an op agree";
  let description = [{
    One sweep over all ops, without priorities. Otherwise like
    sdy-user-priority-propagate.

    ```mlir
    // %x [{"a", ?} ], %y [{?}, {"a", ?} ]: they disagree on which dimension has "a"
    %0 = stablehlo.add %x, %y : tensor<8x8xf32>
    // stays; with %y [{?}, {"b", ?} ] it becomes
    %0 = stablehlo.add %x, %y {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a", ?}, {"b", ?} ]>]>} : tensor<8x8xf32>
    ```
  }];
  let options = commonOptions;
  let statistics = [
    Statistic<"numShardings", "num-shardings", "Shardings added or changed">,
  ];
  let dependentDialects = ["::mlir::sdy::SdyDialect"];
}

def OpPriorityPropagatePass
    : Pass<"sdy-op-priority-propagate", "::mlir::ModuleOp"> {
  let summary = "Propagates shardings along cheap ops first";
  let description = [{
    Propagates in rounds, as sdy-user-priority-propagate does for each user
    priority: first through ops that need no communication, then through others.
    User priorities are ignored, and kept on shardings that do not change.

    ```mlir
    // %x [{"a", ?} ], %y [{?}, {"a", ?} ]
    %0 = stablehlo.dot %x, %y : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.sine %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"a", ?} ]>]>} : tensor<8x8xf32>
    // becomes: the sharding of %1 reaches %0 before that of %x does
    %0 = stablehlo.dot %x, %y {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"a", ?} ]>]>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    ```
  }];
  let options =
      !listconcat(commonOptions, [strategyOption, opPriorityOption]);
  let statistics = [
    Statistic<"numShardings", "num-shardings", "Shardings added or changed">,
  ];
  let dependentDialects = ["::mlir::sdy::SdyDialect"];
}

def RemovePropagationDebugInfoPass
    : Pass<"sdy-remove-propagation-debug-info", "::mlir::ModuleOp"> {
  let summary = "Removes debug attributes of propagation";
  let description = [{
    ```mlir
    %0 = stablehlo.sine %x {sdy.sharding_origins = [{a = "input: 0"} ]} : tensor<8xf32>
    // becomes
    %0 = stablehlo.sine %x : tensor<8xf32>
    ```

    Removes `sdy.sharding_origins`, `sdy.sharding_origin_name` and
    `sdy.propagation_edges`, also those that sdy-sink-data-flow-edges has moved.
  }];
  let statistics = [
    Statistic<"numRemoved", "num-removed", "Attributes removed">,
  ];
}

def RemoveShardingGroupsPass
    : Pass<"sdy-remove-sharding-groups", "::mlir::ModuleOp"> {
  let summary = "Removes sharding groups once shardings have propagated";
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

    Equivalent to symbol-dce, but skips the search for uses, which is slow in
    large functions, if public functions call all private symbols.
  }];
  let statistics = [
    Statistic<"numSymbols", "num-symbols", "Symbols removed">,
  ];
}

def ShardingConstraintToReshardPass
    : Pass<"sdy-sharding-constraint-to-reshard", "::mlir::func::FuncOp"> {
  let summary = "Turns constraints into reshards once shardings are propagated";
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
  let summary = "Propagates shardings from annotated values to all others";
  let description = [{
    Applies the sharding rule of each op: tensors that share a factor are
    sharded alike, unless they are closed, replicated, or already sharded
    differently.

    ```mlir
    %1 = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?} ]>]>} : tensor<8xf32>
    %2 = stablehlo.sine %1 : tensor<8xf32>
    // becomes
    %1 = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?} ]>]>} : tensor<8xf32>
    %2 = stablehlo.sine %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?} ]>]>} : tensor<8xf32>
    ```

    Dimensions with a lower priority number propagate before others, and in each
    round ops that need no communication before others. Crosses the boundary of
    data-flow ops only by the edges of sdy-add-data-flow-edges. Members of a
    sharding group always have equal shardings. Erases pure ops without uses.
    Only adds axes, and removes all priorities.

    Fails on results of dynamic shape and on tuples. Cost: linear in the number
    of ops whose values are sharded; an op is computed once for each kind of op
    and shardings.
  }];
  let options =
      !listconcat(commonOptions, [strategyOption, opPriorityOption]);
  let statistics = [
    Statistic<"numShardings", "num-shardings", "Shardings added or changed">,
  ];
  let dependentDialects = ["::mlir::sdy::SdyDialect"];
}

#endif
