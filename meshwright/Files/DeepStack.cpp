//===- DeepStack.cpp - Stacks for deeply nested programs ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// MLIR parses, walks and prints regions by recursion, and where a worker thread
// waits for others it runs their tasks on top of its own; its verifier does so
// for every op that is isolated from above. The 8 MB that a thread usually gets
// are not enough for a few thousand levels of that.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Files/DeepStack.h"
#include <pthread.h>

static void *run(void *body) {
  (*static_cast<llvm::function_ref<void()> *>(body))();
  return nullptr;
}

void meshwright::runOnDeepStack(llvm::function_ref<void()> body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kDeepStackSize);
  pthread_t thread;
  int error = pthread_create(&thread, &attributes, run, &body);
  pthread_attr_destroy(&attributes);
  // Where so much address space is unavailable, the usual stack has to do.
  if (error)
    return body();
  pthread_join(thread, nullptr);
}

void meshwright::giveThreadsDeepStacks() {
#ifdef __GLIBC__
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kDeepStackSize);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
#endif
}
