//===- Progress.h - What one waits for at a terminal ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_SUPPORT_PROGRESS_H
#define MESHWRIGHT_TOOLS_SUPPORT_PROGRESS_H

#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace meshwright {

/// While it lives: from the second second on, a line on a terminal that says
/// what takes so long, and for how long already. Nothing in a pipe, and nothing
/// is left of it.
class Progress {
public:
  explicit Progress(std::string what, llvm::raw_ostream &os = llvm::errs(),
                    std::chrono::milliseconds delay = std::chrono::seconds(1));
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

private:
  void draw(std::chrono::milliseconds delay);

  std::string what;
  llvm::raw_ostream &os;
  std::mutex mutex;
  std::condition_variable wakeUp;
  bool isDone = false;
  std::thread drawer;
};

} // namespace meshwright

#endif
