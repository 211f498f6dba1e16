# find_package(isthmus CONFIG) finds this; it defines the target isthmus::isthmus.
include("${CMAKE_CURRENT_LIST_DIR}/isthmusTargets.cmake")
