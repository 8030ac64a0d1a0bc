//===- CrashGuard.cpp - Survives mistakes of the compiler -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/CrashGuard.h"
#include "meshwright/Files/DeepStack.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/thread.h"
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <mutex>

using namespace llvm;
using namespace meshwright;

/// What CrashRecoveryContext returns for signals is 128 and the signal.
static constexpr int kSignalBase = 128;
static constexpr int kFatalErrorCode = 70;
/// There may be many workers, and what nests deeply is refused early.
static constexpr unsigned kWorkerStackSize = 64u << 20;

namespace {
/// Handlers of signals and of fatal errors belong to the process: the first
/// guarded body sets them, the last one takes them back.
class Handlers {
public:
  Handlers() {
    std::lock_guard lock(mutex);
    if (numUsers++ > 0)
      return;
    CrashRecoveryContext::Enable();
    install_fatal_error_handler(&Handlers::onFatalError);
  }
  ~Handlers() {
    std::lock_guard lock(mutex);
    if (--numUsers > 0)
      return;
    remove_fatal_error_handler();
    CrashRecoveryContext::Disable();
  }

  /// The reason of the last fatal error; read by the caller that it stopped.
  static std::string takeReason() {
    std::lock_guard lock(mutex);
    return std::exchange(reason, {});
  }

private:
  static void onFatalError(void *, const char *text, bool) {
    {
      std::lock_guard lock(mutex);
      reason = text;
    }
    if (CrashRecoveryContext *context = CrashRecoveryContext::GetCurrent())
      context->HandleExit(kFatalErrorCode);
    errs() << "LLVM ERROR: " << text << "\n";
    abort();
  }

  static inline std::mutex mutex;
  static inline unsigned numUsers = 0;
  static inline std::string reason;
};
} // namespace

std::optional<std::string>
meshwright::runGuarded(llvm::function_ref<void()> body) {
  Handlers handlers;
  int code = 0;
  runOnDeepStack([&] {
    CrashRecoveryContext context;
    if (!context.RunSafely(body))
      code = context.RetCode;
  });
  if (code == 0)
    return std::nullopt;
  if (code == kFatalErrorCode)
    return "stopped with the fatal error \"" + Handlers::takeReason() + "\"";
  if (code == kSignalBase + SIGABRT)
    return std::string("failed a check of its own, which is on standard error");
  if (code > kSignalBase)
    return std::string("was stopped by signal ") +
           strsignal(code - kSignalBase);
  return "stopped with code " + std::to_string(code);
}

//===----------------------------------------------------------------------===//
// Thread pool
//===----------------------------------------------------------------------===//

namespace {
class GuardedThreadPool : public ThreadPoolInterface {
public:
  ~GuardedThreadPool() override {
    {
      std::lock_guard lock(mutex);
      isClosing = true;
    }
    changed.notify_all();
    for (llvm::thread &worker : workers)
      worker.join();
  }

  void wait() override {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return groups.empty(); });
    passOnCrash(lock);
  }

  void wait(ThreadPoolTaskGroup &group) override {
    std::unique_lock lock(mutex);
    while (groups.contains(&group))
      if (!runTaskOf(&group, lock))
        changed.wait(lock);
    passOnCrash(lock);
  }

  unsigned getMaxConcurrency() const override { return maxWorkers; }

private:
  using Task = unique_function<void()>;
  struct Group {
    std::deque<Task> queued;
    unsigned numRunning = 0;
  };

  void asyncEnqueue(Task task, ThreadPoolTaskGroup *group) override {
    {
      std::lock_guard lock(mutex);
      groups[group].queued.push_back(std::move(task));
      if (workers.size() < maxWorkers)
        workers.emplace_back(std::optional<unsigned>(kWorkerStackSize),
                             [this] { work(); });
    }
    changed.notify_all();
  }

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      auto it = llvm::find_if(
          groups, [](auto &entry) { return !entry.second.queued.empty(); });
      if (it != groups.end())
        runTaskOf(it->first, lock);
      else if (isClosing)
        return;
      else
        changed.wait(lock);
    }
  }

  /// Runs a task of the group, if one is queued, without the lock.
  bool runTaskOf(ThreadPoolTaskGroup *group,
                 std::unique_lock<std::mutex> &lock) {
    Group &tasks = groups[group];
    if (tasks.queued.empty())
      return false;
    Task task = std::move(tasks.queued.front());
    tasks.queued.pop_front();
    ++tasks.numRunning;
    lock.unlock();
    CrashRecoveryContext context;
    bool isDone = context.RunSafely([&] { task(); });
    lock.lock();
    if (!isDone)
      crashCode = context.RetCode;
    // Others have come and gone meanwhile.
    auto it = groups.find(group);
    if (--it->second.numRunning == 0 && it->second.queued.empty()) {
      groups.erase(it);
      lock.unlock();
      changed.notify_all();
      lock.lock();
    }
    return true;
  }

  /// A task that crashed has left things half done: a caller that waited for it
  /// must not go on.
  void passOnCrash(std::unique_lock<std::mutex> &lock) {
    if (crashCode == 0)
      return;
    int code = crashCode;
    lock.unlock();
    if (CrashRecoveryContext *context = CrashRecoveryContext::GetCurrent())
      context->HandleExit(code);
    report_fatal_error("a worker thread has crashed");
  }

  const unsigned maxWorkers = hardware_concurrency().compute_thread_count();
  std::mutex mutex;
  std::condition_variable changed;
  /// The groups that have tasks, oldest first.
  MapVector<ThreadPoolTaskGroup *, Group> groups;
  std::vector<llvm::thread> workers;
  int crashCode = 0;
  bool isClosing = false;
};
} // namespace

std::unique_ptr<ThreadPoolInterface> meshwright::makeGuardedThreadPool() {
  return std::make_unique<GuardedThreadPool>();
}
