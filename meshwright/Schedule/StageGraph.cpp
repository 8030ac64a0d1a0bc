//===- StageGraph.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/StageGraph.h"
#include "meshwright/Schedule/Schedule.h"
#include "meshwright/Text/NearestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <set>
#include <tuple>

using namespace meshwright;

/// Far more than a pipeline has: stages and meshes, and what feeds what.
static constexpr int64_t kMostStages = int64_t(1) << 12;
static constexpr size_t kMostFeeds = size_t(1) << 16;

bool Tower::operator==(const Tower &other) const {
  return std::tie(name, first, count, meshes, schedule, hasLoss) ==
         std::tie(other.name, other.first, other.count, other.meshes,
                  other.schedule, other.hasLoss);
}

int64_t StageGraph::countStages() const {
  return towers.empty() ? 0 : towers.back().first + towers.back().count;
}

int64_t StageGraph::countMeshes() const {
  int64_t count = 0;
  for (const Tower &tower : towers)
    for (int64_t mesh : tower.meshes)
      count = std::max(count, mesh + 1);
  return count;
}

const Tower &StageGraph::getTower(int64_t stage) const {
  return *llvm::find_if(towers,
                        [&](const Tower &tower) { return tower.has(stage); });
}

StageLinks::StageLinks(const StageGraph &graph, int64_t stages)
    : before(stages), after(stages) {
  auto link = [&](int64_t from, int64_t to) {
    if (llvm::is_contained(before[to], from))
      return;
    before[to].push_back(from);
    after[from].push_back(to);
  };
  auto linkAll = [&](int64_t first, int64_t count) {
    for (int64_t stage = first + 1; stage < first + count; ++stage)
      link(stage - 1, stage);
  };
  if (graph.isChain())
    linkAll(0, stages);
  for (const Tower &tower : graph.towers)
    linkAll(tower.first, tower.count);
  for (auto [from, to] : graph.feeds)
    link(from, to);
}

std::vector<int64_t> StageLinks::countToEnd() const {
  std::vector<int64_t> counts(after.size(), 1);
  for (int64_t stage = static_cast<int64_t>(after.size()) - 1; stage >= 0;
       --stage)
    for (int64_t next : after[stage])
      counts[stage] = std::max(counts[stage], counts[next] + 1);
  return counts;
}

namespace {
class GraphReader {
public:
  llvm::Error read(llvm::StringRef text);
  StageGraph take() { return std::move(graph); }

private:
  llvm::Error readTower(llvm::StringRef text);
  llvm::Error readMeshes(llvm::StringRef text, Tower &tower);
  llvm::Error readFeed(llvm::StringRef text);
  llvm::Expected<const Tower *> findTower(llvm::StringRef name) const;
  /// The stages that an end of a feed means; `usual` if it names a tower alone.
  llvm::Expected<std::pair<int64_t, int64_t>>
  readEnd(llvm::StringRef text,
          llvm::function_ref<int64_t(const Tower &)> usual,
          bool takesAll) const;
  llvm::Error checkWays() const;

  StageGraph graph;
  std::set<std::pair<int64_t, int64_t>> feeds;
  int64_t nextMesh = 0;
};
} // namespace

template <typename... Ts>
static llvm::Error makeError(const char *format, Ts &&...values) {
  return llvm::createStringError(
      "towers: " + llvm::formatv(format, std::forward<Ts>(values)...).str());
}

bool meshwright::isTowerName(llvm::StringRef text) {
  return !text.empty() && !llvm::isDigit(text.front()) &&
         llvm::all_of(text,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

llvm::Error GraphReader::readMeshes(llvm::StringRef text, Tower &tower) {
  auto fail = [&] {
    return makeError("meshes '{0}' of tower {1}: expected a range such as 0-3, "
                     "or numbers such as 0+2",
                     text, tower.name);
  };
  auto [from, to] = text.split('-');
  int64_t first, last;
  if (text.contains('-')) {
    if (from.getAsInteger(10, first) || to.getAsInteger(10, last) ||
        first < 0 || last < first || last >= kMostStages)
      return fail();
    for (int64_t mesh = first; mesh <= last; ++mesh)
      tower.meshes.push_back(mesh);
    return llvm::Error::success();
  }
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, '+');
  for (llvm::StringRef part : parts) {
    if (part.getAsInteger(10, first) || first < 0 || first >= kMostStages ||
        llvm::is_contained(tower.meshes, first))
      return fail();
    tower.meshes.push_back(first);
  }
  return llvm::Error::success();
}

llvm::Error GraphReader::readTower(llvm::StringRef text) {
  auto [whole, schedule] = text.split('=');
  auto [head, meshes] = whole.split('@');
  auto [name, count] = head.split(':');
  Tower tower{name.str(), graph.countStages(), 0, {}, "1F1B"};
  if (!isTowerName(name) || count.getAsInteger(10, tower.count) ||
      tower.count < 1 || tower.count > kMostStages)
    return makeError(
        "unknown entry '{0}'; expected a tower with its number of stages, as "
        "in vision:2, or vision>text for what feeds what",
        text);
  if (llvm::any_of(graph.towers, [&](const Tower &other) {
        return other.name == tower.name;
      }))
    return makeError("tower {0} occurs twice; give each a name of its own",
                     name);
  if (tower.first + tower.count > kMostStages)
    return makeError("more than {0} stages; a pipeline has fewer", kMostStages);
  if (text.contains('=')) {
    const Schedule *known = findSchedule(schedule);
    if (!known)
      return makeError("tower {0}: unknown schedule '{1}', {2}", name, schedule,
                       listSchedules(schedule));
    tower.schedule = known->name.str();
  }
  if (whole.contains('@')) {
    if (llvm::Error error = readMeshes(meshes, tower))
      return error;
  } else {
    for (int64_t stage = 0; stage < tower.count; ++stage)
      tower.meshes.push_back(nextMesh + stage);
  }
  nextMesh = std::max(nextMesh, *llvm::max_element(tower.meshes) + 1);
  graph.towers.push_back(std::move(tower));
  return llvm::Error::success();
}

llvm::Expected<const Tower *>
GraphReader::findTower(llvm::StringRef name) const {
  auto it = llvm::find_if(
      graph.towers, [&](const Tower &tower) { return tower.name == name; });
  if (it != graph.towers.end())
    return &*it;
  auto names = llvm::map_to_vector(
      graph.towers,
      [](const Tower &tower) -> llvm::StringRef { return tower.name; });
  return makeError("unknown tower '{0}', {1}", name, listKnown(name, names));
}

llvm::Expected<std::pair<int64_t, int64_t>>
GraphReader::readEnd(llvm::StringRef text,
                     llvm::function_ref<int64_t(const Tower &)> usual,
                     bool takesAll) const {
  auto [name, number] = text.split('.');
  llvm::Expected<const Tower *> tower = findTower(name);
  if (!tower)
    return tower.takeError();
  int64_t first = (*tower)->first, stage;
  if (!text.contains('.'))
    return std::pair(usual(**tower), usual(**tower));
  if (takesAll && number == "*")
    return std::pair(first, first + (*tower)->count - 1);
  if (number.getAsInteger(10, stage) || stage < 0 || stage >= (*tower)->count)
    return makeError("'{0}' is no stage of tower {1}, which has 0 to {2}", text,
                     name, (*tower)->count - 1);
  return std::pair(first + stage, first + stage);
}

llvm::Error GraphReader::readFeed(llvm::StringRef text) {
  auto [giver, reader] = text.split('>');
  if (reader.empty()) {
    llvm::Expected<const Tower *> tower = findTower(giver);
    if (!tower)
      return tower.takeError();
    graph.towers[*tower - graph.towers.data()].hasLoss = true;
    return llvm::Error::success();
  }
  auto from = readEnd(
      giver, [](const Tower &t) { return t.first + t.count - 1; }, false);
  if (!from)
    return from.takeError();
  auto to = readEnd(reader, [](const Tower &t) { return t.first; }, true);
  if (!to)
    return to.takeError();
  const Tower &first = graph.getTower(from->first);
  const Tower &second = graph.getTower(to->first);
  if (first.first >= second.first)
    return makeError(
        "{0} feeds {1}, which does not come after it; list what feeds first, "
        "and give what is in a cycle a tower of its own",
        first.name, second.name);
  for (int64_t stage = to->first; stage <= to->second; ++stage)
    feeds.emplace(from->first, stage);
  if (feeds.size() > kMostFeeds)
    return makeError(
        "more than {0} pairs of stages feed each other; a pipeline has fewer",
        kMostFeeds);
  return llvm::Error::success();
}

llvm::Error GraphReader::checkWays() const {
  int64_t stages = graph.countStages();
  StageLinks links(graph, stages);
  std::vector<bool> hasWay(stages);
  for (int64_t stage = stages - 1; stage >= 0; --stage)
    hasWay[stage] = graph.getTower(stage).hasLoss ||
                    llvm::any_of(links.after[stage],
                                 [&](int64_t next) { return hasWay[next]; });
  for (const Tower &tower : graph.towers)
    if (!hasWay[tower.first])
      return makeError(
          "no path leads from tower {0} to a loss; say which stage it feeds, "
          "as in {0}>NAME, or that it ends in a loss of its own, {0}>",
          tower.name);
  return llvm::Error::success();
}

llvm::Error GraphReader::read(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> entries;
  text.split(entries, ';');
  for (llvm::StringRef entry : entries)
    if (!entry.contains('>'))
      if (llvm::Error error = readTower(entry.trim()))
        return error;
  for (llvm::StringRef entry : entries)
    if (entry.contains('>'))
      if (llvm::Error error = readFeed(entry.trim()))
        return error;
  if (graph.towers.empty())
    return makeError("'{0}' has no tower; expected one as in vision:2", text);
  std::vector<bool> isUsed(graph.countMeshes());
  for (const Tower &tower : graph.towers)
    for (int64_t mesh : tower.meshes)
      isUsed[mesh] = true;
  if (const auto it = llvm::find(isUsed, false); it != isUsed.end())
    return makeError(
        "mesh {0} has no tower, but mesh {1} has; number meshes without a gap",
        it - isUsed.begin(), isUsed.size() - 1);
  graph.feeds.assign(feeds.begin(), feeds.end());
  graph.towers.back().hasLoss = true;
  return checkWays();
}

llvm::Expected<StageGraph> meshwright::parseStageGraph(llvm::StringRef text) {
  GraphReader reader;
  if (llvm::Error error = reader.read(text))
    return error;
  return reader.take();
}

std::string meshwright::toString(const StageGraph &graph) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Tower &tower : graph.towers) {
    os << (tower.first == 0 ? "" : ";") << tower.name << ':' << tower.count
       << '@';
    llvm::interleave(tower.meshes, os, "+");
    os << '=' << tower.schedule;
  }
  for (auto [from, to] : graph.feeds) {
    const Tower &giver = graph.getTower(from), &reader = graph.getTower(to);
    os << ';' << giver.name << '.' << from - giver.first << '>' << reader.name
       << '.' << to - reader.first;
  }
  for (const Tower &tower : llvm::ArrayRef(graph.towers).drop_back())
    if (tower.hasLoss)
      os << ';' << tower.name << '>';
  return text;
}

std::string meshwright::nameStage(const StageGraph &graph, int64_t stage) {
  if (graph.isChain())
    return "stage " + std::to_string(stage);
  const Tower &tower = graph.getTower(stage);
  return "stage " + std::to_string(stage - tower.first) + " of " + tower.name;
}
