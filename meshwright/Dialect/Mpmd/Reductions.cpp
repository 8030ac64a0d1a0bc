//===- Reductions.cpp - Reduction kinds as StableHLO ops ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Reductions.h"
#include "meshwright/Dialect/StableHLO/ElementKinds.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mpmd;

std::optional<ReductionType> mpmd::getReductionKind(Operation *op) {
  using Kind = std::optional<ReductionType>;
  return llvm::TypeSwitch<Operation *, Kind>(op)
      .Case([](stablehlo::AddOp) { return ReductionType::Add; })
      .Case([](stablehlo::MaximumOp) { return ReductionType::Max; })
      .Case([](stablehlo::MinimumOp) { return ReductionType::Min; })
      .Case([](stablehlo::MultiplyOp) { return ReductionType::Mul; })
      .Case([](stablehlo::OrOp) { return ReductionType::Or; })
      .Case([](stablehlo::AndOp) { return ReductionType::And; })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<ReductionType> mpmd::getReductionKind(Block &body) {
  Operation *terminator = body.getTerminator();
  unsigned count = terminator->getNumOperands();
  if (count == 0 || body.getNumArguments() != 2 * count)
    return std::nullopt;
  std::optional<ReductionType> kind;
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    Operation *op = value.getDefiningOp();
    std::optional<ReductionType> current =
        op ? getReductionKind(op) : std::nullopt;
    if (!current || (kind && kind != current))
      return std::nullopt;
    kind = current;
    Value first = body.getArgument(index);
    Value second = body.getArgument(index + count);
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    if (!(lhs == first && rhs == second) && !(lhs == second && rhs == first))
      return std::nullopt;
  }
  return kind;
}

bool mpmd::canCompute(ReduceOp reduce) {
  ReductionType kind = reduce.getReduction();
  unsigned kinds =
      stablehlo::kPredicate | stablehlo::kSignless | stablehlo::kUnsigned;
  if (kind != ReductionType::Or && kind != ReductionType::And)
    kinds |= stablehlo::kFloat | stablehlo::kComplex | stablehlo::kQuantized;
  if (kind == ReductionType::Add)
    kinds |= stablehlo::kAxisQuantized;
  return reduce.getTensors().size() == 1 ||
         stablehlo::isTensorOf(reduce.getType(), kinds);
}

Operation *mpmd::createReductionOp(OpBuilder &builder, Location loc,
                                   ReductionType kind, Value lhs, Value rhs) {
  Type type = lhs.getType();
  switch (kind) {
  case ReductionType::None:
    break;
  case ReductionType::Add:
    return stablehlo::AddOp::create(builder, loc, type, lhs, rhs);
  case ReductionType::Max:
    return stablehlo::MaximumOp::create(builder, loc, type, lhs, rhs);
  case ReductionType::Min:
    return stablehlo::MinimumOp::create(builder, loc, type, lhs, rhs);
  case ReductionType::Mul:
    return stablehlo::MultiplyOp::create(builder, loc, type, lhs, rhs);
  case ReductionType::Or:
    return stablehlo::OrOp::create(builder, loc, type, lhs, rhs);
  case ReductionType::And:
    return stablehlo::AndOp::create(builder, loc, type, lhs, rhs);
  }
  llvm_unreachable("the kind `none` combines nothing");
}
