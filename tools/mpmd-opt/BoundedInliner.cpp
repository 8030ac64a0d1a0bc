//===- BoundedInliner.cpp - Upstream's inliner, if it ends ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// MLIR's inliner has no limit: twenty functions of which each calls the next
// one twice are a million copies, and a dozen that all call each other are
// inlined along every path through them.
//
// The registry of passes keeps the first pass of a name, and wants later ones
// of that name to have the same identity. So this one has that of upstream's.
//
//===----------------------------------------------------------------------===//

#include "BoundedInliner.h"
#include "meshwright/Calls/InlinedSize.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace meshwright;

static bool isFuncCall(Operation *op) { return isa<func::CallOp>(op); }

/// A function that calls only itself is not inlined into itself.
static LogicalResult verifyPathsAreFew(const CallOrder &order,
                                       const SymbolTable &symbols) {
  for (CallOpInterface call : order.recursiveCalls) {
    func::FuncOp callee = getCallee(call, symbols);
    auto caller = call->getParentOfType<func::FuncOp>();
    if (caller == callee)
      continue;
    InFlightDiagnostic diag = call->emitError()
                              << "functions that call each other are not "
                                 "inlined; write a loop instead";
    diag.attachNote(callee.getLoc())
        << "@" << callee.getSymName() << " calls @" << caller.getSymName()
        << ", directly or through others, and is called by it";
    return diag;
  }
  return success();
}

namespace {
class BoundedInlinerPass : public OperationPass<> {
public:
  BoundedInlinerPass() : BoundedInlinerPass(createInlinerPass()) {}

  StringRef getName() const override { return upstream->getName(); }
  StringRef getArgument() const override { return upstream->getArgument(); }
  StringRef getDescription() const override {
    return upstream->getDescription();
  }

  LogicalResult initializeOptions(
      StringRef options,
      function_ref<LogicalResult(const Twine &)> errorHandler) override {
    // Upstream does not have this one.
    SmallVector<StringRef> own, others;
    llvm::SplitString(options, others, " ");
    llvm::copy_if(others, std::back_inserter(own), isLimit);
    llvm::erase_if(others, isLimit);
    for (StringRef option : own)
      if (option.split('=').second.getAsInteger(10, maxInlinedOps))
        return errorHandler("max-inlined-ops must be a number, but is \"" +
                            option.split('=').second + "\"");
    textOptions = llvm::join(others, " ");
    return upstream->initializeOptions(textOptions, errorHandler);
  }

  std::unique_ptr<Pass> clonePass() const override {
    auto copy = std::make_unique<BoundedInlinerPass>();
    (void)copy->initializeOptions(textOptions, [](const Twine &) {
      return failure(); // They have been read without an error before.
    });
    copy->maxInlinedOps = maxInlinedOps;
    return copy;
  }

  void runOnOperation() override {
    if (auto module = dyn_cast<ModuleOp>(getOperation())) {
      SymbolTable symbols(module);
      CallOrder order = getCallOrder(module, symbols, isFuncCall);
      if (failed(verifyPathsAreFew(order, symbols)) ||
          failed(verifyInlinedSize(order, symbols, isFuncCall, maxInlinedOps)))
        return signalPassFailure();
    }
    OpPassManager passes(getOperation()->getName());
    std::unique_ptr<Pass> inliner = createInlinerPass();
    (void)inliner->initializeOptions(textOptions,
                                     [](const Twine &) { return failure(); });
    passes.addPass(std::move(inliner));
    if (failed(runPipeline(passes, getOperation())))
      signalPassFailure();
  }

private:
  explicit BoundedInlinerPass(std::unique_ptr<Pass> upstream)
      : OperationPass(upstream->getTypeID()), upstream(std::move(upstream)) {}

  static bool isLimit(StringRef option) {
    return option.starts_with("max-inlined-ops=");
  }

  std::unique_ptr<Pass> upstream;
  std::string textOptions;
  int64_t maxInlinedOps = kMaxInlinedOps;
};
} // namespace

void registerBoundedInliner() {
  registerPass([] { return std::make_unique<BoundedInlinerPass>(); });
}
