//===- ChloAttrs.td - Structured attributes ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_CHLO_ATTRS_TD
#define MESHWRIGHT_DIALECT_CHLO_ATTRS_TD

include "meshwright/Dialect/CHLO/ChloEnums.td"
include "meshwright/Dialect/StableHLO/StructForm.td"

def Chlo_RaggedDotDimensionNumbersAttr
    : StructFormAttr<Chlo_Dialect, "RaggedDotDimensionNumbers", "ragged_dot",
                     ["lhs_batching_dimensions", "rhs_batching_dimensions",
                      "lhs_contracting_dimensions", "rhs_contracting_dimensions",
                      "lhs_ragged_dimensions", "rhs_group_dimensions"]> {
  let summary = "What the dimensions of a ragged dot product represent";
  let description = [{
    ```mlir
    #chlo.ragged_dot<lhs_contracting_dimensions = [1],
                     rhs_contracting_dimensions = [1],
                     lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>
    ```

    Fields may be in any order; empty ones are not printed.
  }];
}

#endif
