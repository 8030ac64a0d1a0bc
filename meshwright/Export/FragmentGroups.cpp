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
#include "meshwright/IR/EqualBodies.h"

using namespace mlir;
using namespace mlir::mpmd;

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
  EqualityClasses<FragmentOp> groups;
  for (FragmentOp fragment : fragments) {
    auto context = getContext(fragment);
    size_t hash = llvm::hash_combine(llvm::hash_value(context),
                                     hashBody(fragment.getRegion()));
    groups.add(fragment, hash, [&](FragmentOp first, FragmentOp other) {
      return getContext(first) == context &&
             areEqualBodies(first.getRegion(), other.getRegion());
    });
  }
  return std::move(groups.get());
}
