//===- ExportedProgram.h - What a runtime has to do -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An exported function as plain data: values on meshes, the distinct programs
// of its fragments, and the calls and transfers that tie them together, in an
// order that respects the data flow. docs/schedule-json.md shows it as JSON.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_EXPORTEDPROGRAM_H
#define MESHWRIGHT_PARTITIONER_EXPORTEDPROGRAM_H

#include "meshwright/Cost/CustomCost.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace meshwright {

struct ExportedProgram {
  /// What function attributes say about an argument or result. Empty texts
  /// represent the default.
  struct Slot {
    std::string name;
    std::string memoryKind;
    std::string layout;
    mlir::sdy::TensorShardingAttr sharding; ///< Null if unknown.
    /// Arguments: the result that takes over the buffer, and whether the
    /// buffer is given up.
    std::optional<int64_t> alias;
    bool isDonated = false;
  };
  struct Mesh {
    std::string name;
    mlir::sdy::MeshAttr shape;
    std::vector<unsigned> items; ///< It takes part in, in order.
  };
  /// An argument of the function, or a result of an item.
  struct Value {
    unsigned mesh;
    mlir::RankedTensorType type; ///< Global.
    mlir::sdy::TensorShardingAttr sharding;
    std::string memoryKind;
    int64_t bytes;
    int64_t deviceBytes; ///< On each device that holds a part.
  };
  /// Values by number. Thousands are alike, and are described once.
  class Values {
  public:
    /// Returns the number of the kind of values that are described so.
    unsigned addKind(Value described) {
      kinds.push_back(std::move(described));
      return kinds.size() - 1;
    }
    /// Returns the number of a new value.
    unsigned add(unsigned kind) {
      kindOf.push_back(kind);
      return kindOf.size() - 1;
    }
    void reserve(size_t count) { kindOf.reserve(count); }

    size_t size() const { return kindOf.size(); }
    const Value &operator[](size_t number) const {
      return kinds[kindOf[number]];
    }
    llvm::ArrayRef<Value> getKinds() const { return kinds; }
    llvm::ArrayRef<unsigned> getKindOfEach() const { return kindOf; }

  private:
    std::vector<Value> kinds;
    std::vector<unsigned> kindOf;
  };
  struct Boundary {
    unsigned value;
    Slot slot;
  };
  /// A function on a mesh: one that runs on several is there for each.
  struct Fragment {
    mlir::func::FuncOp function;
    unsigned mesh;
    unsigned calls = 0;
    double flops = 0; ///< Of one call, on the whole mesh.
    std::optional<int64_t> reservedBytes;
    std::vector<Slot> arguments;
    std::vector<Slot> results;
  };
  /// What a call is made of.
  struct Origins {
    std::vector<std::string> origins;
    /// The names in `origins`, and the largest transpose count of them.
    std::vector<std::string> originNames;
    int64_t transposeCount = 0;
  };
  /// A part of an overlapped pair.
  struct Part : Origins {
    unsigned numResults; ///< Those of the first part come first.
  };
  /// A call of a fragment's program, or a transfer, whatever the values that it reads and
  /// makes; those that items of one kind make are of the same kinds.
  struct ItemKind : Origins {
    std::optional<unsigned> fragment; ///< Calls only.
    unsigned fromMesh, toMesh;        ///< The same for calls.
    bool isRemat = false;
    /// Of a transfer: starts when the calls before it on its mesh have ended.
    bool isDelayed = false;
    /// Of a transfer to the host: how many calls of its mesh run beside it, and whether the
    /// one after those waits for it.
    int64_t beside = 0;
    bool isAwaited = false;
    /// Of a call of an overlapped pair: its two parts, in the order in which they
    /// would run.
    std::vector<Part> parts;
    std::string location; ///< "file:line:column", empty if unknown.
  };
  /// The values that an item makes, which are numbered one after the other.
  struct Results {
    unsigned first = 0, count = 0;

    bool empty() const { return count == 0; }
    size_t size() const { return count; }
    unsigned front() const { return first; }
    unsigned operator[](size_t index) const { return first + index; }
    auto begin() const { return llvm::seq(first, first + count).begin(); }
    auto end() const { return llvm::seq(first, first + count).end(); }
  };
  /// An item of a kind, which those of all microbatches share. Most lists are short.
  struct Item {
    std::shared_ptr<const ItemKind> kind;
    /// Of a call: its microbatch, if its function says that it keeps counters.
    std::optional<unsigned> counter;
    Results results;
    llvm::SmallVector<unsigned, 2> operands;
    /// Values that nothing reads after this item and that are not outputs. A call has
    /// those that leave for the host while it runs.
    llvm::SmallVector<unsigned, 2> lastUses;
    /// Of a call: what has to be on the host before it is issued.
    std::vector<unsigned> awaits;

    const ItemKind *operator->() const { return kind.get(); }
  };

  std::string name; ///< Of the module.
  std::vector<Mesh> meshes;
  Values values;
  std::vector<Boundary> inputs;
  std::vector<Boundary> outputs;
  std::vector<Fragment> fragments;
  std::vector<Item> items;
  /// Whether items are listed in the order in which they start by the times of a device.
  bool isInStartOrder = false;
  /// Positions of the items, in the order to issue them (IssueOrder.h).
  std::vector<unsigned> issueOrder;

  /// Appends an item, also to those of its meshes.
  void addItem(Item item);
};

/// Describes an exported MPMD function. Emits an error if it holds anything
/// but fragment calls and transfers, or values that are not on a mesh. Linear
/// in its size. `customs` is what is known of custom calls, for the FLOPs.
mlir::FailureOr<ExportedProgram> describeProgram(mlir::func::FuncOp function,
                                                 CustomCosts customs = {});

/// Estimates the FLOPs of all fragments, whose functions are in the module.
void estimateFlops(ExportedProgram &program, mlir::ModuleOp module,
                   CustomCosts customs);

/// Finds what follows from the items and their operands: last uses, what calls await, and
/// the order of issue.
void completeProgram(ExportedProgram &program);

/// Writes a program as JSON, version 1; on one line unless indented.
void writeJson(const ExportedProgram &program, llvm::raw_ostream &os,
               unsigned indent = 0);

/// Writes a program as JSON, version 2: classes and ranges, a line for each.
void writeRangedJson(const ExportedProgram &program, llvm::raw_ostream &os);

/// Whether a program is large enough for version 2. One of fewer items is as easily
/// read, and as quickly written, item by item.
bool isLargeForJson(const ExportedProgram &program);

/// Writes the placement of the arguments and results of an MPMD function whose
/// values are mesh tensors, as JSON: for each its mesh, the full axes that
/// shard its dimensions, unreduced axes and memory kind. Emits an error if an
/// argument or result is not on a mesh.
mlir::LogicalResult writePlacementJson(mlir::func::FuncOp function,
                                       llvm::raw_ostream &os);

} // namespace meshwright

#endif
