//===- Bytecode.cpp - Programs as bytecode --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Mutator/Mutator.h"
#include "Support/Context.h"
#include "Support/Programs.h"
#include "Support/Target.h"

using namespace meshwright;
using namespace meshwright::fuzz;
using llvm::StringRef;

void fuzz::takeInput(StringRef input) {
  if (mlir::OwningOpRef<mlir::ModuleOp> module = readProgram(input))
    checkRoundTrip(*module);
}

std::string fuzz::mutateInput(StringRef input, uint64_t seed) {
  return mutateBytes(input, seed);
}
