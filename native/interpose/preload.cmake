# Makes libNAME_preload.so, by which libNAME.so is preloaded. It holds nothing and needs nothing, but names libNAME.so as
# an auxiliary library, which the dynamic linker of glibc puts before it. That of musl knows no such libraries: with
# LD_PRELOAD set for all programs, those of musl, where libNAME.so cannot run, are as without it.
function(preloaded_by_glibc name)
  set(empty "${CMAKE_CURRENT_BINARY_DIR}/${name}_preload.cpp")
  file(CONFIGURE OUTPUT "${empty}" CONTENT "")
  add_library(${name}_preload MODULE "${empty}")
  set_target_properties(${name}_preload PROPERTIES DISABLE_PRECOMPILE_HEADERS ON UNITY_BUILD OFF)
  target_link_options(${name}_preload PRIVATE -nostdlib "LINKER:--auxiliary=$ORIGIN/$<TARGET_FILE_NAME:${name}>")
  install(TARGETS ${name}_preload LIBRARY DESTINATION isthmus)
endfunction()
