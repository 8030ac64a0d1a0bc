//===- MarkPaths.h - Marks in stacks of calls -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_EXPLAIN_MARKPATHS_H
#define MESHWRIGHT_PARTITIONER_EXPLAIN_MARKPATHS_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <deque>

namespace meshwright {

/// The mark of an op or argument, below those of the calls through which it is
/// meant. Where these calls are inlined, locations have the marks in this
/// order.
struct MarkPath {
  const MarkPath *outer; ///< Of the innermost of the calls, if there are any.
  mlir::Attribute mark;
  bool isOfCall;
  /// What has its marks may represent the value, if that is gone.
  bool isReplaceable = false;
};

/// The paths that something looks for. No location is asked before all are here.
class MarkPaths {
public:
  MarkPath *get(const MarkPath *outer, mlir::Attribute mark, bool isOfCall);
  llvm::ArrayRef<const MarkPath *> getEndingWith(mlir::Attribute mark) const;

private:
  std::deque<MarkPath> paths;
  llvm::DenseMap<mlir::Attribute, llvm::SmallVector<const MarkPath *, 1>>
      ending;
};

/// Finds paths in locations. Calls in calls share the outer part of their stacks,
/// so what is known of each part is kept: a stack as deep as the program is not
/// walked again for each op.
class MarkSearch {
public:
  explicit MarkSearch(const MarkPaths &paths) : paths(paths) {}

  /// The paths in a location that do not end with a call.
  llvm::ArrayRef<const MarkPath *> findEnds(mlir::Location location);
  bool hasReplaceable(mlir::Location location);
  bool has(mlir::Location location, const MarkPath *path);
  void forEach(mlir::Location location,
               llvm::function_ref<void(const MarkPath *)> visit);

  /// Parts of locations that were looked at, for tests of how that grows.
  size_t getNumSteps() const { return numSteps; }

private:
  /// What is in a location; nothing is null.
  struct Found {
    llvm::SmallVector<const Found *, 2> parts;    ///< The inner one first.
    llvm::SmallVector<const MarkPath *, 1> paths; ///< That no part has.
    /// Marks that may go on with a path of calls further out.
    llvm::SmallVector<mlir::Attribute, 1> open;
    llvm::SmallVector<const MarkPath *, 1> ends; ///< Of all parts.
    bool hasReplaceable = false;
  };

  const Found *find(mlir::LocationAttr location);
  const Found *findUnshared(mlir::LocationAttr location);
  const Found *combine(const Found *inner, const Found *outer);
  void add(const MarkPath *path, Found &found);
  void addPart(const Found *part, Found &found);
  void walk(const Found *found, llvm::function_ref<bool(const Found &)> visit);
  bool has(const Found *found, const MarkPath *path);

  const MarkPaths &paths;
  std::deque<Found> all;
  llvm::DenseMap<mlir::Attribute, const Found *> known;
  size_t numSteps = 0;
};

} // namespace meshwright

#endif
