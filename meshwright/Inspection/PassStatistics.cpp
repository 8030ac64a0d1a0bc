//===- PassStatistics.cpp - What passes counted ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Inspection/PassStatistics.h"
#include "meshwright/Inspection/ProgramState.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace meshwright;

namespace {
struct CounterName {
  StringRef pass, name, description;
};
} // namespace

/// See meshwright_counters in cmake/Meshwright.cmake.
static const CounterName kCounterNames[] = {
#include "meshwright/Inspection/Counters.inc"
};

/// The counters of a pass, in the order of declaration.
static SmallVector<CounterName> findNames(StringRef pass) {
  SmallVector<CounterName> names;
  llvm::copy_if(kCounterNames, std::back_inserter(names),
                [&](const CounterName &entry) { return entry.pass == pass; });
  return names;
}

/// Only the counters of passes that were compiled here are as large as they
/// look from here.
static bool isOurs(const Pass &pass) {
  return llvm::any_of(
      std::initializer_list<StringRef>{"mpmd-", "sdy-", "stablehlo-", "chlo-"},
      [&](StringRef prefix) { return pass.getArgument().starts_with(prefix); });
}

static size_t countOps(Operation *root) {
  size_t count = 0;
  root->walk([&](Operation *) { ++count; });
  return count;
}

namespace {
/// What a pass found.
struct Before {
  llvm::hash_code state;
  size_t numOps;
};

struct Watcher : PassInstrumentation {
  Watcher(std::shared_ptr<PassStatistics> statistics, StringRef phase)
      : statistics(std::move(statistics)), phase(phase) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    if (isAdaptor(*pass))
      return;
    if (isOurs(*pass))
      for (llvm::Statistic *counter : pass->getStatistics())
        *counter = 0;
    Before found = {hashState(op), countOps(op)};
    std::lock_guard<std::mutex> lock(mutex);
    before.try_emplace(pass, std::move(found));
  }
  void runAfterPass(Pass *pass, Operation *op) override {
    if (isAdaptor(*pass))
      return;
    std::unique_lock<std::mutex> lock(mutex);
    auto it = before.find(pass);
    Before found = it->second;
    before.erase(it);
    lock.unlock();
    if (hasCounted(*pass))
      statistics->add(phase, *pass);
    else if (hashState(op) != found.state)
      statistics->addChange(phase, *pass, found.numOps, countOps(op));
  }
  void runAfterPassFailed(Pass *pass, Operation *op) override {
    runAfterPass(pass, op);
  }

private:
  /// Runs other passes.
  static bool isAdaptor(const Pass &pass) { return pass.getArgument().empty(); }
  static bool hasCounted(Pass &pass) {
    return isOurs(pass) &&
           llvm::any_of(pass.getStatistics(), [](llvm::Statistic *counter) {
             return counter->getValue() != 0;
           });
  }

  std::shared_ptr<PassStatistics> statistics;
  std::string phase;
  /// Each thread has passes of its own.
  std::mutex mutex;
  llvm::DenseMap<Pass *, Before> before;
};
} // namespace

void PassStatistics::watch(std::shared_ptr<PassStatistics> statistics,
                           PassManager &passes, StringRef phase) {
  passes.addInstrumentation(
      std::make_unique<Watcher>(std::move(statistics), phase));
}

void PassStatistics::add(StringRef phase, Pass &pass) {
  SmallVector<CounterName> names = findNames(pass.getArgument());
  for (auto [entry, counter] : llvm::zip(names, pass.getStatistics()))
    increase(phase, pass, entry.name, entry.description, counter->getValue());
}

void PassStatistics::addChange(StringRef phase, const Pass &pass,
                               size_t numOpsBefore, size_t numOpsAfter) {
  increase(phase, pass, "num-changed",
           "Functions or modules that are not as before", 1);
  increase(phase, pass, "num-more", "Operations more than before",
           numOpsAfter > numOpsBefore ? numOpsAfter - numOpsBefore : 0);
  increase(phase, pass, "num-fewer", "Operations fewer than before",
           numOpsAfter < numOpsBefore ? numOpsBefore - numOpsAfter : 0);
}

void PassStatistics::increase(StringRef phase, const Pass &pass, StringRef name,
                              StringRef description, uint64_t value) {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<Counter> &sums =
      counters[(phase + ": " + pass.getArgument()).str()];
  auto it =
      llvm::find_if(sums, [&](const Counter &sum) { return sum.name == name; });
  if (it == sums.end())
    it = sums.insert(it, {name.str(), description.str()});
  it->value += value;
}

void PassStatistics::print(llvm::raw_ostream &os) const {
#if !LLVM_ENABLE_STATS
  os << "in builds without assertions passes count only what they changed\n";
#endif
  for (const auto &[pass, sums] : counters) {
    os << pass << "\n";
    for (const Counter &sum : sums)
      os << llvm::formatv("{0,10} {1,-20} {2}\n", sum.value, sum.name,
                          sum.description);
  }
}
