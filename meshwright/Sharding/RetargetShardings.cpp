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
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/Sdy/SignatureShardings.h"
#include "meshwright/Dialect/Sdy/Transforms/ShardingWalk.h"
#include "meshwright/Sharding/Passes.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::mpmd {
#define GEN_PASS_DEF_RETARGETSHARDINGSPASS
#include "meshwright/Sharding/Passes.h.inc"
} // namespace mlir::mpmd

using namespace mlir;
using namespace mlir::mpmd;

using sdy::AxisRefAttr;
using sdy::DimensionShardingAttr;
using sdy::MeshAttr;
using sdy::MeshAxisAttr;
using sdy::MeshOp;
using sdy::TensorShardingAttr;

static bool areAlike(TopologyAttr topology) {
  MeshAttr first = topology.getMeshes().front().getMesh();
  return llvm::all_of(topology.getMeshes(), [&](NamedMeshAttr mesh) {
    return mesh.getMesh().equalsIgnoringDeviceOrder(first);
  });
}

/// The axes that cut something.
static SmallVector<MeshAxisAttr> getRealAxes(MeshAttr mesh) {
  return llvm::filter_to_vector(
      mesh.getAxes(), [](MeshAxisAttr axis) { return axis.getSize() != 1; });
}

/// Which axis of `to` each real axis of `from` is if only positions count;
/// nothing if the sizes differ.
static std::optional<llvm::StringMap<StringRef>> matchByPosition(MeshAttr from,
                                                                 MeshAttr to) {
  llvm::StringMap<StringRef> names;
  auto ours = getRealAxes(from), theirs = getRealAxes(to);
  if (ours.size() != theirs.size())
    return std::nullopt;
  for (auto [our, their] : llvm::zip(ours, theirs)) {
    if (our.getSize() != their.getSize())
      return std::nullopt;
    names[our.getName()] = their.getName();
  }
  return names;
}

static llvm::StringMap<StringRef> matchByName(MeshAttr from, MeshAttr to) {
  llvm::StringMap<StringRef> names;
  for (MeshAxisAttr axis : from.getAxes())
    if (to.hasAxis(axis.getName()))
      names[axis.getName()] = axis.getName();
  return names;
}

namespace {
/// Where a value with a sharding is.
struct Place {
  NamedMeshAttr mesh;
  /// Whether only XLA will read the sharding, which takes any mesh of as many
  /// devices; the program's inputs, outputs and transfers need the mesh's axes.
  bool isInBody;
};

/// A sharding with the axes of another mesh.
struct Translation {
  TensorShardingAttr sharding;
  /// The first axis that the mesh does not have; null if it has all.
  AxisRefAttr lost;
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
  LogicalResult moveManual(sdy::ManualComputationOp op, MeshAttr own,
                           NamedMeshAttr mesh);
  TensorShardingAttr move(TensorShardingAttr sharding, Place place,
                          Operation *op);
  TensorShardingAttr translate(TensorShardingAttr sharding, MeshAttr own,
                               Place place, Operation *op);
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
  auto op =
      MeshOp::create(builder, func.getLoc(), mesh.getName(), mesh.getMesh());
  symbols.insert(op, module.getBody()->begin());
  return symbol = FlatSymbolRefAttr::get(op.getSymNameAttr());
}

/// The axes that are left, in the order of the mesh.
static SmallVector<AxisRefAttr> sorted(SmallVector<AxisRefAttr> axes,
                                       MeshAttr mesh) {
  llvm::sort(axes, [&](AxisRefAttr a, AxisRefAttr b) {
    return std::pair(mesh.getAxisPosition(a.getName()), a.getPreSize()) <
           std::pair(mesh.getAxisPosition(b.getName()), b.getPreSize());
  });
  return axes;
}

/// The same axis, or part of an axis, on another mesh; null if it has none.
static AxisRefAttr translateAxis(AxisRefAttr axis, MeshAttr to,
                                 const llvm::StringMap<StringRef> &names) {
  auto found = names.find(axis.getName());
  if (found == names.end())
    return {};
  StringRef name = found->second;
  sdy::SubAxisInfoAttr part = axis.getSubAxisInfo();
  if (!part)
    return AxisRefAttr::get(axis.getContext(), name);
  int64_t size = to.getAxisSize(name);
  if (size % part.getNextPreSize() != 0) // The axis is shorter here.
    return {};
  if (part.getSize() == size)
    return AxisRefAttr::get(axis.getContext(), name);
  return AxisRefAttr::get(axis.getContext(), name, part.getPreSize(),
                          part.getSize());
}

static Translation translateSharding(TensorShardingAttr sharding, MeshAttr from,
                                     MeshAttr to, FlatSymbolRefAttr symbol,
                                     const llvm::StringMap<StringRef> &names) {
  AxisRefAttr lost;
  // Axes of a dimension that stand behind one that is lost would split it in
  // another place.
  auto map = [&](ArrayRef<AxisRefAttr> axes, bool stopAtLost) {
    SmallVector<AxisRefAttr> result;
    for (AxisRefAttr axis : axes) {
      if (AxisRefAttr found = translateAxis(axis, to, names)) {
        result.push_back(found);
      } else if (axis.getSize(from) != 1) {
        lost = lost ? lost : axis;
        if (stopAtLost)
          break;
      }
    }
    return result;
  };
  auto dims = llvm::map_to_vector(
      sharding.getDimShardings(), [&](DimensionShardingAttr dim) {
        auto axes = map(dim.getAxes(), /*stopAtLost=*/true);
        DimensionShardingAttr result = dim.replaceAxes(axes);
        bool isClosedAndEmpty = axes.empty() && dim.getIsClosed();
        return isClosedAndEmpty ? result.dropPriority() : result;
      });
  auto replicated = sorted(map(sharding.getReplicatedAxes(), false), to);
  auto unreduced = sorted(map(sharding.getUnreducedAxes(), false), to);
  return {TensorShardingAttr::get(sharding.getContext(), symbol, dims,
                                  replicated, unreduced,
                                  sharding.getReductionKind()),
          lost};
}

TensorShardingAttr Retargeter::translate(TensorShardingAttr sharding,
                                         MeshAttr own, Place place,
                                         Operation *op) {
  MeshAttr target = place.mesh.getMesh();
  FlatSymbolRefAttr symbol = getSymbol(place.mesh);
  Translation byName = translateSharding(sharding, own, target, symbol,
                                         matchByName(own, target));
  if (!byName.lost)
    return byName.sharding;
  if (auto names = matchByPosition(own, target))
    return translateSharding(sharding, own, target, symbol, *names).sharding;
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

TensorShardingAttr Retargeter::move(TensorShardingAttr sharding, Place place,
                                    Operation *op) {
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
  auto names = matchByPosition(own, target);
  if (!names)
    return op.emitError() << "manual computation (`jax.shard_map`) over " << own
                          << " runs on mesh \"" << mesh.getName() << "\", "
                          << target << "; map it over mesh \"" << mesh.getName()
                          << "\", or assign it to a mesh of its axes";
  FlatSymbolRefAttr symbol = getSymbol(mesh);
  op->walk([&](Operation *nested) {
    sdy::transformShardingsOf(nested, [&](TensorShardingAttr sharding) {
      if (!sharding || sharding.getMesh(symbols) != own)
        return sharding;
      ++numMoved;
      return translateSharding(sharding, own, target, symbol, *names).sharding;
    });
    if (auto manual = dyn_cast<sdy::ManualComputationOp>(nested)) {
      SmallVector<StringAttr> axes;
      for (StringAttr axis : manual.getManualAxes())
        if (auto it = names->find(axis.getValue()); it != names->end())
          axes.push_back(StringAttr::get(op.getContext(), it->second));
      manual.setManualAxesAttr(sdy::ManualAxesAttr::get(op.getContext(), axes));
    }
  });
  return success();
}

LogicalResult Retargeter::moveFragment(FragmentOp fragment) {
  NamedMeshAttr mesh = getMesh(fragment.getMeshName());
  if (!mesh)
    return success();
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
