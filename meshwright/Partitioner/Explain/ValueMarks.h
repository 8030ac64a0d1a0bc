//===- ValueMarks.h - Values found again after passes -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A user asks for `%0` of a program's text, and passes have inlined, merged and
// replaced what computes it. Locations are what passes keep, so the op gets a mark
// in its location:
//
//   %0 = stablehlo.tanh %x loc(fused<"value 1">["model.py":3:1])
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_EXPLAIN_VALUEMARKS_H
#define MESHWRIGHT_PARTITIONER_EXPLAIN_VALUEMARKS_H

#include "meshwright/Files/ProgramText.h"
#include "meshwright/Partitioner/Explain/MarkPaths.h"
#include "meshwright/Partitioner/Explain/PassedValues.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace meshwright {

/// Finds values of a program again. A result of a call is also what the callee
/// returns, and an argument of a callee what calls pass.
class ValueMarks {
public:
  explicit ValueMarks(mlir::ModuleOp module) : module(module), passed(module) {}

  /// Marks the values that a name of the program's text represents: `%0`, all of
  /// them if there are several, or `%0#1`. Those of the main function, if it has
  /// such. Reports an error on the module if there are none.
  mlir::LogicalResult mark(llvm::StringRef name, const WrittenValues &written);

  /// The marked values of the program, as passes have left it. Where the op of a
  /// marked value is gone, and had no other results, those that took its place.
  llvm::DenseSet<mlir::Value> find() const;

private:
  /// What identifies a value.
  struct Trace {
    MarkPath *path;
    mlir::OperationName name; ///< Of the op, or of that around an argument.
    unsigned index;
    unsigned count; ///< Of results, or arguments.
    bool isArgument;
    /// What the region of the op returns there, if it has one. The value is the
    /// result for which that is returned now, if any is.
    mlir::Value returned;
  };
  using Traces = llvm::SmallVector<Trace, 1>;
  class Finder;

  void markAll(llvm::ArrayRef<mlir::Value> values);
  mlir::BlockArgument trace(mlir::Value value, Traces &traces,
                            const llvm::DenseSet<mlir::Value> &others);
  void traceInner(llvm::ArrayRef<Trace> traces);
  MarkPath *getPath(const MarkPath *outer, mlir::Operation *op);
  MarkPath *getPath(mlir::BlockArgument arg);
  mlir::Attribute getMark(const void *marked, bool &isNew);

  mlir::ModuleOp module;
  PassedValues passed;
  llvm::DenseMap<const void *, mlir::Attribute> marks;
  MarkPaths paths;
  Traces traces;
  llvm::DenseMap<mlir::Value, Traces> inner; ///< By what regions return.
};

} // namespace meshwright

#endif
