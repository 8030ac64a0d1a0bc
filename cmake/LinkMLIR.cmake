# How a binary gets LLVM and MLIR: MESHWRIGHT_MLIR is what it links.
#
# By default these are the shared libraries libMLIR and libLLVM. With
# MESHWRIGHT_STATIC_LLVM each binary contains what it uses of them and shows none
# of it to others, so it runs where neither is installed, and beside another MLIR
# in one process. With MESHWRIGHT_STATIC_TOOLS the command-line tools do, which then
# start in a fifth of the time.
option(MESHWRIGHT_STATIC_LLVM "Link LLVM and MLIR into each binary" OFF)
option(MESHWRIGHT_STATIC_TOOLS "Link LLVM and MLIR into the command-line tools" OFF)

set(MESHWRIGHT_MLIR MLIR LLVM)
if(NOT MESHWRIGHT_STATIC_LLVM AND NOT MESHWRIGHT_STATIC_TOOLS)
  return()
endif()

file(GLOB archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
if(NOT ${LLVM_LIBRARY_DIR}/libMLIRIR.a IN_LIST archives OR
   NOT ${LLVM_LIBRARY_DIR}/libLLVMSupport.a IN_LIST archives)
  message(FATAL_ERROR
    "${LLVM_LIBRARY_DIR} has no static libraries of LLVM and MLIR; on Debian, "
    "install libmlir-22-dev and llvm-22-dev, or configure with "
    "-DMESHWRIGHT_STATIC_LLVM=OFF -DMESHWRIGHT_STATIC_TOOLS=OFF, which links the "
    "shared ones")
endif()
find_library(MESHWRIGHT_ZLIB libz.a)
find_library(MESHWRIGHT_ZSTD libzstd.a)
if(NOT MESHWRIGHT_ZLIB OR NOT MESHWRIGHT_ZSTD)
  message(FATAL_ERROR "The static libraries libz.a and libzstd.a are not installed; "
                      "on Debian, install zlib1g-dev and libzstd-dev")
endif()

# All archives are named, and the linker takes from them what is missing; lld does
# so in any order.
add_library(MeshwrightStaticMLIR INTERFACE)
target_link_libraries(MeshwrightStaticMLIR INTERFACE
  ${archives} ${MESHWRIGHT_ZLIB} ${MESHWRIGHT_ZSTD} ${CMAKE_DL_LIBS})
target_link_options(MeshwrightStaticMLIR INTERFACE
  -fuse-ld=lld-22 -Wl,--gc-sections)
# A program shows nothing anyway but what its shared libraries have to use, such as
# the allocator.
set(is_library $<IN_LIST:$<TARGET_PROPERTY:TYPE>,MODULE_LIBRARY$<SEMICOLON>SHARED_LIBRARY>)
target_link_options(MeshwrightStaticMLIR INTERFACE
  $<${is_library}:-Wl,--exclude-libs,ALL>)
# Calls of what older systems lack go to OldLibraries.cpp.
add_library(MeshwrightOldLibraries STATIC
            ${PROJECT_SOURCE_DIR}/cmake/OldLibraries.cpp)
target_link_libraries(MeshwrightStaticMLIR INTERFACE MeshwrightOldLibraries)
set(wrapped arc4random)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  list(APPEND wrapped hypot
       _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE)
endif()
foreach(symbol ${wrapped})
  target_link_options(MeshwrightStaticMLIR INTERFACE -Wl,--wrap=${symbol})
endforeach()

if(MESHWRIGHT_STATIC_LLVM)
  set(MESHWRIGHT_MLIR MeshwrightStaticMLIR)
  return()
endif()
# A library asks the binary that it comes into.
set(is_static $<BOOL:$<TARGET_PROPERTY:MESHWRIGHT_STATIC_TOOL>>)
set(MESHWRIGHT_MLIR
    $<BUILD_INTERFACE:$<IF:${is_static},MeshwrightStaticMLIR,MLIR>>
    $<BUILD_INTERFACE:$<$<NOT:${is_static}>:LLVM>>
    $<INSTALL_INTERFACE:MLIR>
    $<INSTALL_INTERFACE:LLVM>)
