//===- CrashGuard.h - Survives mistakes of the compiler ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A compiler in another program's process must not end that process. What a
// user gets wrong is diagnosed; what we got wrong ends up here: a failed
// assertion, a fatal error, an access to memory that is not there.
//
// Limits: what `body` owned is lost, and a lock that it held stays locked, so
// nothing that it used may be used again, or destroyed. A stack that overflows,
// memory that has run out and a loop that does not end are not survived. While
// a guarded body runs, handlers of the signals SIGABRT, SIGBUS, SIGFPE, SIGILL,
// SIGSEGV and SIGTRAP are set for the whole process; signals of other threads
// go to the handlers from before.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_CRASHGUARD_H
#define MESHWRIGHT_FILES_CRASHGUARD_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/ThreadPool.h"
#include <optional>
#include <string>

namespace meshwright {

/// Runs `body` on a deep stack. Returns what went wrong, as part of a sentence,
/// if it did not come to its end.
std::optional<std::string> runGuarded(llvm::function_ref<void()> body);

/// Workers whose crashes are those of the guarded body that waits for them. If
/// there was one, neither the pool nor what its tasks used may be destroyed.
///
/// A thread that waits helps with the tasks that it waits for, and with no
/// others: so stacks are as deep as tasks are nested, however many there are.
std::unique_ptr<llvm::ThreadPoolInterface> makeGuardedThreadPool();

} // namespace meshwright

#endif
