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
// A callee has as many copies as there are microbatches, and all of them
// together are most of the program, so they are made from templates.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Common/BlockTemplate.h"
#include "meshwright/Common/Passes.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVectorExtras.h"

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
  CallInliner(ArrayRef<CallOp> calls, bool markNestedLocs);

  LogicalResult run(CallOp call);

private:
  FailureOr<func::FuncOp> getCallee(CallOp call);
  std::shared_ptr<const BlockTemplate> getTemplate(func::FuncOp callee);

  bool markNestedLocs;
  SymbolTableCollection symbolTables;
  /// Functions whose body changes while the calls in it are inlined.
  DenseSet<Operation *> callers;
  DenseMap<Operation *, std::shared_ptr<const BlockTemplate>> templates;
};
} // namespace

CallInliner::CallInliner(ArrayRef<CallOp> calls, bool markNestedLocs)
    : markNestedLocs(markNestedLocs) {
  for (CallOp call : calls)
    callers.insert(call->getParentOfType<func::FuncOp>());
}

FailureOr<func::FuncOp> CallInliner::getCallee(CallOp call) {
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
  return callee;
}

/// Of a function without calls there is one template for all copies. Where a
/// call was inlined before, the copy includes what has become of it.
std::shared_ptr<const BlockTemplate>
CallInliner::getTemplate(func::FuncOp callee) {
  if (callers.contains(callee))
    return std::make_shared<BlockTemplate>(callee.front());
  std::shared_ptr<const BlockTemplate> &known = templates[callee];
  if (!known)
    known = std::make_shared<BlockTemplate>(callee.front());
  return known;
}

LogicalResult CallInliner::run(CallOp call) {
  FailureOr<func::FuncOp> callee = getCallee(call);
  if (failed(callee))
    return failure();
  std::shared_ptr<const BlockTemplate> body = getTemplate(*callee);
  auto locs = llvm::map_to_vector(body->getLocs(), [&](auto used) -> Location {
    if (used.isNested && !markNestedLocs)
      return used.loc;
    return getInlinedLoc(used.loc, call.getLoc());
  });
  auto giveAttributes = [&](Operation *copy) {
    if (isa<FragmentOp, FragmentCallOp>(copy))
      for (NamedAttribute attr : call->getDiscardableAttrs())
        copy->setAttr(attr.getName(), attr.getValue());
  };
  SmallVector<Value> results =
      body->copyBefore(*call->getBlock(), call->getIterator(),
                       call->getOperands(), locs, giveAttributes);
  call->replaceAllUsesWith(results);
  call->erase();
  return success();
}

/// Whether an op may be a table of symbols, which only its dialect could tell.
/// What refers to which function is unknown then.
static bool hasUnknownSymbolTable(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    return !op->getDialect() && op->getNumRegions() == 1
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// The private functions that nothing refers to once `calls` are inlined. What
/// a copy calls is still needed.
static SmallVector<func::FuncOp> findDeadCallees(ModuleOp module,
                                                 ArrayRef<CallOp> calls) {
  if (hasUnknownSymbolTable(module))
    return {};
  DenseSet<Operation *> inlined;
  for (CallOp call : calls)
    inlined.insert(call);
  SymbolTableCollection symbolTables;
  SymbolUserMap users(symbolTables, module);
  auto isInlined = [&](Operation *user) { return inlined.contains(user); };
  auto isDead = [&](func::FuncOp func) {
    return func.isPrivate() && !users.useEmpty(func) &&
           llvm::all_of(users.getUsers(func), isInlined);
  };
  auto isCopied = [&](Operation *user) {
    auto caller = user->getParentOfType<func::FuncOp>();
    return llvm::any_of(users.getUsers(caller), isInlined);
  };
  SmallVector<func::FuncOp> dead;
  for (auto func : module.getOps<func::FuncOp>())
    if (isDead(func) && llvm::none_of(users.getUsers(func), isCopied))
      dead.push_back(func);
  return dead;
}

namespace {
struct CallInlinePass : mpmd::impl::CallInlinePassBase<CallInlinePass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<CallOp> calls;
    getOperation().walk<WalkOrder::PreOrder>(
        [&](CallOp call) { calls.push_back(call); });
    SmallVector<func::FuncOp> dead;
    if (eraseCallees)
      dead = findDeadCallees(getOperation(), calls);

    CallInliner inliner(calls, markNestedLocs);
    for (CallOp call : calls) {
      if (failed(inliner.run(call)))
        return signalPassFailure();
      ++numCalls;
    }
    for (func::FuncOp callee : dead)
      callee.erase();
  }
};
} // namespace
