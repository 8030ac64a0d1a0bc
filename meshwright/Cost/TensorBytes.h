//===- TensorBytes.h - Bytes a tensor takes ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_TENSORBYTES_H
#define MESHWRIGHT_COST_TENSORBYTES_H

#include "mlir/IR/BuiltinTypes.h"

namespace meshwright {

struct Device;

/// The bytes of a buffer that XLA keeps a tensor in: a boolean takes a byte,
/// other numbers of less than a byte are packed, and the last byte is a whole
/// one. A dynamic dimension counts as one. Never more than 2^61.
int64_t countBytes(mlir::RankedTensorType type);

/// The bytes of its own memory in which a device keeps a tensor: on some, arrays
/// are padded to tiles (docs/cost-model.md). `order` are the dimensions from major
/// to minor, where the user chose it; else it is the device's. Never more than can be
/// counted.
int64_t countBytes(mlir::RankedTensorType type, const Device &device,
                   llvm::ArrayRef<int64_t> order = {});

/// The same for elements of a number of bits.
int64_t countBytes(llvm::ArrayRef<int64_t> shape, int64_t bits,
                   const Device &device, llvm::ArrayRef<int64_t> order = {});

/// The order of a layout as XLA writes it, `{0,1}` from minor to major; empty for
/// others, such as `auto`.
llvm::SmallVector<int64_t> parseOrder(llvm::StringRef layout);

/// Adds bytes, bits or ticks, or takes them away where `count` is below zero.
/// Programs may be of shapes that no machine holds: the sum goes as far as can be
/// counted.
void addCount(int64_t &sum, int64_t count);

/// What was added up as a fraction, as a whole number; as many as can be counted.
int64_t roundCount(double count);

/// The bits of all elements, of which a boolean has one. Never more than can be
/// counted.
int64_t countBits(mlir::RankedTensorType type);

} // namespace meshwright

#endif
