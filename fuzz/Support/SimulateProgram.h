//===- SimulateProgram.h - What simulation says of a program ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FUZZ_SUPPORT_SIMULATEPROGRAM_H
#define MESHWRIGHT_FUZZ_SUPPORT_SIMULATEPROGRAM_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace meshwright::fuzz {

/// Whether a text is no error that a user can do anything about.
bool isFinding(llvm::StringRef error);

/// The simulation of a partitioned program as JSON; empty for one that is
/// rejected with an error.
std::string simulateProgram(llvm::StringRef program);

} // namespace meshwright::fuzz

#endif
