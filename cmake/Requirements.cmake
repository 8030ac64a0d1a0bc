# What a build needs and a machine may lack, in a sentence each, before anything
# else is tried: included before project().

# LLVM keeps its interfaces within these two numbers.
set(MESHWRIGHT_MLIR_VERSION 22.1)

# meshwright_require_program(VARIABLE DEFAULT): the program that VARIABLE names.
function(meshwright_require_program variable default)
  set(name ${default})
  if(${variable})
    list(GET ${variable} 0 name)
  endif()
  find_program(program ${name} NO_CACHE)
  if(NOT program)
    message(FATAL_ERROR
      "The compiler ${name} is not installed; on Debian, install the packages "
      "clang-22 and lld-22, or name another compiler with -D${variable}=...")
  endif()
endfunction()

# meshwright_require_mlir(DIR): an installation of MLIR whose MLIRConfig.cmake is
# in DIR has all that a build uses of it. One that is elsewhere, find_package
# finds.
function(meshwright_require_mlir dir)
  set(advice "on Debian, install the packages libmlir-22-dev, llvm-22-dev and "
             "mlir-22-tools, or name an installation of MLIR 22 with "
             "-DMLIR_DIR=PREFIX/lib/cmake/mlir")
  string(CONCAT advice ${advice})
  if(NOT EXISTS ${dir}/MLIRConfig.cmake)
    message(FATAL_ERROR "MLIR 22 is not installed: there is no "
                        "${dir}/MLIRConfig.cmake; ${advice}")
  endif()
  get_filename_component(prefix ${dir}/../../.. ABSOLUTE)
  if(EXISTS ${dir}/MLIRConfigVersion.cmake)
    file(STRINGS ${dir}/MLIRConfigVersion.cmake version REGEX "PACKAGE_VERSION \"")
    string(REGEX MATCH "[0-9]+[.][0-9]+" version "${version}")
    if(NOT version VERSION_EQUAL MESHWRIGHT_MLIR_VERSION)
      message(FATAL_ERROR "MLIR ${MESHWRIGHT_MLIR_VERSION} is needed, and that in "
                          "${prefix} is ${version}; ${advice}")
    endif()
  endif()
  foreach(file lib/cmake/llvm/LLVMConfig.cmake bin/mlir-tblgen
               include/mlir/IR/Operation.h include/llvm/ADT/StringRef.h)
    if(NOT EXISTS ${prefix}/${file})
      message(FATAL_ERROR "MLIR 22 is installed in part only: ${prefix} has no "
                          "${file}; ${advice}")
    endif()
  endforeach()
endfunction()

# What pip builds is kept by ccache, too, if it is there; presets say so themselves.
function(meshwright_use_ccache)
  find_program(ccache ccache NO_CACHE)
  if(ccache)
    set(CMAKE_C_COMPILER_LAUNCHER ${ccache} PARENT_SCOPE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${ccache} PARENT_SCOPE)
  endif()
endfunction()
if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  meshwright_use_ccache()
endif()

meshwright_require_program(CMAKE_CXX_COMPILER clang++-22)
if("${CMAKE_EXE_LINKER_FLAGS}" MATCHES "-fuse-ld=(lld[^ ]*)")
  set(linker ld.${CMAKE_MATCH_1})
  find_program(found_linker ${linker} NO_CACHE)
  if(NOT found_linker)
    message(FATAL_ERROR
      "The linker ${linker} is not installed; on Debian, install the package "
      "lld-22, or choose another with -DCMAKE_{EXE,SHARED,MODULE}_LINKER_FLAGS")
  endif()
endif()
if(MLIR_DIR)
  meshwright_require_mlir(${MLIR_DIR})
  # LLVM is that of the same installation, whatever a preset names.
  get_filename_component(LLVM_DIR ${MLIR_DIR}/../llvm ABSOLUTE)
endif()
