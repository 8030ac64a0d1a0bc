//===- OverlapTimes.h - What pairs take and hide ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_PAIRS_OVERLAPTIMES_H
#define MESHWRIGHT_EXPORT_PAIRS_OVERLAPTIMES_H

#include "meshwright/Cost/FragmentCost.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/IR/EqualBodies.h"
#include "mlir/IR/SymbolTable.h"
#include <map>
#include <optional>
#include <vector>

namespace mlir::mpmd {

/// Times of the fragments of a module before they become functions: seconds of the
/// cost model on a device, or without one, floating point work. Fragments that compute
/// the same are measured once.
class OverlapTimes {
public:
  OverlapTimes(ModuleOp module, std::optional<meshwright::Device> device,
               const meshwright::CustomCosts &customs);
  ~OverlapTimes();

  /// What one fragment takes in a program with pairs.
  FailureOr<double> measure(FragmentOp fragment);
  /// Bytes that a device holds while it runs, beside operands and results. Takes a
  /// device.
  FailureOr<double> getTemporaryBytes(FragmentOp fragment);
  /// Whether devices of its mesh exchange anything in a fragment.
  FailureOr<bool> hasCollectives(FragmentOp fragment);
  /// What two parts that run as one program save, of which the second may be several
  /// fragments. Without a device, at most what the shorter part takes. Parts that
  /// compute the same are measured once.
  FailureOr<double> getHidden(FragmentOp first, ArrayRef<FragmentOp> second);

private:
  struct Known {
    std::optional<double> work;
    std::optional<bool> exchanges;
    std::optional<meshwright::FragmentCost> cost;
  };

  Known &find(FragmentOp fragment);
  FailureOr<const meshwright::FragmentCost *> getCost(FragmentOp fragment);
  FailureOr<double> measureHidden(FragmentOp first,
                                  ArrayRef<FragmentOp> second);

  ModuleOp module;
  bool hasDevice;
  SymbolTable symbols;
  meshwright::WorkEstimator works;
  meshwright::CostModel costs;
  EqualityClasses<FragmentOp> classes;
  DenseMap<Operation *, unsigned> classOf;
  std::vector<Known> known;
  std::map<std::vector<unsigned>, double> hidden; ///< By classes of the parts.
  /// Alive as long as the cost model, which knows functions by their address.
  SmallVector<func::FuncOp> measured;
};

} // namespace mlir::mpmd

#endif
