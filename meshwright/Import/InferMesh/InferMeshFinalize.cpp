//===- InferMeshFinalize.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Once every op is in a fragment, what is left between fragments are assigns of
// unassigned values. In one memory of a mesh such a pair is nothing, between
// two meshes, or into another memory, it is a transfer:
//
//   %1 = mpmd.unassign %0 : m1
//   %2 = mpmd.assign %1 : m2     becomes     %2 = mpmd.transfer %0 : m1 -> m2
//
// Transfers are made up for arguments of entry points, for broadcasts and for
// reduces, and for other values only if the user lets us; a transfer that is
// there already is used anyway. In the end nothing of inference may be left.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/Reductions.h"
#include "meshwright/IR/RegionRewriting.h"
#include "meshwright/Import/InferMesh/InferMeshDiagnostics.h"
#include "meshwright/Import/InferMesh/LowerCrossMeshReduce.h"
#include "meshwright/Import/MeshSets/MeshSetAttributes.h"
#include "meshwright/Import/Place/ChainTransfers.h"
#include "meshwright/Order/BlockOrder.h"

#define GEN_PASS_DEF_INFERMESHFINALIZEPASS
#include "meshwright/Import/InferMesh/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::applyPatternsWhere;

static StringRef getMeshName(Value value) {
  return cast<MeshTensorType>(value.getType()).getMeshName();
}

static bool isOnHost(Value value) {
  return cast<MeshTensorType>(value.getType()).isOnHost();
}

//===----------------------------------------------------------------------===//
// Arguments of entry points
//===----------------------------------------------------------------------===//

/// The memory kind that all assigns of an argument agree on; null is a kind. If
/// they disagree the argument is in device memory and `mayCopy`, or an error.
static FailureOr<StringAttr> getMemoryKind(func::FuncOp func, BlockArgument arg,
                                           ArrayRef<AssignOp> assigns,
                                           bool mayCopy) {
  AssignOp first = assigns.front();
  StringAttr kind = first.getType().getMemoryKind();
  for (AssignOp assign : assigns) {
    StringAttr other = assign.getType().getMemoryKind();
    if (other == kind)
      continue;
    if (mayCopy)
      return StringAttr();
    auto describe = [](StringAttr kind) {
      return kind ? ("\"" + kind.getValue() + "\"").str()
                  : std::string("undefined memory kind");
    };
    return func.emitError()
           << "Argument " << arg.getArgNumber()
           << " is used with different memory kinds: " << describe(kind)
           << " and " << describe(other)
           << "; an argument is in one memory, so assign it to one";
  }
  return kind;
}

/// Puts the arguments that are read by assigns on the smallest of their meshes.
/// Returns how many those are.
static FailureOr<unsigned> placeArguments(func::FuncOp func, bool mayCopy) {
  unsigned numPlaced = 0;
  auto builder = OpBuilder::atBlockBegin(&func.front());
  for (BlockArgument arg : func.getArguments()) {
    auto tensorType = dyn_cast<RankedTensorType>(arg.getType());
    if (!tensorType)
      continue;
    SmallVector<AssignOp> assigns;
    for (Operation *user : arg.getUsers())
      if (auto assign = dyn_cast<AssignOp>(user))
        assigns.push_back(assign);
    if (assigns.empty())
      continue;
    FailureOr<StringAttr> memoryKind =
        getMemoryKind(func, arg, assigns, mayCopy);
    if (failed(memoryKind))
      return failure();
    StringRef mesh = getMeshName(assigns.front());
    for (AssignOp assign : assigns)
      mesh = std::min(mesh, getMeshName(assign));
    arg.setType(MeshTensorType::get(func.getContext(), mesh, tensorType,
                                    /*sharding=*/{}, *memoryKind));
    auto unassign = UnassignOp::create(builder, arg.getLoc(), arg,
                                       /*origin=*/StringAttr());
    arg.replaceAllUsesExcept(unassign.getResult(), unassign);
    ++numPlaced;
  }
  return numPlaced;
}

//===----------------------------------------------------------------------===//
// Between fragments
//===----------------------------------------------------------------------===//

/// A transfer of `value` to exactly `type` that can be placed before `user`,
/// together with the op it has to precede.
static std::pair<TransferOp, Operation *> findTransfer(Value value, Type type,
                                                       Operation *user) {
  for (Operation *candidate : value.getUsers())
    if (auto transfer = dyn_cast<TransferOp>(candidate);
        transfer && transfer.getType() == type)
      if (Operation *ancestor =
              transfer->getBlock()->findAncestorOpInBlock(*user))
        return {transfer, ancestor};
  return {};
}

static bool isEntryPointArgument(Value value) {
  auto arg = dyn_cast<BlockArgument>(value);
  if (!arg)
    return false;
  auto func = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp());
  return func && isMpmdFunction(func) && isEntryPointFunction(func);
}

namespace {
class ResolveAssignOfUnassign : public OpRewritePattern<AssignOp> {
public:
  ResolveAssignOfUnassign(MLIRContext *context, BlockOrder &order,
                          bool inferTransfers)
      : OpRewritePattern(context), order(order),
        inferTransfers(inferTransfers) {}

  LogicalResult matchAndRewrite(AssignOp assign,
                                PatternRewriter &rewriter) const override {
    auto unassign = assign.getTensor().getDefiningOp<UnassignOp>();
    if (!unassign)
      return failure();
    Value source = unassign.getTensor();
    bool isSameMesh = getMeshName(source) == getMeshName(assign);
    if (isSameMesh && isOnHost(source) == isOnHost(assign) &&
        (source.getType() == assign.getType() || !isBoundToType(assign))) {
      rewriter.replaceOp(assign, source);
      return success();
    }
    if (isSameMesh && !assign.getType().getMemoryKind() &&
        returnFromHost(assign, source, rewriter))
      return success();
    auto [transfer, position] = findTransfer(source, assign.getType(), assign);
    if (transfer) {
      if (order.isBefore(position, transfer))
        rewriter.moveOpBefore(transfer, position);
      rewriter.replaceOp(assign, transfer.getResult());
      return success();
    }
    if (!isa<func::FuncOp>(assign->getParentOp()))
      return failure();
    if (isSameMesh) { // Which memory it is in is not inferred, the user said
                      // so.
      rewriter.replaceOpWithNewOp<TransferOp>(assign, assign.getType(), source);
      return success();
    }
    bool mayTransfer = inferTransfers || isEntryPointArgument(source);
    if (!mayTransfer)
      return failure();
    SmallVector<AssignOp> assigns = getCrossMeshAssigns(unassign);
    llvm::erase_if(assigns, [&, block = assign->getBlock()](AssignOp other) {
      return other->getBlock() != block;
    });
    chainTransfers(source, std::move(assigns), order, rewriter);
    return success();
  }

private:
  /// Whether something that reads the value also says of which type it is.
  static bool isBoundToType(AssignOp assign) {
    return llvm::any_of(assign->getUsers(), [](Operation *user) {
      if (auto ret = dyn_cast<func::ReturnOp>(user))
        return !isEntryPointFunction(cast<func::FuncOp>(ret->getParentOp()));
      return isa<CallOp, ForOp, ReturnOp>(user);
    });
  }

  /// Lets an entry point return `source` from where the user put it: the
  /// user did not say in which memory a result is to be. Returns whether it did.
  static bool returnFromHost(AssignOp assign, Value source,
                             PatternRewriter &rewriter) {
    auto func = dyn_cast<func::FuncOp>(assign->getParentOp());
    if (!func || !isEntryPointFunction(func))
      return false;
    bool isReturned = false;
    rewriter.replaceUsesWithIf(assign, source, [&](OpOperand &use) {
      bool isReturn = isa<func::ReturnOp>(use.getOwner());
      isReturned |= isReturn;
      return isReturn;
    });
    if (assign->use_empty())
      rewriter.eraseOp(assign);
    return isReturned;
  }

  BlockOrder &order;
  bool inferTransfers;
};

class LowerBroadcast : public OpRewritePattern<BroadcastOp> {
public:
  LowerBroadcast(MLIRContext *context, BlockOrder &order)
      : OpRewritePattern(context), order(order) {}

  LogicalResult matchAndRewrite(BroadcastOp broadcast,
                                PatternRewriter &rewriter) const override {
    auto unassign = broadcast.getTensor().getDefiningOp<UnassignOp>();
    if (!unassign)
      return failure();
    SmallVector<AssignOp> assigns;
    for (Operation *user : broadcast->getUsers())
      if (auto assign = dyn_cast<AssignOp>(user);
          assign && assign->getBlock() == broadcast->getBlock())
        assigns.push_back(assign);
    auto isOfSourceType = [&](AssignOp assign) {
      return assign.getType() == unassign.getTensor().getType();
    };
    if (assigns.empty() || (!isa<func::FuncOp>(broadcast->getParentOp()) &&
                            !llvm::all_of(assigns, isOfSourceType)))
      return failure();
    chainTransfers(unassign.getTensor(), std::move(assigns), order, rewriter);
    return success();
  }

private:
  BlockOrder &order;
};

/// Also counts what happens in a block.
struct CountingOrder : BlockOrder {
  void notifyOperationInserted(Operation *op,
                               OpBuilder::InsertPoint previous) override {
    BlockOrder::notifyOperationInserted(op, previous);
    numTransfers += !previous.isSet() && isa<TransferOp>(op);
  }
  void notifyOperationErased(Operation *op) override {
    BlockOrder::notifyOperationErased(op);
    numAssigns += isa<AssignOp>(op);
  }

  unsigned numTransfers = 0, numAssigns = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// What is left
//===----------------------------------------------------------------------===//

static LogicalResult verifySignature(func::FuncOp func) {
  LogicalResult result = success();
  auto verifyTypes = [&](TypeRange types, StringRef what) {
    for (auto [index, type] : llvm::enumerate(types)) {
      if (isa<MeshTensorType>(type))
        continue;
      func.emitError() << "function " << what << " " << index << " has type "
                       << type
                       << " after mesh inference; expected a MeshTensorType, "
                          "as every input and output is on a mesh";
      result = failure();
    }
  };
  verifyTypes(func.getArgumentTypes(), "input");
  verifyTypes(func.getResultTypes(), "output");
  return result;
}

static StringRef getRemedy(Operation *op) {
  auto isInLoop = [](Operation *op) { return isa<ForOp>(op->getParentOp()); };
  return isInLoop(op) || llvm::any_of(op->getUsers(), isInLoop)
             ? "loops have no transfers, so unroll the loop, or place what is "
               "in it on one mesh and in one memory"
             : "set the partitioning option `mpmd_infer_transfers` to allow a "
               "transfer";
}

static LogicalResult verifyBody(func::FuncOp func) {
  bool hasFailed = false;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<FragmentOp>(op))
      return WalkResult::skip();
    if (isa<AssignOp, UnassignOp, BroadcastOp>(op)) {
      op->emitError() << op->getName()
                      << " is not allowed after mesh inference: the value is "
                         "needed on a mesh where it is not; "
                      << getRemedy(op);
      hasFailed = true;
    } else if (isMeshlessOp(op)) {
      op->emitError() << "has no mesh; there should be no more meshless ops "
                         "after mesh inference";
      hasFailed = true;
    }
    return WalkResult::advance();
  });
  return failure(hasFailed);
}

/// Fragments keep a set that someone put on them. Returns how many others had.
static unsigned removeSets(func::FuncOp func) {
  unsigned numSets =
      setResultUseSets(func, SmallVector<MeshSet>(func.getNumResults()));
  func->walk([&](Operation *op) {
    if (isa<FragmentOp>(op) || op->getRawDictionaryAttrs().empty())
      return;
    for (StringRef name : {kUseSetAttr, kSrcSetAttr}) {
      numSets += setMeshSet(op, name, {});
      if (isa<func::FuncOp, ForOp>(op))
        numSets += setArgMeshSets(
            op, name, SmallVector<MeshSet>(op->getRegion(0).getNumArguments()));
    }
  });
  return numSets;
}

/// What is reduced across meshes becomes ops of fragments.
static LogicalResult verifyReductions(ModuleOp module) {
  bool hasFailed = false;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto reduce = dyn_cast<ReduceOp>(op); reduce && !canCompute(reduce)) {
      op->emitError() << "cannot be computed: StableHLO has no op of kind "
                      << stringifyReductionType(reduce.getReduction())
                      << " for " << reduce.getType();
      hasFailed = true;
    }
    return isa<FragmentOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  return failure(hasFailed);
}

namespace {
struct InferMeshFinalizePass
    : mpmd::impl::InferMeshFinalizePassBase<InferMeshFinalizePass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(verifyNamedByCalls(module)) || failed(verifyReductions(module)))
      return signalPassFailure();
    for (func::FuncOp func : getEntryPoints(module)) {
      FailureOr<unsigned> numPlaced = placeArguments(func, copyBetweenMemories);
      if (failed(numPlaced))
        return signalPassFailure();
      numArguments += *numPlaced;
    }
    if (failed(rewrite(module)) || failed(verifyTransfers(module)))
      return signalPassFailure();
    for (auto func : module.getOps<func::FuncOp>()) {
      if (!isMpmdFunction(func) || func.isDeclaration())
        continue;
      if (getReturnOp(func))
        updateFunctionType(func);
      LogicalResult signature = verifySignature(func);
      if (failed(verifyBody(func)) || failed(signature))
        signalPassFailure();
      numSets += removeSets(func);
    }
  }

  /// From the last op to the first, which decides what transfers are reused.
  LogicalResult rewrite(ModuleOp module) {
    CountingOrder order;
    RewritePatternSet patterns(&getContext());
    patterns.add<ResolveAssignOfUnassign>(&getContext(), order, inferTransfers);
    patterns.add<LowerBroadcast>(&getContext(), order);
    patterns.add(+[](ReduceOp reduce, PatternRewriter &rewriter) {
      return lowerCrossMeshReduce(reduce, rewriter);
    });
    LogicalResult result = applyPatternsWhere(
        module.getBodyRegion(), std::move(patterns),
        GreedyRewriteConfig().setListener(&order),
        [](Operation *op) { return isa<AssignOp, BroadcastOp, ReduceOp>(op); });
    numTransfers += order.numTransfers;
    numAssigns += order.numAssigns;
    return result;
  }
};
} // namespace
