//===- RetargetShardings.cpp - Shardings on the meshes of their values ----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A sharding says how a value is split; where the value lives is found out
// later. If meshes differ, the axes that the user named need not be those of
// the mesh that a value ends up on:
//
//   sdy.mesh @mesh = <["x"=2]>                   sdy.mesh @mesh = <["x"=2]>
//   // topology: "a" : ["x"=2],                  sdy.mesh @b = <["x"=4]>
//   //           "b" : ["x"=4]
//   func @f(%0: !b {<@mesh, [{"x"}]>})           func @f(%0: !b {<@b, [{"x"}]>})
//
// Axes are found by name. Where the names differ and the sizes do not, they are
// found by position. What splits by an axis that the mesh does not have at all
// stays as it is inside a fragment, if its own mesh has as many devices, else
// it loses the axis, with a warning. A manual computation has the shapes and
// the replica groups of its mesh in its body, so it never changes.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/ShardingVerification.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/Sdy/SignatureShardings.h"
#include "meshwright/Dialect/Sdy/Transforms/ShardingWalk.h"
#include "meshwright/Dialect/Sdy/Transforms/TranslateShardings.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

#define GEN_PASS_DEF_RETARGETSHARDINGSPASS
#include "meshwright/Sharding/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

using sdy::AxisRefAttr;
using sdy::MeshAttr;
using sdy::MeshOp;
using sdy::TensorShardingAttr;
using sdy::Translation;

static bool areAlike(TopologyAttr topology) {
  MeshAttr first = topology.getMeshes().front().getMesh();
  return llvm::all_of(topology.getMeshes(), [&](NamedMeshAttr mesh) {
    return mesh.getMesh().equalsIgnoringDeviceOrder(first);
  });
}

namespace {
/// Where a value with a sharding is.
struct ShardingPlace {
  NamedMeshAttr mesh;
  /// Whether only XLA will read the sharding, which takes any mesh of as many
  /// devices; the program's inputs, outputs and transfers need the mesh's axes.
  bool isInBody;
};

/// Moves the shardings of one MPMD function.
class Retargeter {
public:
  Retargeter(func::FuncOp func, SymbolTable &symbols, bool warn)
      : func(func), topology(getTopology(func)), symbols(symbols),
        hasOneMesh(areAlike(topology)), warn(warn) {}

  LogicalResult run();
  unsigned getNumMoved() const { return numMoved; }

private:
  bool canSkip();
  void moveSignature();
  LogicalResult moveFragment(FragmentOp fragment);
  LogicalResult verifyCollectives(FragmentOp fragment, NamedMeshAttr mesh);
  LogicalResult moveManual(sdy::ManualComputationOp op, MeshAttr own,
                           NamedMeshAttr mesh);
  TensorShardingAttr move(TensorShardingAttr sharding, ShardingPlace place,
                          Operation *op);
  TensorShardingAttr translate(TensorShardingAttr sharding, MeshAttr own,
                               ShardingPlace place, Operation *op);
  /// The mesh of the shardings of an op, empty ones aside; null for none.
  MeshAttr getOwnMesh(sdy::ManualComputationOp op) const;
  /// The mesh of a value, null if it is on none.
  NamedMeshAttr getMesh(Type type) const;
  NamedMeshAttr getMesh(StringRef name) const;
  FlatSymbolRefAttr getSymbol(NamedMeshAttr mesh);

  func::FuncOp func;
  TopologyAttr topology;
  SymbolTable &symbols;
  bool hasOneMesh;
  bool warn;
  DenseMap<MeshAttr, FlatSymbolRefAttr> symbolOf;
  /// What became of a sharding on a mesh: outside of bodies, and in them.
  DenseMap<std::pair<TensorShardingAttr, NamedMeshAttr>, TensorShardingAttr>
      moved[2];
  unsigned numMoved = 0;
};
} // namespace

NamedMeshAttr Retargeter::getMesh(StringRef name) const {
  for (NamedMeshAttr mesh : topology.getMeshes())
    if (mesh.getName() == name)
      return mesh;
  return {};
}

NamedMeshAttr Retargeter::getMesh(Type type) const {
  auto tensor = dyn_cast<MeshTensorType>(type);
  return tensor ? getMesh(tensor.getMeshName()) : NamedMeshAttr();
}

/// The first mesh op of these axes, so that equal meshes have one name; a new
/// one, named after the mesh of the topology, if there is none.
FlatSymbolRefAttr Retargeter::getSymbol(NamedMeshAttr mesh) {
  FlatSymbolRefAttr &symbol = symbolOf[mesh.getMesh()];
  if (symbol)
    return symbol;
  auto module = cast<ModuleOp>(symbols.getOp());
  for (auto op : module.getOps<MeshOp>())
    if (op.getMesh().equalsIgnoringDeviceOrder(mesh.getMesh()))
      return symbol = FlatSymbolRefAttr::get(op.getSymNameAttr());
  OpBuilder builder(module.getContext());
  // A mesh may be called "", a symbol may not.
  StringRef name = mesh.getName().empty() ? "mesh" : mesh.getName();
  auto op = MeshOp::create(builder, func.getLoc(), name, mesh.getMesh());
  symbols.insert(op, module.getBody()->begin());
  return symbol = FlatSymbolRefAttr::get(op.getSymNameAttr());
}

TensorShardingAttr Retargeter::translate(TensorShardingAttr sharding,
                                         MeshAttr own, ShardingPlace place,
                                         Operation *op) {
  MeshAttr target = place.mesh.getMesh();
  FlatSymbolRefAttr symbol = getSymbol(place.mesh);
  Translation byName = sdy::translateSharding(sharding, own, target, symbol,
                                              sdy::matchByName(own, target));
  if (!byName.lost)
    return byName.sharding;
  if (auto names = sdy::matchByPosition(own, target))
    return sdy::translateSharding(sharding, own, target, symbol, *names)
        .sharding;
  if (hasOneMesh ||
      (place.isInBody && own.getTotalSize() == target.getTotalSize()))
    return sharding;
  if (warn)
    emitWarning(op->getLoc())
        << "sharding " << sharding << " splits by axis "
        << byName.lost.toString() << ", but the value is on mesh \""
        << place.mesh.getName() << "\", " << target
        << ", which has no such axis; it is not split by it. Use the axes of "
           "mesh \""
        << place.mesh.getName() << '"';
  return byName.sharding;
}

TensorShardingAttr Retargeter::move(TensorShardingAttr sharding,
                                    ShardingPlace place, Operation *op) {
  MeshAttr own = sharding ? sharding.getMesh(symbols) : MeshAttr();
  if (!own || own.getAxes().empty()) // None, the empty mesh, or one device.
    return sharding;
  TensorShardingAttr &result = moved[place.isInBody][{sharding, place.mesh}];
  if (!result)
    result = own.equalsIgnoringDeviceOrder(place.mesh.getMesh())
                 ? sharding.replaceMesh(getSymbol(place.mesh))
                 : translate(sharding, own, place, op);
  numMoved += result != sharding;
  return result;
}

/// One mesh of axes, and nothing that names another: by far the usual case.
bool Retargeter::canSkip() {
  if (!hasOneMesh)
    return false;
  MeshAttr mesh = topology.getMeshes().front().getMesh();
  auto module = cast<ModuleOp>(symbols.getOp());
  return llvm::all_of(module.getOps<MeshOp>(), [&](MeshOp op) {
    return op.getMesh().getAxes().empty() ||
           op.getMesh().equalsIgnoringDeviceOrder(mesh);
  });
}

void Retargeter::moveSignature() {
  sdy::updateSignatureShardings(func, [&](const sdy::SignatureEntry &entry) {
    if (NamedMeshAttr mesh = entry.sharding ? getMesh(entry.type) : nullptr)
      return move(entry.sharding, {mesh, /*isInBody=*/false}, func);
    return entry.sharding;
  });
}

MeshAttr Retargeter::getOwnMesh(sdy::ManualComputationOp op) const {
  for (sdy::TensorShardingPerValueAttr list :
       {op.getInShardings(), op.getOutShardings()})
    for (TensorShardingAttr sharding : list)
      if (MeshAttr mesh = sharding.getMesh(symbols);
          mesh && !mesh.getAxes().empty())
        return mesh;
  return {};
}

LogicalResult Retargeter::moveManual(sdy::ManualComputationOp op, MeshAttr own,
                                     NamedMeshAttr mesh) {
  MeshAttr target = mesh.getMesh();
  auto names = sdy::matchByPosition(own, target);
  if (!names)
    return op.emitError() << "manual computation (`jax.shard_map`) over " << own
                          << " runs on mesh \"" << mesh.getName() << "\", "
                          << target << "; map it over mesh \"" << mesh.getName()
                          << "\", or assign it to a mesh of its axes";
  FlatSymbolRefAttr symbol = getSymbol(mesh);
  op->walk([&](Operation *nested) {
    auto manual = dyn_cast<sdy::ManualComputationOp>(nested);
    MeshAttr nestedMesh = manual ? getOwnMesh(manual) : MeshAttr();
    sdy::transformShardingsOf(nested, [&](TensorShardingAttr sharding) {
      if (!sharding || sharding.getMesh(symbols) != own)
        return sharding;
      ++numMoved;
      return sdy::translateSharding(sharding, own, target, symbol, *names)
          .sharding;
    });
    if (manual && (!nestedMesh || nestedMesh == own)) {
      SmallVector<StringAttr> axes;
      for (StringAttr axis : manual.getManualAxes())
        if (auto it = names->find(axis.getValue()); it != names->end())
          axes.push_back(StringAttr::get(op.getContext(), it->second));
      manual.setManualAxesAttr(sdy::ManualAxesAttr::get(op.getContext(), axes));
    }
  });
  return success();
}

/// Collectives name the axes that they move, so they need the same on their mesh.
LogicalResult Retargeter::verifyCollectives(FragmentOp fragment,
                                            NamedMeshAttr mesh) {
  MeshAttr target = mesh.getMesh();
  WalkResult result = fragment->walk([&](Operation *op) {
    if (!sdy::isCollective(op))
      return WalkResult::advance();
    MeshAttr own = sdy::getSharding(op->getResult(0)).getMesh(symbols);
    if (!own || own.getAxes().empty() || own.equalsIgnoringDeviceOrder(target))
      return WalkResult::advance();
    auto names = sdy::matchByName(own, target);
    auto fits = [&](Attribute attr) {
      return !attr ||
             !attr.walk([&](AxisRefAttr axis) {
                    return sdy::translateAxis(axis, target, names) == axis
                               ? WalkResult::advance()
                               : WalkResult::interrupt();
                  })
                  .wasInterrupted();
    };
    if (fits(op->getAttrDictionary()) &&
        fits(sdy::getSharding(op->getOperand(0))))
      return WalkResult::advance();
    op->emitError() << op->getName() << " over " << own << " runs on mesh \""
                    << mesh.getName() << "\", " << target
                    << ", which lacks some of its axes; let it move axes of "
                       "mesh \""
                    << mesh.getName() << '"';
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult Retargeter::moveFragment(FragmentOp fragment) {
  NamedMeshAttr mesh = getMesh(fragment.getMeshName());
  if (!mesh)
    return success();
  if (failed(sdy::verifyEdgeOwnerShardings(fragment)) ||
      failed(verifyCollectives(fragment, mesh)))
    return failure();
  WalkResult result = fragment->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto manual = dyn_cast<sdy::ManualComputationOp>(op)) {
      MeshAttr own = getOwnMesh(manual);
      if (own && !own.equalsIgnoringDeviceOrder(mesh.getMesh()))
        return succeeded(moveManual(manual, own, mesh))
                   ? WalkResult::skip()
                   : WalkResult::interrupt();
    }
    bool isInBody = op != fragment;
    sdy::transformShardingsOf(op, [&](TensorShardingAttr sharding) {
      return move(sharding, {mesh, isInBody}, op);
    });
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult Retargeter::run() {
  if (canSkip())
    return success();
  moveSignature();
  WalkResult result =
      func.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (auto fragment = dyn_cast<FragmentOp>(op))
          return failed(moveFragment(fragment)) ? WalkResult::interrupt()
                                                : WalkResult::skip();
        // Transfers and loops: the results are on one mesh.
        NamedMeshAttr mesh = op->getNumResults()
                                 ? getMesh(op->getResult(0).getType())
                                 : NamedMeshAttr();
        if (mesh)
          sdy::transformShardingsOf(op, [&](TensorShardingAttr sharding) {
            return move(sharding, {mesh, /*isInBody=*/false}, op);
          });
        return WalkResult::advance();
      });
  return failure(result.wasInterrupted());
}

namespace {
struct RetargetShardingsPass
    : mpmd::impl::RetargetShardingsPassBase<RetargetShardingsPass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration() && isMpmdFunction(func)) {
        Retargeter retargeter(func, symbols, warn);
        if (failed(retargeter.run()))
          return signalPassFailure();
        numMoved += retargeter.getNumMoved();
      }
  }
};
} // namespace
