# SPDX-License-Identifier: MIT
# What `make install` installs: headers, the libraries, verge.pc, the CMake package, the manual of functions,
# documentation, examples. The tools are installed by their own folders.

include(CMakePackageConfigHelpers)

install(DIRECTORY include/verge DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT headers
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "durable.*" EXCLUDE)
install(TARGETS verge_shared verge_static EXPORT verge-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# verge.pc finds its prefix from where it lies, so that an installed tree can be moved.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
    set(pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
    file(RELATIVE_PATH pc_up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
    string(REGEX REPLACE "/$" "" pc_up "${pc_up}")
    set(pc_prefix "\${pcfiledir}/${pc_up}")
endif()
cmake_path(APPEND pc_libdir "\${prefix}" ${CMAKE_INSTALL_LIBDIR})
cmake_path(APPEND pc_includedir "\${prefix}" ${CMAKE_INSTALL_INCLUDEDIR})
set(pc_requires_private)
if(VERGE_HAVE_LIBURING)
    set(pc_requires_private liburing)
endif()
set(pc_libs_private -pthread)
if(VERGE_NEEDS_LIBATOMIC)
    string(APPEND pc_libs_private " -latomic")
endif()
configure_file(cmake/verge.pc.in verge.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/verge.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/verge)
configure_package_config_file(cmake/verge-config.cmake.in verge-config.cmake INSTALL_DESTINATION ${package_dir})
# Until 1.0 a minor version may break what the one before promised.
write_basic_package_version_file(verge-config-version.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT verge-targets NAMESPACE verge:: DESTINATION ${package_dir})
install(FILES
    ${CMAKE_CURRENT_BINARY_DIR}/verge-config.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/verge-config-version.cmake
    DESTINATION ${package_dir})

# libverge-durable, where it was built: the component durable of the CMake package, and verge-durable.pc.
if(TARGET verge_durable_shared)
    install(FILES include/verge/durable.h include/verge/durable.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/verge COMPONENT headers)
    # libverge-durable finds libverge beside it, also under a prefix where the loader does not look.
    set_target_properties(verge_durable_shared PROPERTIES INSTALL_RPATH "\$ORIGIN")
    install(TARGETS verge_durable_shared verge_durable_static EXPORT verge-durable-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(EXPORT verge-durable-targets NAMESPACE verge:: DESTINATION ${package_dir})
    set(pc_durable_requires_private)
    if(VERGE_HAVE_SQLITE)
        list(APPEND pc_durable_requires_private sqlite3)
    endif()
    if(VERGE_HAVE_POSTGRESQL)
        list(APPEND pc_durable_requires_private libpq)
    endif()
    list(JOIN pc_durable_requires_private ", " pc_durable_requires_private)
    configure_file(cmake/verge-durable.pc.in verge-durable.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/verge-durable.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# Each page under its own name, with the version in its footer; and for each other function that it has, a page that
# refers to it.
file(GLOB man_pages CONFIGURE_DEPENDS man/man3/*.3)
if(NOT TARGET verge_durable_shared)
    list(FILTER man_pages EXCLUDE REGEX durable)
endif()
foreach(page IN LISTS man_pages)
    cmake_path(GET page STEM page_name)
    file(STRINGS ${page} names REGEX "^\\.Nm verge_[a-z0-9_]+")
    list(TRANSFORM names REPLACE "^\\.Nm ([a-z0-9_]+).*$" "\\1")
    list(REMOVE_ITEM names ${page_name})
    foreach(name IN LISTS names)
        file(CONFIGURE OUTPUT man3/${name}.3 CONTENT ".so man3/${page_name}.3\n")
    endforeach()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
    file(READ ${page} text)
    string(REPLACE "\n.Os verge\n" "\n.Os verge ${PROJECT_VERSION}\n" text "${text}")
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/man3/${page_name}.3 "${text}")
endforeach()
install(DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} FILES_MATCHING PATTERN "*.3")

# The documents refer to each other, to the examples, to the plots and to the headers: they lie as in the source, and a
# symbolic link leads to the headers. Without durable, the pages say that its headers are missing, and do not link to them.
if(VERGE_INSTALL_DOCS)
    set(documents ${CMAKE_INSTALL_DATADIR}/doc/verge)
    install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE DESTINATION ${documents} COMPONENT documents)
    install(DIRECTORY docs DESTINATION ${documents} COMPONENT documents
        FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.csv" PATTERN "*.png" PATTERN "docs/site" EXCLUDE)
    if(NOT TARGET verge_durable_shared)
        foreach(page IN ITEMS README.md docs/DURABLE.md)
            file(READ ${page} text)
            string(REGEX REPLACE "\\[([^]]*)\\]\\([./]*include/verge/durable\\.(h|hpp)\\)"
                "\\1 (not installed here: verge was built without it)" text "${text}")
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
            file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/pages/${page} "${text}")
            cmake_path(GET page PARENT_PATH folder)
            install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pages/${page} DESTINATION ${documents}/${folder} COMPONENT documents)
        endforeach()
    endif()
    install(DIRECTORY ports DESTINATION ${documents} COMPONENT documents FILES_MATCHING PATTERN "*.md")
    install(DIRECTORY examples DESTINATION ${documents} COMPONENT documents PATTERN CMakeLists.txt EXCLUDE)
    file(RELATIVE_PATH headers "${CMAKE_INSTALL_FULL_DATADIR}/doc/verge/include" "${CMAKE_INSTALL_FULL_INCLUDEDIR}/verge")
    install(CODE "
        cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_PREFIX OUTPUT_VARIABLE prefix)
        cmake_path(APPEND folder \"\${prefix}\" \"${documents}/include\")
        file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${folder}\")
        file(CREATE_LINK \"${headers}\" \"\$ENV{DESTDIR}\${folder}/verge\" SYMBOLIC)
        message(STATUS \"Installing: \$ENV{DESTDIR}\${folder}/verge\")" COMPONENT documents)
endif()
