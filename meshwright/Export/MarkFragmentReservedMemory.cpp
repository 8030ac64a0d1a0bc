//===- MarkFragmentReservedMemory.cpp -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// While a fragment runs, other values wait on its mesh. The executor must not
// plan with their memory:
//
//   %0 = fragment<"m"> (%x) ; %1 = fragment<"m"> (%y) ; return %0, %1
//   // %0 waits while the second runs: {reserved_hbm_bytes = size of %0}
//
// One walk over the program keeps count of what is alive on each mesh.
// Arguments that are not donated live to the end.
//
// COMPAT(reserved-bits): Sizes are in bits and add up exactly, where buffers
// are whole bytes and booleans take one.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Fragments/LastUses.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

#define GEN_PASS_DEF_MARKFRAGMENTRESERVEDMEMORYPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static constexpr int64_t kBitsPerByte = 8;

/// Whether a sharding can be of a value on the mesh.
static bool fits(MeshTensorType type, sdy::MeshAttr mesh) {
  sdy::TensorShardingAttr sharding = type.getSharding();
  return sharding.getRank() == type.getGlobalTensorType().getRank() &&
         !sharding.anyOfAxisRef([&](sdy::AxisRefAttr axis) {
           return !mesh.hasAxis(axis.getName());
         });
}

namespace {
/// Knows how much one device of its mesh holds of a value.
class LocalSizes {
public:
  explicit LocalSizes(func::FuncOp func) : topology(getTopology(func)) {
    if (auto module = func->getParentOfType<ModuleOp>())
      for (auto mesh : module.getOps<sdy::MeshOp>())
        meshes[mesh.getSymName()] = mesh.getMesh();
  }

  /// In bits. Values that are no mesh tensors, or on the host, take no memory. How much others
  /// take is not known if the shape is not static, or the sharding not on a
  /// mesh that is declared.
  FailureOr<int64_t> getBits(Value value) {
    auto type = dyn_cast<MeshTensorType>(value.getType());
    if (!type || type.isOnHost())
      return 0;
    auto [it, isNew] = known.try_emplace(type, 0);
    if (!isNew)
      return it->second;
    RankedTensorType local = getLocalType(type);
    if (!local || !local.hasStaticShape())
      return emitError(value.getLoc())
             << "memory of a value of type " << type << " is not known; "
             << (local ? "its shape must be static"
                       : "its sharding must fit a mesh of the program");
    return it->second = meshwright::countBits(local);
  }

private:
  /// By the mesh that the sharding names; by that of the topology if the module
  /// has no such mesh, or one that does not fit. Null if neither does.
  RankedTensorType getLocalType(MeshTensorType type) {
    sdy::TensorShardingAttr sharding = type.getSharding();
    if (!sharding)
      return type.getGlobalTensorType();
    auto mesh = dyn_cast<sdy::MeshAttr>(sharding.getMeshOrRef());
    if (!mesh)
      mesh = meshes.lookup(sharding.getMeshName());
    if (!mesh || !fits(type, mesh))
      mesh = getMeshByName(topology, type.getMeshName());
    return mesh && fits(type, mesh) ? type.getLocalTensorType(mesh)
                                    : RankedTensorType();
  }

  TopologyAttr topology;
  llvm::StringMap<sdy::MeshAttr> meshes;
  DenseMap<Type, int64_t> known;
};

/// The walk over one function.
class LiveMemory {
public:
  LiveMemory(func::FuncOp func, const LastUses &lastUses)
      : func(func), sizes(func), lastUses(lastUses) {}

  LogicalResult addArguments();
  /// Marks an op that is a fragment, then lets it take effect.
  LogicalResult visit(Operation &op);

private:
  bool isDonated(BlockArgument arg);
  bool isDeadAfter(Value value, Operation *op);
  /// What values of one type take.
  struct Share {
    int64_t bits = 0;
    /// What is alive on their mesh; null for values that are no mesh tensors.
    int64_t *alive = nullptr;
  };
  FailureOr<Share> find(Value value);
  /// Adds the value, or takes it away if `sign` is negative, to what is alive
  /// on its mesh.
  LogicalResult add(Value value, int64_t sign);
  LogicalResult mark(FragmentOp fragment, ArrayRef<Value> operands);

  func::FuncOp func;
  LocalSizes sizes;
  const LastUses &lastUses;
  /// Takes away what has left for the host when a fragment has run.
  LogicalResult release(FragmentOp fragment);

  llvm::StringMap<int64_t> bitsOnMesh; ///< Its entries stay where they are.
  DenseMap<Type, Share> shares;
  /// What leaves for a host, and how many fragments of its mesh run meanwhile.
  SmallVector<std::pair<int64_t, Value>> departing;
};
} // namespace

/// COMPAT(string-aliasing): `tf.aliasing_output` counts if it is a string; the
/// integer that it usually is does not.
bool LiveMemory::isDonated(BlockArgument arg) {
  unsigned index = arg.getArgNumber();
  auto donor = func.getArgAttrOfType<BoolAttr>(index, kBufferDonorAttr);
  return (donor && donor.getValue()) ||
         func.getArgAttrOfType<StringAttr>(index, kAliasingOutputAttr);
}

bool LiveMemory::isDeadAfter(Value value, Operation *op) {
  auto arg = dyn_cast<BlockArgument>(value);
  return (!arg || isDonated(arg)) && lastUses.get(value)->getOwner() == op;
}

FailureOr<LiveMemory::Share> LiveMemory::find(Value value) {
  auto [entry, isNew] = shares.try_emplace(value.getType());
  if (!isNew)
    return entry->second;
  FailureOr<int64_t> bits = sizes.getBits(value);
  if (failed(bits))
    return failure();
  auto type = dyn_cast<MeshTensorType>(value.getType());
  return entry->second = {*bits,
                          type ? &bitsOnMesh[type.getMeshName()] : nullptr};
}

LogicalResult LiveMemory::add(Value value, int64_t sign) {
  FailureOr<Share> share = find(value);
  if (failed(share))
    return failure();
  if (share->alive)
    meshwright::addCount(*share->alive, sign * share->bits);
  return success();
}

LogicalResult LiveMemory::addArguments() {
  for (BlockArgument arg : func.getArguments()) {
    bool onHost = isOnHost(func.getArgAttrDict(arg.getArgNumber()));
    if (!onHost && !(arg.use_empty() && isDonated(arg)) && failed(add(arg, 1)))
      return failure();
  }
  return success();
}

/// What waits is what is alive, but for the operands.
LogicalResult LiveMemory::mark(FragmentOp fragment, ArrayRef<Value> operands) {
  int64_t waiting = bitsOnMesh.lookup(fragment.getMeshName());
  for (Value operand : operands) {
    FailureOr<Share> share = find(operand);
    if (failed(share))
      return failure();
    meshwright::addCount(waiting, -share->bits);
  }
  fragment->setAttr(
      kReservedHbmBytesAttr,
      Builder(fragment.getContext())
          .getI64IntegerAttr(llvm::divideCeilSigned(waiting, kBitsPerByte)));
  return success();
}

LogicalResult LiveMemory::release(FragmentOp fragment) {
  LogicalResult result = success();
  llvm::erase_if(departing, [&](auto &waiting) {
    auto type = cast<MeshTensorType>(waiting.second.getType());
    if (type.getMeshName() != fragment.getMeshName() || --waiting.first > 0)
      return false;
    if (failed(add(waiting.second, -1)))
      result = failure();
    return true;
  });
  return result;
}

LogicalResult LiveMemory::visit(Operation &op) {
  if (!isa<FragmentOp, TransferOp>(op))
    return op.emitError()
           << "memory cannot be reserved around this op; a function must "
              "consist of mpmd.fragment, mpmd.transfer and func.return";
  // A value on the host is none of the device's, unless it is passed as a
  // device value, too.
  llvm::SmallSetVector<Value, 32> operands;
  for (OpOperand &operand : op.getOpOperands())
    if (!isOnHost(getArgAttrs(&op, operand.getOperandNumber())))
      operands.insert(operand.get());
  if (auto fragment = dyn_cast<FragmentOp>(op))
    if (failed(mark(fragment, operands.getArrayRef())))
      return failure();
  auto beside = op.getAttrOfType<IntegerAttr>(kBesideAttr);
  for (Value operand : operands) {
    if (!isDeadAfter(operand, &op))
      continue;
    if (beside && beside.getInt() > 0)
      departing.emplace_back(beside.getInt(), operand);
    else if (failed(add(operand, -1)))
      return failure();
  }
  for (OpResult result : op.getResults())
    if (!result.use_empty() &&
        !isOnHost(getResAttrs(&op, result.getResultNumber())) &&
        failed(add(result, 1)))
      return failure();
  if (auto fragment = dyn_cast<FragmentOp>(op))
    return release(fragment);
  return success();
}

namespace {
struct MarkFragmentReservedMemoryPass
    : mpmd::impl::MarkFragmentReservedMemoryPassBase<
          MarkFragmentReservedMemoryPass> {
  void runOnFunction(func::FuncOp func) override {
    LiveMemory memory(func, getAnalysis<LastUses>());
    if (failed(memory.addArguments()))
      return signalPassFailure();
    // All ops, so that one run shows all that cannot be there.
    for (Operation &op : func.front().without_terminator()) {
      if (failed(memory.visit(op)))
        signalPassFailure();
      numFragments += op.hasAttr(kReservedHbmBytesAttr);
    }
  }
};
} // namespace
