# One call per library folder: every source beside the CMakeLists.txt, and in
# folders below that have none, belongs to the library, so a new pass is a new
# file and no line here.

# meshwright_library(NAME [LINK lib...] [DEPENDS tablegen-target...])
function(meshwright_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  file(GLOB rooms LIST_DIRECTORIES true CONFIGURE_DEPENDS *)
  foreach(room ${rooms})
    if(IS_DIRECTORY ${room} AND NOT EXISTS ${room}/CMakeLists.txt)
      file(GLOB more CONFIGURE_DEPENDS ${room}/*.cpp)
      list(APPEND sources ${more})
    endif()
  endforeach()
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${ARG_LINK} ${MESHWRIGHT_MLIR})
    if(ARG_DEPENDS)
      add_dependencies(${name} ${ARG_DEPENDS})
    endif()
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} ${MESHWRIGHT_MLIR})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# meshwright_passes(NAME): TableGen for the Passes.td of a folder, as target
# Meshwright<NAME>PassesIncGen; register function register<NAME>Passes().
function(meshwright_passes name)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name=${name})
  add_public_tablegen_target(Meshwright${name}PassesIncGen)
endfunction()

# meshwright_tool(NAME [LINK lib...]): a binary in build/bin, with the allocator
# of tools/ in front of the C library's.
function(meshwright_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE MeshwrightAllocator ${ARG_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                        ${PROJECT_BINARY_DIR}/bin)
endfunction()
