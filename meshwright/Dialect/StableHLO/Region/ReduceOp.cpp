//===- ReduceOp.cpp - Reductions along dimensions -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A body that applies one commutative operation to its two arguments is written
// as the name of that operation:
//
//   stablehlo.reduce(%x init: %i) applies stablehlo.add across ...
//
// Attributes and locations inside such a body are lost by printing.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/ReducerRules.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::stablehlo;

//===----------------------------------------------------------------------===//
// Inference and verification
//===----------------------------------------------------------------------===//

/// Returns the type without some dimensions.
static RankedTensorType dropDimensions(RankedTensorType type,
                                       ArrayRef<int64_t> dimensions) {
  SmallVector<int64_t> shape, bounds;
  ArrayRef<int64_t> allBounds = getBounds(type);
  for (int64_t dim = 0, rank = type.getRank(); dim < rank; ++dim) {
    if (llvm::is_contained(dimensions, dim))
      continue;
    shape.push_back(type.getDimSize(dim));
    bounds.push_back(allBounds.empty() ? ShapedType::kDynamic : allBounds[dim]);
  }
  return RankedTensorType::get(shape, type.getElementType(),
                               getBoundsEncoding(type.getContext(), bounds));
}

static LogicalResult verifyDimensions(std::optional<Location> location,
                                      int64_t rank,
                                      ArrayRef<int64_t> dimensions) {
  llvm::SmallBitVector seen(rank);
  for (int64_t dim : dimensions) { // (C2)
    if (dim < 0 || dim >= rank)
      return emitOptionalError(location, "out-of-bounds dimension ", dim,
                               ", expected to be in range [0, ", rank, ")");
    if (seen.test(dim))
      return emitOptionalError(location, "duplicate reduction dimension ", dim);
    seen.set(dim);
  }
  return success();
}

FailureOr<SmallVector<Type>>
ReduceOp::inferTypes(std::optional<Location> location, Adaptor adaptor) {
  if (failed(verifyPairedOperands(location, adaptor.getOperands()))) // (C1)
    return failure();
  TypeRange inputs = adaptor.getInputs().getTypes();
  if (failed(verifyDimensions(location,
                              cast<RankedTensorType>(inputs[0]).getRank(),
                              adaptor.getDimensions())))
    return failure();
  SmallVector<RankedTensorType> shapes;
  for (Type input : inputs)
    shapes.push_back(
        dropDimensions(cast<RankedTensorType>(input), adaptor.getDimensions()));
  return inferReducedTypes(location, adaptor.getBody(), shapes);
}

LogicalResult ReduceOp::verify() {
  if (getNumResults() == 0)
    return success();   // Reported by inference, which is verified later.
  return verifyReducer( // (C3)
      *this, getBody(), getInputs().getTypes(), getInitValues().getTypes(),
      cast<RankedTensorType>(getResult(0).getType()).getShape());
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// Returns the operation that the short form names, null if the body does not
/// have that form.
static Operation *getAppliedOp(ReduceOp op) {
  Block &block = op.getBody().front();
  if (!llvm::hasNItems(block, 2) || op.getInputs().empty())
    return nullptr;
  Operation *applied = &block.front(), *terminator = &block.back();
  if (!isa_and_nonnull<StablehloDialect>(applied->getDialect()) ||
      !applied->hasTrait<IsCommutative>() || applied->getNumOperands() != 2 ||
      applied->getNumResults() != 1 || applied->getNumRegions() != 0 ||
      !llvm::equal(applied->getOperands(), block.getArguments()))
    return nullptr;
  auto input = cast<RankedTensorType>(op.getInputs()[0].getType());
  Type scalar = RankedTensorType::get({}, input.getElementType());
  if (applied->getResult(0).getType() != scalar ||
      !llvm::all_of(applied->getOperandTypes(),
                    [&](Type type) { return type == scalar; }))
    return nullptr;
  if (!isa<ReturnOp>(terminator) ||
      !llvm::equal(terminator->getOperands(), applied->getResults()))
    return nullptr;
  return applied;
}

static void printReducer(OpAsmPrinter &printer, ReduceOp op) {
  printer.printNewline();
  printer << " reducer";
  Block::BlockArgListType arguments = op.getBody().getArguments();
  size_t numReduced = arguments.size() / 2;
  for (size_t index = 0; index < numReduced; ++index) {
    printer << '(';
    printer.printRegionArgument(arguments[index]);
    printer << ", ";
    printer.printRegionArgument(arguments[numReduced + index]);
    printer << ") ";
  }
  printer << ' ';
  printer.printRegion(op.getBody(), /*printEntryBlockArgs=*/false);
}

void ReduceOp::print(OpAsmPrinter &printer) {
  llvm::interleaveComma(llvm::zip_equal(getInputs(), getInitValues()), printer,
                        [&](auto pair) {
                          printer << '(' << std::get<0>(pair)
                                  << " init: " << std::get<1>(pair) << ')';
                        });
  Operation *applied = getAppliedOp(*this);
  if (applied)
    printer << " applies " << applied->getName().getStringRef();
  printer << " across dimensions = [" << getDimensions() << ']';
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                getDimensionsAttrName().getValue());
  printer << " : ";
  printer.printFunctionalType(*this);
  if (!applied)
    printReducer(printer, *this);
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

/// Parses `(%x init: %i), ...` into all inputs, then all init values. There may be
/// nothing around a comma, as for jaxlib.
static ParseResult
parseOperandPairs(OpAsmParser &parser,
                  SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands) {
  SmallVector<OpAsmParser::UnresolvedOperand> inits;
  do {
    if (failed(parser.parseOptionalLParen()))
      continue;
    if (parser.parseOperand(operands.emplace_back()) ||
        parser.parseKeyword("init") || parser.parseColon() ||
        parser.parseOperand(inits.emplace_back()) || parser.parseRParen())
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  llvm::append_range(operands, inits);
  return success();
}

/// Parses the operation after `applies`.
static ParseResult parseAppliedOp(OpAsmParser &parser,
                                  std::optional<OperationName> &applied) {
  if (failed(parser.parseOptionalKeyword("applies")))
    return success();
  SMLoc loc = parser.getCurrentLocation();
  FailureOr<OperationName> name = parser.parseCustomOperationName();
  if (failed(name))
    return failure();
  if (name->getDialectNamespace() != StablehloDialect::getDialectNamespace() ||
      !name->hasTrait<IsCommutative>())
    return parser.emitError(loc)
           << "expected the inner-op to be a commutative binary-op from the "
              "stablehlo dialect, but got "
           << *name;
  applied = *name;
  return success();
}

/// Builds the body that the short form represents.
static void buildAppliedBody(OpBuilder builder, Region &body, Type scalar,
                             OperationName applied, Location location) {
  Block &block = body.emplaceBlock();
  block.addArguments({scalar, scalar}, {location, location});
  builder.setInsertionPointToEnd(&block);
  Operation *op = builder.create(location, applied.getIdentifier(),
                                 ValueRange(block.getArguments()), {scalar});
  ReturnOp::create(builder, location, op->getResults());
}

/// Parses `reducer(%a: t, %b: t) (...) { ... }`; the body takes the first
/// arguments of all pairs, then the second ones.
static ParseResult parseReducer(OpAsmParser &parser, Region &body) {
  SmallVector<OpAsmParser::Argument> arguments, accumulators;
  if (parser.parseKeyword("reducer"))
    return failure();
  while (succeeded(parser.parseOptionalLParen())) {
    if (parser.parseArgument(arguments.emplace_back(), /*allowType=*/true) ||
        parser.parseComma() ||
        parser.parseArgument(accumulators.emplace_back(), /*allowType=*/true) ||
        parser.parseRParen())
      return failure();
  }
  llvm::append_range(arguments, accumulators);
  return parser.parseRegion(body, arguments);
}

static ParseResult parseAppliedBody(OpAsmParser &parser, SMLoc loc,
                                    OperationName applied, TypeRange operands,
                                    OperationState &result) {
  auto input =
      operands.empty() ? nullptr : dyn_cast<RankedTensorType>(operands[0]);
  if (!input)
    return parser.emitError(loc) << "expected the first operand to be a ranked "
                                    "tensor, which `applies` takes the "
                                    "element type from";
  std::optional<Location> location;
  if (parser.parseOptionalLocationSpecifier(location))
    return failure();
  if (location)
    result.location = *location;
  buildAppliedBody(OpBuilder(parser.getContext()), *result.addRegion(),
                   RankedTensorType::get({}, input.getElementType()), applied,
                   result.location);
  return success();
}

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &result) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  std::optional<OperationName> applied;
  SmallVector<int64_t> dimensions;
  FunctionType type;
  auto parseDimension = [&] {
    return parser.parseInteger(dimensions.emplace_back());
  };
  if (parseOperandPairs(parser, operands) || parseAppliedOp(parser, applied) ||
      parser.parseKeyword("across") || parser.parseKeyword("dimensions") ||
      parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     parseDimension))
    return failure();
  result.addAttribute(getDimensionsAttrName(result.name),
                      parser.getBuilder().getDenseI64ArrayAttr(dimensions));
  if (parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperands(operands, type.getInputs(), loc, result.operands))
    return failure();
  result.addTypes(type.getResults());
  if (applied)
    return parseAppliedBody(parser, loc, *applied, type.getInputs(), result);
  return parseReducer(parser, *result.addRegion());
}
