//===- PassStatistics.h - What passes counted -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_INSPECTION_PASSSTATISTICS_H
#define MESHWRIGHT_INSPECTION_PASSSTATISTICS_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace meshwright {

/// Sums up the counters of Meshwright's passes, and what a pass has changed that
/// has counted nothing. MLIR's own report is empty where the packaged MLIR is built
/// without statistics, whatever passes count.
class PassStatistics {
public:
  /// Counts in `passes`, too. The counters outlive the pass manager.
  static void watch(std::shared_ptr<PassStatistics> statistics,
                    mlir::PassManager &passes, llvm::StringRef phase);

  /// Adds what a pass has counted.
  void add(llvm::StringRef phase, mlir::Pass &pass);
  /// Adds what a pass that has counted nothing has changed.
  void addChange(llvm::StringRef phase, const mlir::Pass &pass,
                 size_t numOpsBefore, size_t numOpsAfter);

  /// A line per pass that counted anything, and one per counter.
  void print(llvm::raw_ostream &os) const;

private:
  struct Counter {
    std::string name, description;
    uint64_t value = 0;
  };
  void increase(llvm::StringRef phase, const mlir::Pass &pass,
                llvm::StringRef name, llvm::StringRef description,
                uint64_t value);

  /// Functions are worked on by several threads.
  std::mutex mutex;
  llvm::MapVector<std::string, std::vector<Counter>, llvm::StringMap<unsigned>>
      counters;
};

} // namespace meshwright

#endif
