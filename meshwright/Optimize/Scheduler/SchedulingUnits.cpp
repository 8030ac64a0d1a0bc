//===- SchedulingUnits.cpp - What a schedule orders -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/SchedulingUnits.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

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

SmallVector<MeshUnits> mlir::mpmd::listMeshes(MLIRContext *context,
                                              ArrayRef<StringRef> names) {
  SmallVector<MeshUnits> meshes;
  int64_t count = 0;
  for (StringRef name : names) {
    int64_t index = isCpuMesh(name) ? -1 : count++;
    meshes.push_back({StringAttr::get(context, name),
                      {index, 0, getNumber(name)},
                      {},
                      {},
                      {}});
  }
  for (MeshUnits &mesh : meshes)
    mesh.mesh.count = count;
  return meshes;
}

SmallVector<MeshUnits> mlir::mpmd::collectUnits(func::FuncOp func,
                                                const BlockGraph &graph) {
  SmallVector<MeshUnits> meshes = listMeshes(
      func.getContext(), llvm::map_to_vector(getTopology(func).getMeshes(),
                                             [](NamedMeshAttr mesh) {
                                               return StringRef(mesh.getName());
                                             }));
  DenseMap<StringAttr, unsigned> indices;
  for (auto [index, mesh] : llvm::enumerate(meshes))
    indices[mesh.meshName] = index;
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
