//===- InitDialects.h - What a program can consist of -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_INITDIALECTS_H
#define MESHWRIGHT_INITDIALECTS_H

#include "meshwright/Dialect/CHLO/ChloDialect.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Func/Extensions/AllExtensions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace meshwright {

inline void registerAllDialects(mlir::DialectRegistry &registry) {
  // Values of complex numbers are attributes of the complex dialect.
  registry
      .insert<mlir::chlo::ChloDialect, mlir::complex::ComplexDialect,
              mlir::func::FuncDialect, mlir::mpmd::MpmdDialect,
              mlir::quant::QuantDialect, mlir::sdy::SdyDialect,
              mlir::stablehlo::StablehloDialect, mlir::tensor::TensorDialect>();
  mlir::func::registerAllExtensions(registry);
  mlir::mpmd::registerExtensions(registry);
}

} // namespace meshwright

#endif
