//===- DiscardableAttrs.cpp - Checks of shardings, rules and edges on ops -===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/ShardingVerification.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mlir::sdy;

//===----------------------------------------------------------------------===//
// Sharding rules
//===----------------------------------------------------------------------===//

static LogicalResult verifyMapping(Operation *op, OpShardingRuleAttr rule,
                                   TensorMappingAttr mapping,
                                   const Twine &valueName,
                                   BitVector &usedFactors) {
  auto emitError = [&] { return op->emitOpError() << valueName << " - "; };
  BitVector inThisTensor(rule.getNumFactors());
  for (auto [index, dim] : llvm::enumerate(mapping.getDimMappings())) {
    ArrayRef<int64_t> factors = dim.getFactorIndices();
    if (factors.empty())
      return emitError() << "dimension " << index
                         << " must have at least one factor";
    for (int64_t factor : factors) {
      if (factor < 0 || factor >= rule.getNumFactors())
        return emitError() << "factor index " << factor << " in dimension "
                           << index << " is out of range, the rule has "
                           << rule.getNumFactors() << " factors";
      if (inThisTensor.test(factor))
        return emitError() << "cannot reuse factors for the same tensor, "
                              "factor index "
                           << factor << " comes again in dimension " << index;
      if (factors.size() > 1 && rule.getFactorSize(factor) == 1)
        return emitError() << "dimension " << index
                           << " can't have a factor of size 1 if it has "
                              "multiple factors";
      inThisTensor.set(factor);
    }
  }
  usedFactors |= inThisTensor;
  return success();
}

static LogicalResult verifyMappings(Operation *op, OpShardingRuleAttr rule,
                                    TypeRange types,
                                    ArrayRef<TensorMappingAttr> mappings,
                                    StringRef valueName,
                                    BitVector &usedFactors) {
  if (types.empty())
    return op->emitOpError() << "must have at least one " << valueName
                             << " to have a sharding rule";
  if (types.size() != mappings.size())
    return op->emitOpError() << "number of " << valueName
                             << "s and mappings must match: " << types.size()
                             << " != " << mappings.size();
  for (auto [index, type, mapping] : llvm::enumerate(types, mappings)) {
    std::string name = valueName.str();
    if (types.size() != 1)
      name += " " + std::to_string(index);
    auto shaped = dyn_cast<ShapedType>(type);
    if (!shaped || !shaped.hasRank() || !shaped.hasStaticShape())
      return op->emitOpError()
             << name << " - expected a ranked tensor with a static shape, got "
             << type;
    if (shaped.getRank() != mapping.getRank())
      return op->emitOpError()
             << name << " - mapping rank must match: " << mapping.getRank()
             << " != " << shaped.getRank();
    if (failed(verifyMapping(op, rule, mapping, name, usedFactors)))
      return failure();
  }
  return success();
}

static LogicalResult verifySpecialFactors(Operation *op,
                                          OpShardingRuleAttr rule) {
  std::pair<ArrayRef<int64_t>, StringRef> lists[] = {
      {rule.getReductionFactors(), "reduction"},
      {rule.getNeedReplicationFactors(), "need_replication"},
      {rule.getPermutationFactors(), "permutation"},
      {rule.getBlockedPropagationFactors(), "blocked_propagation"}};
  BitVector inFirstThree(rule.getNumFactors());
  for (auto [factors, name] : lists) {
    if (!llvm::is_sorted(factors))
      return op->emitOpError()
             << name << " factors: indices of special factors must be sorted";
    if (llvm::adjacent_find(factors) != factors.end())
      return op->emitOpError()
             << name << " factors: indices of special factors must be unique";
    for (int64_t factor : factors) {
      if (factor < 0 || factor >= rule.getNumFactors())
        return op->emitOpError() << name << " factors: index must be less than "
                                 << rule.getNumFactors() << ", got " << factor;
      if (name == "blocked_propagation")
        continue;
      if (inFirstThree.test(factor))
        return op->emitOpError()
               << "a factor can only be in one of the reduction, "
                  "need_replication or permutation factors, got factor index "
               << factor << " again in " << name;
      inFirstThree.set(factor);
    }
  }
  for (int64_t factor : rule.getReductionFactors())
    for (TensorMappingAttr mapping : rule.getResultMappings())
      if (mapping.containsFactor(factor))
        return op->emitOpError() << "reduction factor cannot be in result "
                                    "mappings, got factor index "
                                 << factor;
  return success();
}

static LogicalResult verifyRule(Operation *op, OpShardingRuleAttr rule) {
  for (int64_t index : llvm::seq<int64_t>(0, rule.getNumFactors()))
    if (rule.getFactorSize(index) < 0)
      return op->emitOpError()
             << "has a factor of size " << rule.getFactorSize(index)
             << " at index " << index << ", expected none below 0";
  BitVector used(rule.getNumFactors());
  if (failed(verifyMappings(op, rule, op->getOperandTypes(),
                            rule.getOperandMappings(), "operand", used)) ||
      failed(verifyMappings(op, rule, op->getResultTypes(),
                            rule.getResultMappings(), "result", used)))
    return failure();
  if (int unused = used.find_first_unset(); unused >= 0)
    return op->emitOpError()
           << "has a factor of size " << rule.getFactorSize(unused)
           << " at index " << unused
           << " that isn't used in operand and result mappings";
  return verifySpecialFactors(op, rule);
}

//===----------------------------------------------------------------------===//
// Hooks of the dialect
//===----------------------------------------------------------------------===//

LogicalResult SdyDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attr) {
  if (attr.getName() == kShardingAttr) {
    if (auto shardings = dyn_cast<TensorShardingPerValueAttr>(attr.getValue()))
      return verifyShardings(op->getResultTypes(), shardings, op, "result");
    return op->emitOpError() << "should have a sharding attribute of the form "
                                "#sdy.sharding_per_value, got "
                             << attr.getValue();
  }
  if (attr.getName() == kShardingRuleAttr) {
    if (auto rule = dyn_cast<OpShardingRuleAttr>(attr.getValue()))
      return verifyRule(op, rule);
    return op->emitOpError() << "should have a sharding rule of the form "
                                "#sdy.op_sharding_rule as "
                             << attr.getName() << ", got " << attr.getValue();
  }
  if (attr.getName() == kPropagationEdgesAttr &&
      !isa<PropagationEdgesAttr>(attr.getValue()))
    return op->emitOpError() << "should have edges of the form "
                                "#sdy.propagation_edges as "
                             << attr.getName() << ", got " << attr.getValue();
  if (attr.getName() == kResultPropagationEdgesAttr ||
      attr.getName() == kBlockArgPropagationEdgesAttr) {
    auto list = dyn_cast<ArrayAttr>(attr.getValue());
    // Values that no axis came to have an empty dictionary.
    if (!list || !llvm::all_of(list, [](Attribute entry) {
          auto none = dyn_cast<DictionaryAttr>(entry);
          return isa<PropagationEdgesAttr>(entry) || (none && none.empty());
        }))
      return op->emitOpError()
             << "should have a list of #sdy.propagation_edges as "
             << attr.getName() << ", got " << attr.getValue();
  }
  return success();
}

static LogicalResult verifyOnFunction(Operation *op, NamedAttribute attr,
                                      TypeRange types, unsigned index,
                                      StringRef valueName) {
  if (attr.getName() != kShardingAttr)
    return success();
  auto emitError = [&] {
    return op->emitOpError() << valueName << ' ' << index << " - ";
  };
  auto sharding = dyn_cast<TensorShardingAttr>(attr.getValue());
  if (!sharding)
    return emitError() << "should have a sharding attribute of the form "
                          "#sdy.sharding, got "
                       << attr.getValue();
  Type type = index < types.size() ? types[index] : Type();
  return verifySharding(type, sharding, op, emitError);
}

LogicalResult SdyDialect::verifyRegionArgAttribute(Operation *op,
                                                   unsigned regionIndex,
                                                   unsigned argIndex,
                                                   NamedAttribute attr) {
  if (auto func = dyn_cast<FunctionOpInterface>(op))
    return verifyOnFunction(op, attr, func.getArgumentTypes(), argIndex, "arg");
  return verifyOnFunction(
      op, attr, op->getRegion(regionIndex).getArgumentTypes(), argIndex, "arg");
}

LogicalResult SdyDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                      unsigned resultIndex,
                                                      NamedAttribute attr) {
  if (auto func = dyn_cast<FunctionOpInterface>(op))
    return verifyOnFunction(op, attr, func.getResultTypes(), resultIndex,
                            "result");
  return success();
}
