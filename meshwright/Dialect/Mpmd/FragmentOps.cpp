//===- FragmentOps.cpp - Fragments and calls of lowered fragments ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/AttrSyntax.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Mpmd/Syntax/RegionSyntax.h"
#include "mlir/IR/AsmState.h"

using namespace mlir;
using namespace mlir::mpmd;

//===----------------------------------------------------------------------===//
// What fragments and fragment calls verify
//===----------------------------------------------------------------------===//

namespace {
/// Compares the values outside of a fragment with those of its body.
struct Boundary {
  Operation *op;
  StringRef meshName;
  StringRef innerCount; // What the inner values are called, in the plural.
  StringRef outerCount;
  StringRef outerValue; // What an outer value is called.

  LogicalResult verify(TypeRange inner, TypeRange outer) const {
    if (inner.size() != outer.size()) // (C1)
      return emitError(op->getLoc())
             << "number of " << innerCount << " and " << outerCount
             << " must match: " << inner.size() << " vs " << outer.size();
    if (inner.empty())
      return success();
    // Of all values at once: to find it in a topology takes its length.
    FailureOr<sdy::MeshAttr> mesh = getMeshOrError(op, meshName); // (C2)
    if (failed(mesh))
      return failure();
    for (auto [index, innerType, outerType] : llvm::enumerate(inner, outer))
      if (failed(verifyValue(index, innerType, outerType, *mesh)))
        return failure();
    return success();
  }

private:
  LogicalResult verifyValue(size_t index, Type inner, Type outer,
                            sdy::MeshAttr mesh) const {
    auto meshTensor = dyn_cast<MeshTensorType>(outer);
    if (!meshTensor) { // (C3)
      if (inner == outer)
        return success();
      return emitError(op->getLoc())
             << outerValue << " #" << index << " has type " << outer
             << " outside but " << inner << " inside; only mesh tensors differ";
    }
    if (meshTensor.getMeshName() != meshName) // (C4)
      return emitError(op->getLoc())
             << outerValue << " #" << index << " is on mesh \""
             << meshTensor.getMeshName()
             << "\", but the fragment's mesh name is \"" << meshName << "\"";
    if (failed(meshTensor.verifyForMesh(op, mesh))) // (C5)
      return failure();
    if (inner != meshTensor.getGlobalTensorType()) // (C6)
      return emitError(op->getLoc())
             << outerValue << " #" << index << " must have type "
             << meshTensor.getGlobalTensorType()
             << " inside, the global tensor type of its mesh tensor " << outer
             << ", but has " << inner;
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// fragment
//===----------------------------------------------------------------------===//

static ParseResult parseStage(OpAsmParser &parser, OperationState &result) {
  IntegerAttr stage;
  if (parser.parseEqual() || parser.parseAttribute(stage))
    return failure();
  result.addAttribute("stage_id", stage);
  return success();
}

static ParseResult parseShardings(OpAsmParser &parser, StringRef attrName,
                                  OperationState &result) {
  SmallVector<sdy::TensorShardingAttr> shardings;
  auto parseElement = [&] {
    return parser.parseCustomAttributeWithFallback(shardings.emplace_back());
  };
  if (parser.parseEqual() || parser.parseCommaSeparatedList(
                                 AsmParser::Delimiter::Square, parseElement))
    return failure();
  result.addAttribute(attrName, sdy::TensorShardingPerValueAttr::get(
                                    parser.getContext(), shardings));
  return success();
}

/// The optional rest of the header, in its fixed order; one trailing comma is
/// allowed, but not at its end.
static ParseResult parseOptionalHeader(OpAsmParser &parser,
                                       OperationState &result) {
  bool more = succeeded(parser.parseOptionalComma());
  if (more && succeeded(parser.parseOptionalKeyword("stage"))) {
    if (parseStage(parser, result))
      return failure();
    more = succeeded(parser.parseOptionalComma());
  }
  if (more && succeeded(parser.parseOptionalKeyword("in_shardings"))) {
    if (parseShardings(parser, "in_shardings", result))
      return failure();
    more = succeeded(parser.parseOptionalComma());
  }
  if (more && succeeded(parser.parseOptionalKeyword("out_shardings")) &&
      parseShardings(parser, "out_shardings", result))
    return failure();
  return parser.parseGreater();
}

ParseResult FragmentOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr meshName;
  ArrayAttr origin;
  if (parser.parseLess() || parseMeshAndOrigin(parser, meshName, origin))
    return failure();
  result.addAttribute("mesh_name", meshName);
  result.addAttribute("origin", origin);
  UnresolvedOperands operands;
  if (parseOptionalHeader(parser, result))
    return failure();
  SMLoc operandsLoc = parser.getCurrentLocation();
  return failure(parseOperandsAndBody(parser, result, operands) ||
                 parseFunctionalTypes(parser, result, operands, operandsLoc));
}

static void printShardings(OpAsmPrinter &printer, StringRef name,
                           sdy::TensorShardingPerValueAttr shardings) {
  if (!shardings)
    return;
  printer << ", " << name << "=[";
  llvm::interleaveComma(shardings.getShardings(), printer,
                        [&](sdy::TensorShardingAttr sharding) {
                          if (sharding)
                            printer.printStrippedAttrOrType(sharding);
                          else // Only between passes; it cannot be parsed.
                            printer << "null";
                        });
  printer << ']';
}

void FragmentOp::print(OpAsmPrinter &printer) {
  printer << '<';
  printMeshAndOrigin(printer, getMeshName(), getOrigin());
  if (IntegerAttr stage = getStageIdAttr())
    printer << ", stage=" << stage.getValue().getSExtValue();
  printShardings(printer, "in_shardings", getInShardingsAttr());
  printShardings(printer, "out_shardings", getOutShardingsAttr());
  printer << '>';
  printOperandsAndBody(printer, *this,
                       (*this)->getDiscardableAttrDictionary().getValue(), {});
  printer << " : ";
  printer.printFunctionalType(*this);
}

/// COMPAT(fragment-shardings): `in_shardings` and `out_shardings` are not
/// looked at, and a fragment without values may be on a mesh that is not there.
/// COMPAT(counter-kind): A counter that is no integer counts as none.
/// COMPAT(negative-stage): A stage may be negative.
LogicalResult FragmentOp::verify() {
  auto counter = (*this)->getAttrOfType<IntegerAttr>(kCallCounterAttr);
  if (counter && !counter.getType().isUnsignedInteger(32)) // (C7)
    return emitError() << "`" << kCallCounterAttr << "` has type "
                       << counter.getType()
                       << ", but a call counter must be a ui32; write it as in "
                          "`call_counter = 0 : ui32`";
  if (failed(verifyLists(*this))) // (C8)
    return failure();
  if (failed(Boundary{*this, getMeshName(), "body arguments", "operands",
                      "operand"}
                 .verify(getRegion().getArgumentTypes(), getOperandTypes())))
    return failure();
  return Boundary{*this, getMeshName(), "returned values", "results", "result"}
      .verify(getBody()->back().getOperandTypes(), getResultTypes());
}

/// Forwards an operand whose body argument is returned unchanged.
///
/// COMPAT(use-order): Only at the return position that comes first in the
/// argument's use list, if that has a reader.
/// DEPARTURE(memory-kinds): Also one that an attribute has on the host, from where no
/// transfer may be.
LogicalResult FragmentOp::canonicalize(FragmentOp op,
                                       PatternRewriter &rewriter) {
  Operation *terminator = op.getBody()->getTerminator();
  bool changed = false;
  for (BlockArgument arg : op.getBody()->getArguments()) {
    auto use = llvm::find_if(arg.getUses(), [&](OpOperand &operand) {
      return operand.getOwner() == terminator;
    });
    if (use == arg.use_end())
      continue;
    OpResult result = op->getResult(use->getOperandNumber());
    Value operand = op->getOperand(arg.getArgNumber());
    if (result.use_empty() || result.getType() != operand.getType() ||
        !isOnHostAs(result, operand))
      continue;
    rewriter.replaceAllUsesWith(result, operand);
    changed = true;
  }
  return success(changed);
}

FragmentOp FragmentOp::createWithGlobalBody(Location loc, ArrayAttr origin,
                                            StringAttr meshName,
                                            ValueRange inputs,
                                            TypeRange results,
                                            OpBuilder &builder, BodyFn body) {
  auto fragment =
      FragmentOp::create(builder, loc, results, inputs, origin, meshName);
  Block &block = fragment.getRegion().emplaceBlock();
  for (Value input : inputs)
    block.addArgument(getGlobalType(input.getType()), input.getLoc());
  SmallVector<Value> arguments(block.getArguments());
  OpBuilder blockBuilder = OpBuilder::atBlockEnd(&block, builder.getListener());
  SmallVector<Value> returned = body(arguments, blockBuilder);
  blockBuilder.setInsertionPointToEnd(&block);
  mpmd::ReturnOp::create(blockBuilder, loc, returned);
  return fragment;
}

FragmentOp FragmentOp::createWithGlobalBody(
    Location loc, ArrayRef<Attribute> origin, StringAttr meshName,
    ValueRange inputs, TypeRange results, OpBuilder &builder, BodyFn body) {
  return createWithGlobalBody(loc, builder.getArrayAttr(origin), meshName,
                              inputs, results, builder, body);
}

//===----------------------------------------------------------------------===//
// fragment_call
//===----------------------------------------------------------------------===//

ParseResult FragmentCallOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr meshName;
  ArrayAttr origin;
  FlatSymbolRefAttr callee;
  UnresolvedOperands operands;
  if (parser.parseLess() || parseMeshAndOrigin(parser, meshName, origin) ||
      parser.parseGreater() || parser.parseAttribute(callee))
    return failure();
  result.addAttribute("mesh_name", meshName);
  result.addAttribute("origin", origin);
  result.addAttribute("callee", callee);
  SMLoc operandsLoc = parser.getCurrentLocation();
  return failure(
      parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parseFunctionalTypes(parser, result, operands, operandsLoc));
}

namespace {
/// Prints types as a printer does. A call has hundreds of values of a few types: the text of
/// each type is made once.
class TypeTexts {
public:
  TypeTexts(OpAsmPrinter &printer, MLIRContext *context)
      : printer(printer), state(context) {}

  void print(Type type) {
    auto tensor = dyn_cast_or_null<MeshTensorType>(type);
    // No dialect gives these types or their shardings an alias; an encoding may have one.
    if (!tensor || tensor.getRankedTensorType().getEncoding())
      return printer.printType(type);
    std::string &text = texts[type];
    if (text.empty()) {
      llvm::raw_string_ostream os(text);
      type.print(os, state);
    }
    printer.getStream() << text;
  }

private:
  OpAsmPrinter &printer;
  AsmState state;
  llvm::SmallDenseMap<Type, std::string> texts;
};
} // namespace

/// As `printFunctionalType` does; results are no functions.
static void printTypes(FragmentCallOp call, OpAsmPrinter &printer) {
  TypeTexts texts(printer, call.getContext());
  raw_ostream &os = printer.getStream();
  os << '(';
  llvm::interleaveComma(call.getTensors(), os, [&](Value operand) {
    texts.print(operand ? operand.getType() : Type());
  });
  os << ") -> ";
  bool isList = call->getNumResults() != 1;
  os << (isList ? "(" : "");
  llvm::interleaveComma(call->getResultTypes(), os,
                        [&](Type type) { texts.print(type); });
  os << (isList ? ")" : "");
}

void FragmentCallOp::print(OpAsmPrinter &printer) {
  printer << '<';
  printMeshAndOrigin(printer, getMeshName(), getOrigin());
  printer << "> " << getCalleeAttr() << '(' << getTensors() << ')';
  printer.printOptionalAttrDict(
      (*this)->getDiscardableAttrDictionary().getValue());
  printer << " : ";
  printTypes(*this, printer);
}

LogicalResult
FragmentCallOp::verifySymbolUses(SymbolTableCollection &symbolTables) {
  if (failed(verifyLists(*this))) // (C5)
    return failure();
  auto callee = symbolTables.lookupNearestSymbolFrom<func::FuncOp>(
      *this, getCalleeAttr());
  if (!callee) // (C1)
    return emitError()
           << "no function called " << getCalleeAttr()
           << "; a fragment call needs the function of its fragment";
  FunctionType type = callee.getFunctionType();
  if (failed(
          Boundary{*this, getMeshName(), "callee inputs", "operands", "operand"}
              .verify(type.getInputs(), getOperandTypes())) ||
      failed(
          Boundary{*this, getMeshName(), "callee results", "results", "result"}
              .verify(type.getResults(), getResultTypes()))) // (C2)
    return failure();
  auto calleeMesh = callee->getAttrOfType<sdy::MeshAttr>(kMeshShapeAttr);
  if (!calleeMesh) // (C3)
    return callee.emitError()
           << "function " << getCalleeAttr() << " has no " << kMeshShapeAttr
           << " attribute, but a fragment call calls it";
  FailureOr<sdy::MeshAttr> mesh = getMeshOrError(*this, getMeshName());
  if (failed(mesh))
    return failure();
  if (*mesh != calleeMesh) // (C4)
    return emitError() << "mesh \"" << getMeshName() << "\" of the call is "
                       << *mesh << ", but the mesh of callee "
                       << getCalleeAttr() << " is " << calleeMesh;
  return success();
}
