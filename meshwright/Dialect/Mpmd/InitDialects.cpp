//===- InitDialects.cpp - All dialects of programs ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Not in the header: those of the dialects of MLIR alone take seconds to compile.
//
//===----------------------------------------------------------------------===//

#include "meshwright/InitDialects.h"
#include "meshwright/Dialect/CHLO/ChloDialect.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Func/Extensions/AllExtensions.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

void meshwright::registerAllDialects(mlir::DialectRegistry &registry) {
  // Values of complex numbers are attributes of the complex dialect.
  registry
      .insert<mlir::chlo::ChloDialect, mlir::complex::ComplexDialect,
              mlir::func::FuncDialect, mlir::mpmd::MpmdDialect,
              mlir::quant::QuantDialect, mlir::sdy::SdyDialect,
              mlir::stablehlo::StablehloDialect, mlir::tensor::TensorDialect>();
  mlir::func::registerAllExtensions(registry);
  mlir::mpmd::registerExtensions(registry);
}
