//===- HeldBytes.h - What the devices of a mesh hold ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SHARDING_HELDBYTES_H
#define MESHWRIGHT_SHARDING_HELDBYTES_H

#include "meshwright/Cost/Device.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::mpmd {

/// The most bytes that each device of a mesh holds at once, by the shardings of
/// attributes, ops in program order: arguments, of which donated ones end with
/// their last reader, values between fragments, and what a fragment needs
/// beside these by the cost model; as `device` keeps them.
llvm::StringMap<int64_t> findHeldBytes(func::FuncOp func,
                                       const meshwright::Device &device);

} // namespace mlir::mpmd

#endif
