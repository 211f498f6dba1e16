# find_package(isthmus CONFIG) finds this; it defines the target isthmus::isthmus.
#
# All is found from this file's own place, two folders below that of the library: include and lib may be moved together
# to any place (/usr, /opt/name, an environment), and lib may be called lib64 there. What CMake would write itself names
# the folder of the wheel.
get_filename_component(_isthmus_here "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
get_filename_component(_isthmus_lib "${_isthmus_here}/../.." ABSOLUTE)
get_filename_component(_isthmus_root "${_isthmus_lib}/.." ABSOLUTE)
file(GLOB _isthmus_libraries "${_isthmus_lib}/libisthmus.so.*")
set(isthmus_NOT_FOUND_MESSAGE "")
if(NOT _isthmus_libraries)
  set(isthmus_NOT_FOUND_MESSAGE "no libisthmus.so.* in ${_isthmus_lib}: move include and lib of isthmus together")
elseif(NOT EXISTS "${_isthmus_root}/include/isthmus.h")
  set(isthmus_NOT_FOUND_MESSAGE "no isthmus.h in ${_isthmus_root}/include: move include and lib of isthmus together")
elseif(NOT TARGET isthmus::isthmus)
  list(GET _isthmus_libraries 0 _isthmus_library)
  get_filename_component(_isthmus_name "${_isthmus_library}" NAME)
  add_library(isthmus::isthmus SHARED IMPORTED)
  set_target_properties(
    isthmus::isthmus
    PROPERTIES IMPORTED_LOCATION "${_isthmus_library}" IMPORTED_SONAME "${_isthmus_name}"
               INTERFACE_INCLUDE_DIRECTORIES "${_isthmus_root}/include")
endif()
if(isthmus_NOT_FOUND_MESSAGE)
  set(isthmus_FOUND FALSE)
endif()
foreach(_isthmus_word here lib root libraries library name)
  unset(_isthmus_${_isthmus_word})
endforeach()
