//===- FragmentGroups.cpp - Fragments that are one program ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A pipelined program has hundreds of fragments and a handful of programs. Each
// body is hashed once, over its ops and how they are wired, and compared with
// the few groups of the same hash. Where fragments share bodies, they are first
// put together by what else they have.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Lowering/FragmentGroups.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Sdy/Transforms/ShardingWalk.h"
#include "meshwright/Fragments/SharedBodies.h"
#include "meshwright/IR/EqualBodies.h"

using namespace mlir;
using namespace mlir::mpmd;

SmallVector<FragmentOp> mpmd::getFragments(ModuleOp module) {
  SmallVector<FragmentOp> fragments;
  for (auto func : module.getOps<func::FuncOp>())
    sdy::walkOwnOps(func, [&](Operation *op) {
      auto fragment = dyn_cast<FragmentOp>(op);
      if (fragment)
        fragments.push_back(fragment);
      // No fragment inside a fragment.
      return fragment ? WalkResult::skip() : WalkResult::advance();
    });
  return fragments;
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

namespace {
struct Groups {
  /// Returns the group of each.
  SmallVector<unsigned> add(ArrayRef<FragmentOp> fragments) {
    SmallVector<llvm::hash_code> hashes = hashBodies(llvm::map_to_vector(
        fragments, [](FragmentOp fragment) { return &fragment.getRegion(); }));
    return llvm::map_to_vector(
        llvm::zip_equal(fragments, hashes),
        [&](auto pair) { return add(std::get<0>(pair), std::get<1>(pair)); });
  }

  EqualityClasses<FragmentOp> classes;

private:
  unsigned add(FragmentOp fragment, llvm::hash_code body) {
    auto context = getContext(fragment);
    size_t hash = llvm::hash_combine(llvm::hash_value(context), body);
    return classes.add(fragment, hash, [&](FragmentOp first, FragmentOp other) {
      return getContext(first) == context &&
             areEqualBodies(first.getRegion(), other.getRegion());
    });
  }
};
} // namespace

SmallVector<SmallVector<FragmentOp>>
mpmd::groupFragments(ArrayRef<FragmentOp> fragments) {
  Groups byFrame, byBody;
  SmallVector<unsigned> frames = byFrame.add(fragments);
  SmallVector<SmallVector<FragmentOp>> &equal = byFrame.classes.get();
  auto firsts = llvm::map_to_vector(
      equal, [](ArrayRef<FragmentOp> fragments) { return fragments.front(); });
  if (llvm::all_of(firsts, [](FragmentOp fragment) {
        return getSharedBodyCalls(fragment).empty();
      }))
    return std::move(equal);

  inlineSharedBodiesOfEach(firsts);
  SmallVector<unsigned> groupOfFrame = byBody.add(firsts);
  SmallVector<SmallVector<FragmentOp>> groups(byBody.classes.get().size());
  for (auto [fragment, frame] : llvm::zip_equal(fragments, frames))
    groups[groupOfFrame[frame]].push_back(fragment);
  return groups;
}
