//===- MeshSet.h - Sets of meshes with origins ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The value that mesh inference computes with: an ordered set of mesh names,
// each with the labels that say where it comes from. A set is one uniqued
// attribute, so copying it is free, and comparing two of them is a comparison
// of pointers in the case that matters, that of long chains of equal sets.
//
// Three states matter:
//
//   unspecified   no attribute     use set: nobody needs it; src set: anywhere
//   empty         <>               src set: nowhere
//   otherwise     <"m1"["a"], …>   these meshes
//
// A mesh named "*" stands for every mesh that is not listed. It is kept last.
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
