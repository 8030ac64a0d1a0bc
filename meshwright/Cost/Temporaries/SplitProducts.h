//===- SplitProducts.h - Products whose sum is split ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_TEMPORARIES_SPLITPRODUCTS_H
#define MESHWRIGHT_COST_TEMPORARIES_SPLITPRODUCTS_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"

namespace meshwright {

struct Device;

/// Bytes that a product needs beside its operands and its result, on one device:
/// where it has fewer tiles than the device has cores, the compiler of a GPU splits
/// what is summed, and adds up the sums of the parts in a kernel of its own.
///
/// `parts` is into how many parts the devices of the mesh divide the work.
double countSplitSums(mlir::Operation *op, double parts,
                      mlir::sdy::MeshAttr mesh, const Device &device);

} // namespace meshwright

#endif
