//===- ScheduleRanges.cpp - What repeats in a schedule --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/ScheduleRanges.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
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
/// The search in one list. `looks` says by a hash what the repetitions of an entry have
/// in common.
class RangeFinder {
public:
  RangeFinder(llvm::ArrayRef<RangeEntry> entries,
              llvm::ArrayRef<uint64_t> looks)
      : entries(entries), nextAlone(findNext(looks, 1)),
        nextInContext(findNext(looks, kContext)) {}

  std::vector<Range> find() const;

private:
  static std::vector<size_t> findNext(llvm::ArrayRef<uint64_t> looks,
                                      size_t context);
  Range findLongest(size_t first) const;
  size_t countRepetitions(size_t first, size_t length) const;
  bool hasSameStep(size_t index, size_t length) const;

  llvm::ArrayRef<RangeEntry> entries;
  /// The next entry that looks like an entry, alone and with those that follow.
  std::vector<size_t> nextAlone, nextInContext;
};
} // namespace

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

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(message);
}

/// Does something with the entries of a list that has ranges, written out: `write` gets
/// an entry and which time it is. At most `budget` entries, which are taken from it.
static llvm::Error forEachEntry(
    const json::Array &list, llvm::StringRef name, int64_t &budget,
    llvm::function_ref<llvm::Error(const json::Value &, int64_t)> write) {
  for (const json::Value &entry : list) {
    const json::Object *range = entry.getAsObject();
    const json::Value *repeat = range ? range->get("repeat") : nullptr;
    if (!repeat) {
      if (--budget < 0)
        return fail(
            llvm::formatv("\"{0}\" has too many entries when its ranges are "
                          "written out",
                          name));
      if (llvm::Error error = write(entry, 0))
        return error;
      continue;
    }
    std::optional<int64_t> count = repeat->getAsInteger();
    const json::Array *of = range->getArray("of");
    if (!count || *count < 1 || !of || of->empty())
      return fail(llvm::formatv("\"{0}\": expected ranges as {{\"repeat\": 2, "
                                "\"of\": [...]}",
                                name));
    if (*count > budget / static_cast<int64_t>(of->size()))
      return fail(
          llvm::formatv("\"{0}\" has too many entries when its ranges are "
                        "written out",
                        name));
    budget -= *count * static_cast<int64_t>(of->size());
    for (int64_t time = 0; time < *count; ++time)
      for (const json::Value &repeated : *of)
        if (llvm::Error error = write(repeated, time))
          return error;
  }
  return llvm::Error::success();
}

/// A number, or the first number of a range with its step.
static llvm::Expected<int64_t> writeOutNumber(const json::Value &number,
                                              int64_t time) {
  constexpr int64_t kLargest = int64_t(1) << 32;
  auto getNumber = [&](const json::Value &value) -> std::optional<int64_t> {
    std::optional<int64_t> found = value.getAsInteger();
    return found && *found > -kLargest && *found < kLargest ? found
                                                            : std::nullopt;
  };
  if (std::optional<int64_t> plain = getNumber(number))
    return *plain;
  const json::Array *pair = number.getAsArray();
  if (pair && pair->size() == 2)
    if (std::optional<int64_t> first = getNumber((*pair)[0]),
        step = getNumber((*pair)[1]);
        first && step)
      return *first + time * *step;
  return fail("expected numbers, or [first, step] in a range");
}

/// The numbers of a list with ranges. In an item that is a range itself the list has
/// none, and `time` says which time of the item it is.
static llvm::Expected<json::Array> writeOutList(const json::Array &list,
                                                llvm::StringRef name,
                                                int64_t &budget,
                                                int64_t time = 0) {
  json::Array result;
  llvm::Error error = forEachEntry(
      list, name, budget,
      [&](const json::Value &number, int64_t itsTime) -> llvm::Error {
        llvm::Expected<int64_t> value = writeOutNumber(number, time + itsTime);
        if (!value)
          return value.takeError();
        result.push_back(*value);
        return llvm::Error::success();
      });
  if (error)
    return std::move(error);
  return result;
}

namespace {
/// Writes out values and items.
class ScheduleWriter {
public:
  explicit ScheduleWriter(const json::Object &schedule) : schedule(schedule) {}

  llvm::Expected<json::Value> write();

private:
  llvm::Error addInputs(json::Object &result);
  llvm::Error addValue(const json::Value &number);
  llvm::Error addItem(const json::Value &entry, int64_t time);
  llvm::Error addFragments(json::Object &result);
  llvm::Error addLists(json::Object &result);

  const json::Object &schedule;
  const json::Array *valueClasses = nullptr, *slotClasses = nullptr,
                    *itemClasses = nullptr;
  json::Array values, items;
  int64_t numbersLeft = kMaxNumbers;
};
} // namespace

static const json::Value *findClass(const json::Array &classes,
                                    const json::Value *number) {
  std::optional<int64_t> index = number ? number->getAsInteger() : std::nullopt;
  if (!index || *index < 0 || *index >= static_cast<int64_t>(classes.size()))
    return nullptr;
  return &classes[*index];
}

llvm::Error ScheduleWriter::addValue(const json::Value &number) {
  const json::Value *found = findClass(*valueClasses, &number);
  if (!found)
    return fail("a value has no class in \"classes\"");
  if (--numbersLeft < 0)
    return fail("there are too many values when ranges are written out");
  values.push_back(*found);
  return llvm::Error::success();
}

llvm::Error ScheduleWriter::addInputs(json::Object &result) {
  json::Array inputs;
  const json::Array *list = schedule.getArray("inputs");
  if (!list)
    return fail("expected a list of \"inputs\"");
  for (const json::Value &entry : *list) {
    const json::Object *input = entry.getAsObject();
    if (!input || !input->get("class"))
      return fail("expected \"inputs\" with a \"class\"");
    if (llvm::Error error = addValue(*input->get("class")))
      return error;
    json::Object written(*input);
    written.erase("class");
    inputs.push_back(std::move(written));
  }
  result["inputs"] = std::move(inputs);
  return llvm::Error::success();
}

llvm::Error ScheduleWriter::addItem(const json::Value &entry, int64_t time) {
  const json::Object *item = entry.getAsObject();
  const json::Value *found =
      item ? findClass(*itemClasses, item->get("class")) : nullptr;
  const json::Object *itsClass = found ? found->getAsObject() : nullptr;
  const json::Array *results =
      itsClass ? itsClass->getArray("results") : nullptr;
  if (!results)
    return fail("an item has no class in \"classes\"");
  json::Object written(*itsClass);
  json::Array ids;
  for (const json::Value &result : *results) {
    ids.push_back(static_cast<int64_t>(values.size()));
    if (llvm::Error error = addValue(result))
      return error;
  }
  bool isTransfer = itsClass->getString("kind") == llvm::StringRef("transfer");
  for (llvm::StringRef key : {"operands", "last_uses", "awaits"}) {
    const json::Array *numbers = item->getArray(key);
    if (!numbers && key == "awaits")
      continue;
    if (!numbers)
      return fail("an item has no list of \"" + key + "\"");
    llvm::Expected<json::Array> ids =
        writeOutList(*numbers, key, numbersLeft, time);
    if (!ids)
      return ids.takeError();
    if (isTransfer && key == "operands") {
      if (ids->size() != 1)
        return fail("a transfer has one operand");
      written["operand"] = std::move(ids->front());
    } else {
      written[key] = std::move(*ids);
    }
  }
  if (isTransfer) {
    if (ids.size() != 1)
      return fail("a transfer has one result");
    written.erase("results");
    written["result"] = std::move(ids.front());
  } else {
    written["results"] = std::move(ids);
  }
  items.push_back(std::move(written));
  return llvm::Error::success();
}

llvm::Error ScheduleWriter::addFragments(json::Object &result) {
  const json::Array *list = schedule.getArray("fragments");
  if (!list)
    return fail("expected a list of \"fragments\"");
  json::Array fragments;
  for (const json::Value &entry : *list) {
    const json::Object *fragment = entry.getAsObject();
    if (!fragment)
      return fail("expected an object for each fragment");
    json::Object written(*fragment);
    for (llvm::StringRef key : {"arguments", "results"}) {
      const json::Array *numbers = fragment->getArray(key);
      if (!numbers)
        return fail("a fragment has no list of \"" + key + "\"");
      llvm::Expected<json::Array> ids =
          writeOutList(*numbers, key, numbersLeft);
      if (!ids)
        return ids.takeError();
      json::Array slots;
      for (const json::Value &id : *ids) {
        const json::Value *slot = findClass(*slotClasses, &id);
        if (!slot)
          return fail("one of \"" + key + "\" has no class in \"classes\"");
        slots.push_back(*slot);
      }
      written[key] = std::move(slots);
    }
    fragments.push_back(std::move(written));
  }
  result["fragments"] = std::move(fragments);
  return llvm::Error::success();
}

/// The order of the items, as a whole and of each mesh.
llvm::Error ScheduleWriter::addLists(json::Object &result) {
  const json::Array *order = schedule.getArray("issue_order");
  const json::Array *meshes = schedule.getArray("meshes");
  if (!order || !meshes)
    return fail("expected lists of \"meshes\" and \"issue_order\"");
  llvm::Expected<json::Array> list =
      writeOutList(*order, "issue_order", numbersLeft);
  if (!list)
    return list.takeError();
  result["issue_order"] = std::move(*list);
  json::Array written;
  for (const json::Value &entry : *meshes) {
    const json::Object *mesh = entry.getAsObject();
    const json::Array *numbers = mesh ? mesh->getArray("items") : nullptr;
    if (!numbers)
      return fail("expected \"meshes\" with a list of \"items\"");
    llvm::Expected<json::Array> list =
        writeOutList(*numbers, "items", numbersLeft);
    if (!list)
      return list.takeError();
    json::Object copy(*mesh);
    copy["items"] = std::move(*list);
    written.push_back(std::move(copy));
  }
  result["meshes"] = std::move(written);
  return llvm::Error::success();
}

llvm::Expected<json::Value> ScheduleWriter::write() {
  const json::Object *classes = schedule.getObject("classes");
  valueClasses = classes ? classes->getArray("values") : nullptr;
  slotClasses = classes ? classes->getArray("slots") : nullptr;
  itemClasses = classes ? classes->getArray("items") : nullptr;
  const json::Array *list = schedule.getArray("items");
  if (!valueClasses || !slotClasses || !itemClasses || !list)
    return fail("expected \"classes\" of \"values\", \"slots\" and \"items\", "
                "and \"items\"");
  json::Object result;
  for (llvm::StringRef key : {"name", "outputs"})
    if (const json::Value *value = schedule.get(key))
      result[key] = *value;
  result["version"] = 1;
  if (llvm::Error error = addInputs(result))
    return std::move(error);
  if (llvm::Error error = addFragments(result))
    return std::move(error);
  int64_t budget = kMaxItems;
  if (llvm::Error error = forEachEntry(
          *list, "items", budget, [&](const json::Value &entry, int64_t time) {
            return addItem(entry, time);
          }))
    return std::move(error);
  if (llvm::Error error = addLists(result))
    return std::move(error);
  result["values"] = std::move(values);
  result["items"] = std::move(items);
  return json::Value(std::move(result));
}

llvm::Expected<json::Value>
meshwright::writeOutSchedule(const json::Object &schedule) {
  return ScheduleWriter(schedule).write();
}
