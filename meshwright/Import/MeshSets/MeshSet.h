//===- MeshSet.h - Sets of meshes with origins ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Problem. Mesh inference is a data-flow analysis: for each value, on which meshes it
// is used (backward, by union), and on which it is available (forward, by
// intersection). Errors have to say where a mesh in a set comes from.
//
// Example. %c reads %a and %b:
//
//     src(%a) = <"m1"["a"], "m2"["b"]>     src(%b) = <"m2"["c"], "m3"["d"]>
//     src(%c) = <"m2"["b", "c"]>           what both have, with the labels of both
//
// Invariant. A set is an ordered list without duplicates, the wildcard last, as one
// uniqued attribute. Three states:
//
//   unspecified   no attribute     use set: not needed; src set: anywhere
//   empty         <>               src set: nowhere
//   otherwise     <"m1"["a"], …>   these meshes
//
// A mesh named "*" represents every mesh that is not listed.
//
// Cost. A copy is a pointer; equality is that of pointers, which is what long chains of
// equal sets need. Union and intersection are quadratic in the meshes of a topology.
//
// Name in the literature: a powerset lattice (unspecified src is top, <> is bottom) of
// a bit-vector data-flow problem, with provenance.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_MESHSETS_MESHSET_H
#define MESHWRIGHT_IMPORT_MESHSETS_MESHSET_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include <optional>

namespace mlir::mpmd {

class MeshSet {
public:
  /// The unspecified set.
  MeshSet() = default;

  /// Reads an attribute (null: unspecified): repeated meshes are merged into
  /// their first occurrence and the wildcard moves to the end.
  explicit MeshSet(MeshesWithOriginsAttr attr);

  /// The set of one mesh, with one label unless that is empty.
  static MeshSet get(MLIRContext *context, StringRef mesh,
                     StringRef label = {});

  /// The set of no mesh at all.
  static MeshSet getEmpty(MLIRContext *context);

  bool isSpecified() const { return static_cast<bool>(attr); }
  bool isSpecifiedAndEmpty() const {
    return isSpecified() && attr.getValue().empty();
  }
  bool isSpecifiedAndNotEmpty() const {
    return isSpecified() && !attr.getValue().empty();
  }

  /// The listed meshes, in order, without the wildcard.
  ArrayRef<MeshWithOriginsAttr> getMeshes() const;
  /// The wildcard entry, or null.
  MeshWithOriginsAttr getWildcard() const;
  /// The entry of a listed mesh, or null.
  MeshWithOriginsAttr lookup(StringRef mesh) const;
  /// Whether the mesh is listed or covered by the wildcard.
  bool contains(StringRef mesh) const;

  /// The attribute form; null if unspecified.
  MeshesWithOriginsAttr getAttr() const { return attr; }

  /// Equality of meshes, labels and order.
  bool operator==(MeshSet other) const { return attr == other.attr; }
  bool operator!=(MeshSet other) const { return attr != other.attr; }

private:
  MeshesWithOriginsAttr attr;
};

/// `a`, then what `b` adds: meshes at the end, labels at the end of theirs.
/// An unspecified side adds nothing; an unspecified `a` does not take over the
/// wildcard of `b`.
MeshSet unite(MeshSet a, MeshSet b);

/// The same for one after the other, from the unspecified set on. Linear in the meshes of
/// all sets.
MeshSet uniteAll(ArrayRef<MeshSet> sets);

/// The meshes in both, in the order of `a`, with the labels of both. The other
/// side is the result where one is unspecified. A wildcard lets the meshes of
/// the other side pass, with its labels; it survives if both have one.
MeshSet intersect(MeshSet a, MeshSet b);

/// Whether both name the same meshes, wildcard included; labels and order do
/// not count, and unspecified counts as empty.
bool haveSameMeshes(MeshSet a, MeshSet b);

/// Whether every mesh of `uses` is in `sources`; an unspecified set of sources
/// has every mesh.
bool isSubset(MeshSet uses, MeshSet sources);

/// The one mesh to choose from a specified set: one of `preferred` if there is
/// any, one that is not only there for the sake of a broadcast if possible, and
/// the smallest name in string order among what remains. None if `set` is
/// empty.
std::optional<StringRef> prioritize(MeshSet set, MeshSet preferred = {});

/// The listed meshes in the same order, each with this one label.
MeshSet relabel(MeshSet set, StringRef label);

} // namespace mlir::mpmd

#endif
