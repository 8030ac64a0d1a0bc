//===- ConfigOptions.cpp - The options of a configuration -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/ConfigOptions.h"
#include "meshwright/Schedule/Schedule.h"
#include "meshwright/Text/NearestName.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::mpmd;
using namespace meshwright;
using Kind = JsonValue::Kind;

//===----------------------------------------------------------------------===//
// The tables
//===----------------------------------------------------------------------===//

ConfigOptions::ConfigOptions() {
#define MESHWRIGHT_OPTION(TYPE, FIELD, TEXT, KEY, PIPELINE, FRONT, HELP)       \
  importing.FIELD = FRONT;
#include "meshwright/Import/Options.def"
#define MESHWRIGHT_OPTION(TYPE, FIELD, TEXT, KEY, PIPELINE, FRONT, HELP)       \
  optimizing.FIELD = FRONT;
#include "meshwright/Optimize/Options.def"
#define MESHWRIGHT_OPTION(TYPE, FIELD, TEXT, KEY, PIPELINE, FRONT, HELP)       \
  sharding.FIELD = FRONT;
#include "meshwright/Sharding/Options.def"
#define MESHWRIGHT_OPTION(TYPE, FIELD, TEXT, KEY, PIPELINE, FRONT, HELP)       \
  exporting.FIELD = FRONT;
#include "meshwright/Export/Options.def"
#define MESHWRIGHT_OPTION(TYPE, FIELD, TEXT, KEY, PIPELINE, FRONT, HELP)       \
  inspection.FIELD = FRONT;
#include "meshwright/Inspection/Options.def"
}

template <typename T> static ConfigOption::Field makeField(T &field) {
  if constexpr (std::is_constructible_v<ConfigOption::Field, T *>)
    return &field;
  else
    return std::monostate(); // Set by a key of its own.
}

static const ConfigOption kOptions[] = {
#define MESHWRIGHT_LINE(PHASE, PART, FIELD, TEXT, KEY, HELP)                   \
  {PHASE, KEY, TEXT, HELP,                                                     \
   [](ConfigOptions &options) { return makeField(options.PART.FIELD); }},

#define MESHWRIGHT_OPTION(TYPE, FIELD, TEXT, KEY, PIPELINE, FRONT, HELP)       \
  MESHWRIGHT_LINE("import", importing, FIELD, TEXT, KEY, HELP)
#define MESHWRIGHT_LIST_OPTION(TYPE, FIELD, TEXT, KEY, HELP)                   \
  MESHWRIGHT_LINE("import", importing, FIELD, TEXT, KEY, HELP)
#include "meshwright/Import/Options.def"

#define MESHWRIGHT_OPTION(TYPE, FIELD, TEXT, KEY, PIPELINE, FRONT, HELP)       \
  MESHWRIGHT_LINE("optimize", optimizing, FIELD, TEXT, KEY, HELP)
#define MESHWRIGHT_LIST_OPTION(TYPE, FIELD, TEXT, KEY, HELP)                   \
  MESHWRIGHT_LINE("optimize", optimizing, FIELD, TEXT, KEY, HELP)
#include "meshwright/Optimize/Options.def"

#define MESHWRIGHT_OPTION(TYPE, FIELD, TEXT, KEY, PIPELINE, FRONT, HELP)       \
  MESHWRIGHT_LINE("shard", sharding, FIELD, TEXT, KEY, HELP)
#include "meshwright/Sharding/Options.def"

#define MESHWRIGHT_OPTION(TYPE, FIELD, TEXT, KEY, PIPELINE, FRONT, HELP)       \
  MESHWRIGHT_LINE("export", exporting, FIELD, TEXT, KEY, HELP)
#include "meshwright/Export/Options.def"

#define MESHWRIGHT_OPTION(TYPE, FIELD, TEXT, KEY, PIPELINE, FRONT, HELP)       \
  MESHWRIGHT_LINE("all", inspection, FIELD, TEXT, KEY, HELP)
#include "meshwright/Inspection/Options.def"
#undef MESHWRIGHT_LINE
};

ArrayRef<ConfigOption> meshwright::getConfigOptions() {
  static const std::vector<ConfigOption> withKey = [] {
    std::vector<ConfigOption> result;
    llvm::copy_if(
        kOptions, std::back_inserter(result),
        [](const ConfigOption &option) { return !option.key.empty(); });
    return result;
  }();
  return withKey;
}

StringRef ConfigOption::getType() const {
  ConfigOptions options;
  Field field = getField(options);
  if (std::holds_alternative<bool *>(field))
    return "bool";
  if (std::holds_alternative<std::string *>(field))
    return "text";
  if (std::holds_alternative<ScheduleOption *>(field))
    return "schedule";
  if (std::holds_alternative<std::vector<InputOutputConstraint> *>(field))
    return "pairs";
  return "int";
}

llvm::json::Value ConfigOption::getDefault() const {
  ConfigOptions options;
  Field field = getField(options);
  if (auto **value = std::get_if<bool *>(&field))
    return **value;
  if (auto **value = std::get_if<int *>(&field))
    return **value;
  if (auto **value = std::get_if<int64_t *>(&field))
    return **value;
  if (auto **value = std::get_if<std::string *>(&field))
    return **value;
  if (auto **value = std::get_if<ScheduleOption *>(&field))
    return (*value)->getName();
  return llvm::json::Array();
}

int64_t ConfigOption::getLeast() const {
  return key == "mpmd_error_limit" ? -1 : 0; // No limit.
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

template <typename T>
static LogicalResult readInteger(const JsonValue &value, StringRef key,
                                 int64_t min, T &result) {
  if (failed(expectKind(value, Kind::Integer, key)))
    return failure();
  if (value.integer < min)
    return value.emitError() << key << ": expected " << min
                             << " or more, but got " << value.integer;
  if (value.integer > std::numeric_limits<T>::max())
    return value.emitError()
           << key << ": expected " << std::numeric_limits<T>::max()
           << " or less, but got " << value.integer;
  result = static_cast<T>(value.integer);
  return success();
}

static LogicalResult readSchedule(const JsonValue &value, StringRef key,
                                  ScheduleOption &result) {
  if (failed(expectKind(value, Kind::String, key)))
    return failure();
  StringRef name = value.string;
  if (!name.contains(':') && !findSchedule(name)) {
    auto known =
        llvm::map_to_vector(getSchedules(), [](const Schedule *schedule) {
          return StringRef(schedule->name);
        });
    return value.emitError() << key << ": unknown schedule \"" << name << "\", "
                             << listKnown(name, known);
  }
  llvm::Expected<ScheduleOption> schedule = parseSchedule(name);
  if (!schedule)
    return value.emitError()
           << key << ": " << llvm::toString(schedule.takeError());
  result = std::move(*schedule);
  return success();
}

/// A list of [input, output].
static LogicalResult readPairs(const JsonValue &value, StringRef key,
                               std::vector<InputOutputConstraint> &result) {
  if (failed(expectKind(value, Kind::Array, key)))
    return failure();
  result.clear();
  for (const JsonValue &pair : value.elements) {
    if (!pair.is(Kind::Array) || pair.elements.size() != 2)
      return pair.emitError() << key << ": expected pairs [input, output]";
    InputOutputConstraint &constraint = result.emplace_back();
    if (failed(readInteger(pair.elements[0], key, 0, constraint.input)) ||
        failed(readInteger(pair.elements[1], key, 0, constraint.output)))
      return failure();
  }
  return success();
}

static LogicalResult readField(const ConfigOption &option,
                               ConfigOption::Field field,
                               const JsonValue &value) {
  std::string key = ("options." + option.key).str();
  if (auto **target = std::get_if<bool *>(&field)) {
    **target = value.boolean;
    return expectKind(value, Kind::Boolean, key);
  }
  if (auto **target = std::get_if<std::string *>(&field)) {
    **target = value.string;
    return expectKind(value, Kind::String, key);
  }
  if (auto **target = std::get_if<int *>(&field))
    return readInteger(value, key, option.getLeast(), **target);
  if (auto **target = std::get_if<int64_t *>(&field))
    return readInteger(value, key, option.getLeast(), **target);
  if (auto **target = std::get_if<ScheduleOption *>(&field))
    return readSchedule(value, key, **target);
  return readPairs(value, key,
                   **std::get_if<std::vector<InputOutputConstraint> *>(&field));
}

LogicalResult meshwright::setOption(ConfigOptions &options,
                                    const JsonMember &member) {
  StringRef key = member.key.string;
  bool isKnown = false;
  for (const ConfigOption &option : getConfigOptions()) {
    if (option.key != key)
      continue;
    isKnown = true;
    if (failed(readField(option, option.getField(options), member.value)))
      return failure();
  }
  options.given.insert(key.str());
  if (isKnown)
    return success();
  SmallVector<StringRef> known;
  for (const ConfigOption &option : getConfigOptions())
    if (!llvm::is_contained(known, option.key))
      known.push_back(option.key);
  return member.key.emitError()
         << "options: unknown key \"" << key << "\", " << listKnown(key, known);
}

LogicalResult meshwright::setOption(ConfigOptions &options, StringRef key,
                                    StringRef value, MLIRContext *context) {
  JsonMember member;
  member.key.kind = member.value.kind = Kind::String;
  member.key.string = key.str();
  member.key.location = FileLineColLoc::get(context, key, 1, 1);
  const ConfigOption *option =
      llvm::find_if(getConfigOptions(), [&](const ConfigOption &candidate) {
        return candidate.key == key;
      });
  // What is no JSON is a text, of which the option says what it expects instead;
  // of a list, the parser says where it is wrong.
  StringRef type = option == getConfigOptions().end() ? "" : option->getType();
  bool isList = type == "pairs" && value.ltrim().starts_with("[");
  if (isList || ((type == "pairs" || type == "bool" || type == "int") &&
                 !llvm::errorToBool(llvm::json::parse(value).takeError()))) {
    FailureOr<JsonValue> parsed = parseJson(value, key, context);
    if (failed(parsed))
      return failure();
    member.value = std::move(*parsed);
  } else {
    member.value.string = value.str();
    member.value.location = member.key.location;
  }
  return setOption(options, member);
}

void ConfigOptions::completeForSchedule() {
  const ScheduleOption &schedule = optimizing.schedule;
  if (schedule.hasPairs()) {
    // What is computed again is read by one fragment, not by two halves.
    if (!given.count("mpmd_split_manual_computations"))
      importing.splitManualComputations = !optimizing.applyRemat;
    if (!given.count("mpmd_accumulate_in_units"))
      optimizing.accumulateInUnits = true;
  }
  if (!optimizing.completeSchedule)
    return;
  if (!given.count("mpmd_split_bwd_fragments"))
    importing.splitBwdFragments = schedule.splitsBackward();
  if (!given.count("mpmd_merge_inferred_after_scheduling"))
    importing.mergeAfterScheduling = optimizing.mergeAfterScheduling =
        schedule.needsSumsApart();
}
