//===- PassCounters.cpp - Counters that begin at zero ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The packaged MLIR is built without statistics: what its constructor of a counter
// writes is nothing, since for it a counter has no contents. For us, in builds with
// assertions, it has some, and they would be whatever was in memory before.
//
// So our passes get this constructor. It must not be seen by libMLIR, whose own
// counters have no place for contents, and yields to MLIR's where that is linked in.
//
//===----------------------------------------------------------------------===//

#include "mlir/Pass/Pass.h"

#if LLVM_ENABLE_STATS
__attribute__((weak, visibility("hidden")))
mlir::Pass::Statistic::Statistic(Pass *owner, const char *name,
                                 const char *description)
    : llvm::Statistic("", name, description) {
  owner->statistics.push_back(this);
}
#endif
