//===- Programs.cpp - Taking programs through the compiler ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Programs.h"
#include "Context.h"
#include "meshwright/Files/ProgramText.h"
#include "meshwright/InitAll.h"
#include "mlir/Dialect/Func/Transforms/Passes.h"
#include "mlir/Dialect/Quant/Transforms/Passes.h"
#include "mlir/Dialect/Tensor/Transforms/Passes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "mpmd-opt/BoundedInliner.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::fuzz;

namespace {
/// As the pass manager's own verifier, except that a pass that says no is told
/// from one that makes something wrong.
class VerifyEach : public PassInstrumentation {
public:
  void runAfterPass(Pass *pass, Operation *op) override {
    ErrorCount errors(op->getContext());
    if (failed(verify(op)))
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

OwningOpRef<ModuleOp> fuzz::readProgram(StringRef text) {
  MLIRContext *context = getContext();
  ErrorCount errors(context);
  OwningOpRef<ModuleOp> module = parseProgram(text, context, "input");
  if (!module && errors.get() == 0)
    reportFinding("the program is rejected without an error");
  return module;
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printProgram(module, os);
  return text;
}

std::string fuzz::checkRoundTrip(ModuleOp module) {
  std::string text = print(module);
  if (StringRef(text).contains("<<INVALID EMPTY SYMBOL>>"))
    return text; // MLIR lets functions have such names, and cannot write them.
  ErrorCount errors(module.getContext());
  OwningOpRef<ModuleOp> again =
      parseProgram(text, module.getContext(), "printed");
  if (!again)
    reportFinding("what is printed is not read back: " + errors.first() + "\n" +
                  text);
  if (std::string second = print(*again); second != text)
    reportFinding(
        "what is printed is printed otherwise when it is read back:\n" + text +
        "\n-----\n" + second);
  return text;
}

void fuzz::runPasses(StringRef program, StringRef pipeline) {
  static const bool isRegistered = (registerPasses(), true);
  (void)isRegistered;
  OwningOpRef<ModuleOp> module = readProgram(program);
  if (!module)
    return;
  checkRoundTrip(*module);
  PassManager passes(module->getContext(), ModuleOp::getOperationName(),
                     PassManager::Nesting::Implicit);
  std::string ignored;
  llvm::raw_string_ostream os(ignored);
  if (failed(parsePassPipeline(pipeline, passes, os)))
    return;
  passes.enableVerifier(false);
  passes.addInstrumentation(std::make_unique<VerifyEach>());
  ErrorCount errors(module->getContext());
  if (succeeded(passes.run(*module)))
    checkRoundTrip(*module);
  else if (errors.get() == 0)
    reportFinding("a pass fails without an error: " + pipeline);
}
