# The reference in docs/reference, from TableGen: a page per dialect and one
# per folder of passes. Built by the target meshwright-docs only.
add_custom_target(meshwright-docs)

# meshwright_doc(PAGE GENERATOR TD [dialect options...])
function(meshwright_doc page generator td)
  get_filename_component(td ${td} ABSOLUTE)
  set(output ${PROJECT_SOURCE_DIR}/docs/reference/${page}.md)
  get_filename_component(folder ${output} DIRECTORY)
  add_custom_target(meshwright-doc-${page}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${MLIR_TABLEGEN_EXE} ${generator} ${ARGN}
            -I ${PROJECT_SOURCE_DIR} -I ${MLIR_INCLUDE_DIRS} ${td} -o ${output}
    VERBATIM)
  add_dependencies(meshwright-docs meshwright-doc-${page})
endfunction()
