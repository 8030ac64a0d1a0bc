//===- HoistCandidates.h - What is worth computing once ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SHARDING_HOISTCANDIDATES_H
#define MESHWRIGHT_SHARDING_HOISTCANDIDATES_H

#include "meshwright/Cost/Device.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Sharding/InvariantNumbers.h"
#include "meshwright/Sharding/PartialSums.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::mpmd {

/// A value that several fragments compute, in the sharding they need it in.
struct HoistCandidate {
  Value value; ///< The first of its number.
  RankedTensorType type;
  sdy::TensorShardingAttr sharding;
  bool isGathered; ///< By its readers, out of its own sharding.
  SmallVector<OpOperand *> uses;
  SmallVector<FragmentOp> readers; ///< Distinct ones, in program order.
  int64_t keptBytes = 0;           ///< In the memory of each device.
  int64_t savedBytes = 0;          ///< Sent or read again otherwise.
};

/// Where a value comes from.
struct HoistOrigin {
  llvm::SetVector<Value> inputs; ///< Of the program.
  bool computes = false;         ///< Some op on the way does more than copy.
  bool gathers = false; ///< A constraint on the way asks for more of it.
};

/// The values of a function that are computed, or gathered, several times.
class HoistCandidates {
public:
  /// With deferral, what scales sums over devices is gathered, so that they can wait.
  HoistCandidates(func::FuncOp func, bool withDeferral);

  /// Those that are worth a place in the memory of such devices, what saves most
  /// first.
  SmallVector<HoistCandidate *>
  findWorthwhile(const meshwright::Device &device);
  HoistOrigin findOrigin(Value value) const;
  const InvariantNumbers &getNumbers() const { return numbers; }

private:
  using Key = std::tuple<StringRef, int64_t, unsigned, Attribute>;

  void collect(FragmentOp fragment, Value value);
  bool isKnown(Value value) const;
  sdy::TensorShardingAttr getNeededSharding(OpOperand &use) const;
  bool isOnMesh(sdy::TensorShardingAttr sharding, FragmentOp fragment) const;
  bool isWorthIt(HoistCandidate &candidate,
                 const meshwright::Device &device) const;

  func::FuncOp func;
  InvariantNumbers numbers;
  std::optional<PartialSums>
      sums; ///< That wait once what scales them is gathered.
  llvm::MapVector<Key, HoistCandidate> candidates;
};

/// What one device has of a tensor.
RankedTensorType getLocalType(RankedTensorType type,
                              sdy::TensorShardingAttr sharding,
                              func::FuncOp func);

/// Whether an op converts to a type of fewer bits.
bool isNarrowing(Operation *op);

} // namespace mlir::mpmd

#endif
