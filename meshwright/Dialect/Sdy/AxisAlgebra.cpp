//===- AxisAlgebra.cpp - Relations between axes and sub-axes --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/AxisAlgebra.h"

using namespace mlir;
using namespace mlir::sdy;

static int64_t nextPreSize(AxisRefAttr subAxis) {
  return subAxis.getSubAxisInfo().getNextPreSize();
}

bool sdy::isBefore(AxisRefAttr a, AxisRefAttr b, MeshAttr mesh) {
  if (a.getName() != b.getName()) {
    size_t positionA = mesh.getAxisPosition(a.getName());
    size_t positionB = mesh.getAxisPosition(b.getName());
    return positionA != positionB ? positionA < positionB
                                  : a.getName() < b.getName();
  }
  if (a.getPreSize() != b.getPreSize())
    return a.getPreSize() < b.getPreSize();
  if (a.isFullAxis() || b.isFullAxis())
    return a.isSubAxis();
  return a.getSubAxisInfo().getSize() < b.getSubAxisInfo().getSize();
}

void sdy::sortInMeshOrder(MutableArrayRef<AxisRefAttr> axes, MeshAttr mesh) {
  llvm::sort(
      axes, [&](AxisRefAttr a, AxisRefAttr b) { return isBefore(a, b, mesh); });
}

bool sdy::contains(AxisRefAttr a, AxisRefAttr b) {
  if (a.getName() != b.getName())
    return false;
  if (a.isFullAxis())
    return true;
  return b.isSubAxis() && a.getPreSize() <= b.getPreSize() &&
         nextPreSize(a) >= nextPreSize(b);
}

bool sdy::strictlyContains(AxisRefAttr a, AxisRefAttr b) {
  return a != b && contains(a, b);
}

bool sdy::isPrefixOf(AxisRefAttr a, AxisRefAttr b) {
  return contains(b, a) && a.getPreSize() == b.getPreSize();
}

bool sdy::overlaps(AxisRefAttr a, AxisRefAttr b) {
  if (a.getName() != b.getName())
    return false;
  if (a.isFullAxis() || b.isFullAxis())
    return true;
  return a.getPreSize() < nextPreSize(b) && b.getPreSize() < nextPreSize(a);
}

bool sdy::canCoexist(AxisRefAttr a, AxisRefAttr b) {
  if (a.getName() != b.getName() || a.isFullAxis() || b.isFullAxis())
    return true;
  auto [minPre, maxPre] = std::minmax({a.getPreSize(), b.getPreSize()});
  auto [minNext, maxNext] = std::minmax({nextPreSize(a), nextPreSize(b)});
  if (minNext > maxPre)
    return minNext % maxPre == 0 && maxPre % minPre == 0 &&
           maxNext % minNext == 0;
  return maxPre % minNext == 0;
}

AxisRefAttr sdy::getPrefixWithoutOverlap(AxisRefAttr a, AxisRefAttr b) {
  if (!canCoexist(a, b))
    return {};
  if (!overlaps(a, b))
    return a;
  if (a.getPreSize() >= b.getPreSize())
    return {};
  return AxisRefAttr::get(a.getContext(), a.getName(), a.getPreSize(),
                          b.getPreSize() / a.getPreSize());
}

AxisRefAttr sdy::getPrefixWithoutOverlap(AxisRefAttr a,
                                         ArrayRef<AxisRefAttr> others) {
  for (AxisRefAttr other : others) {
    if (!a)
      break;
    a = getPrefixWithoutOverlap(a, other);
  }
  return a;
}

AxisRefAttr sdy::getCommonPrefix(AxisRefAttr a, AxisRefAttr b) {
  if (isPrefixOf(a, b))
    return a;
  if (isPrefixOf(b, a))
    return b;
  return {};
}

AxisRefAttr sdy::getSuffixAfter(AxisRefAttr a, AxisRefAttr prefix,
                                MeshAttr mesh) {
  assert(isPrefixOf(prefix, a) && "not a prefix");
  if (a == prefix)
    return {};
  int64_t preSize = nextPreSize(prefix);
  int64_t next = a.getPreSize() * a.getSize(mesh);
  return AxisRefAttr::get(a.getContext(), a.getName(), preSize, next / preSize);
}

bool sdy::canMerge(AxisRefAttr a, AxisRefAttr b) {
  return a.getName() == b.getName() && a.isSubAxis() && b.isSubAxis() &&
         nextPreSize(a) == b.getPreSize();
}

AxisRefAttr sdy::merge(AxisRefAttr a, AxisRefAttr b, MeshAttr mesh) {
  assert(canMerge(a, b) && "not adjacent");
  // A verifier may ask for axes that are too large for any mesh.
  return getAxisOrSubAxis(
      mesh, a.getName(), a.getPreSize(),
      static_cast<int64_t>(static_cast<uint64_t>(a.getSubAxisInfo().getSize()) *
                           b.getSubAxisInfo().getSize()));
}

void sdy::appendOrMerge(SmallVectorImpl<AxisRefAttr> &axes, AxisRefAttr axis,
                        MeshAttr mesh) {
  if (!axes.empty() && canMerge(axes.back(), axis))
    axes.back() = merge(axes.back(), axis, mesh);
  else
    axes.push_back(axis);
}

SmallVector<AxisRefAttr> sdy::sortAndMerge(SmallVector<AxisRefAttr> axes,
                                           MeshAttr mesh) {
  sortInMeshOrder(axes, mesh);
  SmallVector<AxisRefAttr> merged;
  for (AxisRefAttr axis : axes)
    appendOrMerge(merged, axis, mesh);
  return merged;
}

int64_t sdy::getTotalSize(ArrayRef<AxisRefAttr> axes, MeshAttr mesh) {
  int64_t size = 1;
  for (AxisRefAttr axis : axes)
    size *= axis.getSize(mesh);
  return size;
}

AxisRefAttr sdy::getAxisOrSubAxis(MeshAttr mesh, StringRef name,
                                  int64_t preSize, int64_t size) {
  MLIRContext *context = mesh.getContext();
  if (preSize == 1 && mesh.getAxisSize(name) == size)
    return AxisRefAttr::get(context, name);
  return AxisRefAttr::get(context, name, preSize, size);
}
