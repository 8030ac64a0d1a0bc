//===- CollectiveOps.td - Between processes ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_COLLECTIVEOPS_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_COLLECTIVEOPS_TD

include "meshwright/Dialect/StableHLO/StablehloAttrs.td"
include "meshwright/Dialect/StableHLO/StablehloBase.td"

#endif
