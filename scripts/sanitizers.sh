# How programs of the presets asan and tsan run; sourced: . scripts/sanitizers.sh
#
# MLIR and LLVM are the packaged shared libraries, built without sanitizers. So what
# both sides do to one object is seen in part, and some reports would be false:
llvm=/usr/lib/llvm-22
# What a process with a report ends with. By itself it would be 1, as for a program that
# is refused: a test of an error would pass with it. 126 is what a shell has for a
# program that cannot be run, and so "not" of lit, and fuzzing of commands, take it.
report=126
asan=(
  exitcode=$report
  # LLVM frees little when a process ends, Python less.
  detect_leaks=0
  # A container that our code makes longer and libMLIR does.
  detect_container_overflow=0
  # LLVM's bump allocators mark what is not handed out yet, where their inline
  # functions are compiled under the sanitizer, and hand it out without taking the mark
  # away, where libMLIR does.
  allow_user_poisoning=0
  # LLVM gives threads a stack for signals of its own, from the heap, and the runtime
  # would take back that one for the one it has given.
  use_sigaltstack=0
)
ubsan=(print_stacktrace=1)
tsan=(
  # At its end: a process with a report of this one goes on.
  exitcode=$report
  # What threads do within these libraries, their locks excepted, is not seen.
  ignore_noninstrumented_modules=1
)
join() { local IFS=:; echo "$*"; }
export ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS
ASAN_OPTIONS=$(join "${asan[@]}")
UBSAN_OPTIONS=$(join "${ubsan[@]}")
TSAN_OPTIONS=$(join "${tsan[@]}")
export LLVM_SYMBOLIZER_PATH=$llvm/bin/llvm-symbolizer
export ASAN_SYMBOLIZER_PATH=$LLVM_SYMBOLIZER_PATH
# For processes of Python, which is not built with a sanitizer, and loads ours.
ASAN_RUNTIME=$("$llvm/bin/clang" -print-file-name="libclang_rt.asan-$(uname -m).so")
