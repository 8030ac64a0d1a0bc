//===- TimedProgram.h - Seconds of what a program runs ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What a device does of a fragment depends on how its values are split, which
// the shard phase finds out after the order is chosen. So a copy of the program
// goes through that phase first, and is what is measured.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_SCHEDULER_TIMEDPROGRAM_H
#define MESHWRIGHT_OPTIMIZE_SCHEDULER_TIMEDPROGRAM_H

#include "meshwright/Cost/FragmentCost.h"
#include "meshwright/Cost/Profile.h"
#include "meshwright/Optimize/Scheduler/SchedulingUnits.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace mlir::mpmd {

/// Where the times of a searched plan come from, and the memory that it may take.
struct TimeSource {
  std::string device;      ///< A name or a file; empty if there is none.
  std::string profile;     ///< A file; empty if there is none.
  std::string customCosts; ///< As `parseCostList` reads it.
  /// Stages of microbatches: a number, or one for each mesh; empty for those of 1F1B.
  std::string memory;

  /// Whether times are seconds; else they are floating point work.
  bool isInSeconds() const { return !device.empty() || !profile.empty(); }
};

struct UnitSeconds {
  double all = 0;
  double exchanging = 0; ///< In collectives, if the device says it.
};

class TimedProgram {
public:
  /// Emits an error at `func` if the source cannot be read, or the program
  /// cannot be sharded. `source` has a device or a profile.
  static FailureOr<std::unique_ptr<TimedProgram>>
  make(func::FuncOp func, const TimeSource &source);

  /// The units of the copy; its fragments are those to be measured.
  ArrayRef<MeshUnits> getUnits() const { return units; }

  /// Seconds of a unit: of the profile, else those of the device, else 0.
  FailureOr<UnitSeconds> measure(FragmentOp unit);
  /// The longest that any unit takes to send its results to another mesh.
  double findLongestTransfer();

  /// Says what could not be known: a warning, or an error if times are missing
  /// that only a device could give.
  LogicalResult reportUnknown();

private:
  explicit TimedProgram(func::FuncOp original) : original(original) {}

  LogicalResult read(const TimeSource &source);
  LogicalResult shardCopy();
  double getTransferSeconds(TransferOp transfer) const;

  func::FuncOp original;
  std::optional<meshwright::Device> device;
  std::optional<meshwright::Profile> profile;
  meshwright::CustomCosts customs;
  OwningOpRef<ModuleOp> module;
  std::optional<SymbolTable> symbols; ///< Of the module.
  func::FuncOp copy;
  SmallVector<MeshUnits> units;
  std::optional<meshwright::CostModel> costs;
  std::optional<meshwright::WorkEstimator> works;
  llvm::StringMap<meshwright::DeviceRange> devices; ///< Of each mesh.
  std::set<std::string> missing, uncounted;
};

/// A warning about custom calls of unknown work, if there are any.
void warnOfUncounted(func::FuncOp func, const std::set<std::string> &uncounted);

} // namespace mlir::mpmd

#endif
