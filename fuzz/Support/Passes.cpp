//===- Passes.cpp - Taking programs through passes ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Passes.h"
#include "Context.h"
#include "Programs.h"
#include "meshwright/InitAll.h"
#include "mlir/Dialect/Func/Transforms/Passes.h"
#include "mlir/Dialect/Quant/Transforms/Passes.h"
#include "mlir/Dialect/Tensor/Transforms/Passes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "mpmd-opt/BoundedInliner.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::fuzz;

namespace {
/// As the pass manager's own verifier, except that a pass that refuses is
/// distinguished from one that makes something wrong.
class VerifyEach : public PassInstrumentation {
public:
  void runAfterPass(Pass *pass, Operation *op) override {
    ErrorCount errors(op->getContext());
    // Edges are there while shardings are propagated. Other passes, CSE among them,
    // let more ops read what an edge does.
    if (failed(verify(op)) &&
        !StringRef(errors.first()).contains("the operand of an edge"))
      reportFinding(pass->getArgument() + pass->getName() +
                    " makes a program that does not verify: " + errors.first());
  }
};
} // namespace

static void registerPasses() {
  registerBoundedInliner();
  mlir::registerTransformsPasses();
  func::registerFuncPasses();
  quant::registerQuantPasses();
  tensor::registerTensorPasses();
  meshwright::registerAllPasses();
}

/// MLIR's analysis of dead code looks for the symbols of a module within a module
/// in the outer one, and takes what it does not find there for never called.
static bool isMisledByNestedModules(StringRef pipeline, ModuleOp module) {
  return (pipeline.contains("remove-dead-values") ||
          pipeline.contains("sccp")) &&
         module
             .walk([&](ModuleOp inner) {
               return inner == module ? WalkResult::advance()
                                      : WalkResult::interrupt();
             })
             .wasInterrupted();
}

void fuzz::runPasses(StringRef program, StringRef pipeline) {
  static const bool isRegistered = (registerPasses(), true);
  (void)isRegistered;
  OwningOpRef<ModuleOp> module = readProgram(program);
  if (!module)
    return;
  checkRoundTrip(*module);
  if (isMisledByNestedModules(pipeline, *module))
    return;
  PassManager passes(module->getContext(), ModuleOp::getOperationName(),
                     PassManager::Nesting::Implicit);
  std::string ignored;
  llvm::raw_string_ostream os(ignored);
  if (failed(parsePassPipeline(pipeline, passes, os)))
    return;
  passes.enableVerifier(false);
  passes.addInstrumentation(std::make_unique<VerifyEach>());
  ErrorCount errors(module->getContext());
  bool isGood = succeeded(passes.run(*module)) && succeeded(verify(*module));
  if (isGood)
    checkRoundTrip(*module);
  else if (errors.get() == 0)
    reportFinding("a pass fails without an error: " + pipeline);
}
