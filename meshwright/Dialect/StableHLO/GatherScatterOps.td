//===- GatherScatterOps.td - Indexed data movement ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_GATHERSCATTEROPS_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_GATHERSCATTEROPS_TD

include "meshwright/Dialect/StableHLO/StablehloAttrs.td"
include "meshwright/Dialect/StableHLO/StablehloBase.td"

#endif
