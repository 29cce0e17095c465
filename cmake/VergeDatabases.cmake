# SPDX-License-Identifier: MIT
# VERGE_HAVE_SQLITE, VERGE_HAVE_POSTGRESQL: the clients of the databases that libverge-durable can be built with.

set(VERGE_HAVE_SQLITE FALSE)
set(VERGE_HAVE_POSTGRESQL FALSE)
find_package(PkgConfig)
if(PKG_CONFIG_FOUND AND VERGE_DURABLE)
    pkg_check_modules(SQLITE IMPORTED_TARGET sqlite3>=3.35)
    pkg_check_modules(LIBPQ IMPORTED_TARGET libpq>=12)
    if(SQLITE_FOUND)
        set(VERGE_HAVE_SQLITE TRUE)
    endif()
    if(LIBPQ_FOUND)
        set(VERGE_HAVE_POSTGRESQL TRUE)
    endif()
endif()
