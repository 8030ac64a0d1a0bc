//===- MarkPaths.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Explain/MarkPaths.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace meshwright;

MarkPath *MarkPaths::get(const MarkPath *outer, Attribute mark, bool isOfCall) {
  SmallVector<const MarkPath *, 1> &same = ending[mark];
  auto *it = llvm::find_if(
      same, [&](const MarkPath *path) { return path->outer == outer; });
  if (it != same.end())
    return const_cast<MarkPath *>(*it);
  MarkPath *path = &paths.emplace_back(MarkPath{outer, mark, isOfCall});
  same.push_back(path);
  return path;
}

ArrayRef<const MarkPath *> MarkPaths::getEndingWith(Attribute mark) const {
  auto it = ending.find(mark);
  return it == ending.end() ? ArrayRef<const MarkPath *>() : it->second;
}

ArrayRef<const MarkPath *> MarkSearch::findEnds(Location location) {
  const Found *found = find(location);
  return found ? found->ends : ArrayRef<const MarkPath *>();
}

bool MarkSearch::hasReplaceable(Location location) {
  const Found *found = find(location);
  return found && found->hasReplaceable;
}

bool MarkSearch::has(Location location, const MarkPath *path) {
  return has(find(location), path);
}

void MarkSearch::forEach(Location location,
                         function_ref<void(const MarkPath *)> visit) {
  walk(find(location), [&](const Found &found) {
    llvm::for_each(found.paths, visit);
    return true;
  });
}

/// Visits all parts, inner ones first, until it is enough.
void MarkSearch::walk(const Found *found,
                      function_ref<bool(const Found &)> visit) {
  SmallVector<const Found *> stack;
  if (found)
    stack.push_back(found);
  llvm::SmallPtrSet<const Found *, 8> seen;
  while (!stack.empty()) {
    const Found *part = stack.pop_back_val();
    if (!seen.insert(part).second)
      continue;
    ++numSteps;
    if (!visit(*part))
      return;
    llvm::append_range(stack, llvm::reverse(part->parts));
  }
}

bool MarkSearch::has(const Found *found, const MarkPath *path) {
  if (found && !path->isOfCall)
    return llvm::is_contained(found->ends, path);
  bool isFound = false;
  walk(found, [&](const Found &part) {
    isFound = llvm::is_contained(part.paths, path);
    return !isFound;
  });
  return isFound;
}

void MarkSearch::add(const MarkPath *path, Found &found) {
  found.paths.push_back(path);
  found.hasReplaceable |= path->isReplaceable;
  if (!path->isOfCall && !llvm::is_contained(found.ends, path))
    found.ends.push_back(path);
}

void MarkSearch::addPart(const Found *part, Found &found) {
  found.parts.push_back(part);
  found.hasReplaceable |= part->hasReplaceable;
  for (const MarkPath *end : part->ends)
    if (!llvm::is_contained(found.ends, end))
      found.ends.push_back(end);
}

/// What is in a call site: open marks of the callee go on with paths that its
/// caller has.
const MarkSearch::Found *MarkSearch::combine(const Found *inner,
                                             const Found *outer) {
  if (!inner || !outer)
    return inner ? inner : outer;
  Found &found = all.emplace_back();
  addPart(inner, found);
  addPart(outer, found);
  SmallVector<Attribute> open;
  walk(inner, [&](const Found &part) {
    llvm::append_range(open, part.open);
    return true;
  });
  // One may go on with what another one did.
  for (size_t before = SIZE_MAX; before != found.paths.size();) {
    before = found.paths.size();
    for (Attribute mark : open)
      for (const MarkPath *path : paths.getEndingWith(mark))
        if (path->outer && !llvm::is_contained(found.paths, path) &&
            has(&found, path->outer))
          add(path, found);
  }
  return &found;
}

/// All but the stack of a call site is small.
const MarkSearch::Found *MarkSearch::findUnshared(LocationAttr location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return find(name.getChildLoc());
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused)
    return nullptr;
  SmallVector<const Found *> parts;
  for (Location part : fused.getLocations())
    if (const Found *found = find(part))
      parts.push_back(found);
  ArrayRef<const MarkPath *> ending;
  if (fused.getMetadata())
    ending = paths.getEndingWith(fused.getMetadata());
  if (ending.empty() && parts.size() <= 1)
    return parts.empty() ? nullptr : parts.front();
  Found &found = all.emplace_back();
  for (const Found *part : parts)
    addPart(part, found);
  for (const MarkPath *path : ending)
    if (!path->outer)
      add(path, found);
  if (llvm::any_of(ending, [](const MarkPath *path) { return path->outer; }))
    found.open.push_back(fused.getMetadata());
  return &found;
}

const MarkSearch::Found *MarkSearch::find(LocationAttr location) {
  SmallVector<CallSiteLoc> stack;
  auto it = known.find(location);
  for (; it == known.end(); it = known.find(location)) {
    ++numSteps;
    auto site = dyn_cast<CallSiteLoc>(location);
    if (!site)
      break;
    stack.push_back(site);
    location = site.getCaller();
  }
  const Found *found = it == known.end() ? findUnshared(location) : it->second;
  known[location] = found;
  for (CallSiteLoc site : llvm::reverse(stack)) {
    found = combine(find(site.getCallee()), found);
    known[site] = found;
  }
  return found;
}
