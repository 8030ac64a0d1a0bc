//===- Profile.cpp - How long fragments took ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/Profile.h"
#include "meshwright/Cost/Flops.h"
#include "meshwright/Text/Figures.h"
#include "meshwright/Text/PlainJson.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

using namespace meshwright;
using llvm::StringRef;
namespace json = llvm::json;

/// Relative to the smaller one; alike is 0.
static double getDistance(double a, double b) {
  if (a <= 0 || b <= 0)
    return a == b ? 0 : std::numeric_limits<double>::max();
  return std::fabs(std::log(a / b));
}

std::optional<double> Profile::findSeconds(StringRef name, StringRef mesh,
                                           llvm::ArrayRef<std::string> origins,
                                           double flops) const {
  const Fragment *nearest = nullptr;
  for (const Fragment &fragment : fragments) {
    if (fragment.mesh != mesh || fragment.origins != origins.vec())
      continue;
    bool hasWork = fragment.flops > 0 && flops > 0;
    if (fragment.name == name &&
        (!hasWork || getDistance(fragment.flops, flops) < 1e-9))
      return fragment.seconds;
    if (!nearest ||
        getDistance(fragment.flops, flops) < getDistance(nearest->flops, flops))
      nearest = &fragment;
  }
  if (!nearest)
    return std::nullopt;
  bool hasWork = nearest->flops > 0 && flops > 0;
  return nearest->seconds * (hasWork ? saturate(flops / nearest->flops) : 1);
}

std::optional<double> Profile::findTransferSeconds(StringRef from, StringRef to,
                                                   double bytes) const {
  const Transfer *nearest = nullptr;
  std::string name = (from + " -> " + to).str();
  for (const Transfer &transfer : transfers)
    if (transfer.name == name &&
        (!nearest || getDistance(transfer.bytes, bytes) <
                         getDistance(nearest->bytes, bytes)))
      nearest = &transfer;
  return nearest ? std::optional(nearest->seconds) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

namespace {
/// Reads the keys of one entry of a profile, or event of a recording.
class EntryReader {
public:
  EntryReader(const json::Value &value, json::Path path)
      : object(value.getAsObject()), path(path) {
    if (!object)
      path.report("expected an object");
  }
  explicit operator bool() const { return object; }

  bool readText(StringRef key, std::string &text) {
    std::optional<StringRef> found = object->getString(key);
    if (!found)
      return fail(key, "expected a text");
    text = found->str();
    return true;
  }
  bool readNumber(StringRef key, double &number, bool isNeeded = true) {
    const json::Value *value = object->get(key);
    if ((!value || value->getAsNull()) && !isNeeded)
      return true;
    std::optional<double> found =
        value ? value->getAsNumber() : std::optional<double>();
    if (!found || *found < 0)
      return fail(key, "expected a number of at least 0");
    if (*found > kMostFigure)
      return fail(key, "expected a number of at most 1e30");
    number = *found;
    return true;
  }
  bool readCount(StringRef key, int64_t &count, bool isNeeded = true) {
    if (!isNeeded && isNull(key))
      return true;
    std::optional<int64_t> found = object->getInteger(key);
    if (!found || *found < 0)
      return fail(key, "expected a whole number of at least 0");
    count = *found;
    return true;
  }
  bool readTexts(StringRef key, std::vector<std::string> &texts) {
    const json::Array *list = object->getArray(key);
    if (!list)
      return fail(key, "expected a list of texts");
    for (const json::Value &value : *list) {
      if (!value.getAsString())
        return fail(key, "expected a list of texts");
      texts.push_back(value.getAsString()->str());
    }
    return true;
  }
  bool isNull(StringRef key) const {
    const json::Value *value = object->get(key);
    return !value || value->getAsNull();
  }

private:
  bool fail(StringRef key, llvm::StringLiteral message) {
    path.field(key).report(message);
    return false;
  }
  const json::Object *object;
  json::Path path;
};
} // namespace

using EntryParser = llvm::function_ref<bool(const json::Value &, json::Path)>;

static bool readList(const json::Object &object, StringRef key, json::Path path,
                     EntryParser parse) {
  const json::Array *list = object.getArray(key);
  if (!list) {
    path.field(key).report("expected a list");
    return false;
  }
  json::Path here = path.field(key);
  for (auto [index, value] : llvm::enumerate(*list))
    if (!parse(value, here.index(index)))
      return false;
  return true;
}

static bool readProfileObject(const json::Object &object, Profile &profile,
                              json::Path path) {
  return readList(object, "fragments", path,
                  [&](const json::Value &value, json::Path at) {
                    EntryReader reader(value, at);
                    Profile::Fragment fragment;
                    if (!reader || !reader.readText("name", fragment.name) ||
                        !reader.readText("mesh", fragment.mesh) ||
                        !reader.readTexts("origins", fragment.origins) ||
                        !reader.readNumber("flops", fragment.flops, false) ||
                        !reader.readCount("calls", fragment.calls) ||
                        !reader.readNumber("seconds", fragment.seconds))
                      return false;
                    profile.fragments.push_back(std::move(fragment));
                    return true;
                  }) &&
         readList(object, "transfers", path,
                  [&](const json::Value &value, json::Path at) {
                    EntryReader reader(value, at);
                    Profile::Transfer transfer;
                    if (!reader || !reader.readText("name", transfer.name) ||
                        !reader.readNumber("bytes", transfer.bytes) ||
                        !reader.readCount("calls", transfer.calls) ||
                        !reader.readNumber("seconds", transfer.seconds))
                      return false;
                    profile.transfers.push_back(std::move(transfer));
                    return true;
                  });
}

static double findMedian(std::vector<double> &values) {
  llvm::sort(values);
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle]
                           : (values[middle - 1] + values[middle]) / 2;
}

namespace {
/// Makes a profile of a whole recording, as `Recording.save_profile` does.
///
/// An end that is noticed late makes its event too long and the next one of the
/// mesh as much too short. Only the sum of both is right, so a time is a mean,
/// and what is left out is a whole run that was held up, such as the first one,
/// which warms up. Events that failed have no times.
class RecordingReader {
public:
  bool readEvent(const json::Value &value, json::Path path);
  void finish(Profile &profile);

private:
  struct Time {
    int64_t run;
    double seconds;
  };
  /// The steps of one transfer, of which each process has its own.
  struct Move {
    std::string name;
    double bytes = 0;
    std::map<int64_t, double> seconds; ///< By process.
    bool hasFailed = false;
  };
  using FragmentKey =
      std::tuple<std::string, std::string, std::vector<std::string>, double>;

  void finishMoves();
  void findRunsHeldUp();
  void setMean(llvm::ArrayRef<Time> times, int64_t &calls, double &mean) const;

  std::map<FragmentKey, std::vector<Time>> fragments;
  std::map<std::pair<std::string, double>, std::vector<Time>> transfers;
  std::map<std::pair<int64_t, int64_t>, Move> moves; ///< By run and item.
  /// What each run consists of, names and meshes: its program.
  std::map<int64_t, std::set<std::pair<std::string, std::string>>> programs;
  std::set<int64_t> heldUp;
  std::vector<double> issues;
};
} // namespace

bool RecordingReader::readEvent(const json::Value &value, json::Path path) {
  EntryReader reader(value, path);
  std::string kind, name, mesh;
  std::vector<std::string> origins;
  double bytes = 0, start = 0, stop = 0, issue = 0, flops = 0;
  // Without an item, each event is a transfer of its own.
  int64_t run = 0, item = -1 - static_cast<int64_t>(moves.size()), process = 0;
  if (!reader || !reader.readText("kind", kind) ||
      !reader.readText("name", name) || !reader.readText("mesh", mesh) ||
      !reader.readTexts("origins", origins) ||
      !reader.readNumber("bytes", bytes) ||
      !reader.readNumber("start", start) || !reader.readNumber("stop", stop) ||
      !reader.readNumber("flops", flops, false) ||
      !reader.readNumber("issue_seconds", issue) ||
      !reader.readCount("run", run, false) ||
      !reader.readCount("item", item, false) ||
      !reader.readCount("process", process, false))
    return false;
  if (stop < start) {
    path.field("stop").report("expected a time not before \"start\"");
    return false;
  }
  bool hasFailed = !reader.isNull("error");
  if (!hasFailed)
    issues.push_back(issue);
  programs[run].emplace(name, mesh);
  if (kind == "fragment" && !hasFailed) {
    fragments[{name, mesh, origins, flops}].push_back({run, stop - start});
  } else if (kind == "transfer") {
    Move &move = moves[{run, item}];
    move.name = name;
    move.bytes = bytes;
    move.seconds[process] += stop - start;
    move.hasFailed |= hasFailed;
  }
  return true;
}

/// The last process to be done says how long a transfer took.
void RecordingReader::finishMoves() {
  for (const auto &[key, move] : moves) {
    if (move.hasFailed)
      continue;
    double longest = 0;
    for (auto [process, seconds] : move.seconds)
      longest = std::max(longest, seconds);
    transfers[{move.name, move.bytes}].push_back({key.first, longest});
  }
}

/// Runs that took much longer than most runs of the same program.
void RecordingReader::findRunsHeldUp() {
  constexpr double kHeldUp = 1.5;
  std::map<int64_t, double> totals;
  auto add = [&](const auto &timed) {
    for (const auto &[key, times] : timed)
      for (const Time &time : times)
        totals[time.run] += time.seconds;
  };
  add(fragments);
  add(transfers);
  std::map<std::set<std::pair<std::string, std::string>>, std::vector<int64_t>>
      alike;
  for (const auto &[run, names] : programs)
    alike[names].push_back(run);
  for (const auto &[names, runs] : alike) {
    // Of two, there is no saying which is the usual one.
    if (runs.size() < 3)
      continue;
    std::vector<double> values;
    for (int64_t run : runs)
      values.push_back(totals[run]);
    double most = kHeldUp * findMedian(values);
    for (int64_t run : runs)
      if (totals[run] > most)
        heldUp.insert(run);
  }
}

void RecordingReader::setMean(llvm::ArrayRef<Time> times, int64_t &calls,
                              double &mean) const {
  double sum = 0, sumOfAll = 0;
  size_t kept = 0;
  for (const Time &time : times) {
    sumOfAll += time.seconds;
    if (heldUp.count(time.run))
      continue;
    sum += time.seconds;
    ++kept;
  }
  calls = times.size();
  // What ran in no other run has no other time.
  mean = kept ? sum / kept : sumOfAll / times.size();
}

void RecordingReader::finish(Profile &profile) {
  finishMoves();
  findRunsHeldUp();
  for (const auto &[key, times] : fragments) {
    Profile::Fragment &fragment = profile.fragments.emplace_back();
    std::tie(fragment.name, fragment.mesh, fragment.origins, fragment.flops) =
        key;
    setMean(times, fragment.calls, fragment.seconds);
  }
  for (const auto &[key, times] : transfers) {
    Profile::Transfer &transfer = profile.transfers.emplace_back();
    std::tie(transfer.name, transfer.bytes) = key;
    setMean(times, transfer.calls, transfer.seconds);
  }
  // Some waited for a device, which is no work of the issuing thread.
  if (!issues.empty())
    profile.issueSeconds = findMedian(issues);
}

static bool readRecording(const json::Object &object, Profile &profile,
                          json::Path path) {
  RecordingReader reader;
  if (!readList(object, "events", path,
                [&](const json::Value &value, json::Path at) {
                  return reader.readEvent(value, at);
                }))
    return false;
  reader.finish(profile);
  return true;
}

llvm::Expected<Profile> meshwright::parseProfile(StringRef text) {
  llvm::Expected<json::Value> value = parsePlainJson(text);
  if (!value)
    return value.takeError();
  json::Path::Root root("profile");
  json::Path path(root);
  const json::Object *object = value->getAsObject();
  bool isProfile =
      object && object->getString("format") == StringRef("meshwright-profile");
  bool isRecording = object && object->getArray("events");
  if (!isProfile && !isRecording) {
    path.report("expected what Recording.save_profile or Recording.save of "
                "meshwright.profile writes");
    return root.getError();
  }
  if (object->getInteger("version") != 1) {
    path.field("version").report("expected 1; another release wrote this");
    return root.getError();
  }
  Profile profile;
  if (isProfile) {
    EntryReader reader(*value, path);
    if (!readProfileObject(*object, profile, path) ||
        !reader.readNumber("issue_seconds", profile.issueSeconds, false))
      return root.getError();
  } else if (!readRecording(*object, profile, path)) {
    return root.getError();
  }
  return profile;
}

llvm::Expected<Profile> meshwright::readProfile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError("cannot read " + path + ": " +
                                   buffer.getError().message());
  llvm::Expected<Profile> profile = parseProfile((*buffer)->getBuffer());
  if (!profile)
    return llvm::createStringError(path + ": " +
                                   llvm::toString(profile.takeError()));
  return profile;
}
