//===- DeepStack.h - Stacks for deeply nested programs ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_DEEPSTACK_H
#define MESHWRIGHT_FILES_DEEPSTACK_H

#include "llvm/ADT/STLFunctionalExtras.h"

namespace meshwright {

/// How much a deep stack may grow; only what is used takes memory.
inline constexpr unsigned kDeepStackSize = 512u << 20;

/// Runs `body` on a deep stack, in a thread that ends with it.
void runOnDeepStack(llvm::function_ref<void()> body);

/// Gives deep stacks to all threads of the process that are started later on
/// and do not ask for another. For tools: a library leaves that to its host.
void giveThreadsDeepStacks();

} // namespace meshwright

#endif
