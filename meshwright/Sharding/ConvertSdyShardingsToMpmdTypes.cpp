//===- ConvertSdyShardingsToMpmdTypes.cpp ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// During propagation the sharding of a value is in an attribute of its owner.
// Afterwards it belongs to the value, and so into its type:
//
//   func @f(%a: !m {sdy.sharding = [{"r"}]})      func @f(%a: !m_r)
//     fragment<in_shardings=[[{"r"}]]> (%a)         fragment (%a)
//
// Operations come before their users and nested ones before those around them,
// so that of several users that disagree the last one decides. Arguments come
// at the end: what the signature says counts.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/Sdy/SharedBodyCall.h"
#include "meshwright/Dialect/Sdy/SignatureShardings.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Sharding/OperandMarks.h"

#define GEN_PASS_DEF_CONVERTSDYSHARDINGSTOMPMDTYPESPASS
#include "meshwright/Sharding/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

using sdy::TensorShardingAttr;

namespace {
class Converter {
public:
  explicit Converter(MLIRContext *context)
      : shardingName(StringAttr::get(context, sdy::kShardingAttr)) {}

  void convert(Operation *op);
  void convertSignature(func::FuncOp func);
  void verifyEdges();

  /// Whether a sharding did not fit its value, which is reported then.
  bool hasFailed() const { return failed; }
  unsigned getNumTypes() const { return numTypes; }
  unsigned getNumAttributes() const { return numAttributes; }

private:
  /// Gives the type of a value a sharding. Null, and a value that is not on a
  /// mesh, change nothing.
  void moveIntoType(Value value, TensorShardingAttr sharding);
  /// Does so if the value has no sharding yet.
  void moveIntoTypeIfNone(Value value, TensorShardingAttr sharding);
  /// Does so with all but the values at the positions `skipped`.
  void moveIntoTypes(FragmentOp op, ValueRange values,
                     sdy::TensorShardingPerValueAttr shardings, StringRef what,
                     ArrayRef<int64_t> skipped = {});
  void convertFragment(FragmentOp op);
  void convertFor(ForOp op);

  StringAttr shardingName;
  SmallVector<sdy::DataFlowEdgeOp> edges;
  DenseSet<Type> verified;
  bool failed = false;
  unsigned numTypes = 0, numAttributes = 0;
};
} // namespace

void Converter::moveIntoType(Value value, TensorShardingAttr sharding) {
  auto type = dyn_cast<MeshTensorType>(value.getType());
  if (!type || !sharding || type.getSharding() == sharding)
    return;
  type = type.replaceSharding(sharding);
  // Fragments do not verify their shardings, and on meshes of the topology nothing
  // does before.
  if (verified.insert(type).second) {
    Operation *op = value.getDefiningOp();
    failed |= ::failed(type.verifyForTopology(
        op ? op : value.getParentBlock()->getParentOp()));
  }
  value.setType(type);
  ++numTypes;
}

/// The sharding of a value, whether or not it is in the type already.
static TensorShardingAttr getSharding(Value value) {
  if (TensorShardingAttr sharding = sdy::getSharding(value))
    return sharding;
  auto type = dyn_cast<MeshTensorType>(value.getType());
  return type ? type.getSharding() : TensorShardingAttr();
}

void Converter::moveIntoTypes(FragmentOp op, ValueRange values,
                              sdy::TensorShardingPerValueAttr shardings,
                              StringRef what, ArrayRef<int64_t> skipped) {
  if (shardings.size() != values.size()) {
    op.emitError() << "fragment has " << values.size() << " " << what
                   << ", but shardings of " << shardings.size();
    failed = true;
    return;
  }
  for (auto [index, value, sharding] : llvm::enumerate(values, shardings))
    if (!llvm::is_contained(skipped, index))
      moveIntoType(value, sharding);
  ++numAttributes;
}

void Converter::convertFragment(FragmentOp op) {
  if (sdy::TensorShardingPerValueAttr shardings = op.getInShardingsAttr()) {
    auto unknown =
        op->getAttrOfType<DenseI64ArrayAttr>(kOperandsWithoutShardingAttr);
    moveIntoTypes(op, op->getOperands(), shardings, "operands",
                  unknown ? unknown.asArrayRef() : ArrayRef<int64_t>());
    op.removeInShardingsAttr();
    op->removeAttr(kOperandsWithoutShardingAttr);
  }
  if (sdy::TensorShardingPerValueAttr shardings = op.getOutShardingsAttr()) {
    moveIntoTypes(op, op->getResults(), shardings, "results");
    op.removeOutShardingsAttr();
  }
}

void Converter::moveIntoTypeIfNone(Value value, TensorShardingAttr sharding) {
  TensorShardingAttr own = getSharding(value);
  moveIntoType(value, own ? own : sharding);
}

/// All values of one position have one type. Propagation gives them one
/// sharding, too, unless it is one without axes, which it does not propagate.
void Converter::convertFor(ForOp op) {
  auto yielded = op.getBody()->getTerminator()->getOperands();
  for (auto [operand, argument, next, result] :
       llvm::zip(op->getOperands(), op.getRegion().getArguments(), yielded,
                 op->getResults())) {
    TensorShardingAttr sharding = getSharding(operand);
    if (!sharding)
      sharding = sdy::getSharding(result);
    moveIntoType(operand, sharding);
    moveIntoType(argument, sharding);
    moveIntoTypeIfNone(next, sharding);
    moveIntoTypeIfNone(result, sharding);
  }
}

void Converter::convert(Operation *op) {
  if (auto fragment = dyn_cast<FragmentOp>(op)) {
    convertFragment(fragment);
  } else if (auto transfer = dyn_cast<TransferOp>(op)) {
    moveIntoType(transfer.getTensor(), sdy::getSharding(transfer.getTensor()));
    moveIntoType(transfer.getResult(), sdy::getSharding(transfer.getResult()));
  } else if (auto loop = dyn_cast<ForOp>(op)) {
    convertFor(loop);
  } else if (auto edge = dyn_cast<sdy::DataFlowEdgeOp>(op)) {
    edges.push_back(edge);
  }
  // The devices that these send to and receive from remain on them.
  if (op->getDiscardableAttr(shardingName) &&
      !isa<stablehlo::SendOp, stablehlo::RecvOp>(op)) {
    op->removeDiscardableAttr(shardingName);
    ++numAttributes;
  }
}

/// An edge op has the sharding of the value that it hands on, which the owner of
/// that value lacks then.
void Converter::verifyEdges() {
  for (sdy::DataFlowEdgeOp edge : edges)
    if (edge.getInput().getType() != edge.getResult().getType()) {
      edge.emitError()
          << edge->getName()
          << " is a data-flow edge that shardings are still stored on; run "
             "sdy-sink-data-flow-edges before shardings become types";
      failed = true;
      return;
    }
}

void Converter::convertSignature(func::FuncOp func) {
  for (BlockArgument arg : func.getArguments())
    moveIntoType(arg, sdy::getArgSharding(func, arg.getArgNumber()));
  sdy::updateSignatureShardings(func, [&](const sdy::SignatureEntry &entry) {
    numAttributes += !!entry.sharding;
    return sdy::TensorShardingAttr();
  });
  updateFunctionType(func);
}

/// Reports the first transfer that would have to reshard.
///
/// COMPAT(error-without-failure): The pass succeeds all the same.
static void verifyTransfers(func::FuncOp func) {
  for (TransferOp op : func.getOps<TransferOp>()) {
    TensorShardingAttr from = op.getTensor().getType().getSharding();
    TensorShardingAttr to = op.getType().getSharding();
    if (!from || !to || from.getMeshOrRef() != to.getMeshOrRef() ||
        sdy::areEquivalent(from, to))
      continue;
    emitError(op.getLoc())
        << "transfer has different shardings for the operand and result: "
        << from << " and " << to
        << "; a transfer on one mesh of axes cannot reshard";
    return;
  }
}

namespace {
struct ConvertSdyShardingsToMpmdTypesPass
    : mpmd::impl::ConvertSdyShardingsToMpmdTypesPassBase<
          ConvertSdyShardingsToMpmdTypesPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    bool isShared = sdy::isSharedBody(func);
    if (func.isDeclaration() || (!isDistributedFunction(func) && !isShared))
      return markAllAnalysesPreserved();
    Converter converter(&getContext());
    func.walk([&](Operation *op) { converter.convert(op); });
    if (!isShared)
      converter.convertSignature(func);
    converter.verifyEdges();
    if (converter.hasFailed())
      return signalPassFailure();
    numTypes += converter.getNumTypes();
    numAttributes += converter.getNumAttributes();
    if (isShared)
      return;
    // Where meshes differ no reshards are extracted, and transfers do them.
    TopologyAttr topology = getTopology(func);
    if (!topology || isHomogeneous(topology))
      verifyTransfers(func);
  }
};
} // namespace
