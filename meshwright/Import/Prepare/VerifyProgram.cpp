//===- VerifyProgram.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Import, and the passes of MLIR that it runs, rely on more than verifiers
// check, as one op cannot see whether a program ends:
//
//   func @main(%x) {%0 = mpmd.call @f(%x), return %0}
//   func private @f(%x) {%0 = func.call @f(%x), return %0}  // error: recursive
//
// All of it is checked here, before anything changes, for import and for
// callers that only validate.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Prepare/VerifyProgram.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Text/DiagnosticId.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

#define GEN_PASS_DEF_VERIFYPROGRAMPASS
#include "meshwright/Import/Prepare/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;
using namespace meshwright;

static bool isCall(Operation *op) { return isa<func::CallOp, CallOp>(op); }

/// Passes go down into regions by recursion, on stacks that end.
static constexpr unsigned kMaxDepth = 1000;

static LogicalResult verifyOp(Operation *op) {
  if (op->isRegistered() || op->getNumRegions() == 0)
    return success();
  return op->emitError() << "operation " << op->getName()
                         << " is not known, and so is not what its regions "
                            "mean; load its dialect, or remove it";
}

/// MLIR reads @"", and prints what it does not read.
static LogicalResult verifyName(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
  if (!name || !name.empty())
    return success();
  return op->emitError() << "has an empty name, which cannot be written down; "
                            "name it, or leave the name out of a module";
}

/// Goes through all ops without recursion.
static LogicalResult verifyOps(ModuleOp module) {
  if (failed(verifyName(module)))
    return failure();
  SmallVector<std::pair<Operation *, unsigned>> open{{module, 0}};
  while (!open.empty()) {
    auto [op, depth] = open.pop_back_val();
    if (depth > kMaxDepth)
      return op->emitError() << "regions are nested more than " << kMaxDepth
                             << " deep; move inner ones to functions";
    if (failed(verifyOp(op)))
      return failure();
    if (op->hasTrait<OpTrait::SymbolTable>())
      for (Operation &nested : op->getRegion(0).getOps())
        if (failed(verifyName(&nested)))
          return failure();
    for (Region &region : llvm::reverse(op->getRegions()))
      for (Block &block : llvm::reverse(region))
        for (Operation &nested : llvm::reverse(block))
          if (nested.getNumRegions() > 0)
            open.push_back({&nested, depth + 1});
  }
  return success();
}

static LogicalResult verifyNotRecursive(const CallOrder &order,
                                        const SymbolTable &symbols) {
  if (order.recursiveCalls.empty())
    return success();
  CallOpInterface call = order.recursiveCalls.front();
  func::FuncOp callee = getCallee(call, symbols);
  InFlightDiagnostic diag = call.emitError()
                            << "recursive call of @" << callee.getSymName()
                            << "; every call becomes a copy of what it calls, "
                               "so calls must end: write a loop instead";
  diag.attachNote(callee.getLoc())
      << "this function calls itself, directly or through others";
  return diag;
}

static LogicalResult verifyCallee(CallOp call, const SymbolTable &symbols) {
  if (SymbolTable::getNearestSymbolTable(call) != symbols.getOp())
    return call.emitError() << "call of @" << call.getCallee()
                            << " is in a module within the program; expected "
                               "calls in functions of the program itself";
  func::FuncOp callee = getCallee(call, symbols);
  if (!callee || !callee.getBody().hasOneBlock())
    return call.emitError() << "callee @" << call.getCallee()
                            << " must be a function whose body is one block, "
                               "which is what a call becomes";
  if (call->getNumOperands() == callee.getNumArguments() &&
      call->getNumResults() == callee.getNumResults())
    return success();
  return call.emitError() << "call has " << call->getNumOperands()
                          << " operands and " << call->getNumResults()
                          << " results, but callee @" << call.getCallee()
                          << " has " << callee.getNumArguments()
                          << " arguments and " << callee.getNumResults()
                          << " results";
}

/// The op around `call`, other than a function or a loop that is unrolled, that
/// decides when the call runs; null if there is none.
static Operation *findRegionAround(Operation *call) {
  Operation *parent = call->getParentOp();
  while (isa<ForOp>(parent))
    parent = parent->getParentOp();
  return isa<func::FuncOp>(parent) ? nullptr : parent;
}

static InFlightDiagnostic reportRegion(CallOp call, Operation *around) {
  return meshwright::identify(
      call.emitError() << "call of " << call.getCalleeAttr()
                       << " must be directly in a `func.func` or `mpmd.for`, "
                          "but it runs inside a `"
                       << around->getName()
                       << "`, which runs on one mesh; call the function there "
                          "without marking the call",
      "call_in_region",
      {{"name", call.getCallee().str()},
       {"operation", around->getName().getStringRef().str()}});
}

/// No call may end up in a region when the calls around it are inlined.
static LogicalResult verifyNotInRegion(const CallOrder &order,
                                       const SymbolTable &symbols) {
  // For each function that does so directly or not: a call that it makes.
  DenseMap<Operation *, CallOp> callIn;
  for (func::FuncOp func : order.calleesFirst) {
    WalkResult result = func.walk([&](Operation *op) {
      if (auto call = dyn_cast<CallOp>(op)) {
        if (Operation *around = findRegionAround(call))
          return reportRegion(call, around), WalkResult::interrupt();
        callIn.try_emplace(func, call);
      } else if (auto plain = dyn_cast<func::CallOp>(op)) {
        auto it = callIn.find(getCallee(plain, symbols));
        if (it == callIn.end())
          return WalkResult::advance();
        CallOp call = it->second;
        if (Operation *around = findRegionAround(plain)) {
          InFlightDiagnostic diag = reportRegion(call, around);
          diag.attachNote(plain.getLoc())
              << "the function that it is in is called here";
          return WalkResult::interrupt();
        }
        callIn.try_emplace(func, call);
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}

/// Every iteration becomes a copy of the body.
static LogicalResult verifyLoops(ModuleOp module, int64_t maxOps) {
  uint64_t total = 0;
  WalkResult result = module.walk([&](ForOp loop) {
    uint64_t perIteration = 0;
    loop->walk([&](Operation *) { ++perIteration; });
    uint64_t iterations = loop.getIterations();
    total = llvm::SaturatingMultiplyAdd(iterations, perIteration, total);
    if (total <= static_cast<uint64_t>(maxOps))
      return WalkResult::advance();
    loop.emitError()
        << "unrolling the loops of this program makes more than " << maxOps
        << " operations, this one of " << iterations << " iterations "
        << llvm::SaturatingMultiply(iterations, perIteration)
        << "; let it do fewer iterations, or allow more by the option "
           "mpmd_max_inlined_ops of a configuration, max-inlined-ops of a pass";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult mpmd::verifyProgram(ModuleOp module, int64_t maxInlinedOps) {
  if (failed(verifyOps(module)))
    return failure();
  if (failed(verifyLoops(module, maxInlinedOps)))
    return failure();
  SymbolTable symbols(module);
  CallOrder order = getCallOrder(module, symbols, isCall);
  if (failed(verifyNotRecursive(order, symbols)))
    return failure();
  // Calls in callees are inlined before any others.
  DenseSet<Operation *> callees;
  WalkResult result = module.walk([&](CallOp call) {
    callees.insert(getCallee(call, symbols));
    return failed(verifyCallee(call, symbols)) ? WalkResult::interrupt()
                                               : WalkResult::advance();
  });
  if (result.wasInterrupted() || failed(verifyNotInRegion(order, symbols)))
    return failure();
  auto isInlined = [&](Operation *op) {
    return isa<func::CallOp>(op) ||
           (isa<CallOp>(op) &&
            callees.contains(op->getParentOfType<func::FuncOp>()));
  };
  return verifyInlinedSize(order, symbols, isInlined, maxInlinedOps);
}

namespace {
struct VerifyProgramPass
    : mpmd::impl::VerifyProgramPassBase<VerifyProgramPass> {
  using Base::Base;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyProgram(getOperation(), maxInlinedOps)))
      signalPassFailure();
  }
};
} // namespace
