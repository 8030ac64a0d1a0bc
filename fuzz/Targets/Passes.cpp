//===- Passes.cpp - Any passes over any program ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An input is a module after a line that names passes:
//
//   // PIPELINE: mpmd-unroll-for-loops,canonicalize
//
//===----------------------------------------------------------------------===//

#include "Support/Passes.h"
#include "Mutator/Mutator.h"
#include "Support/Target.h"

using namespace meshwright;
using namespace meshwright::fuzz;

void fuzz::takeInput(llvm::StringRef input) {
  auto [line, program] = input.split('\n');
  if (line.consume_front("// PIPELINE: "))
    runPasses(program, line.trim());
}

std::string fuzz::mutateInput(llvm::StringRef input, uint64_t seed) {
  return mutateProgram(input, seed);
}
