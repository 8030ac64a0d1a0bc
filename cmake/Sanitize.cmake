# Builds under sanitizers: MESHWRIGHT_SANITIZE is
#
#   address   address and undefined behaviour sanitizers, counting for libFuzzer
#   thread    thread sanitizer
#
# One tree of the first kind serves the tests and fuzzing. scripts/sanitizers.sh has
# what such binaries need when they run.
set(MESHWRIGHT_SANITIZE "" CACHE STRING "Build under sanitizers: address, thread")
set_property(CACHE MESHWRIGHT_SANITIZE PROPERTY STRINGS "" address thread)
if(NOT MESHWRIGHT_SANITIZE)
  return()
endif()

# Frames enough for reports with names and lines, and half as long to compile as
# with full debugging information.
add_compile_options(-O1 -gline-tables-only -fno-omit-frame-pointer)
if(MESHWRIGHT_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
  return()
elseif(NOT MESHWRIGHT_SANITIZE STREQUAL "address")
  message(FATAL_ERROR "MESHWRIGHT_SANITIZE is address, thread or empty, "
                      "not ${MESHWRIGHT_SANITIZE}")
endif()

set(flags
  -fsanitize=address,undefined
  # vptr needs the run-time types that LLVM is built without. function compares a
  # callee with the type that the compiler wrote in front of it, and sees the
  # callbacks of the C interface, which take pointers to other structures, as others.
  -fno-sanitize=vptr,function
  -fno-sanitize-recover=undefined)
# These are chosen so that a build is run: with them a file takes 6 s of processor
# time that took 10 s.
set(quicker
  # A test at every access, of what ends in a signal or in a report by the address
  # sanitizer anyway, or, as alignment, does no harm on the machines there are.
  -fno-sanitize=null,alignment,pointer-overflow,object-size
  # Accesses are looked at by a call rather than in place.
  -fsanitize-address-outline-instrumentation
  # Instructions are chosen as by -O0: what is generated of op definitions is long,
  # and seldom runs.
  "SHELL:-mllvm -fast-isel")
# The runtime of the sanitizer is a shared library, since Python, which has none, is
# started with it preloaded and starts our tools in turn: two runtimes in a process do
# not get along. Nor may anything come before it, so -fsanitize=fuzzer is not for
# linking, which puts the library of C++ there; fuzz/CMakeLists.txt links libFuzzer.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-resource-dir
                OUTPUT_VARIABLE resources OUTPUT_STRIP_TRAILING_WHITESPACE)
set(MESHWRIGHT_SANITIZER_LIBRARIES ${resources}/lib/linux)
add_compile_options(${flags} ${quicker} -fsanitize=fuzzer-no-link)
add_link_options(${flags} -shared-libasan
                 -Wl,-rpath,${MESHWRIGHT_SANITIZER_LIBRARIES})
