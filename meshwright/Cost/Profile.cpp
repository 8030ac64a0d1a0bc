//===- Profile.cpp - How long fragments took ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/Profile.h"
#include "meshwright/Cost/Flops.h"
#include "meshwright/Text/JsonMembers.h"
#include "meshwright/Text/PlainJson.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
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

static bool readProfileObject(const json::Value &value, Profile &profile,
                              json::Path path) {
  JsonMembers members(value, path);
  return members.read("fragments", [&](const json::Value &value,
                                       json::Path at) {
    JsonMembers entry(value, at);
    Profile::Fragment fragment;
    if (!entry || !entry.read("name", fragment.name) ||
        !entry.read("mesh", fragment.mesh) ||
        !entry.read("origins", fragment.origins) ||
        !entry.read("flops", fragment.flops, false) ||
        !entry.read("calls", fragment.calls) ||
        !entry.read("seconds", fragment.seconds) ||
        !entry.read("longest", fragment.longest, false))
      return false;
    profile.fragments.push_back(std::move(fragment));
    return true;
  }) && members.read("transfers", [&](const json::Value &value, json::Path at) {
    JsonMembers entry(value, at);
    Profile::Transfer transfer;
    if (!entry || !entry.read("name", transfer.name) ||
        !entry.read("bytes", transfer.bytes) ||
        !entry.read("calls", transfer.calls) ||
        !entry.read("seconds", transfer.seconds) ||
        !entry.read("longest", transfer.longest, false))
      return false;
    profile.transfers.push_back(std::move(transfer));
    return true;
  }) && members.read("issue_seconds", profile.issueSeconds, false);
}

static double findMedian(std::vector<double> &values) {
  llvm::sort(values);
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle]
                           : (values[middle - 1] + values[middle]) / 2;
}

namespace {
/// Makes a profile of a whole recording.
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
  /// Sets how often a fragment or transfer ran, and for how long.
  template <typename Entry>
  void setTimes(llvm::ArrayRef<Time> times, Entry &entry) const;

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
  JsonMembers event(value, path);
  std::string kind, name, mesh;
  std::vector<std::string> origins;
  double bytes = 0, start = 0, stop = 0, issue = 0, flops = 0;
  // Without an item, each event is a transfer of its own.
  int64_t run = 0, item = -1 - static_cast<int64_t>(moves.size()), process = 0;
  if (!event || !event.read("kind", kind) || !event.read("name", name) ||
      !event.read("mesh", mesh) || !event.read("origins", origins) ||
      !event.read("bytes", bytes) || !event.read("start", start) ||
      !event.read("stop", stop) || !event.read("flops", flops, false) ||
      !event.read("issue_seconds", issue) || !event.read("run", run, false) ||
      !event.read("item", item, false) ||
      !event.read("process", process, false))
    return false;
  if (stop < start)
    return failAt(path.field("stop"), "expected a time not before \"start\"");
  bool hasFailed = !event.isNull("error");
  // Copies that the one before took along cost nothing of their own.
  if (!hasFailed && issue > 0)
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

template <typename Entry>
void RecordingReader::setTimes(llvm::ArrayRef<Time> times, Entry &entry) const {
  double sum = 0, sumOfAll = 0;
  size_t kept = 0;
  for (const Time &time : times) {
    sumOfAll += time.seconds;
    entry.longest = std::max(entry.longest, time.seconds);
    if (heldUp.count(time.run))
      continue;
    sum += time.seconds;
    ++kept;
  }
  entry.calls = times.size();
  // What ran in no other run has no other time.
  entry.seconds = kept ? sum / kept : sumOfAll / times.size();
}

void RecordingReader::finish(Profile &profile) {
  finishMoves();
  findRunsHeldUp();
  for (const auto &[key, times] : fragments) {
    Profile::Fragment &fragment = profile.fragments.emplace_back();
    std::tie(fragment.name, fragment.mesh, fragment.origins, fragment.flops) =
        key;
    setTimes(times, fragment);
  }
  for (const auto &[key, times] : transfers) {
    Profile::Transfer &transfer = profile.transfers.emplace_back();
    std::tie(transfer.name, transfer.bytes) = key;
    setTimes(times, transfer);
  }
  // Some waited for a device, which is no work of the issuing thread.
  if (!issues.empty())
    profile.issueSeconds = findMedian(issues);
}

static bool readRecording(const json::Value &value, Profile &profile,
                          json::Path path) {
  RecordingReader reader;
  if (!JsonMembers(value, path)
           .read("events", [&](const json::Value &value, json::Path at) {
             return reader.readEvent(value, at);
           }))
    return false;
  reader.finish(profile);
  return true;
}

static bool readEither(const json::Value &value, Profile &profile,
                       json::Path path) {
  const json::Object *object = value.getAsObject();
  bool isProfile =
      object && object->getString("format") == StringRef("meshwright-profile");
  bool isRecording = object && object->getArray("events");
  if (!isProfile && !isRecording)
    return failAt(path, "expected what Recording.save_profile or "
                        "Recording.save of meshwright.profile writes");
  if (object->getInteger("version") != 1)
    return failAt(path.field("version"),
                  "record again with this release; expected 1");
  return isProfile ? readProfileObject(value, profile, path)
                   : readRecording(value, profile, path);
}

llvm::Expected<Profile> meshwright::parseProfile(StringRef text) {
  return readPlainJson(text, "profile", readEither);
}

llvm::Expected<Profile> meshwright::readProfile(StringRef path) {
  return parseFile(path, parseProfile);
}

std::string meshwright::printProfile(const Profile &profile) {
  std::string text;
  llvm::raw_string_ostream os(text);
  json::OStream json(os);
  auto printTimes = [&](const auto &entry) {
    json.attribute("calls", entry.calls);
    json.attribute("seconds", entry.seconds);
    json.attribute("longest", entry.longest);
  };
  json.object([&] {
    json.attribute("format", "meshwright-profile");
    json.attribute("version", 1);
    json.attributeArray("fragments", [&] {
      for (const Profile::Fragment &fragment : profile.fragments)
        json.object([&] {
          json.attribute("name", fragment.name);
          json.attribute("mesh", fragment.mesh);
          json.attribute("origins", json::Array(fragment.origins));
          json.attribute("flops", fragment.flops);
          printTimes(fragment);
        });
    });
    json.attributeArray("transfers", [&] {
      for (const Profile::Transfer &transfer : profile.transfers)
        json.object([&] {
          json.attribute("name", transfer.name);
          json.attribute("mesh",
                         StringRef(transfer.name).rsplit(" -> ").second);
          json.attribute("bytes", transfer.bytes);
          printTimes(transfer);
        });
    });
    json.attribute("issue_seconds", profile.issueSeconds);
  });
  return text;
}
