//===- PlanFile.cpp - Plans written by users ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/PlanFile.h"
#include "meshwright/Schedule/Schedule.h"
#include "meshwright/Schedule/Timeline.h"
#include "meshwright/Text/PlainJson.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <set>

using namespace meshwright;

static constexpr llvm::StringLiteral kOverlap = ")OVERLAP_F_B";

/// Enough for the most actions that a plan has, with long numbers.
static constexpr uint64_t kMostBytes = uint64_t(1) << 26;

namespace {
/// Where an action is, both counted from 0.
struct CellPosition {
  size_t row;
  size_t column;
  bool inJson = false; ///< Else in a table.
};

/// A plan, and for each of its actions the cell it was read from.
class PlanReader {
public:
  llvm::Error read(llvm::StringRef text);
  llvm::Error readJson(llvm::StringRef text);
  /// Numbers the actions, by which cells that contradict each other are found.
  llvm::Error checkCells();
  llvm::Error checkOverlaps() const;
  llvm::Error checkComplete() const;
  llvm::Error checkGraph() const;
  llvm::Error checkRuns() const;

  Plan takePlan() { return std::move(plan); }

private:
  using Key = std::pair<std::pair<int64_t, int64_t>, int>;
  static Key getKey(int64_t stage, int64_t microbatch, ActionKind kind) {
    return {{stage, microbatch}, static_cast<int>(kind)};
  }

  llvm::Error readGraph(llvm::StringRef text);
  llvm::Error readCell(llvm::StringRef cell, CellPosition position);
  llvm::Error readJsonAction(const llvm::json::Value &value,
                             CellPosition position);
  llvm::Error readAction(llvm::StringRef cell, CellPosition position);
  llvm::Error checkTowers(const Stall &stall) const;
  llvm::Error checkWork(int64_t stage, int64_t microbatch) const;
  llvm::Error checkOrder(const Action &first, const Action &second) const;
  const CellPosition *find(const Action &action) const;

  Plan plan;
  std::vector<std::vector<CellPosition>> cells;
  llvm::DenseMap<Key, CellPosition> positions;
  int64_t numStages = 0, numMicrobatches = 0;
};
} // namespace

/// The text of a cell for a message: not all of a long one, and nothing that is
/// no text.
static std::string quote(llvm::StringRef cell) {
  constexpr size_t kShown = 40;
  std::string text = "'";
  llvm::raw_string_ostream os(text);
  llvm::printEscapedString(cell.take_front(kShown), os);
  return text + (cell.size() > kShown ? "...'" : "'");
}

static std::string toString(CellPosition position) {
  if (position.inJson)
    return llvm::formatv("meshes[{0}].actions[{1}]", position.row,
                         position.column);
  return llvm::formatv("row {0} column {1}", position.row + 1,
                       position.column + 1);
}

template <typename... Ts>
static llvm::Error makeError(CellPosition position, const char *format,
                             Ts &&...values) {
  return llvm::createStringError(
      toString(position) + ": " +
      llvm::formatv(format, std::forward<Ts>(values)...).str());
}

/// PyTorch's cells that are no computation.
static bool isCommunication(llvm::StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases({"SEND_F", "RECV_F", "SEND_B", "RECV_B", "UNSHARD", "RESHARD",
              "REDUCE_GRAD"},
             true)
      .Default(false);
}

llvm::Error PlanReader::readAction(llvm::StringRef cell,
                                   CellPosition position) {
  llvm::StringRef stageText = cell.take_while(llvm::isDigit);
  llvm::StringRef word = cell.drop_front(stageText.size()).rtrim("0123456789");
  llvm::StringRef microbatchText =
      cell.drop_front(stageText.size() + word.size());
  if (isCommunication(word))
    return makeError(position,
                     "{0} is communication; only computations are read, the "
                     "compiler finds the transfers",
                     quote(cell));
  if (word == "BW")
    return makeError(
        position,
        "{0} is of an older format, in which B is the gradient of the input; "
        "write B for the whole backward, I and W for its halves",
        quote(cell));
  std::optional<ActionKind> kind = findKind(word);
  int32_t stage, microbatch;
  if (!kind || stageText.getAsInteger(10, stage) ||
      microbatchText.getAsInteger(10, microbatch))
    return makeError(position,
                     "unknown cell {0}; expected a stage, F, B, I or W, and a "
                     "microbatch, as in 0F3, or (0F3;1B0)OVERLAP_F_B",
                     quote(cell));
  plan.meshes.back().push_back({stage, *kind, microbatch});
  cells.back().push_back(position);
  return llvm::Error::success();
}

llvm::Error PlanReader::readCell(llvm::StringRef cell, CellPosition position) {
  cell = cell.trim();
  if (cell.empty())
    return llvm::Error::success();
  if (!cell.starts_with("("))
    return readAction(cell, position);
  llvm::StringRef pair = cell.drop_front();
  if (!pair.consume_back(kOverlap) || !pair.contains(';'))
    return makeError(position,
                     "unknown cell {0}; expected (0F3;1B0)OVERLAP_F_B",
                     quote(cell));
  auto [first, second] = pair.split(';');
  if (llvm::Error error = readAction(first, position))
    return error;
  if (llvm::Error error = readAction(second, position))
    return error;
  std::prev(plan.meshes.back().end(), 2)->joinsNext = true;
  return llvm::Error::success();
}

/// Each overlapped step must be a forward and a backward that need nothing of each
/// other: the backward of a microbatch needs all its forwards.
llvm::Error PlanReader::checkOverlaps() const {
  for (auto [list, listCells] : llvm::zip(plan.meshes, cells))
    for (size_t i = 0; i < list.size(); ++i) {
      const Action &first = list[i];
      if (!first.joinsNext)
        continue;
      if (i + 1 == list.size())
        return makeError(
            listCells[i],
            "{0} overlaps the next action of its mesh, but is the last",
            meshwright::toString(first));
      const Action &second = list[i + 1];
      if (second.joinsNext)
        return makeError(listCells[i + 1],
                         "{0} overlaps the action before it and the one after "
                         "it; an action is in one overlapped step",
                         meshwright::toString(second));
      if (first.kind != ActionKind::Forward ||
          (second.kind != ActionKind::Backward &&
           second.kind != ActionKind::Input))
        return makeError(
            listCells[i],
            "{0} overlaps {1}; expected a forward, then a backward",
            meshwright::toString(first), meshwright::toString(second));
      if (first.microbatch == second.microbatch)
        return makeError(listCells[i],
                         "{0} overlaps {1}, which needs it: they are of one "
                         "microbatch; expected actions of two microbatches",
                         meshwright::toString(first),
                         meshwright::toString(second));
    }
  return llvm::Error::success();
}

/// A number of an action, from 0.
static std::optional<int64_t> readNumber(const llvm::json::Object &action,
                                         llvm::StringRef key) {
  std::optional<int64_t> number = action.getInteger(key);
  if (!number || *number < 0 || *number > std::numeric_limits<int32_t>::max())
    return std::nullopt;
  return number;
}

/// What `meshwright schedule --json` prints; its times mean nothing here.
llvm::Error PlanReader::readJsonAction(const llvm::json::Value &value,
                                       CellPosition position) {
  const llvm::json::Object *action = value.getAsObject();
  std::optional<int64_t> stage, microbatch;
  std::optional<ActionKind> kind;
  if (action) {
    stage = readNumber(*action, "stage");
    microbatch = readNumber(*action, "microbatch");
    if (auto word = action->getString("kind"))
      kind = findKind(*word);
  }
  if (!stage || !microbatch || !kind)
    return makeError(
        position, "expected an object with a \"stage\" and a \"microbatch\", "
                  "numbers from 0, and a \"kind\", F, B, I or W");
  Action added{*stage, *kind, *microbatch};
  if (const llvm::json::Value *overlaps = action->get("overlaps_next")) {
    if (!overlaps->getAsBoolean())
      return makeError(position, "expected true or false as \"overlaps_next\"");
    added.joinsNext = *overlaps->getAsBoolean();
  }
  plan.meshes.back().push_back(added);
  cells.back().push_back(position);
  return llvm::Error::success();
}

llvm::Error PlanReader::readJson(llvm::StringRef text) {
  llvm::Expected<llvm::json::Value> value = parsePlainJson(text);
  if (!value)
    return value.takeError();
  const llvm::json::Object *object = value->getAsObject();
  const llvm::json::Array *meshes =
      object ? object->getArray("meshes") : nullptr;
  if (!meshes || meshes->empty())
    return llvm::createStringError(
        "expected an object with a list of \"meshes\", as meshwright schedule "
        "--json prints it");
  if (const llvm::json::Value *towers = object->get("towers")) {
    if (!towers->getAsString())
      return llvm::createStringError("expected a string as \"towers\", as "
                                     "meshwright schedule --json prints it");
    if (llvm::Error error = readGraph(*towers->getAsString()))
      return error;
  }
  size_t numActions = 0;
  for (auto [row, mesh] : llvm::enumerate(*meshes)) {
    const llvm::json::Object *fields = mesh.getAsObject();
    const llvm::json::Array *actions =
        fields ? fields->getArray("actions") : nullptr;
    if (!actions)
      return llvm::createStringError(llvm::formatv(
          "meshes[{0}]: expected an object with a list of \"actions\"", row));
    numActions += actions->size();
    if (numActions > kMostActions)
      return llvm::createStringError(llvm::formatv(
          "meshes[{0}]: the schedule exceeds the limit of {1} actions", row,
          kMostActions));
    plan.meshes.emplace_back();
    cells.emplace_back();
    for (auto [column, action] : llvm::enumerate(*actions))
      if (llvm::Error error = readJsonAction(action, {row, column, true}))
        return error;
  }
  return llvm::Error::success();
}

llvm::Error PlanReader::readGraph(llvm::StringRef text) {
  llvm::Expected<StageGraph> graph = parseStageGraph(text.trim());
  if (!graph)
    return graph.takeError();
  plan.graph = std::move(*graph);
  return llvm::Error::success();
}

llvm::Error PlanReader::read(llvm::StringRef text) {
  text = text.rtrim();
  if (text.consume_front(kTowersKeyword)) {
    auto [towers, rows] = text.split('\n');
    if (llvm::Error error = readGraph(towers))
      return error;
    text = rows;
  }
  size_t numActions = 0;
  for (size_t row = 0; row == 0 || !text.empty(); ++row) {
    auto [line, rest] = text.split('\n');
    text = rest;
    if (line.trim().empty())
      return makeError({row, 0}, "the row is empty; each row is a mesh, and "
                                 "one without actions is a comma");
    plan.meshes.emplace_back();
    cells.emplace_back();
    for (size_t column = 0; !line.empty(); ++column) {
      auto [cell, others] = line.split(',');
      line = others;
      if (llvm::Error error = readCell(cell, {row, column}))
        return error;
      if (numActions + plan.meshes.back().size() > kMostActions)
        return makeError({row, column},
                         "the schedule exceeds the limit of {0} actions",
                         kMostActions);
    }
    numActions += plan.meshes.back().size();
  }
  return llvm::Error::success();
}

const CellPosition *PlanReader::find(const Action &action) const {
  auto it =
      positions.find(getKey(action.stage, action.microbatch, action.kind));
  return it == positions.end() ? nullptr : &it->second;
}

static std::string joinLetters(llvm::StringRef letters) {
  return llvm::join(
      llvm::map_range(letters, [](char c) { return std::string(1, c); }), ", ");
}

llvm::Error PlanReader::checkCells() {
  llvm::DenseMap<int64_t, CellPosition> homes;
  for (auto [list, listCells] : llvm::zip(plan.meshes, cells))
    for (auto [action, cell] : llvm::zip(list, listCells)) {
      auto [home, isNewStage] = homes.try_emplace(action.stage, cell);
      if (home->second.row != cell.row)
        return makeError(cell,
                         "{0} is of stage {1}, which is on rank {2} ({3}), not "
                         "on rank {4}; a stage runs in one row",
                         meshwright::toString(action), action.stage,
                         home->second.row, ::toString(home->second), cell.row);
      auto [known, isNew] = positions.try_emplace(
          getKey(action.stage, action.microbatch, action.kind), cell);
      if (!isNew)
        return makeError(
            cell, "{0} occurs twice; it is in {1} already, so remove one",
            meshwright::toString(action), ::toString(known->second));
      numStages = std::max(numStages, action.stage + 1);
      numMicrobatches = std::max(numMicrobatches, action.microbatch + 1);
    }
  return llvm::Error::success();
}

llvm::Error PlanReader::checkOrder(const Action &first,
                                   const Action &second) const {
  const CellPosition &a = *find(first), &b = *find(second);
  bool isOrdered = a.column < b.column;
  // In one cell, the pair was checked to be a forward and a backward.
  if (isOrdered || a.column == b.column)
    return llvm::Error::success();
  return makeError(b, "{0} is out of order: it needs {1}, which comes in {2}",
                   meshwright::toString(second), meshwright::toString(first),
                   a.inJson ? ::toString(a)
                            : "column " + std::to_string(a.column + 1));
}

/// One forward and one backward, in this order, in the chain or of one part of the
/// vocabulary.
llvm::Error PlanReader::checkWork(int64_t stage, int64_t microbatch) const {
  Action F{stage, ActionKind::Forward, microbatch},
      B{stage, ActionKind::Backward, microbatch},
      I{stage, ActionKind::Input, microbatch},
      W{stage, ActionKind::Weight, microbatch},
      E{stage, ActionKind::Embedding, microbatch},
      G{stage, ActionKind::EmbeddingBackward, microbatch},
      S{stage, ActionKind::Head, microbatch},
      T{stage, ActionKind::HeadBackward, microbatch};
  std::string found;
  const CellPosition *some = nullptr;
  for (const Action &action : {F, B, I, W, E, G, S, T})
    if (const CellPosition *cell = find(action)) {
      found += getLetter(action.kind);
      some = cell;
    }
  if (found == "FB")
    return checkOrder(F, B);
  if (found == "FIW") {
    if (llvm::Error error = checkOrder(F, I))
      return error;
    return checkOrder(I, W);
  }
  if (found == "EG")
    return checkOrder(E, G);
  if (found == "ST")
    return checkOrder(S, T);
  if (llvm::StringRef(found).find_first_of("EGST") != llvm::StringRef::npos)
    return makeError(*some,
                     "stage {0} microbatch {1} has {2}; expected E and G, or S "
                     "and T, of a part of the vocabulary",
                     stage, microbatch, joinLetters(found));
  std::string expected =
      llvm::formatv("expected F and B, or F, I and W, of each of {0} stages "
                    "and {1} microbatches",
                    numStages, numMicrobatches);
  if (!some)
    return llvm::createStringError(
        llvm::formatv("stage {0} microbatch {1} is missing; {2}", stage,
                      microbatch, expected));
  std::string hint = found == "FBW" ? "; in an older format B is the gradient "
                                      "of the input, which is I here"
                                    : "";
  return makeError(*some, "stage {0} microbatch {1} has {2}; {3}{4}", stage,
                   microbatch, joinLetters(found), expected, hint);
}

llvm::Error PlanReader::checkComplete() const {
  if (plan.countActions() == 0)
    return llvm::createStringError(
        "the schedule has no action; expected those of some stage");
  // What has no action at all is an empty stage.
  std::set<int64_t> stages;
  for (const ActionList &list : plan.meshes)
    for (const Action &action : list)
      stages.insert(action.stage);
  // Stops at the first gap, so huge numbers in a cell cost nothing.
  for (int64_t stage : stages)
    for (int64_t microbatch = 0; microbatch < numMicrobatches; ++microbatch)
      if (llvm::Error error = checkWork(stage, microbatch))
        return error;
  return llvm::Error::success();
}

/// Two towers on one mesh, of which the order of the row has the wrong one first.
llvm::Error PlanReader::checkTowers(const Stall &stall) const {
  const CellPosition *other = find(stall.missing);
  if (plan.graph.isChain() || !other || other->row != stall.mesh)
    return llvm::Error::success();
  const Action &action = plan.meshes[stall.mesh][stall.index];
  const Tower &first = plan.graph.getTower(action.stage);
  const Tower &second = plan.graph.getTower(stall.missing.stage);
  if (&first == &second)
    return llvm::Error::success();
  return makeError(
      cells[stall.mesh][stall.index],
      "the orders of towers {0} and {1} contradict each other on rank {2}: {3} "
      "of {0} needs {4} of {1}, which comes in {5}; put the latter first",
      first.name, second.name, stall.mesh, meshwright::toString(action),
      meshwright::toString(stall.missing), ::toString(*other));
}

/// The rows hold the stages of the towers that are on their meshes.
llvm::Error PlanReader::checkGraph() const {
  if (plan.graph.isChain())
    return llvm::Error::success();
  if (numStages != plan.graph.countStages() ||
      static_cast<int64_t>(plan.meshes.size()) != plan.graph.countMeshes())
    return llvm::createStringError(
        llvm::formatv("the towers have {0} stages on {1} meshes, but the rows "
                      "are {2} with {3} stages; expected a row for each mesh",
                      plan.graph.countStages(), plan.graph.countMeshes(),
                      plan.meshes.size(), numStages));
  std::vector<const Tower *> owners;
  for (const Tower &tower : plan.graph.towers)
    owners.insert(owners.end(), tower.count, &tower);
  for (auto [row, list] : llvm::enumerate(plan.meshes))
    for (auto [action, cell] : llvm::zip(list, cells[row]))
      if (const Tower &tower = *owners[action.stage];
          !llvm::is_contained(tower.meshes, static_cast<int64_t>(row)))
        return makeError(cell,
                         "{0} is of tower {1}, which is not on rank {2}; put "
                         "it into a row of its own tower",
                         meshwright::toString(action), tower.name, row);
  return llvm::Error::success();
}

llvm::Error PlanReader::checkRuns() const {
  std::vector<Stall> stalls = findStalls(plan);
  if (stalls.empty())
    return llvm::Error::success();
  for (const Stall &stall : stalls)
    if (llvm::Error error = checkTowers(stall))
      return error;
  std::string text = "deadlock: ";
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      stalls, os,
      [&](const Stall &stall) {
        os << ::toString(cells[stall.mesh][stall.index]) << " (rank "
           << stall.mesh << ") waits at "
           << plan.meshes[stall.mesh][stall.index] << " for " << stall.missing;
      },
      "; ");
  return llvm::createStringError(text);
}

llvm::Expected<Plan> meshwright::parsePlan(llvm::StringRef text) {
  if (text.trim().empty())
    return llvm::createStringError(
        "the schedule is empty; expected a row for each mesh");
  PlanReader reader;
  bool isJson = text.ltrim().starts_with("{");
  if (llvm::Error error = isJson ? reader.readJson(text) : reader.read(text))
    return error;
  if (llvm::Error error = reader.checkCells())
    return error;
  if (llvm::Error error = reader.checkOverlaps())
    return error;
  if (llvm::Error error = reader.checkComplete())
    return error;
  if (llvm::Error error = reader.checkGraph())
    return error;
  if (llvm::Error error = reader.checkRuns())
    return error;
  return reader.takePlan();
}

/// What is no file may have no end, or not even begin.
static llvm::Error checkFile(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return llvm::createStringError("cannot be read: " + error.message());
  if (status.type() == llvm::sys::fs::file_type::directory_file)
    return llvm::createStringError(
        "is a directory; expected a CSV or JSON file");
  if (status.type() != llvm::sys::fs::file_type::regular_file)
    return llvm::createStringError(
        "is a pipe or a device; expected a CSV or JSON file");
  if (status.getSize() > kMostBytes)
    return llvm::createStringError(
        llvm::formatv("has {0} bytes; a schedule has {1} at most",
                      status.getSize(), kMostBytes));
  return llvm::Error::success();
}

llvm::Expected<Plan> meshwright::readPlanFile(llvm::StringRef path) {
  auto fail = [&](llvm::Error error) {
    return llvm::createStringError(path + ": " +
                                   llvm::toString(std::move(error)));
  };
  if (llvm::Error error = checkFile(path))
    return fail(std::move(error));
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (std::error_code error = buffer.getError())
    return fail(llvm::createStringError("cannot be read: " + error.message()));
  llvm::Expected<Plan> plan = parsePlan((*buffer)->getBuffer());
  if (!plan)
    return fail(plan.takeError());
  return plan;
}
