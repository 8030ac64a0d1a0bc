//===- OffloadActivations.cpp - What waits long, waits on the host --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The first stages of a pipeline hold the activations of many microbatches. They go to the
// memory of the host after they are made, and come back ahead of their backward:
//
//   %0 = fragment<"m", ["f"]> (%x)         %0 = fragment<"m", ["f"]> (%x)
//   %1 = fragment<"m", ["f"]> (%y)    ->   %h = transfer %0 -> "pinned_host"
//   …                                      %1 = fragment<"m", ["f"]> (%y)
//   %3 = fragment<"m", ["f"(1)]> (%1)      …
//   %4 = fragment<"m", ["f"(1)]> (%0)      %d = transfer %h {mpmd.delayed}
//                                          %3 = fragment<"m", ["f"(1)]> (%1)
//                                          %4 = fragment<"m", ["f"(1)]> (%d)
//
// When the program is timed, OffloadChoice decides for each mesh. What shares buffers is
// marked before: the type of an operand stays, and so does the program of a fragment.
//
// A forward that is not needed yet may wait until the link has taken what is held. Those
// of the meshes are decided one after the other: what waits on one makes others later. No
// backward becomes later, nor a forward of a mesh that is decided.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/Export/Offload/MeshOffload.h"
#include "meshwright/Export/Offload/StartOrder.h"
#include "meshwright/Text/ByteSize.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#define GEN_PASS_DEF_OFFLOADACTIVATIONSPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::HostPlan;

namespace {
struct OffloadActivationsPass
    : mpmd::impl::OffloadActivationsPassBase<OffloadActivationsPass> {
  using Base::Base;

  void runOnOperation() override {
    StringRef text = bound.getValue().text;
    if (text.empty())
      return markAllAnalysesPreserved();
    std::optional<int64_t> bytes;
    if (text != "auto") {
      llvm::Expected<int64_t> parsed = meshwright::parseByteSize(text);
      if (!parsed) {
        getOperation()->emitError()
            << "mpmd_offload_activations: "
            << llvm::toString(parsed.takeError()) << ", or auto";
        return signalPassFailure();
      }
      bytes = *parsed;
    }
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration() && isMpmdFunction(func) &&
          isEntryPointFunction(func) && failed(offload(func, bytes)))
        return signalPassFailure();
  }

private:
  LogicalResult offload(func::FuncOp func, std::optional<int64_t> bytes);
  LogicalResult refuse(func::FuncOp func, int64_t bytes,
                       ArrayRef<MeshOffload> meshes, ArrayRef<HostPlan> plans);
};
} // namespace

/// The fragments of a mesh that wait for others of it by way of another mesh.
static DenseSet<Operation *> findReturning(Block &block, StringAttr mesh) {
  enum Way { kNone, kHere, kElsewhere };
  DenseSet<Operation *> returning; // Never iterated.
  DenseMap<Operation *, Way> ways;
  DenseMap<Attribute, Way> lastOfMesh;
  for (Operation &op : block.without_terminator()) {
    Way way = kNone;
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp())
        way = std::max(way, ways.lookup(producer));
    if (auto fragment = dyn_cast<FragmentOp>(op);
        fragment && fragment.getMeshNameAttr() == mesh) {
      if (way == kElsewhere)
        returning.insert(fragment);
      way = std::max(way, kHere);
    } else if (fragment) {
      Way &last = lastOfMesh[fragment.getMeshNameAttr()];
      way = std::max(way, last);
      last = way = way == kNone ? kNone : kElsewhere;
    }
    ways[&op] = way;
  }
  return returning;
}

static void remarkOffload(func::FuncOp func, StringAttr mesh, int64_t peak,
                          int64_t offloadedPeak, int64_t bytes) {
  if (!func.getContext()->getRemarkEngine())
    return;
  auto opts = remark::RemarkOpts::name("offloaded").category("offload");
  if (bytes == 0)
    remark::missed(func.getLoc(), opts)
        << "mesh \"" << mesh.getValue() << "\" keeps its activations: it holds "
        << std::to_string(peak)
        << " bytes, which is all that is requested, or no activation waits as "
           "long as copies to the host and back take";
  else
    remark::passed(func.getLoc(), opts)
        << "mesh \"" << mesh.getValue() << "\" holds "
        << std::to_string(offloadedPeak) << " bytes instead of "
        << std::to_string(peak) << ": " << std::to_string(bytes)
        << " bytes of activations wait on the host";
}

LogicalResult OffloadActivationsPass::offload(func::FuncOp func,
                                              std::optional<int64_t> bytes) {
  StringRef name = device.getValue().text;
  if (name.empty())
    return func.emitError()
           << "mpmd_offload_activations needs the times of a device; say with "
              "mpmd_schedule_device what the meshes are made of";
  llvm::Expected<meshwright::Device> found = meshwright::findDevice(name);
  if (!found)
    return func.emitError()
           << "mpmd_schedule_device: " << llvm::toString(found.takeError());
  llvm::Expected<meshwright::CustomCosts> customs =
      meshwright::parseCostList(customCosts.getValue().text);
  if (!customs)
    return func.emitError()
           << "mpmd_custom_costs: " << llvm::toString(customs.takeError());

  std::vector<MeshOffload> meshes;
  std::vector<HostPlan> plans;
  DenseMap<Operation *, double> earliest;
  FailureOr<BlockTimes> times = failure();
  {
    OverlapTimes durations(getOperation(), *found, *customs);
    times = BlockTimes::find(func, durations, *found);
    if (failed(times))
      return failure();
    llvm::SmallSetVector<StringAttr, 8> decided;
    for (const auto &[mesh, queue] : llvm::to_vector(times->getQueues())) {
      if (isCpuMesh(mesh))
        continue;
      DenseSet<Operation *> returning = findReturning(func.front(), mesh);
      auto latest =
          times->findLatestStarts(func.front(), [&](FragmentOp fragment) {
            return !hasForward(fragment) || hasBackward(fragment) ||
                   decided.contains(fragment.getMeshNameAttr()) ||
                   returning.contains(fragment);
          });
      MeshOffload &offload = meshes.emplace_back(mesh, queue);
      if (failed(offload.measure(func, *times, latest, durations, *found)))
        return failure();
      plans.push_back(offload.plan(bytes));
      decided.insert(mesh);
      size_t numDelays = earliest.size();
      offload.addDelays(plans.back(), earliest);
      if (earliest.size() == numDelays)
        continue;
      times = BlockTimes::find(func, durations, *found, earliest);
      if (failed(times))
        return failure();
    }
  }
  if (bytes && failed(refuse(func, *bytes, meshes, plans)))
    return failure();
  for (auto [mesh, plan] : llvm::zip_equal(meshes, plans)) {
    int64_t moved = mesh.offload(plan);
    numOffloaded += mesh.getNumOffloaded();
    remarkOffload(func, mesh.getMesh(), mesh.getPeak(), plan.peak, moved);
  }
  numDelayed += earliest.size();
  if (llvm::all_of(plans, [](const auto &plan) { return plan.trips.empty(); }))
    return success();
  sortByStart(func.front(), *times);
  func->setAttr(kStartOrderAttr, UnitAttr::get(func.getContext()));
  return success();
}

/// Emits an error if a mesh holds more.
LogicalResult OffloadActivationsPass::refuse(func::FuncOp func, int64_t bytes,
                                             ArrayRef<MeshOffload> meshes,
                                             ArrayRef<HostPlan> plans) {
  const HostPlan *worst = llvm::max_element(
      plans, [](const auto &a, const auto &b) { return a.peak < b.peak; });
  if (worst == plans.end() || worst->peak <= bytes)
    return success();
  return func.emitError()
         << "mpmd_offload_activations: mesh "
         << meshes[worst - plans.begin()].getMesh() << " cannot stay below "
         << bytes
         << " bytes, even if all that comes back in time waits on its host; "
            "give at least "
         << worst->peak;
}
