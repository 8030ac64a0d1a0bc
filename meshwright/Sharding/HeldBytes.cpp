//===- HeldBytes.cpp - What the devices of a mesh hold --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Sharding/HeldBytes.h"
#include "meshwright/Cost/BodyCost.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Fragments/FragmentModule.h"
#include "meshwright/Fragments/LastUses.h"
#include "meshwright/Sharding/HoistCandidates.h"
#include <map>

using namespace mlir;
using namespace mlir::mpmd;

namespace {
/// Estimates what fragments hold beside operands and results, once for all that
/// are of one stage and origin.
class Temporaries {
public:
  Temporaries(func::FuncOp func, const meshwright::Device &device)
      : module(func->getParentOfType<ModuleOp>()), topology(getTopology(func)),
        device(device), works(module) {}

  int64_t estimate(FragmentOp fragment) {
    auto [it, isNew] = known.try_emplace(
        {fragment.getOrigin().getAsOpaquePointer(), fragment.getMeshName(),
         fragment.getStageId().value_or(-1), fragment.getNumResults(),
         fragment.getNumOperands()},
        0);
    if (!isNew)
      return it->second;
    sdy::MeshAttr mesh = getMeshByName(topology, fragment.getMeshName());
    OwningOpRef<FragmentOp> own = cast<FragmentOp>(fragment->clone());
    OwningOpRef<func::FuncOp> function =
        meshwright::makeFragmentFunction(*own, "held", mesh);
    meshwright::BodyEstimator estimator(module, mesh, device, works);
    return it->second = meshwright::roundCount(
               estimator.estimate(*function).temporaryBytes);
  }

private:
  ModuleOp module;
  TopologyAttr topology;
  const meshwright::Device &device;
  meshwright::WorkEstimator works;
  std::map<std::tuple<const void *, StringRef, int64_t, unsigned, unsigned>,
           int64_t>
      known;
};
} // namespace

static bool isDonated(BlockArgument arg, func::FuncOp func) {
  unsigned index = arg.getArgNumber();
  auto donor = func.getArgAttrOfType<BoolAttr>(index, kBufferDonorAttr);
  return (donor && donor.getValue()) ||
         func.getArgAttr(index, kAliasingOutputAttr);
}

llvm::StringMap<int64_t> mpmd::findHeldBytes(func::FuncOp func,
                                             const meshwright::Device &device) {
  llvm::StringMap<int64_t> held, most;
  Temporaries temporaries(func, device);
  LastUses lastUses(func.front());
  auto add = [&](Value value, int64_t sign) {
    auto type = dyn_cast<MeshTensorType>(value.getType());
    if (!type)
      return;
    StringAttr kind = type.getMemoryKind();
    if (!kind)
      kind = getAttributeMemoryKind(value);
    if (kind && kind.getValue() != "device")
      return;
    int64_t &bytes = held[type.getMeshName()];
    meshwright::addCount(bytes,
                         sign * meshwright::countBytes(
                                    getLocalType(type.getRankedTensorType(),
                                                 sdy::getSharding(value), func),
                                    device));
    int64_t &peak = most[type.getMeshName()];
    peak = std::max(peak, bytes);
  };
  for (BlockArgument arg : func.getArguments())
    add(arg, 1);
  for (Operation &op : func.front().without_terminator()) {
    for (Value result : op.getResults())
      add(result, 1);
    if (auto fragment = dyn_cast<FragmentOp>(op)) {
      int64_t bytes = held.lookup(fragment.getMeshName());
      meshwright::addCount(bytes, temporaries.estimate(fragment));
      int64_t &peak = most[fragment.getMeshName()];
      peak = std::max(peak, bytes);
    }
    for (Value value : lastUses.getEnding(&op))
      if (auto arg = dyn_cast<BlockArgument>(value);
          !arg || isDonated(arg, func))
        add(value, -1);
  }
  return most;
}
