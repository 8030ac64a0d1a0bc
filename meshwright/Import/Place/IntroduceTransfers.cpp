//===- IntroduceTransfers.cpp ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A value that is unassigned from one mesh and assigned to another has to move.
// Two steps make that explicit.
//
// A. Callees. If every call passes a value that comes from mesh m, then the
// argument is on m, whatever the plain tensor type of the signature says:
//
//   call @f(unassign %v : m)               call @f(unassign %v : m)
//   func @f(%arg)                          func @f(%arg)
//     mpmd.assign %arg : n                   %s = mpmd.assign %arg : m
//                                            %t = mpmd.unassign %s
//                                            mpmd.assign %t : n
//
// B. Rewriting, until nothing changes:
//
//   assign(unassign %v : m) : m            %v
//   assign(unassign %v : m) : n            transfer %v : m -> n, or one that
//                                          exists; a value needed on several
//                                          meshes hops from one to the next
//   assign(add(unassign, unassign)) : n    a fragment on n computes the sum, so
//                                          that terms move, one at a time, to
//                                          where the sum is needed
//
// Patterns ask which of two ops comes first, in blocks that change all the
// time. BlockOrder answers without renumbering the block after each change.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/IR/RegionRewriting.h"
#include "meshwright/Import/Place/ChainTransfers.h"
#include "meshwright/Import/Place/InferredFragment.h"
#include "meshwright/Order/BlockOrder.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"

#define GEN_PASS_DEF_INTRODUCETRANSFERSPASS
#include "meshwright/Import/Place/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::applyPatternsWhere;

//===----------------------------------------------------------------------===//
// A. Callees
//===----------------------------------------------------------------------===//

/// Returns the unassign that `value` comes from, here or in the callee of the
/// call that returns it; null if there is none.
static UnassignOp resolveSource(Value value, const SymbolTable &symbols) {
  if (auto call = value.getDefiningOp<CallOp>()) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    unsigned index = cast<OpResult>(value).getResultNumber();
    func::ReturnOp ret = callee ? getReturnOp(callee) : func::ReturnOp();
    if (!ret || index >= ret->getNumOperands())
      return {};
    value = ret->getOperand(index);
  }
  return value.getDefiningOp<UnassignOp>();
}

/// Returns the type that argument `index` has in every call, as far as its mesh
/// goes, or null. The memory kind is that of the first call.
static MeshTensorType getCommonSourceType(ArrayRef<CallOp> calls,
                                          unsigned index,
                                          const SymbolTable &symbols) {
  MeshTensorType common;
  for (CallOp call : calls) {
    if (index >= call.getTensors().size())
      return {};
    UnassignOp source = resolveSource(call.getTensors()[index], symbols);
    if (!source)
      return {};
    auto type = cast<MeshTensorType>(source.getTensor().getType());
    if (!common)
      common = type;
    if (type.getMeshName() != common.getMeshName())
      return {};
  }
  return common;
}

/// Puts an argument on the mesh that all callers pass it from.
static void pushAssignIntoCallee(BlockArgument arg, MeshTensorType type) {
  OpBuilder builder = OpBuilder::atBlockBegin(arg.getOwner());
  auto assign = AssignOp::create(builder, arg.getLoc(), type, arg,
                                 /*origin=*/StringAttr());
  auto unassign = UnassignOp::create(builder, arg.getLoc(), arg.getType(),
                                     assign, /*origin=*/StringAttr());
  arg.replaceAllUsesExcept(unassign.getResult(), assign);
}

static void pushAssignsIntoCallees(ModuleOp module) {
  SymbolTable symbols(module);
  CallGraph callGraph(module);
  for (auto callee : module.getOps<func::FuncOp>()) {
    if (callee.isDeclaration() || !isMpmdFunction(callee) ||
        isEntryPointFunction(callee))
      continue;
    ArrayRef<CallOp> calls = callGraph.getCalls(callee);
    for (BlockArgument arg : callee.getArguments()) {
      if (llvm::none_of(arg.getUsers(), llvm::IsaPred<AssignOp>))
        continue;
      if (MeshTensorType type =
              getCommonSourceType(calls, arg.getArgNumber(), symbols);
          type && getMeshByName(getTopology(callee), type.getMeshName()))
        pushAssignIntoCallee(arg, type);
    }
  }
}

//===----------------------------------------------------------------------===//
// B. Rewriting
//===----------------------------------------------------------------------===//

namespace {
/// What the patterns remember from one application to the next.
class Memory : public BlockOrder {
public:
  void notifyOperationErased(Operation *op) override {
    BlockOrder::notifyOperationErased(op);
    knownSums.erase(op);
    numAssigns += isa<AssignOp>(op);
  }

  unsigned numAssigns = 0;
  /// Sums that isMeshlessSum has accepted: a part of one is one.
  DenseSet<Operation *> knownSums;
};

/// Removes an assign of an unassigned value: the value itself, or a transfer.
struct AssignOfUnassign : OpRewritePattern<AssignOp> {
  AssignOfUnassign(MLIRContext *context, Memory &order)
      : OpRewritePattern(context), order(order) {}

  LogicalResult matchAndRewrite(AssignOp assign,
                                PatternRewriter &rewriter) const override {
    auto unassign = assign.getTensor().getDefiningOp<UnassignOp>();
    if (!unassign)
      return failure();
    Value source = unassign.getTensor();
    if (source.getType() == assign.getType()) {
      rewriter.replaceOp(assign, source);
      return success();
    }
    // A transfer has to be in a function, not in a loop.
    if (!isa<func::FuncOp>(assign->getParentOp()))
      return failure();
    if (TransferOp transfer = findTransfer(source, assign)) {
      if (order.isBefore(assign, transfer))
        rewriter.moveOpBefore(transfer, assign);
      rewriter.replaceOp(assign, transfer);
      return success();
    }
    SmallVector<AssignOp> assigns = getCrossMeshAssigns(unassign);
    llvm::erase_if(assigns, [&](AssignOp other) {
      return other->getBlock() != assign->getBlock();
    });
    if (assigns.size() < 2)
      rewriter.replaceOpWithNewOp<TransferOp>(assign, assign.getType(), source);
    else
      chainTransfers(source, std::move(assigns), order, rewriter);
    return success();
  }

private:
  /// Returns a transfer of `source` that can replace `assign`.
  static TransferOp findTransfer(Value source, AssignOp assign) {
    for (Operation *user : source.getUsers())
      if (auto transfer = dyn_cast<TransferOp>(user);
          transfer && transfer.getType() == assign.getType() &&
          transfer.isInterMesh() && transfer->getBlock() == assign->getBlock())
        return transfer;
    return {};
  }

  Memory &order;
};

/// Computes a sum of unassigned values on the mesh that it is assigned to.
struct AssignOfMeshlessSum : OpRewritePattern<AssignOp> {
  AssignOfMeshlessSum(MLIRContext *context, Memory &order)
      : OpRewritePattern(context), order(order) {}

  LogicalResult matchAndRewrite(AssignOp assign,
                                PatternRewriter &rewriter) const override {
    auto sum = assign.getTensor().getDefiningOp<stablehlo::AddOp>();
    if (!sum || !isMeshlessSum(sum))
      return failure();
    wrapInInferredFragment(sum, assign.getType().getMeshName(),
                           "introduce_transfers", rewriter);
    rewriter.eraseOp(sum);
    return success();
  }

private:
  /// Whether everything added up comes from an unassign and nothing else reads
  /// the sum or a part of it.
  bool isMeshlessSum(stablehlo::AddOp root) const {
    SmallVector<stablehlo::AddOp> parts{root};
    for (size_t next = 0; next < parts.size(); ++next) {
      stablehlo::AddOp part = parts[next];
      if (order.knownSums.contains(part))
        continue;
      // A fragment has to be in a function or a loop.
      if (!part->hasOneUse() || !isa<func::FuncOp, ForOp>(part->getParentOp()))
        return false;
      for (Value term : part->getOperands()) {
        if (term.getDefiningOp<UnassignOp>())
          continue;
        auto add = term.getDefiningOp<stablehlo::AddOp>();
        if (!add)
          return false;
        parts.push_back(add);
      }
    }
    order.knownSums.insert_range(parts);
    return true;
  }

  Memory &order;
};

struct IntroduceTransfersPass
    : mpmd::impl::IntroduceTransfersPassBase<IntroduceTransfersPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    pushAssignsIntoCallees(module);

    Memory order;
    RewritePatternSet patterns(&getContext());
    patterns.add<AssignOfUnassign, AssignOfMeshlessSum>(&getContext(), order);
    if (failed(applyPatternsWhere(module.getBodyRegion(), std::move(patterns),
                                  GreedyRewriteConfig().setListener(&order),
                                  llvm::IsaPred<AssignOp>)) ||
        failed(verifyTransfers(module)))
      signalPassFailure();
    numAssigns += order.numAssigns;
  }
};
} // namespace
