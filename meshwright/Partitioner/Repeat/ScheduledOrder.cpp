//===- ScheduledOrder.cpp - The order that the scheduler would give -------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Repeat/ScheduledOrder.h"
#include "meshwright/Optimize/Scheduler/ScheduleConstraints.h"
#include "meshwright/Optimize/Scheduler/UnitConstraints.h"
#include "meshwright/Order/BlockSort.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::mpmd;
using namespace meshwright;

using Item = ExportedProgram::Item;
using Entries = std::vector<RepeatedEntry>;

/// Of an item that there is not.
static constexpr unsigned kNoNode = std::numeric_limits<unsigned>::max();

namespace {
/// Where items of a kind are before the scheduler.
enum class Region : char {
  Unknown,
  Before,     ///< Before all microbatches.
  Microbatch, ///< In the order of the microbatches.
  After,      ///< After all microbatches.
  Moved       ///< It goes to what reads it first.
};

/// The items of some microbatches but those that are moved: nodes in the order that they
/// have before the scheduler.
struct Nodes {
  bool isWhole; ///< Rather than the few.
  Entries entries;
  /// By kind and microbatch; what is there once has one.
  std::vector<std::vector<unsigned>> numbers;
  size_t firstAfter = 0; ///< Of those after all microbatches.
  SortedOps sorted;

  unsigned find(RepeatedEntry entry) const {
    int64_t place = std::max<int64_t>(entry.microbatch, 0);
    const std::vector<unsigned> &ofKind = numbers[entry.kind];
    return place < static_cast<int64_t>(ofKind.size()) ? ofKind[place]
                                                       : kNoNode;
  }
};

class OrderScheduler {
public:
  OrderScheduler(const ExportedProgram &few, const ProgramLabels &labels,
                 const RepeatCounts &counts, const ScheduleOption &schedule,
                 const llvm::StringMap<int64_t> &stages)
      : few(few), labels(labels), counts(counts), schedule(schedule),
        stages(stages), regions(labels.countKinds(), Region::Unknown),
        followsUnits(labels.countKinds()), unitOf(few.items.size(), kNoNode),
        lastUnits(counts.few, kNoNode), ofMicrobatch(counts.few) {}

  std::optional<Entries> find();

private:
  bool classify();
  bool classify(RepeatedEntry entry);
  bool isAfterLastUnit(unsigned index, int64_t microbatch);
  std::optional<WorkItem> getUnit(const Item &item, int64_t microbatch) const;
  bool forEachRead(RepeatedEntry entry, bool isWhole,
                   llvm::function_ref<bool(RepeatedEntry)> visit) const;

  bool addNodes(Nodes &nodes) const;
  bool addReads(RepeatedEntry entry, unsigned reader, const Nodes &nodes,
                std::vector<EdgeTable::Edge> &edges) const;
  std::optional<OrderConstraints> findUnitOrder(const Nodes &nodes) const;
  std::optional<Nodes> sort(bool isWhole) const;
  bool areAfterAlike(const Nodes &part, const Nodes &whole) const;

  std::optional<std::vector<size_t>> findPlacesOfMoved(const Nodes &) const;
  Entries insertMoved(const Nodes &nodes, llvm::ArrayRef<size_t> places) const;

  const ExportedProgram &few;
  const ProgramLabels &labels;
  const RepeatCounts &counts;
  const ScheduleOption &schedule;
  const llvm::StringMap<int64_t> &stages;

  std::vector<Region> regions;    ///< By kind.
  std::vector<bool> followsUnits; ///< By kind.
  /// By item of the few: the unit that gives, directly or by transfers, what it gives.
  std::vector<unsigned> unitOf;
  std::vector<unsigned> lastUnits; ///< By microbatch.
  Entries before, after, moved;
  std::vector<Entries> ofMicrobatch;
};
} // namespace

//===----------------------------------------------------------------------===//
// What is where
//===----------------------------------------------------------------------===//

/// What the scheduler sees of a call; none if it does not order it.
std::optional<WorkItem> OrderScheduler::getUnit(const Item &item,
                                                int64_t microbatch) const {
  if (item->origins.empty() || item->transposeCount > 1)
    return std::nullopt;
  StringRef suffix = item->transposeCount == 1 ? "(1)" : "";
  for (auto [origin, name] : llvm::zip_equal(item->origins, item->originNames))
    if (origin.size() != name.size() + suffix.size() ||
        !StringRef(origin).ends_with(suffix))
      return std::nullopt;
  auto stage = stages.find(item->originNames.front());
  if (stage == stages.end())
    return std::nullopt;
  return WorkItem{item->transposeCount ? WorkKind::Backward : WorkKind::Forward,
                  microbatch, stage->second};
}

/// Whether an item of the few, of a microbatch, reads what the last unit of that before it
/// gives. It is then the next one, or a transfer after it.
bool OrderScheduler::isAfterLastUnit(unsigned index, int64_t microbatch) {
  const Item &item = few.items[index];
  unsigned &last = lastUnits[microbatch];
  bool readsLast = llvm::any_of(item.operands, [&](unsigned operand) {
    std::optional<unsigned> maker = labels.findMaker(operand);
    return maker && last != kNoNode && unitOf[*maker] == last;
  });
  if (!item->fragment) {
    unitOf[index] = last;
    return readsLast;
  }
  bool isFirst = last == kNoNode;
  unitOf[index] = last = index;
  return isFirst || readsLast;
}

bool OrderScheduler::classify(RepeatedEntry entry) {
  unsigned index = labels.getItem(entry);
  const Item &item = few.items[index];
  bool isOnce = entry.microbatch == RepeatedEntry::kOnce;
  bool follows = false;
  for (unsigned operand : item.operands)
    if (std::optional<unsigned> maker = labels.findMaker(operand)) {
      std::optional<RepeatedEntry> read = labels.findEntry(*maker);
      // What represents other microbatches is where they are.
      follows |= !read || followsUnits[read->kind];
    }
  Region region = follows ? Region::After : Region::Before;
  if (isOnce && item->fragment && item->origins.empty()) {
    region = Region::Moved;
    moved.push_back(entry);
  } else if (!isOnce && (item->fragment || follows)) {
    region = Region::Microbatch;
    follows = true;
    if ((item->fragment && !getUnit(item, entry.microbatch)) ||
        !isAfterLastUnit(index, entry.microbatch))
      return false;
    ofMicrobatch[entry.microbatch].push_back(entry);
  } else {
    (follows ? after : before).push_back(entry);
  }
  if (regions[entry.kind] == Region::Unknown) {
    regions[entry.kind] = region;
    followsUnits[entry.kind] = follows;
  }
  return regions[entry.kind] == region && followsUnits[entry.kind] == follows;
}

bool OrderScheduler::classify() {
  return llvm::all_of(labels.getOrder(),
                      [&](RepeatedEntry entry) { return classify(entry); });
}

//===----------------------------------------------------------------------===//
// The order of the scheduler
//===----------------------------------------------------------------------===//

/// Visits what an item reads, as long as that is understood.
bool OrderScheduler::forEachRead(
    RepeatedEntry entry, bool isWhole,
    llvm::function_ref<bool(RepeatedEntry)> visit) const {
  std::optional<unsigned> index =
      isWhole ? labels.findLike(entry) : labels.getItem(entry);
  if (!index)
    return false;
  const Item &item = few.items[*index];
  std::optional<RepeatedEntry> last; // Operands of one item are in a row.
  for (unsigned operand : llvm::seq<unsigned>(item.operands.size())) {
    std::optional<RepeatedEntry> read;
    if (isWhole) {
      ValueSource source = labels.getSource(*index, operand, entry.microbatch);
      if (source.form == ValueSource::Input)
        continue;
      read = {source.kind, RepeatedEntry::kOnce};
      if (source.form == ValueSource::Relative)
        read->microbatch = entry.microbatch + source.microbatch;
      else if (source.form == ValueSource::Absolute)
        read->microbatch = source.microbatch;
    } else if (auto maker = labels.findMaker(item.operands[operand])) {
      read = labels.findEntry(*maker);
    }
    if (!read || read == last)
      continue;
    last = read;
    if (!visit(*read))
      return false;
  }
  return true;
}

/// Makes nodes of the items.
bool OrderScheduler::addNodes(Nodes &nodes) const {
  int64_t count = nodes.isWhole ? counts.many : counts.few;
  nodes.entries = before;
  if (nodes.isWhole) {
    std::optional<Entries> repeated =
        repeatOrder(before, labels.countKinds(), counts);
    if (!repeated)
      return false;
    nodes.entries = std::move(*repeated);
  }
  for (int64_t microbatch : llvm::seq(count)) {
    int64_t like =
        nodes.isWhole ? labels.findLikeMicrobatch(microbatch) : microbatch;
    for (RepeatedEntry entry : ofMicrobatch[like])
      nodes.entries.push_back({entry.kind, microbatch});
  }
  nodes.firstAfter = nodes.entries.size();
  llvm::append_range(nodes.entries, after);
  nodes.numbers.resize(labels.countKinds());
  for (auto [number, entry] : llvm::enumerate(nodes.entries)) {
    bool isOnce = entry.microbatch == RepeatedEntry::kOnce;
    std::vector<unsigned> &ofKind = nodes.numbers[entry.kind];
    ofKind.resize(isOnce ? 1 : count, kNoNode);
    ofKind[isOnce ? 0 : entry.microbatch] = number;
  }
  return true;
}

/// Adds what a node reads of microbatches and after them; all else is before it anyway.
/// What is moved reads for those that read it.
bool OrderScheduler::addReads(RepeatedEntry entry, unsigned reader,
                              const Nodes &nodes,
                              std::vector<EdgeTable::Edge> &edges) const {
  return visitReadsThrough(
      entry,
      [&](RepeatedEntry item, EntryVisitor visit) {
        return forEachRead(item, nodes.isWhole, visit);
      },
      [&](RepeatedEntry read) {
        return followsUnits[read.kind] && regions[read.kind] == Region::Moved;
      },
      [&](RepeatedEntry read) {
        if (!followsUnits[read.kind])
          return true;
        unsigned producer = nodes.find(read);
        edges.emplace_back(reader, producer);
        return producer != kNoNode;
      });
}

/// What the schedule requires of the units.
std::optional<OrderConstraints>
OrderScheduler::findUnitOrder(const Nodes &nodes) const {
  func::FuncOp function = few.fragments.front().function;
  SmallVector<MeshUnits> meshes =
      listMeshes(function.getContext(),
                 llvm::map_to_vector(few.meshes, [](const auto &mesh) {
                   return StringRef(mesh.name);
                 }));
  for (auto [number, entry] : llvm::enumerate(nodes.entries)) {
    if (regions[entry.kind] != Region::Microbatch)
      continue;
    std::optional<unsigned> index =
        nodes.isWhole ? labels.findLike(entry) : labels.getItem(entry);
    if (!index)
      return std::nullopt;
    const Item &item = few.items[*index];
    if (!item->fragment)
      continue;
    MeshUnits &mesh = meshes[item->fromMesh];
    mesh.positions.push_back(number);
    mesh.items.push_back(*getUnit(item, entry.microbatch));
  }
  dropUnordered(meshes, schedule);
  std::optional<SmallVector<Constraints>> required =
      findConstraints(schedule, meshes);
  if (!required)
    return std::nullopt;
  std::vector<OrderedMesh> ordered;
  for (auto [mesh, ofMesh] : llvm::zip_equal(meshes, *required))
    ordered.push_back({std::move(mesh), std::move(ofMesh)});
  return getConstraints(nodes.entries.size(), ordered);
}

std::optional<Nodes> OrderScheduler::sort(bool isWhole) const {
  Nodes nodes{isWhole, {}, {}, 0, {}};
  if (!addNodes(nodes))
    return std::nullopt;
  std::vector<EdgeTable::Edge> edges;
  for (auto [number, entry] : llvm::enumerate(nodes.entries))
    if (followsUnits[entry.kind] && !addReads(entry, number, nodes, edges))
      return std::nullopt;
  std::optional<OrderConstraints> constraints = findUnitOrder(nodes);
  if (!constraints)
    return std::nullopt;
  std::optional<SortedOps> sorted =
      findSortedOrder(EdgeTable(edges, nodes.entries.size()), *constraints);
  if (!sorted)
    return std::nullopt;
  nodes.sorted = std::move(*sorted);
  return nodes;
}

/// Of what is after the microbatches the order before the scheduler is known where it is
/// taken in one sweep. Elsewhere the sweeps must decide.
bool OrderScheduler::areAfterAlike(const Nodes &part,
                                   const Nodes &whole) const {
  unsigned earliest = 0, end = 0, last = 0;
  for (unsigned at : llvm::seq<unsigned>(0, after.size())) {
    unsigned sweep = part.sorted.sweeps[part.firstAfter + at],
             inWhole = whole.sorted.sweeps[whole.firstAfter + at];
    if (at > 0 && sweep > last)
      earliest = end;
    if (inWhole < earliest)
      return false;
    last = sweep;
    end = std::max(end, inWhole + 1);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// What is moved
//===----------------------------------------------------------------------===//

/// Before which of the sorted nodes each item goes that is moved.
std::optional<std::vector<size_t>>
OrderScheduler::findPlacesOfMoved(const Nodes &nodes) const {
  std::vector<size_t> first(labels.countKinds(), nodes.entries.size());
  auto addReader = [&](RepeatedEntry entry, size_t place) {
    return forEachRead(entry, nodes.isWhole, [&](RepeatedEntry read) {
      if (regions[read.kind] == Region::Moved)
        first[read.kind] = std::min(first[read.kind], place);
      return true;
    });
  };
  for (auto [place, number] : llvm::enumerate(nodes.sorted.order))
    if (!addReader(nodes.entries[number], place))
      return std::nullopt;
  // They are in the order that they have among the few, so readers are later.
  for (RepeatedEntry entry : llvm::reverse(moved))
    if (!addReader(entry, first[entry.kind]))
      return std::nullopt;
  std::vector<size_t> places;
  for (RepeatedEntry entry : moved)
    places.push_back(first[entry.kind]);
  return places;
}

/// The sorted nodes, and what is moved before them.
Entries OrderScheduler::insertMoved(const Nodes &nodes,
                                    llvm::ArrayRef<size_t> places) const {
  std::vector<std::pair<size_t, size_t>> byPlace;
  for (auto [number, place] : llvm::enumerate(places))
    byPlace.emplace_back(place, number);
  llvm::sort(byPlace);
  llvm::ArrayRef left = byPlace;
  Entries result;
  result.reserve(nodes.entries.size() + moved.size());
  auto addMoved = [&](size_t place) {
    for (; !left.empty() && left.front().first == place;
         left = left.drop_front())
      result.push_back(moved[left.front().second]);
  };
  for (auto [place, number] : llvm::enumerate(nodes.sorted.order)) {
    addMoved(place);
    result.push_back(nodes.entries[number]);
  }
  addMoved(nodes.entries.size());
  return result;
}

std::optional<Entries> OrderScheduler::find() {
  if (few.fragments.empty() || !classify())
    return std::nullopt;
  std::optional<Nodes> part = sort(/*isWhole=*/false);
  if (!part)
    return std::nullopt;
  std::optional<std::vector<size_t>> places = findPlacesOfMoved(*part);
  if (!places || insertMoved(*part, *places) != labels.getOrder())
    return std::nullopt;
  std::optional<Nodes> whole = sort(/*isWhole=*/true);
  if (!whole || !areAfterAlike(*part, *whole))
    return std::nullopt;
  std::optional<std::vector<size_t>> wholePlaces = findPlacesOfMoved(*whole);
  if (!wholePlaces)
    return std::nullopt;
  auto getEntry = [](const Nodes &nodes, size_t place) {
    return place < nodes.sorted.order.size()
               ? nodes.entries[nodes.sorted.order[place]]
               : RepeatedEntry{0, RepeatedEntry::kOnce};
  };
  for (auto [place, wholePlace] : llvm::zip_equal(*places, *wholePlaces)) {
    RepeatedEntry entry = getEntry(*part, place);
    if (entry.microbatch != RepeatedEntry::kOnce)
      entry.microbatch = counts.move(entry.microbatch);
    bool isAtEnd = place == part->entries.size();
    if (isAtEnd != (wholePlace == whole->entries.size()) ||
        !(entry == getEntry(*whole, wholePlace)))
      return std::nullopt;
  }
  return insertMoved(*whole, *wholePlaces);
}

std::optional<Entries> meshwright::orderBySchedule(
    const ExportedProgram &few, const ProgramLabels &labels,
    const RepeatCounts &counts, const ScheduleOption &schedule,
    const llvm::StringMap<int64_t> &stages) {
  return OrderScheduler(few, labels, counts, schedule, stages).find();
}
