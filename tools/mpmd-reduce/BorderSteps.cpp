//===- BorderSteps.cpp - Calls and regions that take and return less ------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "ReductionSteps.h"
#include "Substitutes.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"

using namespace mlir;
using namespace meshwright;

/// Lets a function that nothing calls return more values.
static void returnAlso(func::FuncOp func, ArrayRef<Value> values) {
  Operation *terminator = func.getBody().back().getTerminator();
  terminator->insertOperands(terminator->getNumOperands(), values);
  if (ArrayAttr attrs = func.getResAttrsAttr()) {
    SmallVector<Attribute> list(attrs.getValue());
    list.resize(terminator->getNumOperands(),
                DictionaryAttr::get(func.getContext()));
    func.setResAttrsAttr(ArrayAttr::get(func.getContext(), list));
  }
  func.setFunctionType(FunctionType::get(func.getContext(),
                                         func.getArgumentTypes(),
                                         terminator->getOperandTypes()));
}

void meshwright::inlineCalls(ModuleOp module, Candidates &candidates) {
  SmallVector<CallOpInterface> inlined;
  module.walk([&](CallOpInterface op) {
    if (candidates.take())
      inlined.push_back(op);
  });
  if (inlined.empty())
    return;
  Substitutes substitutes(module);
  SymbolTableCollection tables;
  for (CallOpInterface call : inlined) {
    auto callee =
        dyn_cast_or_null<func::FuncOp>(call.resolveCallableInTable(&tables));
    if (!callee || callee.isExternal() || callee->isAncestor(call) ||
        callee.getNumArguments() != call->getNumOperands() ||
        callee.getNumResults() != call->getNumResults())
      continue;
    IRMapping mapping;
    mapping.map(callee.getArguments(), call->getOperands());
    OpBuilder builder(call);
    Block &body = callee.getBody().front();
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping);
    SmallVector<Value> values;
    for (Value value : body.getTerminator()->getOperands())
      values.push_back(mapping.lookupOrDefault(value));
    // A call may matter though nothing reads it; a body would be swept away.
    auto caller = call->getParentOfType<func::FuncOp>();
    if (call->use_empty() && caller && substitutes.isEntry(caller))
      returnAlso(caller, values);
    call->replaceAllUsesWith(values);
    call->erase();
  }
}

/// What a region can read instead of its arguments, if it computes an op's
/// results: a named computation, a branch, the first turn of a loop.
static FailureOr<SmallVector<Value>> getInputs(Region &region, Operation *op) {
  if (!region.hasOneBlock() || !region.front().mightHaveTerminator() ||
      region.front().getTerminator()->getOperandTypes() != op->getResultTypes())
    return failure();
  SmallVector<Value> inputs;
  for (BlockArgument argument : region.getArguments()) {
    unsigned index = argument.getArgNumber();
    // A loop has an index after it.
    Value input =
        index < op->getNumOperands() ? op->getOperand(index) : Value();
    if (input && input.getType() != argument.getType())
      return failure();
    inputs.push_back(input);
  }
  return inputs;
}

void meshwright::inlineRegions(ModuleOp module, Candidates &candidates) {
  SmallVector<Region *> inlined;
  module.walk([&](Operation *op) {
    if (isa<ModuleOp, func::FuncOp>(op))
      return;
    bool isTaken = false;
    for (Region &region : op->getRegions())
      if (succeeded(getInputs(region, op)) && candidates.take() && !isTaken) {
        inlined.push_back(&region);
        isTaken = true;
      }
  });
  IRRewriter rewriter(module.getContext());
  for (Region *region : inlined) {
    Operation *op = region->getParentOp();
    Block &body = region->front();
    SmallVector<Value> inputs = *getInputs(*region, op);
    rewriter.setInsertionPoint(op);
    for (auto [input, argument] : llvm::zip(inputs, body.getArguments()))
      if (!input &&
          !(input = makeZeros(rewriter, op->getLoc(), argument.getType())))
        return;
    Operation *terminator = body.getTerminator();
    rewriter.inlineBlockBefore(&body, op, inputs);
    rewriter.replaceOp(op, terminator->getOperands());
    rewriter.eraseOp(terminator);
  }
}

/// Which of an op's results can go, because nothing reads them any more.
static BitVector replaceResults(Operation *op, const BitVector &taken,
                                Substitutes &substitutes) {
  BitVector unread(taken.size());
  for (unsigned index : taken.set_bits()) {
    OpResult result = op->getResult(index);
    if (!result.use_empty())
      if (Value value = substitutes.find(result, /*addsArguments=*/true))
        result.replaceAllUsesWith(value);
    if (result.use_empty())
      unread.set(index);
  }
  return unread;
}

/// Shardings of the values that stay.
static Attribute narrow(Attribute attribute, const BitVector &dropped) {
  auto shardings = dyn_cast<sdy::TensorShardingPerValueAttr>(attribute);
  if (!shardings || shardings.size() != dropped.size())
    return attribute;
  SmallVector<sdy::TensorShardingAttr> kept;
  for (auto [index, sharding] : llvm::enumerate(shardings.getShardings()))
    if (!dropped.test(index))
      kept.push_back(sharding);
  return sdy::TensorShardingPerValueAttr::get(attribute.getContext(), kept);
}

/// The same op with fewer operands and results, none of which is read.
static void narrow(Operation *op, const BitVector &operands,
                   const BitVector &results) {
  op->eraseOperands(operands);
  NamedAttrList attributes(op->getAttrDictionary());
  // Lists of calls; operands of these are arguments.
  attributes.erase("arg_attrs");
  attributes.erase("res_attrs");
  for (auto [name, dropped] :
       {std::pair("in_shardings", &operands), {"out_shardings", &results}})
    if (Attribute attribute = attributes.get(name))
      attributes.set(name, narrow(attribute, *dropped));
  SmallVector<Value> kept;
  for (OpResult result : op->getResults())
    if (!results.test(result.getResultNumber()))
      kept.push_back(result);
  // An operation cannot lose results, but another one can take its place.
  OperationState state(op->getLoc(), op->getName(), op->getOperands(),
                       TypeRange(ValueRange(kept)), attributes);
  for (Region &region : op->getRegions())
    state.addRegion()->takeBody(region);
  OpBuilder builder(op);
  Operation *smaller = builder.create(state);
  for (auto [result, value] : llvm::zip(smaller->getResults(), kept))
    value.replaceAllUsesWith(result);
  op->erase();
}

static BitVector takeSome(unsigned count, Candidates &candidates) {
  BitVector taken(count);
  for (unsigned i = 0; i < count; ++i)
    if (candidates.take())
      taken.set(i);
  return taken;
}

/// Whether an op's block gets the op's operands and returns its results, of
/// these types or others.
static bool isPlain(Operation *op) {
  if (isa<ModuleOp, func::FuncOp>(op) || op->getNumRegions() != 1 ||
      !op->getRegion(0).hasOneBlock())
    return false;
  Block &body = op->getRegion(0).front();
  return body.mightHaveTerminator() &&
         body.getNumArguments() == op->getNumOperands() &&
         body.getTerminator()->getNumOperands() == op->getNumResults() &&
         op->hasTrait<OpTrait::IsIsolatedFromAbove>();
}

void meshwright::narrowRegions(ModuleOp module, Candidates &candidates) {
  struct Narrowed {
    Operation *op;
    BitVector operands, results;
  };
  SmallVector<Narrowed> ops;
  module.walk([&](Operation *op) {
    if (!isPlain(op))
      return;
    BitVector operands = takeSome(op->getNumOperands(), candidates);
    BitVector results = takeSome(op->getNumResults(), candidates);
    if (operands.any() || results.any())
      ops.push_back({op, operands, results});
  });
  if (ops.empty())
    return;
  Substitutes substitutes(module);
  // Users before what they use, which is then unused.
  for (Narrowed &entry : llvm::reverse(ops)) {
    Operation *op = entry.op;
    Block &body = op->getRegion(0).front();
    // Substitutes may add arguments, also here.
    BitVector results = replaceResults(op, entry.results, substitutes);
    body.getTerminator()->eraseOperands(results);
    entry.operands.resize(op->getNumOperands());
    BitVector operands = replaceArguments(body, entry.operands);
    body.eraseArguments(operands);
    narrow(op, operands, results);
  }
}

void meshwright::narrowCallees(ModuleOp module, Candidates &candidates) {
  SymbolTableCollection tables;
  SymbolUserMap users(tables, module);
  Substitutes substitutes(module);
  for (auto func : llvm::to_vector(module.getOps<func::FuncOp>())) {
    ArrayRef<Operation *> calls = users.getUsers(func);
    if (func.isExternal() || calls.empty() ||
        !llvm::all_of(calls, [&](Operation *call) {
          return isa<CallOpInterface>(call) &&
                 call->getOperandTypes() == func.getArgumentTypes() &&
                 call->getResultTypes() == func.getResultTypes();
        }))
      continue;
    BitVector operands = takeSome(func.getNumArguments(), candidates);
    BitVector results = takeSome(func.getNumResults(), candidates);
    if (operands.none() && results.none())
      continue;
    for (Operation *call : calls)
      results &= replaceResults(call, results, substitutes);
    operands = replaceArguments(func.getBody().front(), operands);
    func.getBody().back().getTerminator()->eraseOperands(results);
    (void)func.eraseArguments(operands);
    (void)func.eraseResults(results);
    // What the map names is gone then, but a call is named once.
    for (Operation *call : calls)
      narrow(call, operands, results);
  }
}
