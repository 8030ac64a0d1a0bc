//===- Programs.cpp - Reading and printing programs -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Programs.h"
#include "Context.h"
#include "meshwright/Files/ProgramText.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::fuzz;

OwningOpRef<ModuleOp> fuzz::readProgram(StringRef text) {
  MLIRContext *context = getContext();
  ErrorCount errors(context);
  OwningOpRef<ModuleOp> module = parseProgram(text, context, "input");
  if (!module && errors.get() == 0)
    reportFinding("the program is rejected without an error");
  if (module && errors.get() != 0)
    reportFinding("the program is read in spite of an error: " +
                  errors.first());
  return module;
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printProgram(module, os);
  return text;
}

std::optional<std::string> fuzz::checkRoundTrip(ModuleOp module) {
  std::string text = print(module);
  if (StringRef(text).contains("<<INVALID EMPTY SYMBOL>>"))
    return std::nullopt;
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
