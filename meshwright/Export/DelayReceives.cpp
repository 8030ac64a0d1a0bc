//===- DelayReceives.cpp - What is not needed yet, comes later ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A stage that runs ahead sends what the next one has no use for yet. It waits on the
// mesh that made it, of whose memory the schedule knows:
//
//   %0 = fragment<"m", ["f"]> (%x)         %0 = fragment<"m", ["f"]> (%x)
//   %t = transfer %0 -> "n"          ->    %1 = fragment<"n", ["g"(1)]> (%y)
//   %1 = fragment<"n", ["g"(1)]> (%y)      %t = transfer %0 {mpmd.delayed} -> "n"
//   %2 = fragment<"n", ["g"]> (%t)         %2 = fragment<"n", ["g"]> (%t)
//
// Problem. While a step of a mesh runs, what has arrived for later steps may take no
// more than the step has bytes for. When does each value set out?
//
// Solution. In the order of their readers, each value takes the bytes of as many steps
// before its reader as have enough of them, without a gap. No times are needed: a value
// that can arrive earlier than that, for all that the data flow says, is delayed, and is
// sent after the step before those.
//
// Cost. Ops times meshes, and values times the steps that they wait.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/Export/Offload/BufferUses.h"
#include "meshwright/Text/ByteSize.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>

#define GEN_PASS_DEF_DELAYRECEIVESPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
/// A value that a mesh gets from another one, in steps of the mesh that gets it.
struct Receive {
  TransferOp transfer;
  unsigned mesh;
  int64_t bytes;
  unsigned earliest; ///< While this step runs, it may arrive.
  unsigned needed;   ///< This step cannot start without it.
};

struct MeshReceives {
  StringRef name;
  std::vector<Operation *> steps;
  std::vector<Receive> receives;
  std::vector<int64_t> free; ///< Bytes of each step for what later ones read.
  unsigned numDelayed = 0;
};

/// The receives of one function, and where they go.
class Receiver {
public:
  explicit Receiver(func::FuncOp func);

  /// Finds what each mesh receives. Fails at meshes that are not there.
  LogicalResult collect();
  /// Gives every step this many bytes; without a bound, as many as do not raise the peak.
  LogicalResult setBound(std::optional<int64_t> bound);
  void delay();
  ArrayRef<MeshReceives> getMeshes() const { return meshes; }

private:
  /// How many steps of a mesh are before an op.
  unsigned countSteps(unsigned mesh, Operation *op) const;
  void followFlow();
  FailureOr<int64_t> getBytes(MeshTensorType type);
  LogicalResult addReceive(TransferOp transfer);
  LogicalResult addHeldBytes();
  void place(Receive &receive);

  func::FuncOp func;
  std::vector<MeshReceives> meshes;
  llvm::StringMap<unsigned> meshIds;
  DenseMap<Operation *, unsigned> positions; ///< In the block.
  /// For each op and mesh, the steps up to the last one that it depends on.
  std::vector<std::vector<unsigned>> flow;
  /// The last op that was moved after another one.
  DenseMap<Operation *, Operation *> lastAfter;
  DenseMap<Operation *, unsigned> receiveSteps; ///< At which it is there.
};
} // namespace

Receiver::Receiver(func::FuncOp func) : func(func) {
  for (NamedMeshAttr mesh : getTopology(func).getMeshes())
    if (meshIds.try_emplace(mesh.getName(), meshes.size()).second)
      meshes.emplace_back().name = mesh.getName();
  for (auto [position, op] : llvm::enumerate(func.front())) {
    positions[&op] = position;
    if (auto fragment = dyn_cast<FragmentOp>(op))
      if (auto mesh = meshIds.find(fragment.getMeshName());
          mesh != meshIds.end())
        meshes[mesh->second].steps.push_back(fragment);
  }
  followFlow();
}

unsigned Receiver::countSteps(unsigned mesh, Operation *op) const {
  const std::vector<Operation *> &steps = meshes[mesh].steps;
  return llvm::partition_point(
             steps,
             [&, position = positions.lookup(op)](Operation *step) {
               return positions.lookup(step) < position;
             }) -
         steps.begin();
}

void Receiver::followFlow() {
  std::vector<unsigned> numSteps(meshes.size(), 0);
  DenseMap<unsigned, unsigned> lastStep; // The position of a mesh's last one.
  for (auto [position, op] : llvm::enumerate(func.front())) {
    std::vector<unsigned> &found = flow.emplace_back(meshes.size(), 0);
    auto join = [&, &found = found](unsigned before) {
      for (auto [ours, theirs] : llvm::zip_equal(found, flow[before]))
        ours = std::max(ours, theirs);
    };
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp())
        join(positions.lookup(producer));
    auto fragment = dyn_cast<FragmentOp>(op);
    if (!fragment || !meshIds.contains(fragment.getMeshName()))
      continue;
    unsigned mesh = meshIds.lookup(fragment.getMeshName());
    if (auto last = lastStep.find(mesh); last != lastStep.end())
      join(last->second);
    lastStep[mesh] = position;
    found[mesh] = ++numSteps[mesh];
  }
}

FailureOr<int64_t> Receiver::getBytes(MeshTensorType type) {
  FailureOr<sdy::MeshAttr> mesh = getMeshOrError(func, type.getMeshName());
  if (failed(mesh))
    return failure();
  return meshwright::countBytes(type.getLocalTensorType(*mesh));
}

/// What a fragment of its mesh reads, and what it has to leave its source before.
LogicalResult Receiver::addReceive(TransferOp transfer) {
  auto source = cast<MeshTensorType>(transfer.getTensor().getType());
  auto target = cast<MeshTensorType>(transfer.getType());
  if (source.getMeshName() == target.getMeshName() || target.isOnHost() ||
      isCpuMesh(target.getMeshName()))
    return success();
  FailureOr<int64_t> bytes = getBytes(target);
  if (failed(bytes))
    return failure();
  unsigned mesh = meshIds.lookup(target.getMeshName());
  unsigned needed = meshes[mesh].steps.size();
  bool isRead = false;
  for (Operation *user : transfer->getUsers()) {
    isRead |= isa<FragmentOp>(user);
    needed = std::min(needed, countSteps(mesh, user));
  }
  // A reader on the source may give the memory to others.
  for (OpOperand &use : transfer.getTensor().getUses())
    if (isa<FragmentOp>(use.getOwner()) && isGivenUp(use))
      needed = std::min(needed, countSteps(mesh, use.getOwner()));
  Operation *producer = transfer.getTensor().getDefiningOp();
  if (!isRead || isa_and_present<TransferOp>(producer))
    return success();
  unsigned earliest = producer ? flow[positions.lookup(producer)][mesh] : 0;
  receiveSteps[transfer] = needed;
  meshes[mesh].receives.push_back(
      {transfer, mesh, *bytes, std::min(earliest, needed), needed});
  return success();
}

LogicalResult Receiver::collect() {
  for (auto transfer : func.front().getOps<TransferOp>())
    if (failed(addReceive(transfer)))
      return failure();
  for (MeshReceives &mesh : meshes)
    llvm::stable_sort(mesh.receives, [](const Receive &a, const Receive &b) {
      return a.needed < b.needed;
    });
  return success();
}

/// Takes what each step holds from its bytes, if all is received when it is needed.
LogicalResult Receiver::addHeldBytes() {
  std::vector<std::vector<int64_t>> changes;
  for (const MeshReceives &mesh : meshes)
    changes.emplace_back(mesh.steps.size() + 1, 0);
  auto add = [&](Value value) -> LogicalResult {
    auto type = dyn_cast<MeshTensorType>(value.getType());
    if (!type || type.isOnHost() || isPinnedHost(getAttributeMemoryKind(value)))
      return success();
    FailureOr<int64_t> bytes = getBytes(type);
    if (failed(bytes))
      return failure();
    unsigned mesh = meshIds.lookup(type.getMeshName());
    unsigned first = 0, end = meshes[mesh].steps.size();
    if (Operation *producer = value.getDefiningOp()) {
      auto received = receiveSteps.find(producer);
      first = received != receiveSteps.end() ? received->second
                                             : countSteps(mesh, producer);
    }
    if (!isKept(value, func)) {
      end = std::min(end, first + 1);
      for (OpOperand &use : value.getUses()) {
        Operation *user = use.getOwner();
        unsigned last = countSteps(mesh, user);
        bool ends = isa<FragmentOp>(user) && isGivenUp(use);
        end = std::max(end, ends ? last : last + 1);
      }
    }
    end = std::min<unsigned>(end, meshes[mesh].steps.size());
    meshwright::addCount(changes[mesh][std::min(first, end)], *bytes);
    meshwright::addCount(changes[mesh][end], -*bytes);
    return success();
  };
  for (Value argument : func.getArguments())
    if (failed(add(argument)))
      return failure();
  for (Operation &op : func.front().without_terminator())
    for (Value result : op.getResults())
      if (failed(add(result)))
        return failure();
  for (auto [mesh, change] : llvm::zip_equal(meshes, changes)) {
    int64_t held = 0, peak = 0;
    for (auto [step, free] : llvm::enumerate(mesh.free)) {
      meshwright::addCount(held, change[step]);
      peak = std::max(peak, held);
      free = -held;
    }
    for (int64_t &free : mesh.free)
      meshwright::addCount(free, peak);
  }
  return success();
}

LogicalResult Receiver::setBound(std::optional<int64_t> bound) {
  for (MeshReceives &mesh : meshes)
    mesh.free.assign(mesh.steps.size(), bound.value_or(0));
  return bound ? success() : addHeldBytes();
}

void Receiver::place(Receive &receive) {
  MeshReceives &mesh = meshes[receive.mesh];
  unsigned first = receive.needed;
  while (first > receive.earliest && mesh.free[first - 1] >= receive.bytes)
    --first;
  if (first > receive.earliest) {
    Operation *anchor = mesh.steps[first - 1];
    Operation *producer = receive.transfer.getTensor().getDefiningOp();
    if (producer && positions.lookup(producer) > positions.lookup(anchor)) {
      anchor = producer;
      first = countSteps(receive.mesh, producer);
    }
    Operation *&last = lastAfter.try_emplace(anchor, anchor).first->second;
    if (last->getNextNode() != receive.transfer)
      receive.transfer->moveAfter(last);
    last = receive.transfer;
    receive.transfer->setAttr(kDelayedAttr, UnitAttr::get(func.getContext()));
    ++mesh.numDelayed;
  }
  for (int64_t &free :
       llvm::MutableArrayRef(mesh.free).slice(first, receive.needed - first))
    free -= receive.bytes;
}

void Receiver::delay() {
  for (MeshReceives &mesh : meshes)
    for (Receive &receive : mesh.receives)
      place(receive);
}

static void remarkReceives(func::FuncOp func, const MeshReceives &mesh) {
  if (!func.getContext()->getRemarkEngine() || mesh.receives.empty())
    return;
  auto opts = remark::RemarkOpts::name("receives").category("receive");
  remark::passed(func.getLoc(), opts)
      << "mesh \"" << mesh.name << "\": " << std::to_string(mesh.numDelayed)
      << " of " << std::to_string(mesh.receives.size())
      << " values from other meshes stay there until it has memory for them";
}

namespace {
struct DelayReceivesPass
    : mpmd::impl::DelayReceivesPassBase<DelayReceivesPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    StringRef text = bound.getValue().text;
    if (text.empty() || !isMpmdProgram(func))
      return markAllAnalysesPreserved();
    std::optional<int64_t> bytes;
    if (text == "0") {
      bytes = 0;
    } else if (text != "auto") {
      llvm::Expected<int64_t> parsed = meshwright::parseByteSize(text);
      if (!parsed) {
        func.emitError() << "mpmd_receive_ahead: "
                         << llvm::toString(parsed.takeError()) << ", 0 or auto";
        return signalPassFailure();
      }
      bytes = *parsed;
    }
    Receiver receiver(func);
    if (failed(receiver.collect()) || failed(receiver.setBound(bytes)))
      return signalPassFailure();
    receiver.delay();
    for (const MeshReceives &mesh : receiver.getMeshes()) {
      numDelayed += mesh.numDelayed;
      remarkReceives(func, mesh);
    }
  }
};
} // namespace
