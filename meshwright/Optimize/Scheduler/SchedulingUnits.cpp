//===- SchedulingUnits.cpp - What a schedule orders -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/SchedulingUnits.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::WorkItem;
using meshwright::WorkKind;

static WorkItem getWorkItem(FragmentOp fragment) {
  WorkKind kind = WorkKind::Forward;
  if (!isForwardFragment(fragment))
    kind = fragment->hasAttr(kSplitDropTransferredAttr) ? WorkKind::Weight
                                                        : WorkKind::Backward;
  std::optional<int64_t> stage;
  if (IntegerAttr attr = fragment.getStageIdAttr())
    stage = attr.getInt();
  return {kind, *getCallCounter(fragment), stage};
}

/// The number that a name ends in.
static std::optional<int64_t> getNumber(StringRef mesh) {
  StringRef digits =
      mesh.take_back(mesh.size() - mesh.rtrim("0123456789").size());
  int64_t number;
  if (digits.getAsInteger(10, number))
    return std::nullopt;
  return number;
}

SmallVector<MeshUnits> mlir::mpmd::collectUnits(func::FuncOp func,
                                                const BlockGraph &graph) {
  SmallVector<MeshUnits> meshes;
  DenseMap<StringAttr, unsigned> indices;
  int64_t count = 0;
  for (NamedMeshAttr mesh : getTopology(func).getMeshes()) {
    auto name = StringAttr::get(func.getContext(), mesh.getName());
    int64_t index = isCpuMesh(mesh.getName()) ? -1 : count++;
    indices[name] = meshes.size();
    meshes.push_back({name, {index, 0, getNumber(mesh.getName())}, {}, {}, {}});
  }
  for (MeshUnits &mesh : meshes)
    mesh.mesh.count = count;
  for (unsigned position = 0; position < graph.size(); ++position) {
    auto fragment = dyn_cast<FragmentOp>(graph.getOp(position));
    if (!fragment)
      continue;
    auto index = indices.find(fragment.getMeshNameAttr());
    if (index == indices.end() || !isSchedulingUnit(fragment))
      continue;
    MeshUnits &mesh = meshes[index->second];
    mesh.fragments.push_back(fragment);
    mesh.positions.push_back(position);
    mesh.items.push_back(getWorkItem(fragment));
  }
  return meshes;
}
