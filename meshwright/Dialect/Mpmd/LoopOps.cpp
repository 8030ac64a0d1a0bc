//===- LoopOps.cpp - Named computations and loops -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/AttrSyntax.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Mpmd/Syntax/RegionSyntax.h"

using namespace mlir;
using namespace mlir::mpmd;

//===----------------------------------------------------------------------===//
// named_computation
//===----------------------------------------------------------------------===//

ParseResult NamedComputationOp::parse(OpAsmParser &parser,
                                      OperationState &result) {
  UserOriginAttr origin;
  if (parser.parseLess() || parseShortOrigin(parser, origin) ||
      parser.parseGreater())
    return failure();
  result.addAttribute("origin", origin);
  UnresolvedOperands operands;
  SMLoc operandsLoc = parser.getCurrentLocation();
  return failure(parseOperandsAndBody(parser, result, operands) ||
                 parseFunctionalTypes(parser, result, operands, operandsLoc));
}

/// COMPAT(unprinted-name): A discardable `name` is not printed.
void NamedComputationOp::print(OpAsmPrinter &printer) {
  printer << '<';
  printShortOrigin(printer, getOrigin(), /*escaped=*/true);
  printer << '>';
  printOperandsAndBody(printer, *this,
                       (*this)->getDiscardableAttrDictionary().getValue(),
                       {"name"});
  printer << " : ";
  printer.printFunctionalType(*this);
}

static LogicalResult verifyEqual(NamedComputationOp op, TypeRange inner,
                                 TypeRange outer, StringRef innerName,
                                 StringRef outerName) {
  if (inner.size() != outer.size())
    return op.emitError() << "number of " << innerName << "s and " << outerName
                          << "s must match: " << inner.size() << " vs "
                          << outer.size();
  for (auto [index, innerType, outerType] : llvm::enumerate(inner, outer))
    if (innerType != outerType)
      return op.emitError() << "type of " << innerName << " #" << index
                            << " must match the type of the " << outerName
                            << ": " << innerType << " vs " << outerType;
  return success();
}

LogicalResult NamedComputationOp::verify() {
  if (failed(verifyEqual(*this, getRegion().getArgumentTypes(),
                         getOperandTypes(), "block argument",
                         "operand"))) // (C1, C2)
    return failure();
  return verifyEqual(*this, getBody()->back().getOperandTypes(),
                     getResultTypes(), "returned value",
                     "result"); // (C3, C4)
}

//===----------------------------------------------------------------------===//
// for
//===----------------------------------------------------------------------===//

ParseResult ForOp::parse(OpAsmParser &parser, OperationState &result) {
  UnresolvedOperands operands;
  SmallVector<Type> types;
  SMLoc operandsLoc = parser.getCurrentLocation();
  if (parseOperandsAndBody(parser, result, operands))
    return failure();
  // As it is printed: a loop without operands has no types after it.
  ParseResult hasTypes =
      operands.empty() ? parser.parseOptionalColon() : parser.parseColon();
  if (failed(hasTypes) && !operands.empty())
    return failure();
  if ((succeeded(hasTypes) && parser.parseTypeList(types)) ||
      parser.resolveOperands(operands, types, operandsLoc, result.operands))
    return failure();
  result.addTypes(types);
  return success();
}

void ForOp::print(OpAsmPrinter &printer) {
  printOperandsAndBody(printer, *this, (*this)->getAttrs(), {});
  if (getNumResults() == 0)
    return;
  printer << " : ";
  llvm::interleaveComma(getResultTypes(), printer);
}

void ForOp::getAsmBlockArgumentNames(Region &region,
                                     OpAsmSetValueNameFn setName) {
  if (!region.empty() && region.getNumArguments() > 0)
    setName(region.getArguments().back(), "index");
}

/// What `mpmd.for` requires of its signature: (C1) to (C4).
static LogicalResult verifyTypes(ForOp op) {
  if (op.getNumOperands() != op.getNumResults()) // (C1)
    return op.emitOpError()
           << "requires the same number of operands and results, but has "
           << op.getNumOperands() << " and " << op.getNumResults();
  for (auto [index, operand, result] :
       llvm::enumerate(op.getOperandTypes(), op.getResultTypes()))
    if (operand != result)
      return op.emitOpError()
             << "requires the same type for operand and result at index "
             << index << ", but they have " << operand << " and " << result;
  TypeRange arguments = op.getRegion().getArgumentTypes();
  if (arguments.size() != op.getNumOperands() + 1) // (C2)
    return op.emitError() << "wrong number of arguments for region: expected "
                          << op.getNumOperands() + 1
                          << ", one per operand and the index, but found "
                          << arguments.size();
  for (auto [index, argument, operand] :
       llvm::enumerate(arguments.drop_back(), op.getOperandTypes()))
    if (argument != operand)
      return op.emitError()
             << "wrong argument type at argument no. " << index << ": expected "
             << operand << " but found " << argument;
  Type index = arguments.back(); // (C3)
  auto tensor = dyn_cast<RankedTensorType>(index);
  if (tensor ? tensor.getRank() != 0 || !tensor.getElementType().isInteger(32)
             : !isa<MeshTensorType>(index) &&
                   !isa<IntegerType>(getElementTypeOrSelf(index)))
    return op.emitError()
           << "index must have a 32-bit integer rank-0 tensor type, but has "
           << index;
  TypeRange returned = op.getBody()->back().getOperandTypes();
  if (!llvm::equal(returned, op.getResultTypes())) // (C4)
    return op.emitError() << "type mismatch for result of region: expected ("
                          << op.getResultTypes() << ") but found (" << returned
                          << ")";
  return success();
}

LogicalResult ForOp::verify() {
  if (failed(verifyTypes(*this)))
    return failure();
  if (getNumOperands() > 0) // (C5)
    for (Type type : getOperandTypes())
      if (type.getTypeID() != getOperandTypes().front().getTypeID())
        return emitError()
               << "type ids in operands/results are not identical: expected "
                  "values of one kind, all tensors or all mesh tensors, but "
                  "found "
               << getOperandTypes().front() << " and " << type;
  uint32_t iterations = getIterations(); // (C6)
  if (iterations == 0)
    return emitError() << "number of iterations must be greater than zero";
  if (std::optional<uint32_t> factor = getUnrollFactor())
    if (*factor == 0 || iterations % *factor != 0)
      return emitError() << "number of iterations " << iterations
                         << " isn't divisible by unroll factor " << *factor;
  return verifyLists(*this); // (C7)
}

bool ForOp::mayMoveOut(Operation *op) {
  return isa<func::FuncOp, ForOp>((*this)->getParentOp()) ||
         !isa<AssignOp, CallOp, FragmentOp, UnassignOp>(op);
}

void ForOp::moveOutOfLoop(Operation *op) {
  if (mayMoveOut(op))
    op->moveBefore(*this);
}

SmallVector<Region *> ForOp::getLoopRegions() { return {&getRegion()}; }

MutableArrayRef<OpOperand> ForOp::getInitsMutable() {
  return (*this)->getOpOperands();
}

Block::BlockArgListType ForOp::getRegionIterArgs() {
  return getRegion().getArguments().drop_back();
}

std::optional<MutableArrayRef<OpOperand>> ForOp::getYieldedValuesMutable() {
  return getBody()->getTerminator()->getOpOperands();
}

std::optional<ResultRange> ForOp::getLoopResults() { return getResults(); }
