//===- ValueMeshes.h - Where values are without a transfer ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Problem. Values of several meshes meet in an operation without a name, such as
// a gradient on m1 that is divided by a number of tokens on m2. Some have to
// travel, and it should be the small ones.
//
//   %g = unassign …      m1    1 MB    ┐
//   %n = unassign …      m2    4 bytes ├─ divide: on m1; %n travels, and not %b,
//   %b = broadcast %n    m2    1 MB    ┘  which is repeated on m1
//
// A forward data-flow analysis over the plain operations of a function. The
// lattice is that of sets of meshes under intersection, with "anywhere" at the
// top, as in `mpmd-infer-mesh-populate-src-set`. Where the intersection is empty,
// the mesh with the lowest cost is chosen:
//
//   cost(m) = bytes of the inputs that are not on m, nor sent there already
//           + bytes of the result, for each other mesh that reads it
//
// The bytes of an input are those of its cheapest form: a broadcast of a scalar
// costs a scalar. Minimizing the sum over all operations is a multiway cut, which
// is NP-hard. This is the greedy choice in program order, improved by one sweep
// backwards that knows on which meshes results are read. What is sent is counted
// for the choices of before the sweep: where it moves what an input was sent for, a
// later choice that relied on that stays.
//
// Invariant: no operation has an empty set. Cost: linear in operands times meshes.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_MESHSETS_VALUEMESHES_H
#define MESHWRIGHT_IMPORT_MESHSETS_VALUEMESHES_H

#include "meshwright/Import/MeshSets/MeshDataFlow.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::mpmd {

/// Meshes by their numbers; no bits at all represent anywhere.
using MeshBits = llvm::SmallBitVector;

/// The origin of assigns and unassigns by which values stay where they are.
inline constexpr StringLiteral kFewestBytesOrigin = "fewest_bytes";

/// The meshes of a topology, numbered in string order.
class MeshNumbers {
public:
  explicit MeshNumbers(TopologyAttr topology);

  StringRef getName(unsigned mesh) const { return names[mesh]; }
  /// The set of one mesh.
  MeshBits getBits(StringRef mesh) const;

private:
  SmallVector<StringRef> names;
  llvm::StringMap<unsigned> numbers;
};

/// The bytes of a tensor; none of a token.
double getTensorBytes(Value value);

/// Values of no more bytes may travel whatever it saves.
inline constexpr double kSmallBytes = 64;

/// Whether an op may be repeated on another mesh rather than send its result:
/// arithmetic on each element and changes of shape, without effects. Casts choose
/// one of their operands (`ConditionalHomes.h`).
bool isCheapToRepeat(Operation *op);

/// The assign by which a value is sent from its mesh, or kept there; null if it is not.
AssignOp findKept(Value value);

class ValueMeshes {
public:
  /// What the calls of a function need to know of it.
  struct Callee {
    /// Where fragments read the arguments, and where the results are.
    SmallVector<MeshBits> arguments, results;
  };
  using Callees = llvm::DenseMap<Operation *, Callee>;

  /// Analyzes the functions that others call, each after its own callees.
  static Callees analyzeCallees(ModuleOp module, const MeshDataFlow &flow);

  /// Visits all MPMD functions, callees first, each with the analysis of those that it
  /// calls as `visit` left them.
  static void visitFunctions(
      ModuleOp module,
      function_ref<void(func::FuncOp, const MeshDataFlow &, const Callees &)>
          visit);

  /// Analyzes `func`, the callees of which have been analyzed.
  ValueMeshes(func::FuncOp func, const MeshDataFlow &flow,
              const Callees &callees);

  const MeshNumbers &getNumbers() const { return numbers; }

  /// The meshes that a value is on, or no bits.
  MeshBits get(Value value) const { return sets.lookup(value); }

  /// Whether values of several meshes meet anywhere.
  bool hasConflicts() const { return !choices.empty() || !reductions.empty(); }

  /// The meshes that a value is on, or sent to for other ops than `besides`; no bits for
  /// a value that can be anywhere.
  MeshBits getWithSent(Value value, Operation *besides) const;

  /// The mesh that was chosen for an op whose inputs are on several ones.
  std::optional<unsigned> getChoice(Operation *op) const;

  /// Whether the inputs of an op have no mesh in common.
  bool isAcrossMeshes(Operation *op) const {
    return choices.contains(op) || reductions.contains(op);
  }

  /// Whether an op becomes a reduction across meshes that is not only part of another.
  bool isWholeSum(Operation *op) const;

  /// Where a value is read by this use: the mesh of an assign, those of the
  /// argument of a callee, those of the result of an op.
  MeshBits getReaders(OpOperand &use) const;

  /// The bytes that travel if a value is needed on a mesh where it is not.
  double getTravelBytes(Value value) const { return travelBytes.lookup(value); }

  /// Whether a value can be anywhere, or be computed there from little.
  bool isFree(Value value) const {
    return get(value).empty() || getTravelBytes(value) < getTensorBytes(value);
  }

  /// The bytes that travel if all that a value is computed from does. A lower
  /// bound where the computation is long.
  double getSourceBytes(Value value) const;

  Callee summarize();

  /// Bytes of a result that are needed on meshes.
  using NeededBytes = llvm::SmallDenseMap<unsigned, double, 4>;

private:
  void run();
  void visitArguments();
  void visitOp(Operation *op);
  void visitComputation(Operation *op);
  bool isReduction(Operation *op, ArrayRef<Value> inputs, bool isDisjoint,
                   double cost) const;
  MeshBits getComputed(Value value, const MeshBits &meshes) const;
  bool improveChoices();
  NeededBytes getNeededBytes(Operation *op);
  void noteRoot(Operation *op, ArrayRef<Value> inputs);
  Value getRoot(Value value) const;
  bool readsOthers(Operation *user, Operation *op) const;

  Block &block;
  const MeshDataFlow &flow;
  const Callees &callees;
  MeshNumbers numbers;
  DenseMap<Value, MeshBits> sets;
  DenseMap<Value, double> travelBytes;
  /// What a value is made of by cheap ops, where nothing else of it is on a mesh.
  DenseMap<Value, Value> roots;
  /// For how many ops a value is sent to each mesh.
  DenseMap<Value, SmallVector<unsigned>> numSent;
  DenseMap<Operation *, unsigned> choices, improved;
  DenseMap<Operation *, NeededBytes> neededBytes;
  /// Sums of what is on several meshes, to be reduced across these.
  DenseMap<Operation *, ReductionType> reductions;
};

} // namespace mlir::mpmd

#endif
