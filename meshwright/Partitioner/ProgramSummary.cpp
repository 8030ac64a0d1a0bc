//===- ProgramSummary.cpp - What runs on each mesh ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/ProgramSummary.h"
#include "meshwright/Cost/Flops.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Fragments/LastUses.h"
#include "meshwright/IR/EqualBodies.h"
#include "meshwright/Text/TextTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::mpmd;
using namespace meshwright;

static double countGlobalBytes(Type type) {
  auto mesh = dyn_cast<MeshTensorType>(type);
  return mesh ? countBytes(mesh.getRankedTensorType()) : 0;
}

/// Equal for fragments that run the same program.
static llvm::hash_code hashProgram(FragmentOp fragment) {
  return llvm::hash_combine(
      hashBody(fragment.getRegion()),
      llvm::hash_combine_range(fragment->getOperandTypes()),
      llvm::hash_combine_range(fragment->getResultTypes()));
}

static bool runSameProgram(FragmentOp a, FragmentOp b) {
  return a->getOperandTypes() == b->getOperandTypes() &&
         a->getResultTypes() == b->getResultTypes() &&
         areEqualBodies(a.getRegion(), b.getRegion());
}

namespace {
/// Keeps the first fragment of each program and what it costs.
class Programs {
public:
  Programs(Operation *module, CustomCosts customs)
      : symbols(module), estimator(module, std::move(customs)) {}

  /// The work of the fragment; `isNew` if no equal one was seen before.
  Work add(FragmentOp fragment, bool &isNew) {
    unsigned program =
        programs.add(fragment, hashProgram(fragment), runSameProgram);
    isNew = program == works.size();
    if (isNew)
      works.push_back(estimator.estimate(fragment.getRegion()));
    return works[program];
  }

  Work add(FragmentCallOp call, bool &isNew) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    auto [entry, inserted] = callees.try_emplace(callee);
    isNew = inserted;
    if (isNew)
      entry->second = estimator.estimate(callee.getBody());
    return entry->second;
  }

  const std::set<std::string> &getUncounted() const {
    return estimator.getUncounted();
  }

private:
  SymbolTable symbols;
  WorkEstimator estimator;
  EqualityClasses<FragmentOp> programs;
  std::vector<Work> works; ///< By the number of the program.
  DenseMap<Operation *, Work> callees;
};

/// Follows the bytes alive on each mesh through the program.
class LiveBytes {
public:
  explicit LiveBytes(Block &block) : lastUses(block) {}

  void define(Value value, MeshSummary &mesh) {
    double &alive = bytes[&mesh];
    alive += countGlobalBytes(value.getType());
    mesh.activationBytes = std::max(mesh.activationBytes, alive);
    owners[value] = &mesh;
  }

  void endAt(Operation *op) {
    for (Value value : lastUses.getEnding(op))
      if (MeshSummary *mesh = owners.lookup(value))
        bytes[mesh] -= countGlobalBytes(value.getType());
  }

private:
  LastUses lastUses;
  DenseMap<Value, MeshSummary *> owners;
  DenseMap<MeshSummary *, double> bytes;
};
} // namespace

ProgramSummary meshwright::summarize(func::FuncOp func, CustomCosts customs) {
  ProgramSummary summary;
  llvm::StringMap<unsigned> indices;
  if (TopologyAttr topology = getTopology(func))
    for (NamedMeshAttr mesh : topology.getMeshes()) {
      indices.try_emplace(mesh.getName(), summary.meshes.size());
      summary.meshes.emplace_back().mesh = mesh.getName().str();
    }
  auto meshOf = [&](Type type) -> MeshSummary * {
    auto mesh = dyn_cast<MeshTensorType>(type);
    auto found = mesh ? indices.find(mesh.getMeshName()) : indices.end();
    return found == indices.end() ? nullptr : &summary.meshes[found->second];
  };

  for (Type type : func.getArgumentTypes())
    if (MeshSummary *mesh = meshOf(type))
      mesh->parameterBytes += countGlobalBytes(type);

  Programs programs(func->getParentOp(), std::move(customs));
  LiveBytes live(func.front());
  auto addProgram = [&](StringRef meshName, auto op) {
    auto found = indices.find(meshName);
    if (found == indices.end())
      return;
    MeshSummary &mesh = summary.meshes[found->second];
    bool isNew;
    Work work = programs.add(op, isNew);
    ++mesh.fragments;
    mesh.distinctPrograms += isNew;
    mesh.flops += work.flops;
    mesh.transcendentals += work.transcendentals;
    summary.unknownWork += work.unknown;
  };
  for (Operation &op : func.front()) {
    if (auto fragment = dyn_cast<FragmentOp>(op))
      addProgram(fragment.getMeshName(), fragment);
    if (auto call = dyn_cast<FragmentCallOp>(op))
      addProgram(call.getMeshName(), call);
    if (auto transfer = dyn_cast<TransferOp>(op)) {
      double bytes = countGlobalBytes(transfer.getType());
      if (MeshSummary *from = meshOf(transfer.getTensor().getType())) {
        ++from->transfersOut;
        from->bytesOut += bytes;
      }
      if (MeshSummary *to = meshOf(transfer.getType())) {
        ++to->transfersIn;
        to->bytesIn += bytes;
      }
    }
    for (Value result : op.getResults())
      if (MeshSummary *mesh = meshOf(result.getType()))
        live.define(result, *mesh);
    live.endAt(&op);
  }
  summary.uncounted = programs.getUncounted();
  return summary;
}

void meshwright::printTable(const ProgramSummary &summary,
                            llvm::raw_ostream &os) {
  std::vector<TextRow> rows = {{"mesh", "fragments", "distinct", "FLOPs",
                                "parameters", "activations", "transfers in",
                                "transfers out"}};
  auto addRow = [&](const MeshSummary &mesh) {
    auto transfers = [](unsigned count, double bytes) {
      return std::to_string(count) + " (" + toScaled(bytes, "B") + ")";
    };
    rows.push_back({mesh.mesh, std::to_string(mesh.fragments),
                    std::to_string(mesh.distinctPrograms),
                    toScaled(mesh.flops, ""),
                    toScaled(mesh.parameterBytes, "B"),
                    toScaled(mesh.activationBytes, "B"),
                    transfers(mesh.transfersIn, mesh.bytesIn),
                    transfers(mesh.transfersOut, mesh.bytesOut)});
  };
  MeshSummary total;
  total.mesh = "total";
  for (const MeshSummary &mesh : summary.meshes) {
    addRow(mesh);
    total.fragments += mesh.fragments;
    total.distinctPrograms += mesh.distinctPrograms;
    total.flops += mesh.flops;
    total.parameterBytes += mesh.parameterBytes;
    total.activationBytes += mesh.activationBytes;
    total.transfersIn += mesh.transfersIn;
    total.transfersOut += mesh.transfersOut;
    total.bytesIn += mesh.bytesIn;
    total.bytesOut += mesh.bytesOut;
  }
  addRow(total);
  printRows(rows, os);
  if (!summary.unknownWork)
    return;
  os << summary.unknownWork
     << " custom calls and loops of unknown work are not in FLOPs";
  if (!summary.uncounted.empty())
    os << ": custom calls " << llvm::join(summary.uncounted, ", ");
  os << "\n";
}
