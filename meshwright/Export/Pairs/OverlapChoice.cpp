//===- OverlapChoice.cpp - Which pairs become one fragment ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Pairs/OverlapChoice.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include <deque>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>

using namespace mlir;
using namespace mlir::mpmd;

namespace {
constexpr unsigned kNone = ~0u;
constexpr double kNever = std::numeric_limits<double>::infinity();

/// The part of a late half for which a mesh has been idle, and still counts as busy.
constexpr double kShortWait = 0.125;

enum class EventKind { Finished, Free, Expired };

/// At the same time, what ends comes before what waits no longer.
struct Event {
  double time;
  EventKind kind;
  size_t number;    ///< Of events, so that equal ones are in order.
  unsigned subject; ///< The op, or the mesh.
  unsigned candidate = kNone;

  bool operator>(const Event &other) const {
    return std::tie(time, kind, number) >
           std::tie(other.time, other.kind, other.number);
  }
};

class Chooser {
public:
  Chooser(const BlockGraph &graph, const EdgeTable &readers,
          ArrayRef<std::vector<unsigned>> queues, ArrayRef<double> seconds,
          ArrayRef<OverlapCandidate> candidates, const LateHalves &late,
          ArrayRef<MeshRules> rules, const Deadline &deadline);

  OverlapChoice choose();

private:
  struct Mesh {
    ArrayRef<unsigned> queue;      ///< What is left of it.
    std::deque<unsigned> waiting;  ///< What has been postponed.
    std::vector<unsigned> started; ///< In this order.
    double freeAt = 0;
    /// Since when it waits for the second part of a pair.
    std::optional<double> waitsSince;
    MeshRules rules;
  };

  void push(double time, EventKind kind, unsigned subject,
            unsigned candidate = kNone) {
    events.push({time, kind, events.size() + numPopped, subject, candidate});
  }
  bool isReady(const OverlapCandidate &candidate) const;
  double getEnd(unsigned op) const;
  double getStart(ArrayRef<unsigned> ops) const;
  double getLatestEnd(ArrayRef<unsigned> ops) const;
  bool startPostponed(Mesh &mesh, unsigned number, double now, double gap,
                      double slack);
  bool startWithPostponed(Mesh &mesh, unsigned number, ArrayRef<unsigned> ops,
                          double time, double now);
  void start(Mesh &mesh, unsigned number, ArrayRef<unsigned> ops, double stop);
  void advance(unsigned mesh, double now);
  void handle(const Event &event);
  /// Starts the first part of the pair that a mesh waits for.
  void giveUp(unsigned mesh, double stop);
  bool giveUpLongest();
  void finish(unsigned op, double now);
  /// Runs an op of no mesh, whose operands are there.
  void run(unsigned op, double now);

  ArrayRef<double> seconds;
  ArrayRef<OverlapCandidate> candidates;
  const LateHalves &late;
  const Deadline &deadline;
  std::vector<double> endOf; ///< Of what has started.
  const EdgeTable &readers;
  std::vector<unsigned> pending; ///< Uses whose producers have not finished.
  std::vector<unsigned> meshOf, candidateOf;
  /// Uses of a candidate's members by each other.
  std::vector<unsigned> numInner;
  std::vector<Mesh> meshes;
  const BlockGraph &graph;
  /// When the way out of a mesh is free, and the way in, by name.
  llvm::StringMap<double> outFreeAt, inFreeAt;
  std::vector<bool> isOpen, isChosen;
  std::vector<std::pair<unsigned, unsigned>> withLate;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  size_t numPopped = 0;
  double latest = 0; ///< When the last event was.
  double end = 0;    ///< Of all fragments.
};
} // namespace

Chooser::Chooser(const BlockGraph &graph, const EdgeTable &readers,
                 ArrayRef<std::vector<unsigned>> queues,
                 ArrayRef<double> seconds,
                 ArrayRef<OverlapCandidate> candidates, const LateHalves &late,
                 ArrayRef<MeshRules> rules, const Deadline &deadline)
    : seconds(seconds), candidates(candidates), late(late), deadline(deadline),
      endOf(graph.size(), kNever), readers(readers), pending(graph.size()),
      meshOf(graph.size(), kNone), candidateOf(graph.size(), kNone),
      numInner(candidates.size(), 0), graph(graph),
      isOpen(candidates.size(), true), isChosen(candidates.size(), false) {
  for (auto [number, candidate] : llvm::enumerate(candidates))
    for (unsigned member : candidate.members)
      candidateOf[member] = number;
  for (unsigned op = 0; op < graph.size(); ++op) {
    pending[op] = graph.getProducers(op).size();
    if (candidateOf[op] != kNone)
      for (unsigned producer : graph.getProducers(op))
        numInner[candidateOf[op]] += candidateOf[producer] == candidateOf[op];
  }
  for (auto [number, queue] : llvm::enumerate(queues)) {
    Mesh &mesh = meshes.emplace_back();
    mesh.queue = queue;
    mesh.rules = rules[number];
    for (unsigned op : queue) {
      meshOf[op] = number;
      if (candidateOf[op] != kNone && mesh.rules.waitLimit == WaitLimit::None)
        isOpen[candidateOf[op]] = false;
    }
  }
  for (unsigned op = 0; op < graph.size(); ++op)
    if (pending[op] == 0 && meshOf[op] == kNone)
      run(op, 0);
  for (unsigned mesh = 0; mesh < meshes.size(); ++mesh)
    push(0, EventKind::Free, mesh);
}

/// Whether all that its members read, but of each other, is there.
bool Chooser::isReady(const OverlapCandidate &candidate) const {
  unsigned number = candidateOf[candidate.members.front()];
  unsigned missing = 0;
  for (unsigned member : candidate.members)
    missing += pending[member];
  return missing == numInner[number];
}

void Chooser::start(Mesh &mesh, unsigned number, ArrayRef<unsigned> ops,
                    double stop) {
  for (unsigned op : ops) {
    push(stop, EventKind::Finished, op);
    endOf[op] = stop;
    mesh.started.push_back(op);
  }
  mesh.freeAt = stop;
  end = std::max(end, stop);
  mesh.waitsSince.reset();
  push(stop, EventKind::Free, number);
}

/// When an op will have finished, as far as that is known.
double Chooser::getEnd(unsigned op) const {
  if (endOf[op] != kNever || meshOf[op] != kNone)
    return endOf[op];
  double start = 0;
  for (unsigned producer : graph.getProducers(op))
    start = std::max(start, getEnd(producer));
  return start + seconds[op];
}

/// When what ops of one fragment read will be there.
double Chooser::getStart(ArrayRef<unsigned> ops) const {
  double start = 0;
  for (unsigned op : ops)
    for (unsigned producer : graph.getProducers(op))
      if (!llvm::is_contained(ops, producer))
        start = std::max(start, getEnd(producer));
  return start;
}

/// When ops of one fragment have to have ended.
double Chooser::getLatestEnd(ArrayRef<unsigned> ops) const {
  double left = 0;
  for (unsigned op : ops)
    left = std::max(left, deadline.timeLeft[op]);
  return deadline.end - left;
}

/// Starts what has waited longest, if there is a gap for it, or too much waits. What is
/// next has a slack, by which it may start later than now. Returns whether the mesh is
/// taken; it is also while too much waits for operands.
bool Chooser::startPostponed(Mesh &mesh, unsigned number, double now,
                             double gap, double slack) {
  if (mesh.waiting.empty())
    return false;
  unsigned op = mesh.waiting.front();
  bool isFull = mesh.waiting.size() > mesh.rules.postponement.most;
  if (pending[op] > 0)
    return isFull;
  if (!isFull && (gap < mesh.rules.postponement.share * seconds[op] ||
                  std::max(gap, slack) < seconds[op]))
    return false;
  mesh.waiting.pop_front();
  start(mesh, number, op, now + seconds[op]);
  return true;
}

/// Starts what is next, which can start and takes a time, as one fragment with what has
/// waited longest.
bool Chooser::startWithPostponed(Mesh &mesh, unsigned number,
                                 ArrayRef<unsigned> ops, double time,
                                 double now) {
  if (mesh.waiting.empty() || ops.size() > 2)
    return false;
  unsigned half = mesh.waiting.front();
  LateUse least = LateUse::Single;
  if (ops.size() == 2) {
    // A mesh that others keep waiting has the time for a half by itself.
    bool hasWaited = now > mesh.freeAt + kShortWait * seconds[half];
    least = hasWaited ? LateUse::All : LateUse::Busy;
    const Postponement &postponement = mesh.rules.postponement;
    if (postponement.fillsGapsFirst && mesh.waiting.size() < postponement.most)
      return false;
  }
  if (mesh.rules.lateUse < least || pending[half] > 0)
    return false;
  double hidden = late.getHidden(ops, half);
  double added = seconds[half] - hidden;
  double stop = now + time + added;
  if (hidden <= 0 || (added > 0 && stop > getLatestEnd(ops)))
    return false;
  mesh.waiting.pop_front();
  withLate.emplace_back(ops.front(), half);
  SmallVector<unsigned, 3> all(ops);
  all.push_back(half);
  start(mesh, number, all, stop);
  return true;
}

void Chooser::advance(unsigned number, double now) {
  Mesh &mesh = meshes[number];
  if (mesh.freeAt > now)
    return;
  while (mesh.rules.postponement.most > 0 && !mesh.queue.empty() &&
         late.isLate[mesh.queue.front()]) {
    mesh.waiting.push_back(mesh.queue.front());
    mesh.queue = mesh.queue.drop_front();
  }
  if (mesh.queue.empty()) {
    startPostponed(mesh, number, now, kNever, kNever);
    return;
  }
  unsigned head = mesh.queue.front();
  unsigned candidate = candidateOf[head];
  bool isPair = candidate != kNone && isOpen[candidate];
  ArrayRef<unsigned> ops =
      isPair ? ArrayRef(candidates[candidate].members) : ArrayRef(head);
  bool canStart = isPair ? isReady(candidates[candidate]) : pending[head] == 0;
  double time = isPair ? candidates[candidate].seconds : seconds[head];
  bool isStarted = canStart && startWithPostponed(mesh, number, ops, time, now);
  if (!isStarted &&
      startPostponed(mesh, number, now, canStart ? -1 : getStart(ops) - now,
                     getLatestEnd(ops) - time - now))
    return;
  if (!canStart) {
    if (!isPair || pending[head] > 0 || mesh.waitsSince)
      return;
    mesh.waitsSince = now;
    if (mesh.rules.waitLimit == WaitLimit::Bounded)
      push(now + candidates[candidate].hidden, EventKind::Expired, number,
           candidate);
    return;
  }
  if (isPair) {
    isOpen[candidate] = false;
    isChosen[candidate] = true;
  }
  mesh.queue = mesh.queue.drop_front(ops.size());
  if (!isStarted)
    start(mesh, number, ops, now + time);
}

void Chooser::run(unsigned op, double now) {
  auto transfer = dyn_cast<TransferOp>(graph.getOp(op));
  if (transfer && seconds[op] > 0) {
    auto from = cast<MeshTensorType>(transfer.getTensor().getType());
    auto to = cast<MeshTensorType>(transfer.getType());
    if (from.getMeshName() != to.getMeshName()) {
      double &out = outFreeAt[from.getMeshName()];
      double &in = inFreeAt[to.getMeshName()];
      now = std::max({now, out, in});
      out = in = now + seconds[op];
    }
  }
  endOf[op] = now + seconds[op];
  push(endOf[op], EventKind::Finished, op);
}

void Chooser::finish(unsigned op, double now) {
  for (unsigned reader : readers[op]) {
    if (--pending[reader] == 0 && meshOf[reader] == kNone)
      run(reader, now);
    if (meshOf[reader] != kNone)
      advance(meshOf[reader], now);
  }
}

void Chooser::giveUp(unsigned number, double stop) {
  Mesh &mesh = meshes[number];
  unsigned head = mesh.queue.front();
  isOpen[candidateOf[head]] = false;
  mesh.queue = mesh.queue.drop_front();
  start(mesh, number, head, stop);
}

void Chooser::handle(const Event &event) {
  if (event.kind == EventKind::Finished) {
    finish(event.subject, event.time);
  } else if (event.kind == EventKind::Free) {
    advance(event.subject, event.time);
  } else if (const Mesh &mesh = meshes[event.subject];
             isOpen[event.candidate] && mesh.waitsSince &&
             event.time >=
                 *mesh.waitsSince + candidates[event.candidate].hidden) {
    // The mesh has begun with the first part as soon as it could.
    double ended = *mesh.waitsSince + seconds[mesh.queue.front()];
    giveUp(event.subject, std::max(event.time, ended));
  }
}

/// Where nothing runs any more, the mesh that has waited longest does so no longer.
bool Chooser::giveUpLongest() {
  std::optional<unsigned> longest;
  for (auto [number, mesh] : llvm::enumerate(meshes))
    if (mesh.waitsSince &&
        (!longest || *mesh.waitsSince < *meshes[*longest].waitsSince))
      longest = number;
  if (!longest)
    return false;
  unsigned head = meshes[*longest].queue.front();
  giveUp(*longest, latest + seconds[head]);
  return true;
}

OverlapChoice Chooser::choose() {
  do {
    while (!events.empty()) {
      Event event = events.top();
      events.pop();
      ++numPopped;
      latest = event.time;
      handle(event);
    }
  } while (giveUpLongest());
  std::vector<std::vector<unsigned>> order;
  for (Mesh &mesh : meshes)
    order.push_back(std::move(mesh.started));
  return {std::move(isChosen), std::move(withLate), std::move(order), end};
}

OverlapChoice mpmd::chooseOverlaps(
    const BlockGraph &graph, const EdgeTable &readers,
    ArrayRef<std::vector<unsigned>> queues, ArrayRef<double> seconds,
    ArrayRef<OverlapCandidate> candidates, const LateHalves &late,
    ArrayRef<MeshRules> rules, const Deadline &deadline) {
  return Chooser(graph, readers, queues, seconds, candidates, late, rules,
                 deadline)
      .choose();
}
