//===- ElementwiseOps.td - Arithmetic on each element ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_ELEMENTWISEOPS_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_ELEMENTWISEOPS_TD

include "meshwright/Dialect/StableHLO/StablehloAttrs.td"
include "meshwright/Dialect/StableHLO/StablehloBase.td"

#endif
