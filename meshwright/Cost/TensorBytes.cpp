//===- TensorBytes.cpp - Bytes a tensor takes -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/TensorBytes.h"

using namespace mlir;

double meshwright::countBytes(RankedTensorType type) {
  double count = 1;
  for (int64_t dim : type.getShape())
    count *= ShapedType::isDynamic(dim) ? 1 : dim;
  Type element = type.getElementType();
  if (auto complex = dyn_cast<ComplexType>(element)) {
    count *= 2;
    element = complex.getElementType();
  }
  double bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 8;
  return count * (bits == 1 ? 8 : bits) / 8;
}
