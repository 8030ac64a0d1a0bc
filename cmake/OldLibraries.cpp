//===- OldLibraries.cpp - Runs where the system's libraries are older -----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A binary needs the system libraries that have each version of each symbol it
// was linked with. Of glibc 2.35 and 2.36 and of libstdc++ 12 the libraries of
// LLVM, compiled on Debian 12, use three symbols only; with what is here a
// wheel needs glibc 2.34 and libstdc++ 11, which Ubuntu 22.04 and RHEL 9 have.
// The linker sends calls of NAME to __wrap_NAME.
//
//===----------------------------------------------------------------------===//

#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <sys/random.h>

/// Of glibc 2.36; for names of temporary files.
extern "C" uint32_t __wrap_arc4random() noexcept {
  uint32_t number;
  if (getrandom(&number, sizeof number, 0) != sizeof number)
    std::abort(); // So few bytes come whole, or the kernel has no such call.
  return number;
}

#if defined(__x86_64__)
/// In glibc 2.35 it got another algorithm.
__asm__(".symver meshwrightOldHypot, hypot@GLIBC_2.2.5");
extern "C" double meshwrightOldHypot(double x, double y);
extern "C" double __wrap_hypot(double x, double y) {
  return meshwrightOldHypot(x, y);
}

/// In libstdc++ 12 it stopped being noexcept.
__asm__(".symver meshwrightOldWait, "
        "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"
        "@GLIBCXX_3.4.11");
extern "C" void meshwrightOldWait(std::condition_variable *self,
                                  std::unique_lock<std::mutex> &lock);
extern "C" void
__wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable *self, std::unique_lock<std::mutex> &lock) {
  meshwrightOldWait(self, lock);
}
#endif
