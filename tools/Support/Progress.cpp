//===- Progress.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Progress.h"
#include "llvm/Support/FormatVariadic.h"

using namespace meshwright;

Progress::Progress(std::string what, llvm::raw_ostream &os,
                   std::chrono::milliseconds delay)
    : what(std::move(what)), os(os) {
  if (os.is_displayed())
    drawer = std::thread([this, delay] { draw(delay); });
}

void Progress::draw(std::chrono::milliseconds delay) {
  constexpr std::chrono::milliseconds kInterval(200);
  auto start = std::chrono::steady_clock::now();
  bool isDrawn = false;
  std::unique_lock<std::mutex> lock(mutex);
  while (!wakeUp.wait_for(lock, isDrawn ? kInterval : delay,
                          [this] { return isDone; })) {
    std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    // In one piece, since diagnostics go to the same place.
    os << llvm::formatv("\r{0} ... {1:F0} s", what, elapsed.count()).str();
    os.flush();
    isDrawn = true;
  }
  if (isDrawn) {
    os << "\r\x1b[K";
    os.flush();
  }
}

Progress::~Progress() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isDone = true;
  }
  wakeUp.notify_all();
  if (drawer.joinable())
    drawer.join();
}
