//===- ContractionAssembly.h - Directives of contractions -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_CONTRACTION_CONTRACTIONASSEMBLY_H
#define MESHWRIGHT_DIALECT_STABLEHLO_CONTRACTION_CONTRACTIONASSEMBLY_H

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

namespace mlir::stablehlo {

/// `[HIGH, DEFAULT]`: the keywords of a precision configuration.
ParseResult parsePrecisions(OpAsmParser &parser, ArrayAttr &precisions);
void printPrecisions(OpAsmPrinter &printer, Operation *op,
                     ArrayAttr precisions);

/// `, precision = [..], algorithm = <..>`, each part only if it is there.
ParseResult parsePrecisionAndAlgorithm(OpAsmParser &parser,
                                       ArrayAttr &precisions,
                                       DotAlgorithmAttr &algorithm);
void printPrecisionAndAlgorithm(OpAsmPrinter &printer, Operation *op,
                                ArrayAttr precisions,
                                DotAlgorithmAttr algorithm);

/// `batching_dims = [0] x [0], contracting_dims = [2] x [1]`; the first part is
/// left out where nothing is batched.
ParseResult parseDotDimensionNumbers(OpAsmParser &parser,
                                     DotDimensionNumbersAttr &numbers);
void printDotDimensionNumbers(OpAsmPrinter &printer, Operation *op,
                              DotDimensionNumbersAttr numbers);

/// `stride = [2], pad = [[1, 1]], lhs_dilate = [1], rhs_dilate = [1], reverse =
/// [false]`, in this order when printed and any when parsed.
ParseResult parseWindowAttributes(OpAsmParser &parser,
                                  DenseI64ArrayAttr &strides,
                                  DenseIntElementsAttr &padding,
                                  DenseI64ArrayAttr &lhsDilation,
                                  DenseI64ArrayAttr &rhsDilation,
                                  DenseBoolArrayAttr &reversal);
void printWindowAttributes(OpAsmPrinter &printer, Operation *op,
                           DenseI64ArrayAttr strides,
                           DenseIntElementsAttr padding,
                           DenseI64ArrayAttr lhsDilation,
                           DenseI64ArrayAttr rhsDilation,
                           DenseBoolArrayAttr reversal);

} // namespace mlir::stablehlo

#endif
