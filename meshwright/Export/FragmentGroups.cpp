//===- FragmentGroups.cpp - Fragments that are one program ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A pipelined program has hundreds of fragments and a handful of programs. Each
// body is hashed once, over its ops and how they are wired, and compared with
// the few groups of the same hash.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Export/FragmentGroups.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/DenseMap.h"
#include <unordered_map>

using namespace mlir;
using namespace mlir::mpmd;

/// Values count by the order of their definition.
static llvm::hash_code hashBody(Region &body) {
  llvm::DenseMap<Value, unsigned> numbers;
  llvm::hash_code hash(0);
  auto addArguments = [&](Region &region) {
    for (BlockArgument arg : region.getArguments()) {
      numbers.try_emplace(arg, numbers.size());
      hash = llvm::hash_combine(hash, arg.getType());
    }
  };
  addArguments(body);
  body.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto hashOperand = [&](Value operand) {
      return llvm::hash_value(numbers.lookup(operand));
    };
    hash = llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                        op, hashOperand,
                                        OperationEquivalence::ignoreHashValue,
                                        OperationEquivalence::IgnoreLocations));
    for (Value result : op->getResults())
      numbers.try_emplace(result, numbers.size());
    for (Region &region : op->getRegions())
      if (!region.empty())
        addArguments(region);
  });
  return hash;
}

/// Operands must correspond position by position, those of commutative ops too.
static bool areEquivalent(Region &a, Region &b) {
  llvm::DenseMap<Value, Value> counterparts;
  return OperationEquivalence::isRegionEquivalentTo(
      &a, &b,
      [&](Value valueA, Value valueB) {
        return success(counterparts.lookup(valueA) == valueB);
      },
      [&](Value valueA, Value valueB) { counterparts[valueA] = valueB; },
      OperationEquivalence::IgnoreLocations);
}

/// What members of a group share outside of their bodies. The mesh counts with
/// its axes: functions of one module may have different topologies.
static auto getContext(FragmentOp fragment) {
  TopologyAttr topology =
      getTopology(fragment->getParentOfType<func::FuncOp>());
  sdy::MeshAttr mesh = topology
                           ? getMeshByName(topology, fragment.getMeshName())
                           : sdy::MeshAttr();
  return std::make_tuple(Attribute(fragment.getMeshNameAttr()), Attribute(mesh),
                         fragment->getAttr(kArgAttrsAttr),
                         fragment->getAttr(kResAttrsAttr));
}

SmallVector<SmallVector<FragmentOp>>
mpmd::groupFragments(ArrayRef<FragmentOp> fragments) {
  SmallVector<SmallVector<FragmentOp>> groups;
  std::unordered_map<size_t, SmallVector<unsigned, 1>> groupsOfHash;
  for (FragmentOp fragment : fragments) {
    auto context = getContext(fragment);
    size_t hash = llvm::hash_combine(llvm::hash_value(context),
                                     hashBody(fragment.getRegion()));
    SmallVector<unsigned, 1> &candidates = groupsOfHash[hash];
    auto group = llvm::find_if(candidates, [&](unsigned candidate) {
      FragmentOp first = groups[candidate].front();
      return getContext(first) == context &&
             areEquivalent(first.getRegion(), fragment.getRegion());
    });
    if (group == candidates.end()) {
      candidates.push_back(groups.size());
      groups.push_back({fragment});
    } else {
      groups[*group].push_back(fragment);
    }
  }
  return groups;
}
