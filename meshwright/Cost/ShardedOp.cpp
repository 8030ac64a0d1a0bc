//===- ShardedOp.cpp - What one device does of an operation ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Factors are split as the results have them; those that no result has, as the
// operands have them. Axes are compared as a whole: a part of an axis is
// another axis.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/ShardedOp.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/Sdy/Factors/ShardingProjection.h"
#include "meshwright/Dialect/Sdy/Rules/ShardingRules.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace meshwright;
using sdy::AxisRefAttr;
using sdy::MeshAttr;
using sdy::TensorShardingAttr;

namespace {
/// The axes of each factor of an op, or of each dimension of a value.
using AxisLists = SmallVector<SmallVector<AxisRefAttr, 2>, 4>;
} // namespace

static double countDevices(ArrayRef<AxisRefAttr> axes, MeshAttr mesh) {
  double devices = 1;
  for (AxisRefAttr axis : axes)
    devices *= axis.getSize(mesh);
  return devices;
}

static RankedTensorType splitBy(RankedTensorType type,
                                TensorShardingAttr sharding, MeshAttr mesh) {
  return sharding && mesh ? sharding.getLocalTensorType(type, mesh) : type;
}

/// Null for a sharding over another mesh of as many devices, which a constraint or a
/// manual computation within a fragment may name.
static TensorShardingAttr keepIfOn(TensorShardingAttr sharding, MeshAttr mesh) {
  if (!sharding || !mesh)
    return sharding;
  auto isOfMesh = [&](AxisRefAttr axis) {
    return mesh.hasAxis(axis.getName());
  };
  for (sdy::DimensionShardingAttr dim : sharding.getDimShardings())
    if (!llvm::all_of(dim.getAxes(), isOfMesh))
      return {};
  return llvm::all_of(sharding.getUnreducedAxes(), isOfMesh)
             ? sharding
             : TensorShardingAttr();
}

static SmallVector<AxisRefAttr> keepAxesOf(MeshAttr mesh,
                                           ArrayRef<AxisRefAttr> axes) {
  return llvm::filter_to_vector(
      axes, [&](AxisRefAttr axis) { return mesh.hasAxis(axis.getName()); });
}

static TensorShardingAttr getShardingOn(Value value, MeshAttr mesh) {
  return keepIfOn(sdy::getSharding(value), mesh);
}

RankedTensorType meshwright::getLocalType(Value value, MeshAttr mesh) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? splitBy(type, getShardingOn(value, mesh), mesh) : type;
}

double meshwright::countLocalBytes(Value value, MeshAttr mesh) {
  RankedTensorType type = getLocalType(value, mesh);
  return type ? countBytes(type) : 0;
}

double meshwright::countHeldBytes(Value value, MeshAttr mesh,
                                  const Device &device) {
  RankedTensorType type = getLocalType(value, mesh);
  return type ? countBytes(type, device) : 0;
}

/// `x`, or `x:(1)2` of a part of an axis.
static std::string getName(AxisRefAttr axis) {
  std::string name = axis.getName().str();
  if (sdy::SubAxisInfoAttr part = axis.getSubAxisInfo())
    name += ":(" + std::to_string(part.getPreSize()) + ")" +
            std::to_string(part.getSize());
  return name;
}

static void addCollective(CollectiveKind kind, ArrayRef<AxisRefAttr> axes,
                          double bytes, MeshAttr mesh,
                          std::vector<Collective> &collectives) {
  Collective collective;
  collective.kind = kind;
  for (AxisRefAttr axis : axes)
    collective.axes.push_back(getName(axis));
  collective.participants = countDevices(axes, mesh);
  collective.bytes = bytes;
  if (collective.participants > 1)
    collectives.push_back(std::move(collective));
}

/// Slices come first, since they are free and leave less to be sent; then axes
/// move from list to list, then others are gathered.
static void addMoves(double localBytes, const AxisLists &from,
                     const AxisLists &to, MeshAttr mesh,
                     std::vector<Collective> &collectives) {
  SmallVector<AxisRefAttr> before, after, gained, moved, lost;
  for (const auto &axes : from)
    llvm::append_range(before, axes);
  for (const auto &axes : to)
    llvm::append_range(after, axes);
  for (AxisRefAttr axis : after)
    if (!llvm::is_contained(before, axis))
      gained.push_back(axis);
  for (auto [fromAxes, toAxes] : llvm::zip(from, to))
    for (AxisRefAttr axis : fromAxes) {
      if (llvm::is_contained(toAxes, axis))
        continue;
      (llvm::is_contained(after, axis) ? moved : lost).push_back(axis);
    }
  localBytes /= countDevices(gained, mesh);
  addCollective(CollectiveKind::AllToAll, moved,
                localBytes * countDevices(moved, mesh), mesh, collectives);
  addCollective(CollectiveKind::AllGather, lost,
                localBytes * countDevices(lost, mesh), mesh, collectives);
}

static AxisLists getDimAxes(TensorShardingAttr sharding, int64_t rank) {
  AxisLists lists(rank);
  if (sharding)
    for (auto [list, dim] : llvm::zip(lists, sharding.getDimShardings()))
      list.assign(dim.getAxes().begin(), dim.getAxes().end());
  return lists;
}

void meshwright::addReshard(RankedTensorType type, TensorShardingAttr from,
                            TensorShardingAttr to, MeshAttr mesh,
                            std::vector<Collective> &collectives) {
  if (!mesh)
    return;
  from = keepIfOn(from, mesh);
  to = keepIfOn(to, mesh);
  double bytes = countBytes(splitBy(type, from, mesh));
  ArrayRef<AxisRefAttr> partial =
      from ? from.getUnreducedAxes() : ArrayRef<AxisRefAttr>();
  SmallVector<AxisRefAttr> summed(partial);
  if (to)
    llvm::erase_if(summed, [&](AxisRefAttr axis) {
      return llvm::is_contained(to.getUnreducedAxes(), axis);
    });
  addCollective(CollectiveKind::AllReduce, summed, bytes, mesh, collectives);
  addMoves(bytes, getDimAxes(from, type.getRank()),
           getDimAxes(to, type.getRank()), mesh, collectives);
}

namespace {
/// Shares one op that has a rule.
class Sharing {
public:
  Sharing(Operation *op, sdy::OpShardingRuleAttr rule, MeshAttr mesh)
      : op(op), rule(rule), mesh(mesh), chosen(rule.getNumFactors()) {
    for (auto [value, mapping] :
         llvm::zip(op->getOperands(), rule.getOperandMappings()))
      operands.push_back(project(value, mapping));
    for (auto [value, mapping] :
         llvm::zip(op->getResults(), rule.getResultMappings()))
      results.push_back(project(value, mapping));
  }

  ShardedOp share() {
    chooseAxes();
    ShardedOp shared;
    for (auto [operand, axes] : llvm::zip(op->getOperands(), operands)) {
      exchange(operand, axes, shared);
      shared.operands.resize(shared.collectives.size(), operand);
    }
    for (AxisRefAttr axis : used)
      shared.parts *= axis.getSize(mesh);
    for (Value result : op->getResults())
      combine(result, shared);
    return shared;
  }

private:
  AxisLists project(Value value, sdy::TensorMappingAttr mapping) {
    AxisLists lists(rule.getNumFactors());
    TensorShardingAttr sharding = getShardingOn(value, mesh);
    if (!sharding)
      return lists;
    sdy::ProjectedTensor tensor =
        sdy::projectSharding(sharding, mapping, rule, mesh);
    for (auto [list, factor] : llvm::zip(lists, tensor.factors)) {
      llvm::append_range(list, factor.axes);
      llvm::append_range(list, factor.overflowAxes);
    }
    return lists;
  }

  bool isInResult(int64_t factor) {
    return llvm::any_of(rule.getResultMappings(), [&](auto mapping) {
      return mapping.containsFactor(factor);
    });
  }

  void chooseAxes() {
    for (int64_t factor = 0; factor < rule.getNumFactors(); ++factor) {
      if (!isInResult(factor) || rule.isNeedReplicationFactor(factor))
        continue;
      for (const AxisLists &result : results)
        if (result[factor].size() > chosen[factor].size())
          chosen[factor] = result[factor];
    }
    // What is contracted along an axis may be scattered along the same axis,
    // unless an operand is split there as the result is.
    for (int64_t factor = 0; factor < rule.getNumFactors(); ++factor) {
      if (isInResult(factor) || rule.isNeedReplicationFactor(factor))
        continue;
      for (AxisRefAttr axis : findLongest(factor)) {
        auto other = llvm::find_if(
            chosen, [&](auto &axes) { return llvm::is_contained(axes, axis); });
        if (other != chosen.end()) {
          int64_t index = other - chosen.begin();
          bool isShared = llvm::any_of(operands, [&](const AxisLists &lists) {
            return llvm::is_contained(lists[index], axis);
          });
          if (isShared || !isInResult(index))
            continue;
          llvm::erase(*other, axis);
          scattered.push_back(axis);
        } else {
          summed.push_back(axis);
        }
        chosen[factor].push_back(axis);
      }
    }
    for (const auto &axes : chosen)
      used.insert(axes.begin(), axes.end());
  }

  ArrayRef<AxisRefAttr> findLongest(int64_t factor) {
    ArrayRef<AxisRefAttr> longest;
    for (const AxisLists &operand : operands)
      if (operand[factor].size() > longest.size())
        longest = operand[factor];
    return longest;
  }

  void exchange(Value operand, const AxisLists &axes, ShardedOp &shared) {
    auto mapping = rule.getOperandMappings()[&axes - operands.begin()];
    AxisLists wanted(chosen.size());
    for (size_t factor = 0; factor < chosen.size(); ++factor)
      if (mapping.containsFactor(factor))
        wanted[factor] = chosen[factor];
    double bytes = countLocalBytes(operand, mesh);
    addMoves(bytes, axes, wanted, mesh, shared.collectives);
    // Neighbours send what a window, a shift or a padding reaches into.
    for (int64_t factor : rule.getPermutationFactors())
      if (!axes[factor].empty() && !wanted[factor].empty())
        addCollective(CollectiveKind::Permute, wanted[factor],
                      bytes * getHalo(factor), mesh, shared.collectives);
  }

  /// The part of its piece that a device sends to the next one; all of it at
  /// most.
  double getHalo(int64_t factor) {
    double reach = 0;
    auto reachBy = [&](int64_t size) {
      if (ShapedType::isStatic(size))
        reach = std::max<double>(reach, size - 1);
    };
    if (auto window = dyn_cast<stablehlo::ReduceWindowOp>(op)) {
      llvm::for_each(window.getWindowDimensions(), reachBy);
    } else if (auto conv = dyn_cast<stablehlo::ConvolutionOp>(op)) {
      auto kernel = cast<ShapedType>(conv.getRhs().getType());
      for (int64_t dim :
           conv.getDimensionNumbers().getKernelSpatialDimensions())
        reachBy(kernel.getDimSize(dim));
    } else {
      return 1;
    }
    double piece =
        rule.getFactorSize(factor) / countDevices(chosen[factor], mesh);
    return piece > 0 ? std::min(1.0, reach / piece) : 1;
  }

  /// Partial results are added up, unless they are to stay partial.
  void combine(Value result, ShardedOp &shared) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type)
      return;
    TensorShardingAttr sharding = getShardingOn(result, mesh);
    SmallVector<AxisRefAttr> axes(summed);
    if (sharding)
      llvm::erase_if(axes, [&](AxisRefAttr axis) {
        return llvm::is_contained(sharding.getUnreducedAxes(), axis);
      });
    double bytes = countLocalBytes(result, mesh);
    addCollective(CollectiveKind::ReduceScatter, scattered,
                  bytes * countDevices(scattered, mesh), mesh,
                  shared.collectives);
    addCollective(CollectiveKind::AllReduce, axes, bytes, mesh,
                  shared.collectives);
  }

  Operation *op;
  sdy::OpShardingRuleAttr rule;
  MeshAttr mesh;
  SmallVector<AxisLists> operands, results;
  AxisLists chosen;
  llvm::SmallSetVector<AxisRefAttr, 4> used;
  SmallVector<AxisRefAttr> summed, scattered;
};
} // namespace

/// The size of the groups that an explicit collective lists, or the whole mesh.
static int64_t countParticipants(Operation *op, MeshAttr mesh) {
  if (auto groups = op->getAttrOfType<DenseIntElementsAttr>("replica_groups"))
    if (groups.getType().getRank() == 2)
      return groups.getType().getDimSize(1);
  return mesh ? mesh.getTotalSize() : 1;
}

/// Collectives that the program has itself, in manual computations.
static std::optional<Collective> readCollective(Operation *op, MeshAttr mesh) {
  Collective collective;
  collective.participants = countParticipants(op, mesh);
  double operand = 0;
  for (Value value : op->getOperands())
    operand += countLocalBytes(value, mesh);
  collective.bytes = operand;
  bool known = llvm::TypeSwitch<Operation *, bool>(op)
                   .Case<stablehlo::AllReduceOp>([&](auto) { return true; })
                   .Case<stablehlo::ReduceScatterOp>([&](auto) {
                     collective.kind = CollectiveKind::ReduceScatter;
                     return true;
                   })
                   .Case<stablehlo::AllGatherOp>([&](auto) {
                     collective.kind = CollectiveKind::AllGather;
                     collective.bytes *= collective.participants;
                     return true;
                   })
                   .Case<stablehlo::AllToAllOp>([&](auto) {
                     collective.kind = CollectiveKind::AllToAll;
                     collective.bytes *= collective.participants;
                     return true;
                   })
                   .Case<stablehlo::CollectivePermuteOp,
                         stablehlo::CollectiveBroadcastOp>([&](auto) {
                     collective.kind = CollectiveKind::Permute;
                     collective.participants =
                         std::max<int64_t>(collective.participants,
                                           mesh ? mesh.getTotalSize() : 1);
                     return true;
                   })
                   .Default([](Operation *) { return false; });
  if (!known)
    return std::nullopt;
  return collective;
}

ShardedOp meshwright::shareOp(Operation *op, MeshAttr mesh) {
  ShardedOp shared;
  if (!mesh || mesh.getTotalSize() <= 1)
    return shared;
  if (std::optional<Collective> collective = readCollective(op, mesh)) {
    shared.isExchange = collective->participants > 1;
    if (shared.isExchange)
      shared.collectives.push_back(std::move(*collective));
    return shared;
  }
  if (isa_and_nonnull<sdy::SdyDialect>(op->getDialect())) {
    // Ops that change the sharding of a value, collectives among them.
    if (op->getNumOperands() == 1 && op->getNumResults() == 1 &&
        !op->getNumRegions())
      if (auto type = dyn_cast<RankedTensorType>(op->getOperand(0).getType())) {
        if (auto reduce = dyn_cast<sdy::AllReduceOp>(op))
          addCollective(CollectiveKind::AllReduce,
                        keepAxesOf(mesh, reduce.getReductionAxes().getValue()),
                        countLocalBytes(op->getOperand(0), mesh), mesh,
                        shared.collectives);
        else
          addReshard(type, sdy::getSharding(op->getOperand(0)),
                     sdy::getSharding(op->getResult(0)), mesh,
                     shared.collectives);
      }
    return shared;
  }
  // Nothing to share, and no rule has to be made.
  auto isSplit = [mesh](Value value) {
    TensorShardingAttr sharding = getShardingOn(value, mesh);
    return sharding && !sharding.emptyAxes();
  };
  if (llvm::none_of(op->getOperands(), isSplit) &&
      llvm::none_of(op->getResults(), isSplit))
    return shared;
  if (sdy::OpShardingRuleAttr rule = sdy::getShardingRule(op))
    return Sharing(op, rule, mesh).share();
  // An unknown op is computed as a whole, everywhere.
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
      addReshard(type, sdy::getSharding(operand), {}, mesh, shared.collectives);
  return shared;
}
