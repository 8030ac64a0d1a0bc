//===- OpPlans.cpp - What propagation does at an op -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/OpPlans.h"

#include "meshwright/Dialect/Sdy/Rules/ShardingRules.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

using namespace mlir;
using namespace mlir::sdy;

//===----------------------------------------------------------------------===//
// Directions
//===----------------------------------------------------------------------===//

OpPlan::OpPlan(OpShardingRuleAttr rule, OpClass opClass, bool isElementwise,
               PropagationDirection barrierDirection)
    : rule(rule), opClass(opClass), elementwise(isElementwise),
      barrierDirection(barrierDirection) {
  int64_t numFactors = rule.getNumFactors();
  directions.emplace_back(numFactors, PropagationDirection::NONE);
  for (unsigned level = 0; level <= kLastLevel; ++level) {
    auto atLevel = llvm::map_to_vector(
        llvm::seq<int64_t>(0, numFactors),
        [&](int64_t factor) { return getDirection(level, factor); });
    auto *known = llvm::find(directions, atLevel);
    ids[level] = known - directions.begin();
    if (known == directions.end())
      directions.push_back(std::move(atLevel));
  }
}

PropagationDirection OpPlan::getDirection(unsigned level,
                                          int64_t factor) const {
  if (rule.isBlockedPropagationFactor(factor))
    return PropagationDirection::NONE;
  bool joins = level >= 3 || (level == 2 && rule.isPassThroughFactor(factor));
  switch (opClass) {
  case OpClass::Edge:
  case OpClass::Elementwise:
    return PropagationDirection::BOTH;
  case OpClass::Slice:
    return joins ? PropagationDirection::BOTH : PropagationDirection::FORWARD;
  case OpClass::Broadcast:
    if (level == kLastLevel)
      return PropagationDirection::BOTH;
    return joins ? PropagationDirection::BACKWARD : PropagationDirection::NONE;
  case OpClass::Other:
    return joins ? PropagationDirection::BOTH : PropagationDirection::NONE;
  case OpClass::Barrier:
    return barrierDirection;
  }
  llvm_unreachable("unknown class");
}

static OpClass getOpClass(Operation *op, bool isElementwise) {
  if (isa<DataFlowEdgeOp>(op))
    return OpClass::Edge;
  if (isa<PropagationBarrierOp>(op))
    return OpClass::Barrier;
  if (isElementwise || isa<stablehlo::ReshapeOp, stablehlo::TransposeOp>(op))
    return OpClass::Elementwise;
  if (isa<stablehlo::DynamicSliceOp, stablehlo::DynamicUpdateSliceOp>(op))
    return OpClass::Slice;
  if (isa<stablehlo::BroadcastInDimOp>(op))
    return OpClass::Broadcast;
  if (auto call = dyn_cast<stablehlo::CustomCallOp>(op);
      call && (call.getCallTargetName() == "MoveToDevice" ||
               call.getCallTargetName() == "MoveToHost"))
    return OpClass::Elementwise;
  return OpClass::Other;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

unsigned OpPlans::EqualForRules::getHashValue(const Operation *constOp) {
  auto *op = const_cast<Operation *>(constOp);
  return llvm::hash_combine(
      op->getName(), llvm::hash_combine_range(op->getOperandTypes()),
      llvm::hash_combine_range(op->getResultTypes()), op->hashProperties());
}

bool OpPlans::EqualForRules::isEqual(const Operation *constA,
                                     const Operation *constB) {
  if (constA == constB)
    return true;
  for (const Operation *special : {getEmptyKey(), getTombstoneKey()})
    if (constA == special || constB == special)
      return false;
  auto *a = const_cast<Operation *>(constA),
       *b = const_cast<Operation *>(constB);
  return a->getName() == b->getName() &&
         a->getOperandTypes() == b->getOperandTypes() &&
         a->getResultTypes() == b->getResultTypes() &&
         a->getName().compareOpProperties(a->getPropertiesStorage(),
                                          b->getPropertiesStorage());
}

/// Whether the rule of an op follows from its name, types and properties, not
/// from what is around it.
static bool isRuleSelfContained(Operation *op) {
  if (op->getDiscardableAttr(kShardingRuleAttr) ||
      isa<stablehlo::ConcatenateOp, stablehlo::CustomCallOp,
          stablehlo::DynamicUpdateSliceOp>(op) ||
      isa<ShardingRuleOpInterface>(op))
    return false;
  return op->getNumRegions() == 0 || isa<stablehlo::ReduceOp>(op);
}

const OpPlan *OpPlans::getFor(Operation *op) {
  if (isa<DataFlowEdgeOp>(op) || !isRuleSelfContained(op))
    return create(op);
  auto [known, isNew] = planOfOp.try_emplace(op, nullptr);
  if (isNew)
    known->second = create(op);
  return known->second;
}

void OpPlans::forget(Operation *op) {
  if (auto known = planOfOp.find(op);
      known != planOfOp.end() && known->first == op)
    planOfOp.erase(known);
}

/// All tensors have a factor per dimension.
static OpShardingRuleAttr getIdentityRule(ShapedType type,
                                          unsigned numOperands) {
  MLIRContext *context = type.getContext();
  auto dims = llvm::map_to_vector(
      llvm::seq<int64_t>(0, type.getRank()), [&](int64_t dim) {
        return DimMappingAttr::get(context, ArrayRef<int64_t>(dim));
      });
  auto mapping = TensorMappingAttr::get(context, dims);
  return OpShardingRuleAttr::get(
      context, type.getShape(),
      SmallVector<TensorMappingAttr>(numOperands, mapping), mapping,
      /*reduction_factors=*/{}, /*need_replication_factors=*/{},
      /*permutation_factors=*/{}, /*blocked_propagation_factors=*/{},
      /*is_custom_rule=*/false);
}

const OpPlan *OpPlans::create(Operation *op) {
  if (auto edge = dyn_cast<DataFlowEdgeOp>(op)) {
    Value owner = edge.getInput();
    DataFlowOpInterface flow = getDataFlowOp(owner);
    return flow ? getIdentity(cast<ShapedType>(edge.getType()),
                              flow.getEdgeSources(owner).size())
                : nullptr;
  }
  if (auto barrier = dyn_cast<PropagationBarrierOp>(op))
    return get(getIdentityRule(barrier.getType(), 1), OpClass::Barrier,
               /*isElementwise=*/true, barrier.getAllowedDirection());
  OpShardingRuleAttr rule = getShardingRule(op);
  if (!rule || rule.getNumFactors() == 0)
    return nullptr;
  bool isElementwise = isElementwiseForSharding(op);
  return get(rule, getOpClass(op, isElementwise), isElementwise,
             PropagationDirection::NONE);
}

const OpPlan *OpPlans::getIdentity(ShapedType type, unsigned numOperands) {
  const OpPlan *&plan = identities[{type, numOperands}];
  if (!plan)
    plan = get(getIdentityRule(type, numOperands), OpClass::Edge,
               /*isElementwise=*/false, PropagationDirection::NONE);
  return plan;
}

const OpPlan *OpPlans::get(OpShardingRuleAttr rule, OpClass opClass,
                           bool isElementwise,
                           PropagationDirection barrierDirection) {
  std::unique_ptr<OpPlan> &plan =
      plans[{rule, static_cast<unsigned>(opClass), isElementwise,
             static_cast<unsigned>(barrierDirection)}];
  if (!plan)
    plan = std::make_unique<OpPlan>(rule, opClass, isElementwise,
                                    barrierDirection);
  return plan.get();
}
