//===- ChloAttrs.td - Structured attributes ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_CHLO_ATTRS_TD
#define MESHWRIGHT_DIALECT_CHLO_ATTRS_TD

include "meshwright/Dialect/CHLO/ChloEnums.td"
include "mlir/IR/AttrTypeBase.td"

def Chlo_Dims : ArrayRefParameter<"int64_t", "dimensions">;

def Chlo_RaggedDotDimensionNumbersAttr
    : AttrDef<Chlo_Dialect, "RaggedDotDimensionNumbers"> {
  let mnemonic = "ragged_dot";
  let summary = "What the dimensions of a ragged dot product represent";
  let description = [{
    ```mlir
    #chlo.ragged_dot<lhs_contracting_dimensions = [1],
                     rhs_contracting_dimensions = [1],
                     lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>
    ```

    Fields may be in any order; empty ones are not printed.
  }];
  let parameters = (ins Chlo_Dims:$lhsBatchingDimensions,
                        Chlo_Dims:$rhsBatchingDimensions,
                        Chlo_Dims:$lhsContractingDimensions,
                        Chlo_Dims:$rhsContractingDimensions,
                        Chlo_Dims:$lhsRaggedDimensions,
                        Chlo_Dims:$rhsGroupDimensions);
  let hasCustomAssemblyFormat = 1;
}

#endif
