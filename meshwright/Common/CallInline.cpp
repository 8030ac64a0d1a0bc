//===- CallInline.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Schedules order single fragments, so the body of a microbatch cannot stay
// behind a call. What the call says about itself, above all which microbatch it
// is, goes to the fragments of the body:
//
//   %0 = call @f(%x) {call_counter = 3 : ui32}
//   func private @f(%a) {%1 = fragment<"m", ["g"]> (%a) {...}; return %1}
//   // becomes
//   %0 = fragment<"m", ["g"]> (%x) {call_counter = 3 : ui32} {...}
//
// Upstream's inliner asks each dialect whether a call may be inlined, and mpmd
// answers no, because this pass must not be anticipated. It also moves the rest
// of the block away and back for each call.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Common/Passes.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::mpmd {
#define GEN_PASS_DEF_CALLINLINEPASS
#include "meshwright/Common/Passes.h.inc"
} // namespace mlir::mpmd

using namespace mlir;
using namespace mlir::mpmd;

/// The location of an op of a callee when it is inlined at `caller`. A stack of
/// call sites that the location already is grows at its outer end.
static LocationAttr getInlinedLoc(LocationAttr loc, Location caller) {
  SmallVector<Location> callees;
  while (auto callSite = dyn_cast<CallSiteLoc>(loc)) {
    callees.push_back(callSite.getCallee());
    loc = callSite.getCaller();
  }
  Location stack = CallSiteLoc::get(loc, caller);
  for (Location callee : llvm::reverse(callees))
    stack = CallSiteLoc::get(callee, stack);
  return stack;
}

namespace {
/// Inlines calls of one module.
class CallInliner {
public:
  explicit CallInliner(MLIRContext *context) : rewriter(context) {}

  LogicalResult run(CallOp call);

private:
  FailureOr<Block *> getCalleeBody(CallOp call);
  void adapt(Operation *inlined, CallOp call,
             DenseMap<Attribute, LocationAttr> &locs);

  IRRewriter rewriter;
  SymbolTableCollection symbolTables;
};
} // namespace

FailureOr<Block *> CallInliner::getCalleeBody(CallOp call) {
  auto callee = symbolTables.lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  if (!callee || !callee.getBody().hasOneBlock())
    return call.emitError() << "callee @" << call.getCallee()
                            << " is not a function whose body is one block, "
                               "which inlining needs";
  if (call->getNumOperands() != callee.getNumArguments() ||
      call->getNumResults() != callee.getNumResults())
    return call.emitError()
           << "call has " << call->getNumOperands() << " operands and "
           << call->getNumResults() << " results, but callee @"
           << call.getCallee() << " has " << callee.getNumArguments()
           << " arguments and " << callee.getNumResults() << " results";
  return &callee.getBody().front();
}

/// Marks a copy, and all that is nested in it, as inlined at `call`.
void CallInliner::adapt(Operation *inlined, CallOp call,
                        DenseMap<Attribute, LocationAttr> &locs) {
  auto getLoc = [&](LocationAttr loc) -> Location {
    LocationAttr &inlinedLoc = locs[loc];
    if (!inlinedLoc)
      inlinedLoc = getInlinedLoc(loc, call.getLoc());
    return inlinedLoc;
  };
  inlined->walk([&](Operation *op) {
    op->setLoc(getLoc(op->getLoc()));
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        argument.setLoc(getLoc(argument.getLoc()));
    if (isa<FragmentOp, FragmentCallOp>(op))
      for (NamedAttribute attr : call->getDiscardableAttrs())
        op->setAttr(attr.getName(), attr.getValue());
  });
}

LogicalResult CallInliner::run(CallOp call) {
  FailureOr<Block *> body = getCalleeBody(call);
  if (failed(body))
    return failure();
  // The body may be that of the function around the call: copy no copies.
  auto originals =
      llvm::map_to_vector(**body, [](Operation &op) { return &op; });
  Operation *terminator = originals.pop_back_val();

  IRMapping mapping;
  mapping.map((*body)->getArguments(), call->getOperands());
  DenseMap<Attribute, LocationAttr> locs;
  rewriter.setInsertionPoint(call);
  for (Operation *op : originals)
    adapt(rewriter.clone(*op, mapping), call, locs);
  auto results =
      llvm::map_to_vector(terminator->getOperands(), [&](Value result) {
        return mapping.lookupOrDefault(result);
      });
  rewriter.replaceOp(call, results);
  return success();
}

namespace {
struct CallInlinePass : mpmd::impl::CallInlinePassBase<CallInlinePass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<CallOp> calls;
    getOperation().walk<WalkOrder::PreOrder>(
        [&](CallOp call) { calls.push_back(call); });
    CallInliner inliner(&getContext());
    for (CallOp call : calls) {
      if (failed(inliner.run(call)))
        return signalPassFailure();
      ++numCalls;
    }
  }
};
} // namespace
