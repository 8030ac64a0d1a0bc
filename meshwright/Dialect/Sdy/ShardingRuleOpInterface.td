//===- ShardingRuleOpInterface.td ---------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_SHARDINGRULEOPINTERFACE_TD
#define MESHWRIGHT_DIALECT_SDY_SHARDINGRULEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def Sdy_ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::mlir::sdy";
  let description = [{
    An op of another dialect that knows which of its dimensions are split
    together.
  }];
  let methods = [
    InterfaceMethod<"The rule; null if shardings do not pass through the op.",
      "::mlir::sdy::OpShardingRuleAttr", "getShardingRule">,
    InterfaceMethod<[{
        Whether the shardings of results must split their dimensions evenly.
      }],
      "bool", "shouldKeepOutputShardingsDivisible", (ins), "",
      "return false;">,
  ];
}

#endif
