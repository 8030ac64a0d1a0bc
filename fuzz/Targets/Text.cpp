//===- Text.cpp - Programs as text ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What is read has to be printed so that it is read again, also as bytecode and
// in the generic form.
//
//===----------------------------------------------------------------------===//

#include "Mutator/Mutator.h"
#include "Support/Context.h"
#include "Support/Programs.h"
#include "Support/Target.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "llvm/Support/raw_ostream.h"

using namespace meshwright;
using namespace meshwright::fuzz;
using llvm::StringRef;

void fuzz::takeInput(StringRef input) {
  mlir::OwningOpRef<mlir::ModuleOp> module = readProgram(input);
  if (!module)
    return;
  std::optional<std::string> text = checkRoundTrip(*module);
  if (!text)
    return;
  std::string generic, bytecode;
  llvm::raw_string_ostream genericStream(generic), bytecodeStream(bytecode);
  module->print(genericStream,
                mlir::OpPrintingFlags().printGenericOpForm().assumeVerified());
  if (failed(mlir::writeBytecodeToFile(*module, bytecodeStream)))
    reportFinding("the program is not written as bytecode");
  for (StringRef form : {StringRef(generic), StringRef(bytecode)}) {
    mlir::OwningOpRef<mlir::ModuleOp> again = readProgram(form);
    if (!again || checkRoundTrip(*again) != text)
      reportFinding("another form of the program is not the same program");
  }
}

std::string fuzz::mutateInput(StringRef input, uint64_t seed) {
  return mutateProgram(input, seed);
}
