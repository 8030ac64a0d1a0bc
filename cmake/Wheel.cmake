# What a wheel contains beside the package: the commands, and the licences of
# what is linked into them.
install(TARGETS meshwright mpmd-lsp-server mpmd-opt
        RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)

if(MESHWRIGHT_STATIC_LLVM)
  set(packages llvm-22-dev libzstd-dev zlib1g-dev)
  if(MESHWRIGHT_JEMALLOC)
    list(APPEND packages libjemalloc-dev)
  endif()
  foreach(package ${packages})
    # Debian's place; elsewhere the builder adds them.
    install(FILES /usr/share/doc/${package}/copyright
            DESTINATION ${SKBUILD_METADATA_DIR}/licenses
            RENAME ${package}.txt COMPONENT python OPTIONAL)
  endforeach()
  file(GLOB nanobind ${NB_DIR}/../nanobind-*.dist-info/licenses/LICENSE)
  install(FILES ${nanobind} DESTINATION ${SKBUILD_METADATA_DIR}/licenses
          RENAME nanobind.txt COMPONENT python OPTIONAL)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/tools/page/licences.txt
        DESTINATION ${SKBUILD_METADATA_DIR}/licenses
        RENAME page.txt COMPONENT python)
