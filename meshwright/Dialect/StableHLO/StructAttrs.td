//===- StructAttrs.td - Dimension numbers, channels, meshes *- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_STRUCTATTRS_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_STRUCTATTRS_TD

include "meshwright/Dialect/StableHLO/StablehloEnums.td"
include "mlir/IR/AttrTypeBase.td"

#endif
