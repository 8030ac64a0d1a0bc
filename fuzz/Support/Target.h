//===- Target.h - The interface of libFuzzer --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Each file of Targets defines `takeInput` and `mutateInput`. LibFuzzer.cpp makes
// of them what libFuzzer calls; ForkLoop.cpp needs no instrumented code.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FUZZ_SUPPORT_TARGET_H
#define MESHWRIGHT_FUZZ_SUPPORT_TARGET_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace meshwright::fuzz {

/// Does with an input what the target is about. Whatever the input: it either
/// goes well or ends in an error that says why.
void takeInput(llvm::StringRef input);

/// Another input that is much the same.
std::string mutateInput(llvm::StringRef input, uint64_t seed);

} // namespace meshwright::fuzz

#endif
