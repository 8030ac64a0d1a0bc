//===- AxisAlgebra.h - Relations between axes and sub-axes ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A sub-axis "x":(p)s reshapes the axis to (p, s, rest) and means the middle
// part. It covers the half-open range [p, p * s) of the products of the parts,
// a full axis of size n the range [1, n). A prefix of an axis starts at the
// same point and ends earlier; adjacent sub-axes merge. Two sub-axes can
// coexist in one sharding, or be cut against each other, only if one reshape of
// the axis has both as runs of whole parts: (1)2 and (3)2 of an axis of size 6
// cannot.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_AXISALGEBRA_H
#define MESHWRIGHT_DIALECT_SDY_AXISALGEBRA_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"

namespace mlir::sdy {

/// Mesh order: position of the axis in the mesh, then where the part starts,
/// then its size, a full axis being the largest.
bool isBefore(AxisRefAttr a, AxisRefAttr b, MeshAttr mesh);

void sortInMeshOrder(MutableArrayRef<AxisRefAttr> axes, MeshAttr mesh);

/// Every part of `b` is in `a`. A sub-axis never contains the full axis.
bool contains(AxisRefAttr a, AxisRefAttr b);
bool strictlyContains(AxisRefAttr a, AxisRefAttr b);

/// `a` starts where `b` does and is contained in it.
bool isPrefixOf(AxisRefAttr a, AxisRefAttr b);

bool overlaps(AxisRefAttr a, AxisRefAttr b);

/// Some reshape of the axis has both as runs of whole parts. True for different
/// axes and if one of the two is a full axis.
bool canCoexist(AxisRefAttr a, AxisRefAttr b);

/// The longest prefix of `a` that is free of `b`; null if there is none.
AxisRefAttr getPrefixWithoutOverlap(AxisRefAttr a, AxisRefAttr b);
/// Likewise for several other axes.
AxisRefAttr getPrefixWithoutOverlap(AxisRefAttr a,
                                    ArrayRef<AxisRefAttr> others);

/// The longest common prefix of both; null if there is none.
AxisRefAttr getCommonPrefix(AxisRefAttr a, AxisRefAttr b);

/// What is left of `a` after its prefix `prefix`; null if nothing.
AxisRefAttr getSuffixAfter(AxisRefAttr a, AxisRefAttr prefix, MeshAttr mesh);

/// `b` starts where the sub-axis `a` of the same axis ends.
bool canMerge(AxisRefAttr a, AxisRefAttr b);
/// The axis or sub-axis that covers both; requires canMerge.
AxisRefAttr merge(AxisRefAttr a, AxisRefAttr b, MeshAttr mesh);
/// Appends an axis, merging it with the last one where possible.
void appendOrMerge(SmallVectorImpl<AxisRefAttr> &axes, AxisRefAttr axis,
                   MeshAttr mesh);

/// The axes in mesh order, merged where they meet.
SmallVector<AxisRefAttr> sortAndMerge(SmallVector<AxisRefAttr> axes,
                                      MeshAttr mesh);

/// The product of the sizes.
int64_t getTotalSize(ArrayRef<AxisRefAttr> axes, MeshAttr mesh);

/// An axis or part of an axis; the full axis if the size says so.
AxisRefAttr getAxisOrSubAxis(MeshAttr mesh, StringRef name, int64_t preSize,
                             int64_t size);

} // namespace mlir::sdy

#endif
