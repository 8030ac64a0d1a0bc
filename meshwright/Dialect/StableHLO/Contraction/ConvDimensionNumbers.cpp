//===- ConvDimensionNumbers.cpp - Layouts of a convolution ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`: each list says what sits at each
// position of one tensor. The attribute stores the inverse, the position of
// every role.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Contraction/ConvDimensionNumbers.h"
#include "meshwright/Dialect/StableHLO/StructForm.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;
using namespace mlir::stablehlo;

namespace {
/// The layout of one tensor: positions of its two letters and of its spatial
/// dimensions.
struct Layout {
  Layout(char firstLetter, char secondLetter)
      : firstLetter(firstLetter), secondLetter(secondLetter) {}

  char firstLetter, secondLetter;
  int64_t first = -1, second = -1;
  SmallVector<int64_t> spatial;
};
} // namespace

/// Puts `position` at `letter`, which must be one of the layout's and new.
static ParseResult parseLetter(AsmParser &parser, SMLoc loc, StringRef letter,
                               int64_t position, Layout &layout) {
  int64_t *slot = nullptr;
  if (letter == StringRef(&layout.firstLetter, 1))
    slot = &layout.first;
  else if (letter == StringRef(&layout.secondLetter, 1))
    slot = &layout.second;
  if (!slot)
    return parser.emitError(loc)
           << "unexpected dimension `" << letter << "`, expected `"
           << Twine(layout.firstLetter) << "`, `" << Twine(layout.secondLetter)
           << "` or the number of a spatial dimension";
  if (*slot != -1)
    return parser.emitError(loc)
           << "dimension `" << letter << "` is given twice";
  *slot = position;
  return success();
}

/// Collects the position of every spatial dimension, which must be 0, 1, ...
static ParseResult finishLayout(AsmParser &parser, SMLoc loc,
                                const std::map<int64_t, int64_t> &spatial,
                                Layout &layout) {
  if (layout.first == -1 || layout.second == -1)
    return parser.emitError(loc)
           << "expected dimension `"
           << Twine(layout.first == -1 ? layout.firstLetter
                                       : layout.secondLetter)
           << "` is not specified";
  for (auto [number, position] : spatial) {
    if (number != static_cast<int64_t>(layout.spatial.size()))
      return parser.emitError(loc)
             << "expected spatial dimension " << layout.spatial.size()
             << " is not specified";
    layout.spatial.push_back(position);
  }
  return success();
}

static ParseResult parseLayout(AsmParser &parser, Layout &layout) {
  std::map<int64_t, int64_t> spatial; // Number to position, by number.
  int64_t position = 0;
  SMLoc listLoc = parser.getCurrentLocation();
  auto parseEntry = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    int64_t number;
    OptionalParseResult isNumber = parser.parseOptionalInteger(number);
    if (!isNumber.has_value()) {
      StringRef letter;
      return failure(parser.parseKeyword(&letter) ||
                     parseLetter(parser, loc, letter, position++, layout));
    }
    if (failed(*isNumber))
      return failure();
    if (number < 0)
      return parser.emitError(loc) << "unexpected dimension " << number
                                   << ", a spatial dimension has a number >= 0";
    if (!spatial.try_emplace(number, position++).second)
      return parser.emitError(loc)
             << "spatial dimension " << number << " is given twice";
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseEntry))
    return failure();
  return finishLayout(parser, listLoc, spatial, layout);
}

ParseResult stablehlo::parseConvolutionDimensions(
    AsmParser &parser, ConvDimensionNumbersAttr &dimensionNumbers) {
  Layout input('b', 'f'), kernel('i', 'o'), output('b', 'f');
  if (parseLayout(parser, input) || parser.parseKeyword("x") ||
      parseLayout(parser, kernel) || parser.parseArrow() ||
      parseLayout(parser, output))
    return failure();
  dimensionNumbers = ConvDimensionNumbersAttr::get(
      parser.getContext(), input.first, input.second, input.spatial,
      kernel.first, kernel.second, kernel.spatial, output.first, output.second,
      output.spatial);
  return success();
}

/// Names what sits at each position of a tensor; empty if the positions are no
/// permutation of 0, 1, ...
static SmallVector<std::string> rolesByPosition(char firstLetter, int64_t first,
                                                char secondLetter,
                                                int64_t second,
                                                ArrayRef<int64_t> spatial) {
  SmallVector<std::string> roles(spatial.size() + 2);
  auto assign = [&](int64_t position, std::string role) {
    if (position < 0 || position >= static_cast<int64_t>(roles.size()) ||
        !roles[position].empty())
      return false;
    roles[position] = std::move(role);
    return true;
  };
  if (!assign(first, {firstLetter}) || !assign(second, {secondLetter}))
    return {};
  for (auto [number, position] : llvm::enumerate(spatial))
    if (!assign(position, llvm::utostr(number)))
      return {};
  return roles;
}

/// Roles by position of input, kernel and output; empty if one of them has
/// none.
static SmallVector<SmallVector<std::string>>
rolesOfTensors(ConvDimensionNumbersAttr dims) {
  SmallVector<SmallVector<std::string>> roles = {
      rolesByPosition('b', dims.getInputBatchDimension(), 'f',
                      dims.getInputFeatureDimension(),
                      dims.getInputSpatialDimensions()),
      rolesByPosition('i', dims.getKernelInputFeatureDimension(), 'o',
                      dims.getKernelOutputFeatureDimension(),
                      dims.getKernelSpatialDimensions()),
      rolesByPosition('b', dims.getOutputBatchDimension(), 'f',
                      dims.getOutputFeatureDimension(),
                      dims.getOutputSpatialDimensions())};
  if (llvm::any_of(roles, [](const auto &tensor) { return tensor.empty(); }))
    return {};
  return roles;
}

static void printRoles(AsmPrinter &printer,
                       ArrayRef<SmallVector<std::string>> roles) {
  constexpr StringLiteral separators[] = {"", "x", "->"};
  for (auto [separator, tensor] : llvm::zip_equal(separators, roles)) {
    printer << separator << '[';
    llvm::interleaveComma(tensor, printer);
    printer << ']';
  }
}

void stablehlo::printConvolutionDimensions(
    OpAsmPrinter &printer, Operation *,
    ConvDimensionNumbersAttr dimensionNumbers) {
  auto roles = rolesOfTensors(dimensionNumbers);
  if (roles.empty())
    printer << dimensionNumbers;
  else
    printRoles(printer, roles);
}

static Attribute parseRawForm(AsmParser &parser) {
  int64_t inputBatch = 0, inputFeature = 0, kernelInput = 0, kernelOutput = 0,
          outputBatch = 0, outputFeature = 0;
  SmallVector<int64_t> inputSpatial, kernelSpatial, outputSpatial;
  if (parseStructFields(parser,
                        {{"input_batch_dimension", inputBatch},
                         {"input_feature_dimension", inputFeature},
                         {"input_spatial_dimensions", inputSpatial},
                         {"kernel_input_feature_dimension", kernelInput},
                         {"kernel_output_feature_dimension", kernelOutput},
                         {"kernel_spatial_dimensions", kernelSpatial},
                         {"output_batch_dimension", outputBatch},
                         {"output_feature_dimension", outputFeature},
                         {"output_spatial_dimensions", outputSpatial}}))
    return {};
  return ConvDimensionNumbersAttr::get(
      parser.getContext(), inputBatch, inputFeature, inputSpatial, kernelInput,
      kernelOutput, kernelSpatial, outputBatch, outputFeature, outputSpatial);
}

Attribute ConvDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  if (succeeded(parser.parseOptionalKeyword("raw")))
    return parseRawForm(parser);
  ConvDimensionNumbersAttr result;
  if (parseConvolutionDimensions(parser, result) || parser.parseGreater())
    return {};
  return result;
}

void ConvDimensionNumbersAttr::print(AsmPrinter &printer) const {
  // Positions that the op verifier will reject have only the long form.
  if (auto roles = rolesOfTensors(*this); !roles.empty()) {
    printer << '<';
    printRoles(printer, roles);
    printer << '>';
    return;
  }
  printer << "<raw input_batch_dimension = " << getInputBatchDimension()
          << ", input_feature_dimension = " << getInputFeatureDimension()
          << ", input_spatial_dimensions = [" << getInputSpatialDimensions()
          << "], kernel_input_feature_dimension = "
          << getKernelInputFeatureDimension()
          << ", kernel_output_feature_dimension = "
          << getKernelOutputFeatureDimension()
          << ", kernel_spatial_dimensions = [" << getKernelSpatialDimensions()
          << "], output_batch_dimension = " << getOutputBatchDimension()
          << ", output_feature_dimension = " << getOutputFeatureDimension()
          << ", output_spatial_dimensions = [" << getOutputSpatialDimensions()
          << "]>";
}
