//===- ConvDimensionNumbers.h - Layouts of a convolution --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_CONTRACTION_CONVDIMENSIONNUMBERS_H
#define MESHWRIGHT_DIALECT_STABLEHLO_CONTRACTION_CONVDIMENSIONNUMBERS_H

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

namespace mlir::stablehlo {

/// Parses and prints `[b, 0, f]x[0, i, o]->[b, 0, f]`. Printing falls back to
/// the attribute where positions collide or are out of range, which no op
/// verifies with.
ParseResult
parseConvolutionDimensions(AsmParser &parser,
                           ConvDimensionNumbersAttr &dimensionNumbers);
void printConvolutionDimensions(OpAsmPrinter &printer, Operation *op,
                                ConvDimensionNumbersAttr dimensionNumbers);

} // namespace mlir::stablehlo

#endif
