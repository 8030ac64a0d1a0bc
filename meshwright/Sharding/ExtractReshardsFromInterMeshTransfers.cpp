//===- ExtractReshardsFromInterMeshTransfers.cpp --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A transfer only copies: each device sends its piece to its peer on the other
// mesh. Where the sharding changes on the way, a fragment has to reshard, on
// whichever side has less to send:
//
//   producer site:
//     %f = fragment, out [{"r"}]      %f = fragment, out [{"c"}]
//     %t = transfer %f {[{"c"}]}      %t = transfer %f {[{"c"}]}
//
//   consumer site:
//     %t = transfer %a {[{"c"}]}      %t = transfer %a {[{"r"}]}
//     return %t                       %k = fragment (%t), out [{"c"}]
//                                     return %k
//
// Fragments next to the transfer take the other sharding themselves; where
// there is none, or where other transfers or the return need the value as it
// was, a fragment that does nothing else is added. It merges into a neighbour
// later if it can.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/ShardingVerification.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Text/DiagnosticId.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"
#include <atomic>

#define GEN_PASS_DEF_EXTRACTRESHARDSFROMINTERMESHTRANSFERSPASS
#include "meshwright/Sharding/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

using sdy::TensorShardingAttr;

/// Into how many pieces a dimension is cut. An axis that the mesh lacks has
/// size 1, or else the meshes would not be alike.
static int64_t getNumPieces(sdy::DimensionShardingAttr dim,
                            sdy::MeshAttr mesh) {
  int64_t pieces = 1;
  for (sdy::AxisRefAttr axis : dim.getAxes())
    pieces *= axis.isFullAxis() ? mesh.findAxisSize(axis.getName()).value_or(1)
                                : axis.getSubAxisInfo().getSize();
  return pieces;
}

/// The number of elements that one device holds, as far as can be counted.
static uint64_t getLocalNumElements(RankedTensorType type,
                                    TensorShardingAttr sharding,
                                    sdy::MeshAttr mesh) {
  uint64_t count = 1;
  for (auto [index, size] : llvm::enumerate(type.getShape())) {
    if (ShapedType::isDynamic(size))
      continue;
    bool isSharded = sharding && index < sharding.getDimShardings().size();
    uint64_t local =
        isSharded
            ? llvm::divideCeil(
                  size, getNumPieces(sharding.getDimShardings()[index], mesh))
            : size;
    count = llvm::SaturatingMultiply(count, local);
  }
  return count;
}

/// A fragment can reshard what it reads; all else reads a value as it is.
static bool needsShardingOfValue(Operation *user) {
  return !isa<FragmentOp>(user);
}

/// The type of a value of global type `type` in the device memory of a mesh.
static MeshTensorType getTypeOnMesh(StringRef meshName, MeshTensorType type) {
  return MeshTensorType::get(type.getContext(), meshName,
                             type.getGlobalTensorType());
}

/// Creates a fragment that returns `value` as it is, but of the given type and
/// sharding.
static FragmentOp createReshard(Location loc, Value value, MeshTensorType type,
                                TensorShardingAttr sharding,
                                OpBuilder &builder) {
  auto fragment = FragmentOp::createWithGlobalBody(
      loc, builder.getArrayAttr({}), builder.getStringAttr(type.getMeshName()),
      value, TypeRange(type), builder, [](ArrayRef<Value> args, OpBuilder &) {
        return SmallVector<Value>(args);
      });
  setInferredBy(fragment, {"extract_reshards"});
  fragment.setOutputSharding(0, sharding);
  return fragment;
}

namespace {
/// Extracts the reshards of the transfers of one function.
class Extractor {
public:
  explicit Extractor(func::FuncOp func)
      : mesh(getTopology(func).getMeshes().front().getMesh()) {
    for (Operation &op : func.getOps()) {
      if (needsShardingOfValue(&op))
        positions[&op] = positions.size();
      if (auto transfer = dyn_cast<TransferOp>(op))
        transfers.push_back(transfer);
    }
  }

  /// Returns how many transfers reshard no longer.
  unsigned run() {
    // Not a range-based loop: a replaced transfer leaves the list.
    for (TransferOp &op : transfers)
      extract(op);
    return numReshards;
  }

private:
  void extract(TransferOp &op);
  bool isAtProducer(TransferOp op, TensorShardingAttr from,
                    TensorShardingAttr to) const;
  void reshardAtProducer(TransferOp op, TensorShardingAttr from,
                         TensorShardingAttr to);
  void keepForOtherUsers(TransferOp op, TensorShardingAttr sharding);
  TransferOp reshardAtConsumer(TransferOp op, TensorShardingAttr from,
                               TensorShardingAttr to);

  /// That of the first mesh, whose axes are those of all others.
  sdy::MeshAttr mesh;
  SmallVector<TransferOp> transfers;
  unsigned numReshards = 0;
  /// Where an op that is not a fragment is among all.
  DenseMap<Operation *, size_t> positions;
};
} // namespace

bool Extractor::isAtProducer(TransferOp op, TensorShardingAttr from,
                             TensorShardingAttr to) const {
  if (op.getType().isOnHost())
    return true;
  if (op.getTensor().getType().isOnHost())
    return false;
  RankedTensorType type = op.getType().getGlobalTensorType();
  return getLocalNumElements(type, from, mesh) >
         getLocalNumElements(type, to, mesh);
}

void Extractor::extract(TransferOp &op) {
  Value operand = op.getTensor();
  TensorShardingAttr from = sdy::getSharding(operand);
  TensorShardingAttr to = sdy::getSharding(op.getResult());
  bool isEquivalent = sdy::areEquivalent(from, to);
  // A copy within a host memory moves nothing: an argument that is returned.
  if (op.isIntraMesh() && isEquivalent)
    return;
  if (op.getTensor().getType().isOnHost() && op.getType().isOnHost()) {
    // COMPAT(error-without-failure): The pass goes on and succeeds.
    emitError(op.getLoc()) << "Resharding on host not supported: both "
                           << operand.getType() << " and " << op.getType()
                           << " are in host memory; go through device memory";
    return;
  }
  if (isEquivalent)
    return;
  // COMPAT(warn-once): Once per process, not once per program.
  static std::atomic<bool> hasWarned = false;
  if (!hasWarned.exchange(true))
    meshwright::identify(
        emitWarning(op.getLoc())
            << "resharding transfer: the operand and the result are sharded "
               "differently, which costs performance; shard both alike to "
               "avoid it. Reported once",
        "reshard");
  ++numReshards;
  if (isAtProducer(op, from, to))
    reshardAtProducer(op, from, to);
  else
    op = reshardAtConsumer(op, from, to);
}

/// Lets all but `op` and fragments that read its operand read a copy that keeps
/// the sharding.
void Extractor::keepForOtherUsers(TransferOp op, TensorShardingAttr sharding) {
  Value operand = op.getTensor();
  auto isOther = [&](OpOperand &use) {
    return use.getOwner() != op && needsShardingOfValue(use.getOwner());
  };
  if (llvm::none_of(operand.getUses(), isOther))
    return;
  // The copy is before `op`, but also before all that read it.
  Operation *first = op;
  for (Operation *user : operand.getUsers()) {
    user = op->getBlock()->findAncestorOpInBlock(*user); // Around it: a loop.
    if (auto it = positions.find(user);
        it != positions.end() && it->second < positions.lookup(first))
      first = user;
  }
  OpBuilder builder(first);
  FragmentOp copy = createReshard(operand.getLoc(), operand,
                                  op.getTensor().getType(), sharding, builder);
  operand.replaceUsesWithIf(copy->getResult(0), isOther);
}

void Extractor::reshardAtProducer(TransferOp op, TensorShardingAttr from,
                                  TensorShardingAttr to) {
  TypedValue<MeshTensorType> operand = op.getTensor();
  MeshTensorType type =
      getTypeOnMesh(operand.getType().getMeshName(), op.getType());
  auto producer = operand.getDefiningOp<FragmentOp>();
  if (!producer) {
    OpBuilder builder(op);
    FragmentOp reshard =
        createReshard(operand.getLoc(), operand, type, to, builder);
    op.getTensorMutable().assign(reshard->getResult(0));
    return;
  }
  keepForOtherUsers(op, from);
  operand.setType(type);
  producer.setOutputSharding(cast<OpResult>(operand).getResultNumber(), to);
}

TransferOp Extractor::reshardAtConsumer(TransferOp op, TensorShardingAttr from,
                                        TensorShardingAttr to) {
  StringRef meshName = op.getType().getMeshName();
  OpBuilder builder(op);
  auto transfer = TransferOp::create(
      builder, op.getLoc(), getTypeOnMesh(meshName, op.getTensor().getType()),
      op.getTensor());
  sdy::setSharding(transfer.getResult(), from);
  MeshTensorType type = op.getType();
  positions[transfer] = positions.lookup(op);
  positions.erase(op);
  op.getResult().replaceAllUsesWith(transfer.getResult());
  op.erase();
  builder.setInsertionPointAfter(transfer);

  for (OpOperand &use : transfer->getUses())
    if (auto fragment = dyn_cast<FragmentOp>(use.getOwner()))
      fragment.setInputSharding(use.getOperandNumber(), from);
  if (llvm::none_of(transfer->getUsers(), needsShardingOfValue))
    return transfer;
  FragmentOp reshard =
      createReshard(transfer.getLoc(), transfer.getResult(), type, to, builder);
  transfer.getResult().replaceUsesWithIf(
      reshard->getResult(0),
      [](OpOperand &use) { return needsShardingOfValue(use.getOwner()); });
  return transfer;
}

namespace {
struct ExtractReshardsFromInterMeshTransfersPass
    : mpmd::impl::ExtractReshardsFromInterMeshTransfersPassBase<
          ExtractReshardsFromInterMeshTransfersPass> {
  void runOnFunction(func::FuncOp func) override {
    if (!isMpmdFunction(func)) {
      func.emitError() << "reshards can only be extracted from a function on "
                          "several meshes, which has the attribute `"
                       << kTopologyAttr << "` instead of `" << kMeshShapeAttr
                       << '`';
      return signalPassFailure();
    }
    if (!isHomogeneous(getTopology(func)))
      return;
    WalkResult result = func.walk([](FragmentOp fragment) {
      return WalkResult(sdy::verifyEdgeOwnerShardings(fragment));
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    numReshards += Extractor(func).run();
  }
};
} // namespace
