//===- EqualBodies.h - Bodies that compute the same -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IR_EQUALBODIES_H
#define MESHWRIGHT_IR_EQUALBODIES_H

#include "mlir/IR/Region.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include <unordered_map>

namespace mlir::mpmd {

/// Equal for equal bodies; others differ unless it is in wiring alone.
llvm::hash_code hashBody(Region &body);

/// The hashes of several bodies, on all cores.
SmallVector<llvm::hash_code> hashBodies(ArrayRef<Region *> bodies);

/// Whether two bodies, which read nothing from around them, differ in nothing
/// but locations: types, ops, attributes, wiring position by position (of
/// commutative ops too), and the order of what they return.
bool areEqualBodies(Region &a, Region &b);

/// Sorts things with bodies into classes, in a time that is linear in the size
/// of the bodies. `isEqual` compares the first of a class with one thing.
template <typename T> class EqualityClasses {
public:
  /// Returns the number of the class.
  template <typename IsEqual>
  unsigned add(T thing, size_t hash, IsEqual isEqual) {
    SmallVector<unsigned, 1> &candidates = classesOfHash[hash];
    for (unsigned candidate : candidates)
      if (isEqual(classes[candidate].front(), thing)) {
        classes[candidate].push_back(thing);
        return candidate;
      }
    candidates.push_back(classes.size());
    classes.push_back({thing});
    return classes.size() - 1;
  }

  /// Classes and their members in the order in which they came.
  SmallVector<SmallVector<T>> &get() { return classes; }

private:
  SmallVector<SmallVector<T>> classes;
  std::unordered_map<size_t, SmallVector<unsigned, 1>> classesOfHash;
};

} // namespace mlir::mpmd

#endif
