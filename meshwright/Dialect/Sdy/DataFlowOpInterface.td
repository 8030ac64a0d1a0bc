//===- DataFlowOpInterface.td -------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_DATAFLOWOPINTERFACE_TD
#define MESHWRIGHT_DIALECT_SDY_DATAFLOWOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def Sdy_DataFlowOpInterface : OpInterface<"DataFlowOpInterface"> {
  let cppNamespace = "::mlir::sdy";
  let description = [{
    An op that passes values between itself and its regions, or through itself.
    Each edge links sources (operands of the op or of its terminators) with
    targets (results or block arguments); all must be sharded alike. One target
    is the owner: the sharding of the edge is stored for it.

    Owners come in two families, block arguments and results. The shardings of
    a family are stored together: none, or one per owner. An owner without
    sharding of its own is null in that list.

    Unless overridden, each operand feeds the argument of its number of the one
    block of the first region, and each operand of its terminator a result; these
    own the edges.
  }];
  let methods = [
    InterfaceMethod<"The block arguments that own an edge, in order.",
      "::llvm::ArrayRef<::mlir::BlockArgument>", "getBlockArgumentEdgeOwners",
      (ins), "", "return $_op->getRegion(0).getArguments();">,
    InterfaceMethod<"The results that own an edge, in order.",
      "::mlir::ResultRange", "getOpResultEdgeOwners", (ins), "",
      "return $_op->getResults();">,
    InterfaceMethod<"The operands that feed the edge of an owner.",
      "::llvm::SmallVector<::mlir::OpOperand *>", "getEdgeSources",
      (ins "::mlir::Value":$owner), "", [{
        if (auto arg = ::llvm::dyn_cast<::mlir::BlockArgument>(owner))
          return {&$_op->getOpOperand(arg.getArgNumber())};
        unsigned index = ::llvm::cast<::mlir::OpResult>(owner).getResultNumber();
        ::mlir::Block &body = $_op->getRegion(0).front();
        return {&body.getTerminator()->getOpOperand(index)};
      }]>,
    InterfaceMethod<[{
        The owner of the edge that a result or block argument is a target of;
        null if it is of none.
      }],
      "::mlir::Value", "getEdgeOwnerFromTarget",
      (ins "::mlir::Value":$target), "", "return target;">,
    InterfaceMethod<[{
        The owner of the edge that an operand of the op or of a terminator in it
        feeds; null if it feeds none.
      }],
      "::mlir::Value", "getEdgeOwnerFromSource",
      (ins "::mlir::OpOperand &":$source), "", [{
        unsigned index = source.getOperandNumber();
        if (source.getOwner() == $_op.getOperation())
          return $_op->getRegion(0).getArgument(index);
        return $_op->getResult(index);
      }]>,
    InterfaceMethod<"The targets of an edge other than its owner.",
      "::llvm::SmallVector<::mlir::Value>", "getNonEdgeOwnerTargets",
      (ins "::mlir::Value":$owner), "", "return {};">,
    InterfaceMethod<[{
        Whether the shardings of owners must split their dimensions evenly.
      }],
      "bool", "shouldKeepEdgeOwnerShardingsDivisible", (ins), "",
      "return false;">,
    InterfaceMethod<"The shardings of block argument owners, or none.",
      "::llvm::SmallVector<::mlir::sdy::TensorShardingAttr>",
      "getBlockArgumentEdgeOwnerShardings", (ins), "", "return {};">,
    InterfaceMethod<"Sets the shardings of all block argument owners.",
      "void", "setBlockArgumentEdgeOwnerShardings",
      (ins "::llvm::ArrayRef<::mlir::sdy::TensorShardingAttr>":$shardings), "",
      "(void)shardings;">,
    InterfaceMethod<[{
        The shardings of result owners, or none. Unless overridden they are in
        `sdy.sharding`.
      }],
      "::llvm::SmallVector<::mlir::sdy::TensorShardingAttr>",
      "getOpResultEdgeOwnerShardings", (ins), "",
      "return ::mlir::sdy::getResultShardings($_op);">,
    InterfaceMethod<"Sets the shardings of all result owners.",
      "void", "setOpResultEdgeOwnerShardings",
      (ins "::llvm::ArrayRef<::mlir::sdy::TensorShardingAttr>":$shardings), "",
      "::mlir::sdy::setResultShardings($_op, shardings);">,
    InterfaceMethod<[{
        Turns the sharding stored for an edge into what the sources of the edge
        see, or, with `toSources` unset, back.
      }],
      "::mlir::sdy::TensorShardingAttr", "transformTargetSharding",
      (ins "::mlir::Value":$target,
           "::mlir::sdy::TensorShardingAttr":$sharding, "bool":$toSources), "",
      "return sharding;">,
  ];
}

/// What an op overrides that has the shardings of its edges in attributes.
defvar Sdy_StoredShardings = [
  "getBlockArgumentEdgeOwnerShardings", "setBlockArgumentEdgeOwnerShardings",
  "getOpResultEdgeOwnerShardings", "setOpResultEdgeOwnerShardings"];

#endif
