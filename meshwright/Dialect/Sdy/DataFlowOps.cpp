//===- DataFlowOps.cpp - Edges, returns, named computations, StableHLO ----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/ShardingVerification.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

using namespace mlir;
using namespace mlir::sdy;

//===----------------------------------------------------------------------===//
// Edges
//===----------------------------------------------------------------------===//

DataFlowEdgeOp DataFlowEdgeOp::getFor(Value owner) {
  for (Operation *user : owner.getUsers())
    if (auto edge = dyn_cast<DataFlowEdgeOp>(user))
      return edge;
  return {};
}

/// What both kinds of edges demand of their operand.
static LogicalResult verifyEdgeOperand(Operation *op, Value input) {
  if (!cast<ShapedType>(input.getType()).hasStaticShape())
    return op->emitOpError()
           << "expected a value of static shape, got " << input.getType();
  if (!input.hasOneUse())
    return op->emitOpError()
           << "expected the operand of an edge to have a single user, it has "
           << std::distance(input.use_begin(), input.use_end());
  return success();
}

LogicalResult DataFlowEdgeOp::verify() {
  if (failed(verifyEdgeOperand(*this, getInput()))) // (C1), (C2)
    return failure();
  Operation *def = getInput().getDefiningOp(); // (C3)
  if (def && isa_and_nonnull<SdyDialect>(def->getDialect()) &&
      !isa<DataFlowOpInterface>(def)) {
    InFlightDiagnostic diag =
        emitOpError() << "expected the operand of an edge not to be defined by "
                         "an sdy op, other than data-flow ops";
    diag.attachNote(def->getLoc()) << "sdy op defining the operand of the edge";
    return diag;
  }
  if (!getSharding()) // (C4)
    return success();
  return verifySharding(getType(), getShardingAttr(), *this,
                        [&] { return emitOpError(); });
}

LogicalResult FuncDataFlowEdgeOp::verify() {
  if (failed(verifyEdgeOperand(*this, getInput())))
    return failure();
  if (auto arg = dyn_cast<BlockArgument>(getInput()))
    return isa_and_nonnull<func::FuncOp>(arg.getOwner()->getParentOp()) &&
                   arg.getOwner()->isEntryBlock()
               ? success()
               : emitOpError() << "expected a block argument as operand to be "
                                  "an argument of a function";
  if (!isa<func::CallOp>(getInput().getDefiningOp()))
    return emitOpError() << "expected the operand to be an argument of a "
                            "function or a result of a call";
  return success();
}

//===----------------------------------------------------------------------===//
// ReturnOp
//===----------------------------------------------------------------------===//

/// Other ops with regions say themselves what is returned to them.
LogicalResult ReturnOp::verify() {
  auto func = dyn_cast<func::FuncOp>((*this)->getParentOp());
  if (!func || func.getResultTypes() == getOperandTypes()) // (C1)
    return success();
  return emitOpError() << "ends function @" << func.getSymName()
                       << " and must return " << func.getResultTypes().size()
                       << " values of types (" << func.getResultTypes()
                       << "), got " << getNumOperands() << " of types ("
                       << getOperandTypes() << ")";
}

//===----------------------------------------------------------------------===//
// NamedComputationOp
//===----------------------------------------------------------------------===//

LogicalResult NamedComputationOp::verify() {
  auto verifyTypes = [&](TypeRange outside, TypeRange inside, StringRef outer,
                         StringRef inner) -> LogicalResult { // (C1)
    if (outside == inside)
      return success();
    return emitOpError() << inner << " types " << inside << " must match the "
                         << outer << " types " << outside;
  };
  if (failed(verifyTypes(getOperandTypes(), getBody().getArgumentTypes(),
                         "operand", "block argument")) ||
      failed(verifyTypes(getResultTypes(),
                         getBodyTerminator()->getOperandTypes(), "result",
                         "returned")))
    return failure();
  if (auto shardings = getInShardings(); // (C2)
      shardings && failed(verifyShardings(getOperandTypes(), *shardings, *this,
                                          "in_shardings")))
    return failure();
  if (auto shardings = getOutShardings())
    return verifyShardings(getResultTypes(), *shardings, *this,
                           "out_shardings");
  return success();
}

static SmallVector<TensorShardingAttr>
toVector(std::optional<TensorShardingPerValueAttr> shardings) {
  return shardings ? llvm::to_vector(*shardings)
                   : SmallVector<TensorShardingAttr>();
}

SmallVector<TensorShardingAttr>
NamedComputationOp::getBlockArgumentEdgeOwnerShardings() {
  return toVector(getInShardings());
}

void NamedComputationOp::setBlockArgumentEdgeOwnerShardings(
    ArrayRef<TensorShardingAttr> shardings) {
  setInShardingsAttr(TensorShardingPerValueAttr::get(getContext(), shardings));
}

SmallVector<TensorShardingAttr>
NamedComputationOp::getOpResultEdgeOwnerShardings() {
  return toVector(getOutShardings());
}

void NamedComputationOp::setOpResultEdgeOwnerShardings(
    ArrayRef<TensorShardingAttr> shardings) {
  setOutShardingsAttr(TensorShardingPerValueAttr::get(getContext(), shardings));
}

//===----------------------------------------------------------------------===//
// Data flow of StableHLO ops: results own the edges
//===----------------------------------------------------------------------===//

namespace {

template <typename Model, typename OpT>
struct ResultsOwnEdges : DataFlowOpInterface::ExternalModel<Model, OpT> {
  ArrayRef<BlockArgument> getBlockArgumentEdgeOwners(Operation *) const {
    return {};
  }
  /// Every source with a number feeds the result of that number.
  Value getEdgeOwnerFromSource(Operation *op, OpOperand &source) const {
    return op->getResult(source.getOperandNumber());
  }
};

struct WhileModel : ResultsOwnEdges<WhileModel, stablehlo::WhileOp> {
  SmallVector<OpOperand *> getEdgeSources(Operation *op, Value owner) const {
    unsigned index = cast<OpResult>(owner).getResultNumber();
    Block &body = cast<stablehlo::WhileOp>(op).getBody().front();
    return {&op->getOpOperand(index),
            &body.getTerminator()->getOpOperand(index)};
  }
  SmallVector<Value> getNonEdgeOwnerTargets(Operation *op, Value owner) const {
    unsigned index = cast<OpResult>(owner).getResultNumber();
    auto loop = cast<stablehlo::WhileOp>(op);
    return {loop.getCond().getArgument(index),
            loop.getBody().getArgument(index)};
  }
  Value getEdgeOwnerFromTarget(Operation *op, Value target) const {
    if (auto arg = dyn_cast<BlockArgument>(target))
      return op->getResult(arg.getArgNumber());
    return target;
  }
  Value getEdgeOwnerFromSource(Operation *op, OpOperand &source) const {
    // What the condition returns is no target.
    if (source.getOwner() != op && source.getOwner()->getParentRegion() ==
                                       &cast<stablehlo::WhileOp>(op).getCond())
      return {};
    return op->getResult(source.getOperandNumber());
  }
};

struct CaseModel : ResultsOwnEdges<CaseModel, stablehlo::CaseOp> {
  SmallVector<OpOperand *> getEdgeSources(Operation *op, Value owner) const {
    unsigned index = cast<OpResult>(owner).getResultNumber();
    return llvm::map_to_vector(op->getRegions(), [&](Region &branch) {
      return &branch.front().getTerminator()->getOpOperand(index);
    });
  }
  Value getEdgeOwnerFromSource(Operation *op, OpOperand &source) const {
    // The index of the branch is no source.
    if (source.getOwner() == op)
      return {};
    return op->getResult(source.getOperandNumber());
  }
};

struct BarrierModel
    : ResultsOwnEdges<BarrierModel, stablehlo::OptimizationBarrierOp> {
  SmallVector<OpOperand *> getEdgeSources(Operation *op, Value owner) const {
    return {&op->getOpOperand(cast<OpResult>(owner).getResultNumber())};
  }
};

} // namespace

void SdyDialect::attachStablehloDataFlow() {
  MLIRContext *context = getContext();
  stablehlo::WhileOp::attachInterface<WhileModel>(*context);
  stablehlo::CaseOp::attachInterface<CaseModel>(*context);
  stablehlo::OptimizationBarrierOp::attachInterface<BarrierModel>(*context);
}
