//===- TransferTimes.h - What transfers take --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_PAIRS_TRANSFERTIMES_H
#define MESHWRIGHT_EXPORT_PAIRS_TRANSFERTIMES_H

#include "meshwright/Cost/Collective.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Order/BlockGraph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::mpmd {

/// Seconds of transfers by the cost model, of a program whose meshes have devices of one
/// type, in the order of its topology.
class TransferTimes {
public:
  TransferTimes(func::FuncOp func, const meshwright::Device &device);

  FailureOr<double> measure(TransferOp transfer) const;
  /// Of all transfers of a block, by position.
  LogicalResult measure(const BlockGraph &graph,
                        MutableArrayRef<double> seconds) const;

private:
  const meshwright::Device &device;
  llvm::StringMap<meshwright::DeviceRange> ranges;
};

} // namespace mlir::mpmd

#endif
