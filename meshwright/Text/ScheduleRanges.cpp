//===- ScheduleRanges.cpp - What repeats in a schedule --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/ScheduleRanges.h"
#include "meshwright/Text/JsonMembers.h"
#include "meshwright/Text/PlainJson.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <optional>

using namespace meshwright;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Finding ranges
//===----------------------------------------------------------------------===//

/// Shorter ranges are easier to read written out.
static constexpr size_t kMinCount = 3, kMinSaved = 4;
/// How many entries are compared to find candidates for a period, and how many
/// candidates of each kind are tried.
static constexpr size_t kContext = 16, kMaxCandidates = 4;

namespace {
/// Polynomial hashes of the parts of a list.
class PartHashes {
public:
  explicit PartHashes(llvm::ArrayRef<RangeEntry> entries);

  /// Whether a part may be there three times in a row, with the same step of each number.
  /// If not, it is not; if so, it almost always is.
  bool mayRepeat(size_t first, size_t length) const {
    size_t second = first + length, third = second + length;
    return get(forms, first, 2 * length) == get(forms, second, 2 * length) &&
           get(numbers, third, length) - get(numbers, second, length) ==
               get(numbers, second, length) - get(numbers, first, length);
  }

private:
  uint64_t get(llvm::ArrayRef<uint64_t> beginnings, size_t first,
               size_t length) const {
    return beginnings[first + length] - beginnings[first] * powers[length];
  }

  /// Of the beginnings of a list; those of numbers are linear in them, modulo 2^32.
  std::vector<uint64_t> forms{0}, numbers{0}, powers{1};
};

/// The search in one list. `looks` says by a hash what the repetitions of an entry have
/// in common.
class RangeFinder {
public:
  RangeFinder(llvm::ArrayRef<RangeEntry> entries,
              llvm::ArrayRef<uint64_t> looks)
      : entries(entries), hashes(entries), nextAlone(findNext(looks, 1)),
        nextInContext(findNext(looks, kContext)) {}

  std::vector<Range> find() const;

private:
  static std::vector<size_t> findNext(llvm::ArrayRef<uint64_t> looks,
                                      size_t context);
  Range findLongest(size_t first) const;
  size_t countRepetitions(size_t first, size_t length) const;
  bool hasSameStep(size_t index, size_t length) const;

  llvm::ArrayRef<RangeEntry> entries;
  PartHashes hashes;
  /// The next entry that looks like an entry, alone and with those that follow.
  std::vector<size_t> nextAlone, nextInContext;
};
} // namespace

PartHashes::PartHashes(llvm::ArrayRef<RangeEntry> entries) {
  constexpr uint64_t kBase = 0x9e3779b97f4a7c15;
  for (std::vector<uint64_t> *list : {&forms, &numbers, &powers})
    list->reserve(entries.size() + 1);
  for (const RangeEntry &entry : entries) {
    uint64_t sum = 0;
    for (unsigned number : entry.numbers)
      sum = sum * kBase + number;
    forms.push_back(forms.back() * kBase + entry.numbers.size() * kBase +
                    entry.kind);
    numbers.push_back(numbers.back() * kBase + (sum << 32));
    powers.push_back(powers.back() * kBase);
  }
}

std::vector<size_t> RangeFinder::findNext(llvm::ArrayRef<uint64_t> looks,
                                          size_t context) {
  std::vector<size_t> next(looks.size(), looks.size());
  llvm::DenseMap<uint64_t, size_t> last;
  for (size_t index = looks.size(); index-- > 0;) {
    llvm::ArrayRef<uint64_t> seen = looks.drop_front(index).take_front(context);
    // Not one of the two keys that the map has for itself.
    uint64_t hash = llvm::hash_combine_range(seen) >> 1;
    auto [entry, isNew] = last.try_emplace(hash, index);
    if (!isNew)
      next[index] = std::exchange(entry->second, index);
  }
  return next;
}

/// Whether an entry follows the one of the time before by the same step as that one
/// follows the one before it.
bool RangeFinder::hasSameStep(size_t index, size_t length) const {
  llvm::ArrayRef<unsigned> third = entries[index].numbers;
  llvm::ArrayRef<unsigned> second = entries[index - length].numbers;
  llvm::ArrayRef<unsigned> first = entries[index - 2 * length].numbers;
  for (size_t i = 0; i < third.size(); ++i)
    if (third[i] - second[i] != second[i] - first[i])
      return false;
  return true;
}

size_t RangeFinder::countRepetitions(size_t first, size_t length) const {
  if (!hashes.mayRepeat(first, length))
    return 1; // Of most candidates, whose entries need not be compared.
  size_t index = first + length;
  for (; index < entries.size(); ++index) {
    const RangeEntry &before = entries[index - length];
    if (entries[index].kind != before.kind ||
        entries[index].numbers.size() != before.numbers.size())
      break;
    if (index >= first + 2 * length && !hasSameStep(index, length))
      break;
  }
  return (index - first) / length;
}

Range RangeFinder::findLongest(size_t first) const {
  Range best{first, 1, 1};
  for (const std::vector<size_t> *next : {&nextAlone, &nextInContext}) {
    size_t other = (*next)[first];
    for (size_t tried = 0; tried < kMaxCandidates && other < entries.size();
         ++tried, other = (*next)[other]) {
      size_t length = other - first;
      // It is not there often enough, and later candidates even less.
      if (length > (entries.size() - first) / kMinCount)
        break;
      size_t count = countRepetitions(first, length);
      size_t saved = (count - 1) * length;
      if (count >= kMinCount && saved >= kMinSaved &&
          saved > (best.count - 1) * best.length)
        best = {first, length, count};
    }
  }
  return best;
}

std::vector<Range> RangeFinder::find() const {
  std::vector<Range> ranges;
  for (size_t index = 0; index < entries.size();) {
    const Range &range = ranges.emplace_back(findLongest(index));
    index += range.length * range.count;
  }
  return ranges;
}

std::vector<Range> meshwright::findRanges(llvm::ArrayRef<RangeEntry> entries) {
  std::vector<uint64_t> looks;
  for (const RangeEntry &entry : entries)
    looks.push_back(llvm::hash_combine(entry.kind, entry.numbers.size()));
  return RangeFinder(entries, looks).find();
}

std::vector<Range> meshwright::findRanges(llvm::ArrayRef<unsigned> numbers) {
  if (numbers.size() <= kMinSaved) { // Such lists are most of all lists.
    std::vector<Range> alone;
    for (size_t index : llvm::seq(numbers.size()))
      alone.push_back({index, 1, 1});
    return alone;
  }
  std::vector<RangeEntry> entries;
  std::vector<uint64_t> looks;
  for (size_t index = 0; index < numbers.size(); ++index) {
    entries.push_back({0, numbers.slice(index, 1)});
    // What all times have in common is the distance to the next number.
    looks.push_back(index + 1 < numbers.size()
                        ? unsigned(numbers[index + 1] - numbers[index])
                        : 0);
  }
  return RangeFinder(entries, looks).find();
}

//===----------------------------------------------------------------------===//
// Writing ranges out
//===----------------------------------------------------------------------===//

static constexpr int64_t kMaxItems = 4'000'000;
/// Of all lists and values together: a small file must not fill the memory.
static constexpr int64_t kMaxNumbers = 32'000'000;

/// Does something with the entries of a list that has ranges, written out: `write` gets
/// an entry, its place, and which time it is. At most `budget` entries, which are taken
/// from it.
static bool forEachEntry(
    const json::Array &list, json::Path path, int64_t &budget,
    llvm::function_ref<bool(const json::Value &, json::Path, int64_t)> write) {
  for (auto [index, entry] : llvm::enumerate(list)) {
    json::Path here = path.index(index);
    llvm::ArrayRef<json::Value> entries(entry);
    std::optional<int64_t> count = 1;
    const json::Object *range = entry.getAsObject();
    if (range && range->get("repeat")) {
      const json::Array *of = range->getArray("of");
      count = range->getInteger("repeat");
      if (!count || *count < 1 || !of || of->empty())
        return failAt(here,
                      "expected ranges as {\"repeat\": 2, \"of\": [...]}");
      entries = {of->data(), of->size()};
    }
    if (*count > budget / static_cast<int64_t>(entries.size()))
      return failAt(path,
                    "expected at most 4 million items and 32 million numbers "
                    "when ranges are written out");
    budget -= *count * static_cast<int64_t>(entries.size());
    for (int64_t time = 0; time < *count; ++time)
      for (const json::Value &repeated : entries)
        if (!write(repeated, here, time))
          return false;
  }
  return true;
}

/// A number, or the first number of a range with its step.
static bool writeOutNumber(const json::Value &number, json::Path path,
                           int64_t time, std::vector<int64_t> &result) {
  constexpr int64_t kLargest = int64_t(1) << 32;
  auto getNumber = [&](const json::Value &value) -> std::optional<int64_t> {
    std::optional<int64_t> found = value.getAsInteger();
    return found && *found > -kLargest && *found < kLargest ? found
                                                            : std::nullopt;
  };
  const json::Array *pair = number.getAsArray();
  bool isPair = pair && pair->size() == 2;
  std::optional<int64_t> first = getNumber(isPair ? pair->front() : number);
  std::optional<int64_t> step = isPair ? getNumber(pair->back()) : 0;
  if (!first || !step)
    return failAt(path, "expected a number, or [first, step] in a range");
  result.push_back(*first + time * *step);
  return true;
}

namespace {
/// Writes out items, and which of them each mesh has.
class ScheduleWriter {
public:
  ScheduleWriter(const json::Value &schedule, json::Path path)
      : schedule(schedule, path) {}

  bool write(WrittenSchedule &result);

private:
  /// Items that have the same class.
  struct ItemClass {
    const json::Value *common = nullptr;
    size_t numResults = 0;
    std::vector<int64_t> items; ///< Their positions.
    int64_t firstValue = 0;     ///< Of those of its items, in the file.
  };

  bool readClasses();
  bool readOrder(WrittenSchedule &result);
  bool addItems(WrittenSchedule &result);
  bool addItem(const json::Value &entry, json::Path path, int64_t time,
               const ItemClass &itsClass, WrittenSchedule &result,
               int64_t position);
  bool readNumbers(JsonMembers &members, llvm::StringRef key,
                   std::vector<int64_t> &numbers, int64_t time = 0);
  std::optional<int64_t> findValue(int64_t number,
                                   const WrittenSchedule &result) const;
  bool addPositions(const json::Value &mesh, json::Path path,
                    WrittenSchedule &result);

  JsonMembers schedule;
  std::vector<ItemClass> itemClasses;
  std::vector<int64_t> order; ///< The class of each item.
  int64_t numInputs = 0;
  int64_t numbersLeft = kMaxNumbers;
};
} // namespace

/// The numbers of a list with ranges. In an item that is a range itself the list has
/// none, and `time` says which time of the item it is.
bool ScheduleWriter::readNumbers(JsonMembers &members, llvm::StringRef key,
                                 std::vector<int64_t> &numbers, int64_t time) {
  const json::Array *list = members.readArray(key);
  return list &&
         forEachEntry(
             *list, members.getPath(key), numbersLeft,
             [&](const json::Value &number, json::Path path, int64_t itsTime) {
               return writeOutNumber(number, path, time + itsTime, numbers);
             });
}

bool ScheduleWriter::readClasses() {
  const json::Value *found = schedule.find("classes");
  if (!found)
    return schedule.fail("classes", "expected an object");
  JsonMembers classes(*found, schedule.getPath("classes"));
  return classes && classes.read("items", [&](const json::Value &entry,
                                              json::Path path) {
    ItemClass &added = itemClasses.emplace_back();
    added.common = &entry;
    const json::Object *object = entry.getAsObject();
    const json::Array *results = object ? object->getArray("results") : nullptr;
    if (!results)
      return failAt(path, "expected a class that has \"results\"");
    added.numResults = results->size();
    return true;
  });
}

/// Finds which items have which class, and their values.
bool ScheduleWriter::readOrder(WrittenSchedule &result) {
  const json::Array *inputs = schedule.readArray("inputs");
  const json::Array *list = schedule.readArray("order");
  json::Path path = schedule.getPath("order");
  int64_t budget = kMaxItems;
  if (!inputs || !list ||
      !forEachEntry(
          *list, path, budget,
          [&](const json::Value &number, json::Path here, int64_t time) {
            return writeOutNumber(number, here, time, order);
          }))
    return false;
  numInputs = result.numValues = inputs->size();
  for (auto [position, number] : llvm::enumerate(order)) {
    if (number < 0 || number >= static_cast<int64_t>(itemClasses.size()))
      return failAt(path, "expected the index of one of \"classes\"");
    ItemClass &itsClass = itemClasses[number];
    itsClass.items.push_back(position);
    result.items.push_back(
        {itsClass.common, {}, result.numValues, itsClass.numResults});
    result.numValues += itsClass.numResults;
    if ((numbersLeft -= itsClass.numResults) < 0)
      return failAt(path, "expected at most 32 million numbers and values when "
                          "ranges are written out");
  }
  int64_t next = numInputs;
  for (ItemClass &itsClass : itemClasses) {
    itsClass.firstValue = next;
    next += itsClass.items.size() * itsClass.numResults;
  }
  return true;
}

/// The value that has a number in the file; none if it is of no value.
std::optional<int64_t>
ScheduleWriter::findValue(int64_t number, const WrittenSchedule &result) const {
  if (number < 0 || number >= result.numValues)
    return std::nullopt;
  if (number < numInputs)
    return number;
  const ItemClass &itsClass = *std::prev(llvm::upper_bound(
      itemClasses, number, [](int64_t number, const ItemClass &itsClass) {
        return number < itsClass.firstValue;
      }));
  int64_t index = number - itsClass.firstValue,
          numResults = itsClass.numResults;
  int64_t item = itsClass.items[index / numResults];
  return result.items[item].firstResult + index % numResults;
}

bool ScheduleWriter::addItem(const json::Value &entry, json::Path path,
                             int64_t time, const ItemClass &itsClass,
                             WrittenSchedule &result, int64_t position) {
  JsonMembers item(entry, path);
  std::vector<int64_t> &operands = result.items[position].operands;
  if (!item || !readNumbers(item, "operands", operands, time))
    return false;
  for (int64_t &operand : operands) {
    std::optional<int64_t> value = findValue(operand, result);
    if (!value)
      return item.fail("operands", "expected numbers of values");
    operand = *value;
  }
  bool isTransfer = itsClass.common->getAsObject()->getString("kind") ==
                    llvm::StringRef("transfer");
  if (isTransfer && (operands.size() != 1 || itsClass.numResults != 1))
    return failAt(path, "expected one operand and one result of a transfer");
  return true;
}

/// The items of one class after the other.
bool ScheduleWriter::addItems(WrittenSchedule &result) {
  const json::Array *lists = schedule.readArray("items");
  if (!lists)
    return false;
  json::Path path = schedule.getPath("items");
  if (lists->size() != itemClasses.size())
    return failAt(path, "expected a list for each of \"classes.items\"");
  for (auto [number, list] : llvm::enumerate(*lists)) {
    json::Path here = path.index(number);
    const ItemClass &itsClass = itemClasses[number];
    const json::Array *entries = list.getAsArray();
    if (!entries)
      return failAt(here, "expected a list");
    size_t next = 0;
    int64_t budget = kMaxItems;
    auto add = [&](const json::Value &entry, json::Path entryPath,
                   int64_t time) {
      if (next == itsClass.items.size())
        return failAt(here, "expected as many items as \"order\" has");
      return addItem(entry, entryPath, time, itsClass, result,
                     itsClass.items[next++]);
    };
    if (!forEachEntry(*entries, here, budget, add))
      return false;
    if (next != itsClass.items.size())
      return failAt(here, "expected as many items as \"order\" has");
  }
  return true;
}

/// The list of a mesh has classes: of each class those items that come next.
bool ScheduleWriter::addPositions(const json::Value &mesh, json::Path path,
                                  WrittenSchedule &result) {
  JsonMembers members(mesh, path);
  std::vector<int64_t> &numbers = result.ofMeshes.emplace_back();
  std::vector<int64_t> numSeen(itemClasses.size());
  if (!members || !readNumbers(members, "items", numbers))
    return false;
  for (int64_t &number : numbers) {
    if (number < 0 || number >= static_cast<int64_t>(itemClasses.size()))
      return members.fail("items", "expected the index of one of \"classes\"");
    llvm::ArrayRef<int64_t> items = itemClasses[number].items;
    int64_t place = numSeen[number]++;
    if (place >= static_cast<int64_t>(items.size()))
      return members.fail("items", "expected each class at most as often as it "
                                   "is in \"order\"");
    number = items[place];
  }
  return true;
}

bool ScheduleWriter::write(WrittenSchedule &result) {
  return readClasses() && readOrder(result) && addItems(result) &&
         schedule.read("meshes", [&](const json::Value &mesh, json::Path path) {
           return addPositions(mesh, path, result);
         });
}

llvm::Expected<WrittenSchedule>
meshwright::writeOutSchedule(const json::Value &schedule) {
  json::Path::Root root("schedule");
  WrittenSchedule result;
  if (!ScheduleWriter(schedule, root).write(result))
    return root.getError();
  return std::move(result);
}
