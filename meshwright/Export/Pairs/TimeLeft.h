//===- TimeLeft.h - How long a program takes after each op ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The end of a program minus the time left after an op is when that op has to have ended.
// That is the length of the longest path from it, through what reads its results and what
// its mesh runs next:
//
//     mesh m |FFF|BBBB|       after F: 6, through t and C
//             \-t-> |CCCC|    after B: 0
//
// Name in the literature: the bottom level of list scheduling (the critical path).
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_PAIRS_TIMELEFT_H
#define MESHWRIGHT_EXPORT_PAIRS_TIMELEFT_H

#include "meshwright/Export/Pairs/OverlapChoice.h"

namespace mlir::mpmd {

/// How long a program takes after each op has ended, if all candidates become fragments
/// and those of `isLate` that are in none keep no mesh waiting. Linear in ops and uses.
std::vector<double> measureTimeLeft(const BlockGraph &graph,
                                    const EdgeTable &readers,
                                    ArrayRef<std::vector<unsigned>> queues,
                                    ArrayRef<double> seconds,
                                    ArrayRef<OverlapCandidate> candidates,
                                    const llvm::BitVector &isLate);

} // namespace mlir::mpmd

#endif
