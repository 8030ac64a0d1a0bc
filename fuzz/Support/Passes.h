//===- Passes.h - Taking programs through passes ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FUZZ_SUPPORT_PASSES_H
#define MESHWRIGHT_FUZZ_SUPPORT_PASSES_H

#include "mlir/Support/LLVM.h"

namespace meshwright::fuzz {

/// Runs a textual pipeline over a program. What each pass makes has to verify,
/// and the result to make a round trip. Pipelines that do not exist are left
/// out.
void runPasses(llvm::StringRef program, llvm::StringRef pipeline);

} // namespace meshwright::fuzz

#endif
