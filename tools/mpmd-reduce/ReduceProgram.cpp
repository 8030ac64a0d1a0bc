//===- ReduceProgram.cpp - Fewer operations, the same mistake -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// MLIR's `reduction-tree` takes ranges of operations away. In a step of
// training, where nearly everything reads what stands before it and the end
// returns it all, no large range can go. So this pass cuts edges first, and
// sweeps up:
//
//   results      the entry function returns less
//   operations   what reads an operation reads zeros, or one of its operands
//   calls        a call is replaced by the body of its callee
//   bodies       a named computation is replaced by its body
//   borders      a named computation takes and returns less
//   returns      the entry function returns what comes earlier
//   arguments    the entry function takes less
//   attributes   those that no operation must have
//
// Each step lists its candidates and tries to do without all of them, then
// without halves, quarters and so on down to one by one; what the script still
// finds interesting stays. Rounds are repeated until one changes nothing.
//
//===----------------------------------------------------------------------===//

#include "ReduceProgram.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Reducer/Tester.h"
#include "mlir/Transforms/Passes.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace meshwright;

namespace {
/// Does without some candidates of a program: those from `begin` to `end`, of
/// `count`. Returns how many there are; changes nothing if `begin` is `end`.
using Step = unsigned (*)(ModuleOp module, unsigned begin, unsigned end);
} // namespace

/// The functions that nobody calls.
static SmallVector<func::FuncOp> getEntries(ModuleOp module) {
  SmallVector<func::FuncOp> entries;
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isExternal() && func.isPublic() &&
        SymbolTable::symbolKnownUseEmpty(func, module))
      entries.push_back(func);
  return entries;
}

static unsigned dropResults(ModuleOp module, unsigned begin, unsigned end) {
  unsigned count = 0;
  for (func::FuncOp func : getEntries(module)) {
    Operation *terminator = func.getBody().back().getTerminator();
    BitVector dropped(func.getNumResults());
    for (unsigned i = 0, e = func.getNumResults(); i < e; ++i, ++count)
      if (count >= begin && count < end)
        dropped.set(i);
    if (dropped.none())
      continue;
    terminator->eraseOperands(dropped);
    (void)func.eraseResults(dropped);
  }
  return count;
}

/// Zeros of a type, or null.
static Value makeZeros(OpBuilder &builder, Location loc, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() ||
      !tensor.getElementType().isIntOrFloat())
    return {};
  TypedAttr zeros = builder.getZeroAttr(tensor);
  if (!zeros)
    return {};
  return stablehlo::ConstantOp::create(builder, loc, cast<ElementsAttr>(zeros));
}

/// Something else that the users of a result can read.
static Value findSubstitute(OpBuilder &builder, OpResult result) {
  for (Value operand : result.getOwner()->getOperands())
    if (operand.getType() == result.getType())
      return operand;
  return makeZeros(builder, result.getLoc(), result.getType());
}

static bool isZeros(Operation *op) {
  auto constant = dyn_cast<stablehlo::ConstantOp>(op);
  return constant && constant.getValue() ==
                         Builder(op).getZeroAttr(constant.getValue().getType());
}

static void dropOp(Operation *op) {
  OpBuilder builder(op);
  SmallVector<Value> substitutes;
  for (OpResult result : op->getResults()) {
    Value substitute;
    if (!result.use_empty() && !(substitute = findSubstitute(builder, result)))
      return;
    substitutes.push_back(substitute);
  }
  for (auto [result, substitute] : llvm::zip(op->getResults(), substitutes))
    if (substitute)
      result.replaceAllUsesWith(substitute);
  op->erase();
}

static unsigned dropOps(ModuleOp module, unsigned begin, unsigned end) {
  unsigned count = 0;
  SmallVector<Operation *> dropped;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == module || op->hasTrait<OpTrait::IsTerminator>() || isZeros(op))
      return WalkResult::advance();
    bool isDropped = count >= begin && count < end;
    ++count;
    // What calls a function goes before the function does.
    if (!isDropped || isa<func::FuncOp>(op))
      return WalkResult::advance();
    dropped.push_back(op);
    return WalkResult::advance();
  });
  // Inner ones first, and users before what they use.
  for (Operation *op : llvm::reverse(dropped))
    dropOp(op);
  return count;
}

/// Lets a function that nobody calls return more values.
static void returnAlso(func::FuncOp func, ArrayRef<Value> values) {
  if (!func ||
      !llvm::is_contained(getEntries(func->getParentOfType<ModuleOp>()), func))
    return;
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

static unsigned inlineCalls(ModuleOp module, unsigned begin, unsigned end) {
  unsigned count = 0;
  SmallVector<CallOpInterface> inlined;
  module.walk([&](CallOpInterface op) {
    if (count >= begin && count < end)
      inlined.push_back(op);
    ++count;
  });
  for (CallOpInterface call : inlined) {
    auto callee = dyn_cast_or_null<func::FuncOp>(call.resolveCallable());
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
    if (call->use_empty())
      returnAlso(call->getParentOfType<func::FuncOp>(), values);
    call->replaceAllUsesWith(values);
    call->erase();
  }
  return count;
}

static unsigned inlineBodies(ModuleOp module, unsigned begin, unsigned end) {
  unsigned count = 0;
  SmallVector<mpmd::NamedComputationOp> inlined;
  module.walk([&](mpmd::NamedComputationOp op) {
    if (count >= begin && count < end)
      inlined.push_back(op);
    ++count;
  });
  IRRewriter rewriter(module.getContext());
  for (mpmd::NamedComputationOp op : inlined) {
    Block &body = op->getRegion(0).front();
    Operation *terminator = body.getTerminator();
    rewriter.inlineBlockBefore(&body, op, op->getOperands());
    rewriter.replaceOp(op, terminator->getOperands());
    rewriter.eraseOp(terminator);
  }
  return count;
}

/// Replaces all uses by zeros; false if there are none of its type.
static bool replaceByZeros(Value value, OpBuilder &builder) {
  if (value.use_empty())
    return true;
  Value zeros = makeZeros(builder, value.getLoc(), value.getType());
  if (zeros)
    value.replaceAllUsesWith(zeros);
  return static_cast<bool>(zeros);
}

static unsigned narrowBodies(ModuleOp module, unsigned begin, unsigned end) {
  unsigned count = 0;
  auto choose = [&](ValueRange values, OpBuilder builder) {
    BitVector dropped(values.size());
    for (auto [index, value] : llvm::enumerate(values)) {
      unsigned position = count++;
      if (position >= begin && position < end && replaceByZeros(value, builder))
        dropped.set(index);
    }
    return dropped;
  };
  SmallVector<mpmd::NamedComputationOp> ops;
  module.walk([&](mpmd::NamedComputationOp op) { ops.push_back(op); });
  for (mpmd::NamedComputationOp op : ops) {
    Block &body = op->getRegion(0).front();
    OpBuilder builder(op);
    BitVector operands =
        choose(body.getArguments(), OpBuilder::atBlockBegin(&body));
    BitVector results = choose(op->getResults(), builder);
    op->eraseOperands(operands);
    body.eraseArguments(operands);
    if (results.none())
      continue;
    body.getTerminator()->eraseOperands(results);
    SmallVector<Value> kept;
    for (OpResult result : op->getResults())
      if (!results.test(result.getResultNumber()))
        kept.push_back(result);
    // An operation cannot lose results.
    auto narrow = mpmd::NamedComputationOp::create(
        builder, op.getLoc(), TypeRange(ValueRange(kept)), op->getOperands(),
        op.getOrigin());
    narrow->getRegion(0).takeBody(op->getRegion(0));
    narrow->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    for (auto [result, value] : llvm::zip(narrow->getResults(), kept))
      value.replaceAllUsesWith(result);
    op->erase();
  }
  return count;
}

static unsigned dropArguments(ModuleOp module, unsigned begin, unsigned end) {
  unsigned count = 0;
  for (func::FuncOp func : getEntries(module)) {
    BitVector dropped(func.getNumArguments());
    OpBuilder builder = OpBuilder::atBlockBegin(&func.getBody().front());
    for (BlockArgument argument : func.getArguments()) {
      unsigned position = count++;
      if (position < begin || position >= end)
        continue;
      if (replaceByZeros(argument, builder))
        dropped.set(argument.getArgNumber());
    }
    if (dropped.any())
      (void)func.eraseArguments(dropped);
  }
  return count;
}

static unsigned dropAttributes(ModuleOp module, unsigned begin, unsigned end) {
  unsigned count = 0;
  auto isDropped = [&] {
    unsigned position = count++;
    return position >= begin && position < end;
  };
  module->walk([&](Operation *op) {
    for (NamedAttribute attribute : llvm::to_vector(op->getDiscardableAttrs()))
      if (isDropped())
        op->removeDiscardableAttr(attribute.getName());
    auto func = dyn_cast<func::FuncOp>(op);
    if (!func)
      return;
    for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
      if (!mlir::function_interface_impl::getArgAttrs(func, i).empty() &&
          isDropped())
        func.setArgAttrs(i, ArrayRef<NamedAttribute>());
    for (unsigned i = 0, e = func.getNumResults(); i < e; ++i)
      if (!mlir::function_interface_impl::getResultAttrs(func, i).empty() &&
          isDropped())
        func.setResultAttrs(i, ArrayRef<NamedAttribute>());
  });
  return count;
}

/// Returns an operation's results instead of what is computed from them. Tried
/// with one operation at a time, and only when few are left.
static unsigned returnEarlier(ModuleOp module, unsigned begin, unsigned end) {
  constexpr unsigned kFew = 100;
  SmallVector<func::FuncOp> entries = getEntries(module);
  if (entries.size() != 1)
    return 0;
  func::FuncOp func = entries.front();
  SmallVector<Operation *> ops;
  for (Operation &op : func.getBody().front().without_terminator())
    if (op.getNumResults() > 0)
      ops.push_back(&op);
  if (ops.size() > kFew)
    return 0;
  Operation *terminator = func.getBody().back().getTerminator();
  // Never later, or rounds would go back and forth.
  auto isEarlier = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op && ops[begin]->isBeforeInBlock(op);
  };
  if (end != begin + 1 || terminator->getNumOperands() == 0 ||
      !llvm::all_of(terminator->getOperands(), isEarlier))
    return ops.size();
  terminator->setOperands(ops[begin]->getResults());
  func.setFunctionType(FunctionType::get(module.getContext(),
                                         func.getArgumentTypes(),
                                         ops[begin]->getResultTypes()));
  func.removeResAttrsAttr();
  return ops.size();
}

static constexpr Step kSteps[] = {dropResults,   dropOps,       inlineCalls,
                                  inlineBodies,  narrowBodies,  returnEarlier,
                                  dropArguments, dropAttributes};

/// Removes what nothing reads any more.
static LogicalResult sweep(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  for (auto func : module.getOps<func::FuncOp>())
    (void)runRegionDCE(rewriter, func->getRegions());
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  passes.addPass(createSymbolDCEPass());
  return passes.run(module);
}

namespace {
struct ReduceProgramPass
    : PassWrapper<ReduceProgramPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReduceProgramPass)

  ReduceProgramPass() = default;
  ReduceProgramPass(const ReduceProgramPass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "mpmd-reduce-program"; }
  StringRef getDescription() const final {
    return "Makes a program small that stays interesting for a script";
  }

  void runOnOperation() override {
    tester = Tester(script, *scriptArguments);
    if (!isInteresting(getOperation())) {
      getOperation().emitError()
          << "the program is not interesting as it is: the script " << script
          << " must exit with 1 for it, and with 0 for one that does not show "
             "what you look for";
      return signalPassFailure();
    }
    bool hasChanged = true;
    while (hasChanged) {
      hasChanged = false;
      for (Step step : kSteps)
        hasChanged |= minimize(step);
    }
  }

private:
  bool isInteresting(ModuleOp module) const {
    return tester.isInteresting(module).first == Tester::Interestingness::True;
  }

  /// Replaces the program by one without the candidates from `begin` to `end`,
  /// if that is interesting.
  bool tryWithout(Step step, unsigned begin, unsigned end) {
    OwningOpRef<ModuleOp> candidate = getOperation().clone();
    (void)step(*candidate, begin, end);
    // What an attempt does wrong is not the user's concern.
    ScopedDiagnosticHandler silent(&getContext(),
                                   [](Diagnostic &) { return success(); });
    if (failed(sweep(*candidate)) || failed(verify(*candidate)) ||
        OperationEquivalence::isEquivalentTo(
            *candidate, getOperation(),
            OperationEquivalence::IgnoreLocations) ||
        !isInteresting(*candidate))
      return false;
    getOperation().getBodyRegion().takeBody(candidate->getBodyRegion());
    getOperation()->setAttrs(candidate->getOperation()->getAttrDictionary());
    return true;
  }

  bool minimize(Step step) {
    bool hasChanged = false;
    unsigned count = step(getOperation(), 0, 0);
    for (unsigned size = count; size > 0; size /= 2) {
      // From the end, where nothing is read by much.
      for (unsigned end = count; end > 0;) {
        unsigned begin = end > size ? end - size : 0;
        if (tryWithout(step, begin, end)) {
          hasChanged = true;
          count = step(getOperation(), 0, 0);
        }
        end = std::min(begin, count);
      }
    }
    return hasChanged;
  }

  Tester tester;
  Option<std::string> script{*this, "test",
                             llvm::cl::desc("What tells interesting programs: "
                                            "exits with 1 for them.")};
  ListOption<std::string> scriptArguments{
      *this, "test-arg", llvm::cl::desc("What it gets before the file.")};
};
} // namespace

void meshwright::registerReduceProgramPass() {
  PassRegistration<ReduceProgramPass>();
}
