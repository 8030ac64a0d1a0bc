//===- SplitConditionals.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A program that skips an update where a gradient is not finite chooses between
// two whole states. As one op, that choice has one place, and brings all
// weights there:
//
//   %r:2 = stablehlo.case %ok {return %w0, %w1} {%a = %w0 - %g0; %b = ...}
//   // becomes, with %w0 and %g0 on m1, %w1 and %g1 on m2
//   %p = mpmd.broadcast %ok
//   %r0 = stablehlo.case %p {return %w0} {%a = %w0 - %g0; return %a}  on m1
//   %r1 = stablehlo.case %p {return %w1} {%b = %w1 - %g1; return %b}  on m2
//
// Results are grouped by the place that each would have for itself. What two
// groups share is computed before the conditional if it is cheap, a norm over
// all gradients for instance, and by a part of its own otherwise. Groups with
// effects stay one: there is one of each effect, and their order is kept.
//
// The predicate is computed once and travels. Were it computed on each mesh, it
// might be rounded to different truths.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Import/Conditionals/ConditionalPlan.h"
#include "meshwright/Import/MeshSets/MeshSetAttributes.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallVectorExtras.h"

#define GEN_PASS_DEF_SPLITCONDITIONALSPASS
#include "meshwright/Import/Conditionals/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// The label of assigns that keep a part of a conditional on its mesh.
static constexpr StringLiteral kOrigin = "conditional";

/// Moves what is hoisted before the conditional, with constants of its own.
static void hoistOps(Operation *conditional, const ConditionalPlan &plan) {
  OpBuilder builder(conditional);
  for (Region &branch : conditional->getRegions()) {
    IRMapping constants;
    for (Operation &op : llvm::make_early_inc_range(branch.front())) {
      if (!plan.isHoisted(&op))
        continue;
      forEachProducer(&op, branch.front(), [&](Operation *producer) {
        if (isFreeToRepeat(producer) &&
            !constants.contains(producer->getResult(0)))
          builder.clone(*producer, constants);
      });
      op.moveBefore(conditional);
      op.walk([&](Operation *nested) {
        for (OpOperand &operand : nested->getOpOperands())
          operand.set(constants.lookupOrDefault(operand.get()));
      });
    }
  }
}

/// A list of shardings has one per result.
static Attribute selectResults(Attribute attr, unsigned numResults,
                               ArrayRef<unsigned> results) {
  auto list = dyn_cast<sdy::TensorShardingPerValueAttr>(attr);
  if (!list || list.getShardings().size() != numResults)
    return attr;
  auto selected = llvm::map_to_vector(
      results, [&](unsigned result) { return list.getShardings()[result]; });
  return sdy::TensorShardingPerValueAttr::get(attr.getContext(), selected);
}

/// Gives a value of every branch; null represents one that a branch lacks.
using GetReturned = function_ref<SmallVector<Value>(Block &)>;

static Value createZero(OpBuilder &builder, Location loc, Type type) {
  auto zero = cast<DenseElementsAttr>(builder.getZeroAttr(type));
  return stablehlo::ConstantOp::create(builder, loc, zero);
}

/// A conditional with clones of some ops of each branch.
static Operation *createPart(Operation *conditional, Value predicate,
                             TypeRange types, ArrayRef<NamedAttribute> attrs,
                             function_ref<bool(Operation *)> isInPart,
                             GetReturned getReturned) {
  OpBuilder builder(conditional);
  OperationState state(conditional->getLoc(), conditional->getName());
  state.addOperands(predicate);
  state.addTypes(types);
  state.addAttributes(attrs);
  for (Region &branch : conditional->getRegions()) {
    OpBuilder inPart(conditional->getContext());
    inPart.setInsertionPointToEnd(&state.addRegion()->emplaceBlock());
    IRMapping mapping;
    for (Operation &op : branch.front().without_terminator())
      if (isInPart(&op))
        inPart.clone(op, mapping);
    Operation *terminator = branch.front().getTerminator();
    OperationState end(terminator->getLoc(), terminator->getName());
    for (auto [value, type] :
         llvm::zip_equal(getReturned(branch.front()), types))
      end.operands.push_back(value ? mapping.lookupOrDefault(value)
                                   : createZero(inPart, end.location, type));
    inPart.create(end);
  }
  return builder.create(state);
}

/// The conditional as far as it concerns one group.
static Operation *createGroupPart(Operation *conditional, Value predicate,
                                  const ConditionalPlan &plan, unsigned index) {
  ArrayRef<unsigned> results = plan.getGroups()[index].results;
  auto types = llvm::map_to_vector(results, [&](unsigned result) {
    return conditional->getResult(result).getType();
  });
  SmallVector<NamedAttribute> attrs;
  for (NamedAttribute attr : conditional->getAttrs())
    attrs.emplace_back(
        attr.getName(),
        selectResults(attr.getValue(), conditional->getNumResults(), results));
  return createPart(
      conditional, predicate, types, attrs,
      [&](Operation *op) { return plan.isIn(op, index); },
      [&](Block &branch) {
        return llvm::map_to_vector(results, [&](unsigned result) {
          return branch.getTerminator()->getOperand(result);
        });
      });
}

/// By way of a mesh, so that the value is computed there. In a branch values
/// have the place of what is around them.
static Value pin(Value value, StringRef mesh, OpBuilder &builder) {
  if (mesh.empty() || !isa<func::FuncOp>(value.getDefiningOp()->getParentOp()))
    return value;
  StringAttr origin = builder.getStringAttr(kOrigin);
  auto assign = AssignOp::create(builder, value.getLoc(), value, mesh, origin);
  return UnassignOp::create(builder, value.getLoc(), assign, origin);
}

/// Computes what is common in a part of its own, from which the branches read
/// it.
static void extractCommon(Operation *conditional, Value predicate,
                          const ConditionalPlan &plan) {
  SmallVector<Value> values;
  for (Region &branch : conditional->getRegions())
    llvm::append_range(values, plan.getCommonValues(branch.front()));
  if (values.empty())
    return;
  Operation *part = createPart(
      conditional, predicate, TypeRange(ValueRange(values)), {},
      [&](Operation *op) {
        return plan.isCommon(op) || plan.isRepeated(op) || isFreeToRepeat(op);
      },
      [&](Block &branch) {
        return llvm::map_to_vector(values, [&](Value value) {
          return value.getParentBlock() == &branch ? value : Value();
        });
      });
  OpBuilder builder(conditional);
  for (auto [value, result] : llvm::zip_equal(values, part->getResults())) {
    Value pinned = pin(result, plan.getCommonHome(), builder);
    if (pinned != result)
      pinned = BroadcastOp::create(builder, value.getLoc(), pinned);
    value.replaceAllUsesWith(pinned);
  }
}

namespace {
struct SplitConditionalsPass
    : mpmd::impl::SplitConditionalsPassBase<SplitConditionalsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> conditionals = collectConditionals(getOperation());
    if (llvm::none_of(conditionals, isCandidate))
      return markAllAnalysesPreserved();

    ConditionalHomes homes(getOperation(), conditionals, sendsLittle);
    for (Operation *conditional : conditionals)
      if (isCandidate(conditional))
        split(conditional, homes);
    broadcasts.clear();
    for (Operation *conditional : replaced)
      conditional->destroy();
    replaced.clear();
  }

private:
  static bool isCandidate(Operation *conditional) {
    return conditional->getNumResults() > 1 &&
           llvm::all_of(conditional->getResultTypes(),
                        llvm::IsaPred<RankedTensorType>);
  }

  void split(Operation *conditional, const ConditionalHomes &homes);
  Value getPredicate(Operation *conditional);

  DenseMap<Value, Value> broadcasts;
  /// Taken out of the program, but known to the analysis.
  SmallVector<Operation *> replaced;
};
} // namespace

/// What all parts read. Every mesh has the arguments of the program already.
Value SplitConditionalsPass::getPredicate(Operation *conditional) {
  Value predicate = conditional->getOperand(0);
  auto func = dyn_cast<func::FuncOp>(conditional->getParentOp());
  if (!func || predicate.getDefiningOp<BroadcastOp>() ||
      (isa<BlockArgument>(predicate) && isEntryPointFunction(func)))
    return predicate;
  Value &broadcast = broadcasts[predicate];
  if (!broadcast) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(predicate);
    broadcast = BroadcastOp::create(builder, predicate.getLoc(), predicate);
  }
  return broadcast;
}

void SplitConditionalsPass::split(Operation *conditional,
                                  const ConditionalHomes &homes) {
  ConditionalPlan plan(conditional, homes);
  if (plan.hoistsAnything())
    hoistOps(conditional, plan);
  if (plan.getGroups().size() < 2)
    return;
  Value predicate = getPredicate(conditional);
  extractCommon(conditional, predicate, plan);
  OpBuilder builder(conditional);
  for (auto [index, group] : llvm::enumerate(plan.getGroups())) {
    Operation *part = createGroupPart(conditional, predicate, plan, index);
    StringRef mesh = group.home.size() == 1 ? group.home.front() : StringRef();
    for (auto [result, value] :
         llvm::zip_equal(group.results, part->getResults()))
      conditional->getResult(result).replaceAllUsesWith(
          pin(value, mesh, builder));
  }
  conditional->remove();
  conditional->dropAllReferences();
  replaced.push_back(conditional);
  ++numSplit;
}
