//===- StablehloTypes.td - Token and future ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_TYPES_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_TYPES_TD

include "meshwright/Dialect/StableHLO/StablehloDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Stablehlo_TokenType : TypeDef<Stablehlo_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "Orders operations with side effects";
  let description = [{
    A value without content. An operation that takes a token runs after the one
    that produced it.
  }];
}

def Stablehlo_FutureType : TypeDef<Stablehlo_Dialect, "Future"> {
  let mnemonic = "future";
  let summary = "What an asynchronous operation will return";
  let description = [{
    The tensors that `async_start` began to compute and `async_done` waits for.

    ```mlir
    !stablehlo.future<tensor<3xf32>, tensor<i8>>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Type">:$types);
  let assemblyFormat = "`<` custom<FutureTypes>($types) `>`";
  let genVerifyDecl = 1;
}

#endif
