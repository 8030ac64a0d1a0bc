//===- MeshSet.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/MeshSets/MeshSet.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

static constexpr StringLiteral kWildcard = "*";
/// Meshes with this label are taken only if there is no other.
static constexpr StringLiteral kLowPriorityLabel = "broadcast_in";

static bool isWildcard(MeshWithOriginsAttr mesh) {
  return mesh.getMeshName() == kWildcard;
}

/// `entry` with the labels of `more` after its own.
static MeshWithOriginsAttr addLabels(MeshWithOriginsAttr entry,
                                     ArrayRef<OriginAttr> more) {
  ArrayRef<OriginAttr> own = entry.getOrigins();
  if (more.empty() || own == more)
    return entry;
  llvm::SmallSetVector<OriginAttr, 8> labels(own.begin(), own.end());
  labels.insert_range(more);
  if (labels.size() == own.size())
    return entry;
  return MeshWithOriginsAttr::get(entry.getContext(), entry.getMeshName(),
                                  labels.getArrayRef());
}

namespace {
/// A set under construction.
class MeshSetBuilder {
public:
  void add(MeshWithOriginsAttr mesh) {
    if (isWildcard(mesh))
      return addWildcard(mesh);
    auto [it, isNew] = positions.try_emplace(mesh.getMeshName(), meshes.size());
    if (isNew)
      meshes.push_back(mesh);
    else
      meshes[it->second] = addLabels(meshes[it->second], mesh.getOrigins());
  }

  void addWildcard(MeshWithOriginsAttr mesh) {
    wildcard = wildcard ? addLabels(wildcard, mesh.getOrigins()) : mesh;
  }

  MeshSet build(MLIRContext *context) {
    if (wildcard)
      meshes.push_back(wildcard);
    return MeshSet(MeshesWithOriginsAttr::get(context, meshes));
  }

private:
  SmallVector<MeshWithOriginsAttr> meshes;
  llvm::SmallDenseMap<StringRef, size_t, 16> positions;
  MeshWithOriginsAttr wildcard;
};
} // namespace

/// Whether no mesh is listed twice and nothing follows the wildcard.
static bool isInNormalForm(ArrayRef<MeshWithOriginsAttr> meshes) {
  if (meshes.size() < 2)
    return true;
  llvm::SmallDenseSet<StringRef, 16> names;
  for (auto [index, mesh] : llvm::enumerate(meshes)) {
    if (!names.insert(mesh.getMeshName()).second)
      return false;
    if (isWildcard(mesh) && index + 1 != meshes.size())
      return false;
  }
  return true;
}

MeshSet::MeshSet(MeshesWithOriginsAttr attr) : attr(attr) {
  if (!attr || isInNormalForm(attr.getValue()))
    return;
  MeshSetBuilder builder;
  for (MeshWithOriginsAttr mesh : attr.getValue())
    builder.add(mesh);
  *this = builder.build(attr.getContext());
}

MeshSet MeshSet::get(MLIRContext *context, StringRef mesh, StringRef label) {
  SmallVector<OriginAttr, 1> origins;
  if (!label.empty())
    origins.push_back(
        OriginAttr::get(context, StringAttr::get(context, label)));
  return MeshSet(MeshesWithOriginsAttr::get(
      context, MeshWithOriginsAttr::get(context, mesh, origins)));
}

MeshSet MeshSet::getEmpty(MLIRContext *context) {
  return MeshSet(
      MeshesWithOriginsAttr::get(context, ArrayRef<MeshWithOriginsAttr>()));
}

ArrayRef<MeshWithOriginsAttr> MeshSet::getMeshes() const {
  if (!attr)
    return {};
  return attr.getValue().drop_back(getWildcard() ? 1 : 0);
}

MeshWithOriginsAttr MeshSet::getWildcard() const {
  if (!isSpecifiedAndNotEmpty() || !isWildcard(attr.getValue().back()))
    return {};
  return attr.getValue().back();
}

MeshWithOriginsAttr MeshSet::lookup(StringRef mesh) const {
  for (MeshWithOriginsAttr entry : getMeshes())
    if (entry.getMeshName() == mesh)
      return entry;
  return {};
}

bool MeshSet::contains(StringRef mesh) const {
  return getWildcard() || lookup(mesh);
}

MeshSet mpmd::unite(MeshSet a, MeshSet b) {
  if (a == b || !b.isSpecified())
    return a;
  if (!a.isSpecified() && !b.getWildcard())
    return b;
  MeshSetBuilder builder;
  for (MeshWithOriginsAttr mesh : a.getMeshes())
    builder.add(mesh);
  for (MeshWithOriginsAttr mesh : b.getMeshes())
    builder.add(mesh);
  if (a.isSpecified())
    for (MeshSet set : {a, b})
      if (MeshWithOriginsAttr wildcard = set.getWildcard())
        builder.addWildcard(wildcard);
  return builder.build(b.getAttr().getContext());
}

MeshSet mpmd::uniteAll(ArrayRef<MeshSet> sets) {
  MeshSet last;
  bool isAlone = true;
  MeshSetBuilder builder;
  for (MeshSet set : sets) {
    MeshWithOriginsAttr wildcard = set.getWildcard();
    if (!set.isSpecified() || (set == last && !wildcard))
      continue;
    for (MeshWithOriginsAttr mesh : set.getMeshes())
      builder.add(mesh);
    if (last.isSpecified() && wildcard)
      builder.addWildcard(wildcard);
    isAlone = !last.isSpecified() && !wildcard;
    last = set;
  }
  if (isAlone)
    return last;
  return builder.build(last.getAttr().getContext());
}

MeshSet mpmd::intersect(MeshSet a, MeshSet b) {
  if (a == b || !b.isSpecified())
    return a;
  if (!a.isSpecified())
    return b;
  MeshWithOriginsAttr wildcardA = a.getWildcard(), wildcardB = b.getWildcard();
  llvm::SmallDenseMap<StringRef, MeshWithOriginsAttr, 16> inB;
  for (MeshWithOriginsAttr mesh : b.getMeshes())
    inB.try_emplace(mesh.getMeshName(), mesh);

  MeshSetBuilder builder;
  for (MeshWithOriginsAttr mesh : a.getMeshes()) {
    auto it = inB.find(mesh.getMeshName());
    MeshWithOriginsAttr match = it == inB.end() ? wildcardB : it->second;
    if (it != inB.end())
      it->second = {}; // What keeps its entry is only in B.
    if (match)
      builder.add(addLabels(mesh, match.getOrigins()));
  }
  if (wildcardA)
    for (MeshWithOriginsAttr mesh : b.getMeshes())
      if (inB.lookup(mesh.getMeshName()))
        builder.add(addLabels(mesh, wildcardA.getOrigins()));
  if (wildcardA && wildcardB)
    builder.addWildcard(addLabels(wildcardA, wildcardB.getOrigins()));
  return builder.build(a.getAttr().getContext());
}

bool mpmd::haveSameMeshes(MeshSet a, MeshSet b) {
  if (a == b)
    return true;
  if (a.getMeshes().size() != b.getMeshes().size() ||
      static_cast<bool>(a.getWildcard()) != static_cast<bool>(b.getWildcard()))
    return false;
  return llvm::all_of(a.getMeshes(), [&](MeshWithOriginsAttr mesh) {
    return static_cast<bool>(b.lookup(mesh.getMeshName()));
  });
}

bool mpmd::isSubset(MeshSet uses, MeshSet sources) {
  if (!sources.isSpecified() || uses == sources)
    return true;
  if (uses.getWildcard() && !sources.getWildcard())
    return false;
  return llvm::all_of(uses.getMeshes(), [&](MeshWithOriginsAttr mesh) {
    return sources.contains(mesh.getMeshName());
  });
}

static bool hasLowPriority(MeshWithOriginsAttr mesh) {
  return llvm::any_of(mesh.getOrigins(), [](OriginAttr origin) {
    return origin.getOriginLabel() == kLowPriorityLabel;
  });
}

std::optional<StringRef> mpmd::prioritize(MeshSet set, MeshSet preferred) {
  // What counts is the name and whether it is only there for a broadcast.
  using Candidate = std::pair<bool, StringRef>;
  SmallVector<Candidate> candidates;
  for (MeshWithOriginsAttr mesh : preferred.getMeshes()) {
    MeshWithOriginsAttr entry = set.lookup(mesh.getMeshName());
    if (!entry)
      entry = set.getWildcard();
    if (entry)
      candidates.emplace_back(hasLowPriority(entry), mesh.getMeshName());
  }
  if (candidates.empty())
    for (MeshWithOriginsAttr mesh : set.getMeshes())
      candidates.emplace_back(hasLowPriority(mesh), mesh.getMeshName());
  if (candidates.empty())
    return std::nullopt;
  return llvm::min_element(candidates)->second;
}

MeshSet mpmd::relabel(MeshSet set, StringRef label) {
  if (!set.isSpecified())
    return set;
  MLIRContext *context = set.getAttr().getContext();
  auto origin = OriginAttr::get(context, StringAttr::get(context, label));
  auto meshes =
      llvm::map_to_vector(set.getMeshes(), [&](MeshWithOriginsAttr mesh) {
        return MeshWithOriginsAttr::get(context, mesh.getMeshName(), origin);
      });
  return MeshSet(MeshesWithOriginsAttr::get(context, meshes));
}
