//===- RegionOps.cpp - Control flow, maps and sorting ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/ReducerRules.h"
#include "meshwright/Dialect/StableHLO/Region/Branches.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::stablehlo;

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/Region/RegionOps.cpp.inc"

void StablehloDialect::registerRegionOps() {
  addOperations<
#define GET_OP_LIST
#include "meshwright/Dialect/StableHLO/Region/RegionOps.cpp.inc"
      >();
}

void ReturnOp::build(OpBuilder &, OperationState &) {}

static bool isScalarPredicate(Type type) {
  return isTensorOf(type, kPredicate, /*rank=*/0);
}

//===----------------------------------------------------------------------===//
// If and case
//===----------------------------------------------------------------------===//

/// Infers what an operation returns that runs one of several branches.
static FailureOr<SmallVector<Type>>
inferBranchTypes(std::optional<Location> location, Type selector,
                 RegionRange branches) {
  if (cast<RankedTensorType>(selector).getRank() != 0)
    return emitOptionalError(location,
                             "expects the operand that selects a "
                             "branch to be a scalar, but got ",
                             selector);
  if (branches.empty())
    return emitOptionalError(location, "expects at least one branch");
  SmallVector<OperandRange> returned;
  for (auto [index, branch] : llvm::enumerate(branches)) {
    std::optional<OperandRange> values = getReturnedValues(*branch);
    if (!values)
      return emitOptionalError(location, "expects branch ", index,
                               " to end with a terminator");
    if (branch->getNumArguments() != 0)
      return emitOptionalError(location, "branch ", index,
                               " must have 0 arguments, but found ",
                               branch->getNumArguments());
    if (index != 0 && values->size() != returned[0].size())
      return emitOptionalError(location, "branch 0 and branch ", index,
                               " return different numbers of values: ",
                               returned[0].size(), " vs ", values->size());
    returned.push_back(*values);
  }
  SmallVector<Type> inferred;
  for (size_t result = 0, end = returned[0].size(); result < end; ++result) {
    auto types = llvm::map_to_vector(returned, [&](OperandRange values) {
      return values[result].getType();
    });
    for (auto [index, type] : llvm::enumerate(types))
      if (!areTypesCompatible(types[0], type))
        return emitOptionalError(location, "branch 0 and branch ", index,
                                 " have incompatible return types: ", types[0],
                                 " vs ", type);
    FailureOr<Type> type = inferLeastSpecificType(location, types);
    if (failed(type))
      return failure();
    inferred.push_back(*type);
  }
  return inferred;
}

FailureOr<SmallVector<Type>> IfOp::inferTypes(std::optional<Location> location,
                                              Adaptor adaptor) {
  return inferBranchTypes(location, adaptor.getPred().getType(),
                          adaptor.getRegions());
}

FailureOr<SmallVector<Type>>
CaseOp::inferTypes(std::optional<Location> location, Adaptor adaptor) {
  return inferBranchTypes(location, adaptor.getIndex().getType(),
                          adaptor.getRegions());
}

LogicalResult mlir::stablehlo::inlineConstantBranch(CaseOp op,
                                                    OutOfRange outOfRange,
                                                    PatternRewriter &rewriter) {
  APInt index;
  if (!matchPattern(op.getIndex(), m_ConstantInt(&index)))
    return rewriter.notifyMatchFailure(op, "no constant index");
  unsigned last = op.getBranches().size() - 1;
  bool isInRange = !index.isNegative() && index.ule(last);
  if (!isInRange && outOfRange == OutOfRange::Nothing)
    return rewriter.notifyMatchFailure(op, "index out of range");
  Block &branch =
      op.getBranches()[isInRange ? index.getZExtValue() : last].front();
  Operation *terminator = branch.getTerminator();
  // A branch may return a more specific type than users of the result take.
  if (terminator->getOperandTypes() != op.getResultTypes())
    return rewriter.notifyMatchFailure(op, "branch returns other types");
  if (llvm::any_of(terminator->getOperands(), [&](Value returned) {
        return returned.getDefiningOp() == op;
      })) // In a graph region.
    return rewriter.notifyMatchFailure(op, "branch returns the result");
  rewriter.inlineBlockBefore(&branch, op);
  rewriter.replaceOp(op, terminator->getOperands());
  rewriter.eraseOp(terminator);
  return success();
}

void CaseOp::getCanonicalizationPatterns(RewritePatternSet &results,
                                         MLIRContext *) {
  results.add(+[](CaseOp op, PatternRewriter &rewriter) {
    return inlineConstantBranch(op, OutOfRange::Nothing, rewriter);
  });
}

//===----------------------------------------------------------------------===//
// While
//===----------------------------------------------------------------------===//

void WhileOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument, "iterArg");
}

LogicalResult WhileOp::verify() {
  for (Region *region : getRegions()) // (C1)
    if (!areTypesCompatible(region->getArgumentTypes(),
                            getOperand().getTypes()))
      return emitOpError() << "expects arguments of the "
                           << (region == &getCond() ? "condition" : "body")
                           << " to be compatible with the operands, but got "
                           << region->getArgumentTypes() << " vs "
                           << getOperand().getTypes();
  std::optional<OperandRange> condition = getReturnedValues(getCond());
  std::optional<OperandRange> carried = getReturnedValues(getBody());
  if (!condition || !carried)
    return success();         // Reported by the verifier of the IR.
  if (condition->size() != 1) // (C2)
    return emitOpError() << "expects the condition to return a single value, "
                            "but got "
                         << condition->size();
  if (!isScalarPredicate(condition->front().getType()))
    return emitOpError() << "expects the condition to return a zero-ranked "
                            "tensor of i1, but got "
                         << condition->front().getType();
  if (!areTypesCompatible(carried->getTypes(), // (C3)
                          getOperand().getTypes()))
    return emitOpError() << "expects operands to be compatible with what the "
                            "body returns, but got "
                         << getOperand().getTypes() << " vs "
                         << carried->getTypes();
  return success();
}

void WhileOp::print(OpAsmPrinter &printer) {
  printer << '(';
  llvm::interleaveComma(llvm::zip_equal(getCond().getArguments(), getOperand()),
                        printer, [&](auto pair) {
                          printer << std::get<0>(pair) << " = "
                                  << std::get<1>(pair);
                        });
  printer << ')';
  if (!getOperand().empty())
    printer << " : " << getOperandTypes();
  if (getOperandTypes() != getResultTypes()) // They need only be compatible.
    printer.printArrowTypeList(getResultTypes());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer.printNewline();
  auto printNamed = [&](StringRef keyword, Region &region) {
    printer << keyword;
    if (!llvm::equal(region.getArgumentTypes(), getOperandTypes())) {
      printer << '(';
      llvm::interleaveComma(
          region.getArguments(), printer,
          [&](BlockArgument arg) { printer.printRegionArgument(arg); });
      printer << ')';
    }
    printer << ' ';
    printer.printRegion(region, /*printEntryBlockArgs=*/false);
  };
  printNamed("cond", getCond());
  printNamed(" do", getBody());
}

ParseResult WhileOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  auto parseBinding = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren,
                                     parseBinding) ||
      (!operands.empty() && parser.parseColonTypeList(types)) ||
      parser.parseOptionalArrowTypeList(result.types) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.resolveOperands(operands, types, loc, result.operands))
    return failure();
  if (result.types.empty())
    result.addTypes(types);
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  auto parseNamed = [&](StringRef keyword) -> ParseResult {
    SmallVector<OpAsmParser::Argument> own;
    if (parser.parseKeyword(keyword) ||
        parser.parseArgumentList(own, OpAsmParser::Delimiter::OptionalParen,
                                 /*allowType=*/true))
      return failure();
    return parser.parseRegion(*result.addRegion(),
                              own.empty() ? arguments : own);
  };
  return failure(parseNamed("cond") || parseNamed("do"));
}

//===----------------------------------------------------------------------===//
// Map
//===----------------------------------------------------------------------===//

/// Checks that a body takes `perInput` scalars per input, of its element type
/// and next to each other.
static LogicalResult verifyScalarArguments(Operation *op, Region &body,
                                           TypeRange inputs,
                                           unsigned perInput) {
  if (body.getNumArguments() != perInput * inputs.size())
    return op->emitOpError()
           << "expects its region to have " << perInput * inputs.size()
           << " arguments, but it has " << body.getNumArguments();
  for (auto [index, type] : llvm::enumerate(body.getArgumentTypes())) {
    Type element = getElementTypeOrSelf(inputs[index / perInput]);
    if (type != RankedTensorType::get({}, element))
      return op->emitOpError()
             << "expects argument " << index << " of its region to be "
             << RankedTensorType::get({}, element) << ", but got " << type;
  }
  return success();
}

FailureOr<SmallVector<Type>> MapOp::inferTypes(std::optional<Location> location,
                                               Adaptor adaptor) {
  if (adaptor.getInputs().empty())
    return emitOptionalError(location, "expects at least one input");
  auto input = cast<RankedTensorType>(adaptor.getInputs()[0].getType());
  return inferReducedTypes(location, adaptor.getComputation(), input);
}

LogicalResult MapOp::verify() {
  std::optional<OperandRange> returned = getReturnedValues(getComputation());
  if (!returned)
    return success(); // Reported by the verifier of the IR.
  int64_t rank = getType().getRank();
  if (!llvm::equal(getDimensions(), llvm::seq<int64_t>(rank))) // (C2)
    return emitOpError() << "requires the dimensions to be 0, 1, ..., "
                            "rank - 1, but got ["
                         << getDimensions() << "] for rank " << rank;
  if (failed(verifyScalarArguments(*this, getComputation(), // (C3)
                                   getInputs().getTypes(), /*perInput=*/1)))
    return failure();
  if (returned->size() != 1 || // (C4)
      !isa<RankedTensorType>(returned->front().getType()) ||
      cast<RankedTensorType>(returned->front().getType()).getRank() != 0)
    return emitOpError() << "expects the computation to return one scalar, but "
                            "it returns ("
                         << returned->getTypes() << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// Sort
//===----------------------------------------------------------------------===//

LogicalResult SortOp::verify() {
  if (getInputs().empty()) // (C1)
    return emitOpError() << "expects at least one input";
  int64_t rank = cast<RankedTensorType>(getInputs()[0].getType()).getRank();
  int64_t dimension = static_cast<int64_t>(getDimension());
  if (dimension < -rank || dimension >= rank) // (C2)
    return emitOpError() << "dimension attribute value must be in range [-"
                         << rank << ", " << rank << "), but found "
                         << dimension;
  if (failed(verifyScalarArguments(*this, getComparator(), // (C3)
                                   getInputs().getTypes(), /*perInput=*/2)))
    return failure();
  std::optional<OperandRange> returned = getReturnedValues(getComparator());
  if (!returned)
    return success();          // Reported by the verifier of the IR.
  if (returned->size() != 1 || // (C4)
      !isScalarPredicate(returned->front().getType()))
    return emitOpError() << "comparator must return one tensor<i1>, but "
                            "returns ("
                         << returned->getTypes() << ")";
  return success();
}
