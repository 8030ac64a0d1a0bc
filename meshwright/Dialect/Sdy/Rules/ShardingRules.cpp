//===- ShardingRules.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The rule of an op comes from the op itself, where the user or an earlier pass
// has put one, from its interface, or from its family.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Rules/ShardingRules.h"
#include "meshwright/Dialect/CHLO/ChloDialect.h"
#include "meshwright/Dialect/Sdy/Rules/RuleFamilies.h"
#include "meshwright/Dialect/Sdy/Rules/ShardingRuleBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <mutex>

using namespace mlir;
using namespace mlir::sdy;
using namespace mlir::stablehlo;

OpShardingRuleAttr mlir::sdy::getPointwiseRule(Operation *op) {
  if (!ShardingRuleBuilder::haveEqualRanks(op))
    return {};
  ShardingRuleBuilder rule(op);
  rule.addEverywhere(cast<ShapedType>(op->getResult(0).getType()).getShape());
  return rule.build();
}

/// Whether all dimensions of the result are those of all operands.
static bool isPointwise(Operation *op) {
  return isa<AbsOp, AddOp, stablehlo::AllReduceOp, AndOp, Atan2Op, CbrtOp,
             CeilOp, ClampOp, CollectiveBroadcastOp,
             stablehlo::CollectivePermuteOp, CompareOp, ComplexOp, ConvertOp,
             CosineOp, CountLeadingZerosOp, CrossReplicaSumOp, DivideOp,
             ExponentialMinusOneOp, ExponentialOp, FloorOp, ImagOp, IsFiniteOp,
             LogOp, LogPlusOneOp, LogisticOp, MaximumOp, MinimumOp, MultiplyOp,
             NegateOp, NotOp, OrOp, PopcntOp, PowerOp, RealOp,
             ReducePrecisionOp, RemainderOp, RoundNearestAfzOp,
             RoundNearestEvenOp, RsqrtOp, SelectOp, ShardingConstraintOp,
             ShiftLeftOp, ShiftRightArithmeticOp, ShiftRightLogicalOp, SignOp,
             SineOp, SqrtOp, SubtractOp, TanOp, TanhOp, XorOp>(op);
}

/// Whether shardings are known not to pass through the op, or take a way of
/// their own.
static bool isKnownWithoutRule(Operation *op) {
  return isa<DataFlowOpInterface, ShardingRuleOpInterface, FunctionOpInterface>(
             op) ||
         isa<AfterAllOp, CreateTokenOp, GetTupleElementOp, InfeedOp, IotaOp,
             OutfeedOp, PartitionIdOp, RecvOp, SendOp, ModuleOp>(op) ||
         op->hasTrait<OpTrait::ConstantLike>() ||
         op->hasTrait<OpTrait::IsTerminator>() ||
         isa_and_present<SdyDialect, func::FuncDialect>(op->getDialect());
}

// COMPAT(warn-once): Once per process, not once per program.
static OpShardingRuleAttr warnUnknown(Operation *op) {
  static std::once_flag warned;
  std::call_once(warned, [&] {
    op->emitWarning() << "op '" << op->getName()
                      << "' is unknown to SDY sharding rule registry; "
                         "shardings do not pass through it";
  });
  return {};
}

static OpShardingRuleAttr createRule(Operation *op) {
  return TypeSwitch<Operation *, OpShardingRuleAttr>(op)
      .Case<stablehlo::AllGatherOp, stablehlo::AllToAllOp, BatchNormInferenceOp,
            BitcastConvertOp, BroadcastInDimOp, CholeskyOp, ConcatenateOp,
            ConvolutionOp, CustomCallOp, DotGeneralOp, DotOp, DynamicSliceOp,
            DynamicUpdateSliceOp, FftOp, GatherOp, PadOp, ReduceOp,
            stablehlo::ReduceScatterOp, ReduceWindowOp, ReshapeOp, ReverseOp,
            RngBitGeneratorOp, ScatterOp, SelectAndScatterOp, SliceOp, SortOp,
            TransposeOp, TriangularSolveOp>([](auto op) { return getRule(op); })
      .Default([](Operation *op) { return warnUnknown(op); });
}

OpShardingRuleAttr mlir::sdy::getShardingRule(Operation *op) {
  if (auto rule = op->getAttrOfType<OpShardingRuleAttr>(kShardingRuleAttr))
    return rule;
  if (auto interface = dyn_cast<ShardingRuleOpInterface>(op))
    return interface.getShardingRule();
  if (isPointwise(op))
    return ShardingRuleBuilder::canHaveRule(op) ? getPointwiseRule(op)
                                                : OpShardingRuleAttr();
  if (isKnownWithoutRule(op))
    return {};
  if (!ShardingRuleBuilder::canHaveRule(op) && !isa<CustomCallOp>(op))
    return {};
  return createRule(op);
}

OpShardingRuleAttr mlir::sdy::getOrCreateShardingRule(Operation *op) {
  OpShardingRuleAttr rule = getShardingRule(op);
  if (rule)
    op->setAttr(kShardingRuleAttr, rule);
  return rule;
}

bool mlir::sdy::isElementwiseForSharding(Operation *op) {
  if (isa<ClampOp, PropagationBarrierOp, ReshardOp, SelectOp,
          ShardingConstraintOp>(op))
    return true;
  if (auto bitcast = dyn_cast<BitcastConvertOp>(op))
    return bitcast.getOperand().getType().getShape() ==
           bitcast.getType().getShape();
  return op->hasTrait<chlo::Broadcasting>() ||
         (isa_and_present<chlo::ChloDialect, StablehloDialect>(
              op->getDialect()) &&
          op->hasTrait<OpTrait::Elementwise>());
}
