# One call per library folder: every source beside the CMakeLists.txt, and in
# folders below that have none, belongs to the library, so a new pass is a new
# file and no line here.

# meshwright_library(NAME [LINK lib...] [DEPENDS tablegen-target...]
#                    [ALONE source...]), of which the last are not compiled with others.
function(meshwright_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS;ALONE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  file(GLOB rooms LIST_DIRECTORIES true CONFIGURE_DEPENDS *)
  foreach(room ${rooms})
    if(IS_DIRECTORY ${room} AND NOT EXISTS ${room}/CMakeLists.txt)
      file(GLOB more CONFIGURE_DEPENDS ${room}/*.cpp)
      list(APPEND sources ${more})
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY MESHWRIGHT_LIBRARIES ${name})
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${ARG_LINK} ${MESHWRIGHT_MLIR})
    if(ARG_DEPENDS)
      add_dependencies(${name} ${ARG_DEPENDS})
    endif()
    return()
  endif()
  add_library(${name} STATIC ${sources})
  if(ARG_DEPENDS MATCHES "PassesIncGen") # Counters of passes; see PassCounters.cpp.
    list(APPEND ARG_LINK MeshwrightIR)
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK} ${MESHWRIGHT_MLIR})
  meshwright_precompile(${name})
  meshwright_unite(${name} "${sources}" "${ARG_ALONE}")
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# Compiles the sources eight at a time: what is instantiated of MLIR's templates takes
# longer than the code of most of them, and much of it is the same. So names that are
# local to a source differ within a library.
function(meshwright_unite name sources alone)
  if(NOT MESHWRIGHT_UNITY)
    return()
  endif()
  # What TableGen made takes long enough by itself, and its local names are the same.
  foreach(source ${sources})
    file(STRINGS ${source} classes REGEX "^#define GET_.*_CLASSES" LIMIT_COUNT 1)
    if(classes)
      list(APPEND alone ${source})
    endif()
  endforeach()
  set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  # Never built; tools that look at one source find here what to compile it with.
  add_library(${name}Sources OBJECT EXCLUDE_FROM_ALL ${sources})
  get_target_property(type ${name} TYPE)
  if(type STREQUAL EXECUTABLE)
    set(links $<TARGET_PROPERTY:${name},LINK_LIBRARIES>)
  else()
    set(links ${name})
  endif()
  target_link_libraries(${name}Sources PRIVATE ${links})
  target_compile_definitions(${name}Sources
    PRIVATE $<TARGET_PROPERTY:${name},COMPILE_DEFINITIONS>)
  meshwright_precompile(${name}Sources)
endfunction()

# Headers that most sources include, precompiled: those of MLIR for all libraries, and
# those of the dialects, most of what the compiler reads, for those that link them.
# Sources include what they use all the same: the release preset builds without.
function(meshwright_precompile name)
  if(NOT MESHWRIGHT_PCH)
    return()
  endif()
  meshwright_links(${name} libraries)
  list(APPEND libraries ${name})
  set(dialects)
  foreach(dialect StableHLO Sdy Mpmd)
    if(Meshwright${dialect} IN_LIST libraries)
      list(APPEND dialects ${dialect})
    endif()
  endforeach()
  list(JOIN dialects "" suffix)
  set(headers Meshwright${suffix}Headers)
  if(NOT TARGET ${headers})
    set(source ${PROJECT_BINARY_DIR}/${headers}.cpp)
    file(GENERATE OUTPUT ${source} CONTENT "")
    add_library(${headers} STATIC ${source})
    target_precompile_headers(${headers} PRIVATE
      <mlir/Dialect/Func/IR/FuncOps.h> <mlir/IR/Builders.h>
      <mlir/IR/PatternMatch.h> <mlir/IR/SymbolTable.h>
      <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Pass/Pass.h>
      <mlir/Pass/PassManager.h> <mlir/Transforms/GreedyPatternRewriteDriver.h>
      <llvm/ADT/MapVector.h> <llvm/ADT/STLExtras.h> <llvm/ADT/SetVector.h>
      <llvm/ADT/SmallVectorExtras.h> <llvm/ADT/StringExtras.h>
      <llvm/ADT/TypeSwitch.h> <llvm/Support/Error.h> <llvm/Support/Format.h>
      <llvm/Support/FormatVariadic.h> <llvm/Support/JSON.h>)
    foreach(dialect ${dialects})
      string(REPLACE StableHLO Stablehlo file ${dialect})
      target_precompile_headers(${headers} PRIVATE
        <meshwright/Dialect/${dialect}/${file}Dialect.h>)
      add_dependencies(${headers} Meshwright${dialect}IncGen)
    endforeach()
    # A time in the file would make every one of them new to a compiler cache.
    target_compile_options(${headers} PRIVATE
      "SHELL:-Xclang -fno-pch-timestamp" -fpch-instantiate-templates)
  endif()
  target_precompile_headers(${name} REUSE_FROM ${headers})
  get_target_property(type ${name} TYPE)
  if(type STREQUAL EXECUTABLE)
    # What was precompiled for libraries is not for executables (-fPIE).
    target_compile_options(${name} PRIVATE -fPIC)
  endif()
endfunction()

# meshwright_links(NAME OUT): the libraries of ours that one links, however deep.
function(meshwright_links name out)
  set(found)
  set(next ${name})
  while(next)
    list(POP_FRONT next library)
    get_target_property(links ${library} LINK_LIBRARIES)
    if(NOT links)
      get_target_property(links ${library} INTERFACE_LINK_LIBRARIES)
    endif()
    list(FILTER links INCLUDE REGEX "^Meshwright")
    list(REMOVE_ITEM links "" ${found})
    list(APPEND found ${links})
    list(APPEND next ${links})
  endwhile()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# meshwright_passes(NAME [NAMESPACE name] [INCLUDE header...]): TableGen for the
# Passes.td of a folder, as target Meshwright<NAME>PassesIncGen, and its Passes.h in
# mlir::mpmd or that namespace, with the headers that types of options need. They are
# registered by registerAllPasses() of InitAll.h.
function(meshwright_passes name)
  cmake_parse_arguments(ARG "" "NAMESPACE" "INCLUDE" ${ARGN})
  set(base mlir/Dialect/Func/IR/FuncOps.h mlir/Pass/Pass.h)
  if(NOT ARG_NAMESPACE)
    set(ARG_NAMESPACE mpmd)
    set(base meshwright/Dialect/Mpmd/Pass/FunctionPass.h)
  endif()
  list(TRANSFORM ARG_INCLUDE PREPEND meshwright/)
  set(includes)
  foreach(header ${ARG_INCLUDE} ${base})
    string(APPEND includes "#include \"${header}\"\n")
  endforeach()
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(MAKE_C_IDENTIFIER ${folder} guard)
  string(TOUPPER ${guard} guard)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/Passes.h.in Passes.h @ONLY)
  string(CONCAT registrations
               "#include \"${folder}/Passes.h\"\n"
               "#define GEN_PASS_REGISTRATION\n"
               "namespace mlir::${ARG_NAMESPACE} {\n"
               "#include \"${folder}/Passes.h.inc\"\n"
               "} // namespace mlir::${ARG_NAMESPACE}\n")
  set_property(GLOBAL APPEND_STRING PROPERTY MESHWRIGHT_PASS_REGISTRATIONS
               "${registrations}")
  set_property(GLOBAL APPEND_STRING PROPERTY MESHWRIGHT_PASS_CALLS
               "  mlir::${ARG_NAMESPACE}::register${name}Passes();\n")
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name=${name})
  add_public_tablegen_target(Meshwright${name}PassesIncGen)
  meshwright_counters(Passes.td)
endfunction()

# The packaged MLIR is built without statistics, and forgets what the counters of
# passes are called. So their names, in the order of declaration, are also read
# off the table here, as lines {PASS, COUNTER, DESCRIPTION}.
function(meshwright_counters table)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(READ ${table} text)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  string(REGEX MATCHALL
         ": [A-Za-z]*Pass<\"[^\"]*\"|Statistic<\"[^\"]*\", \"[^\"]*\", \"[^\"]*\">"
         entries "${text}")
  foreach(entry ${entries})
    if(entry MATCHES "^: [A-Za-z]*Pass<(.*)$")
      set(pass ${CMAKE_MATCH_1})
    elseif(entry MATCHES "^Statistic<[^,]*, (.*)>$")
      set_property(GLOBAL APPEND_STRING PROPERTY MESHWRIGHT_COUNTERS
                   "{${pass}, ${CMAKE_MATCH_1}},\n")
    endif()
  endforeach()
endfunction()

# meshwright_tool(NAME [LINK lib...]): a binary in build/bin, with the allocator
# of tools/ in front of the C library's, and its queries of interfaces before all others.
function(meshwright_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_executable(${name} $<TARGET_OBJECTS:MeshwrightInterfaceQueries> ${sources})
  target_link_libraries(${name} PRIVATE MeshwrightAllocator ${ARG_LINK})
  meshwright_precompile(${name})
  # The search path of a build has an empty entry, which is the current folder.
  set_target_properties(${name} PROPERTIES
    BUILD_WITH_INSTALL_RPATH ON
    MESHWRIGHT_STATIC_TOOL ON
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endfunction()
