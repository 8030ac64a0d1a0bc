//===- StartOrder.h - The ops of a block, as they start ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_OFFLOAD_STARTORDER_H
#define MESHWRIGHT_EXPORT_OFFLOAD_STARTORDER_H

#include "meshwright/Export/Offload/BlockTimes.h"

namespace mlir::mpmd {

/// Puts the ops of a block of fragments and transfers in the order in which they start:
/// transfers when the fragment ends that makes what they send, or if delayed the one that
/// they wait for. Keeps the order of fragments of each mesh, the data flow, and readers of
/// a buffer before the fragment that takes it over. Transfers may have come after `times`
/// were found.
void sortByStart(Block &block, const BlockTimes &times);

} // namespace mlir::mpmd

#endif
