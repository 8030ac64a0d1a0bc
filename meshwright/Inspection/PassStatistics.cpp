//===- PassStatistics.cpp - What passes counted ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Inspection/PassStatistics.h"
#include "mlir/Pass/PassInstrumentation.h"
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

namespace {
struct Watcher : PassInstrumentation {
  Watcher(std::shared_ptr<PassStatistics> statistics, StringRef phase)
      : statistics(std::move(statistics)), phase(phase) {}

  void runBeforePass(Pass *pass, Operation *) override {
    if (isOurs(*pass))
      statistics->reset(*pass);
  }
  void runAfterPass(Pass *pass, Operation *) override {
    if (isOurs(*pass))
      statistics->add(phase, *pass);
  }
  void runAfterPassFailed(Pass *pass, Operation *op) override {
    runAfterPass(pass, op);
  }

  std::shared_ptr<PassStatistics> statistics;
  std::string phase;
};
} // namespace

void PassStatistics::watch(std::shared_ptr<PassStatistics> statistics,
                           PassManager &passes, StringRef phase) {
  passes.addInstrumentation(
      std::make_unique<Watcher>(std::move(statistics), phase));
}

void PassStatistics::reset(Pass &pass) {
  for (llvm::Statistic *counter : pass.getStatistics())
    *counter = 0;
}

void PassStatistics::add(StringRef phase, Pass &pass) {
  if (pass.getStatistics().empty())
    return;
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<Counter> &sums =
      counters[(phase + ": " + pass.getArgument()).str()];
  if (sums.empty())
    for (const CounterName &entry : findNames(pass.getArgument()))
      sums.push_back({entry.name.str(), entry.description.str()});
  for (auto [sum, counter] : llvm::zip(sums, pass.getStatistics()))
    sum.value += counter->getValue();
}

void PassStatistics::print(llvm::raw_ostream &os) const {
#if !LLVM_ENABLE_STATS
  os << "passes count in builds with assertions only\n";
#endif
  for (const auto &[pass, sums] : counters) {
    if (llvm::all_of(sums, [](const Counter &sum) { return sum.value == 0; }))
      continue;
    os << pass << "\n";
    for (const Counter &sum : sums)
      os << llvm::formatv("{0,10} {1,-20} {2}\n", sum.value, sum.name,
                          sum.description);
  }
}
