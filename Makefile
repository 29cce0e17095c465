# SPDX-License-Identifier: MIT
# A thin front of CMake: each target makes sure that its tools are there, then configures, builds and runs.

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
SECONDS ?= 60
MUTANTS ?= 200
SEED ?= 1
PORTS ?= libevent libuv nginx frr

# VERGE_LIBURING=OFF in the environment or on the command line: without io_uring, and liburing is not asked for.
export VERGE_LIBURING ?= ON

# $(call build,PRESET): configures and builds.
build = cmake --preset $(1) -DVERGE_LIBURING=$(VERGE_LIBURING) >build/$(1).configure.log || { cat build/$(1).configure.log; exit 1; }; \
	cmake --build --preset $(1)

# The same for somebody who only wants the result: one line, and the rest goes to a log.
build_quietly = echo "building verge; log in build/$(1).log"; \
	($(call build,$(1))) >build/$(1).log 2>&1 || { tail -n 30 build/$(1).log; echo "not built: see build/$(1).log"; exit 1; }

# A mistyped name must not mean the default. Compilers and their flags are CMake's matter.
known = PREFIX DESTDIR JOBS SECONDS MUTANTS SEED PORTS TESTS MACHINES QUICK WRITE MODELS LAYER FILES DEEP TARGETS RECORD \
	$(install_switches) VERGE_LIBURING CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS DEB_MAINTAINER OUT NGINX_TESTS
unknown = $(foreach v,$(filter-out $(known),$(.VARIABLES)),$(if $(filter command,$(firstword $(origin $v))),$v))
install_switches = VERGE_ASSERTS VERGE_PROBES VERGE_DURABLE VERGE_UCONTEXT
neither = $(foreach v,$(install_switches) VERGE_LIBURING,$(if $(filter-out ON OFF,$($v)),$v=$($v)))
ifneq ($(strip $(unknown)),)
$(error there is no option $(strip $(unknown)); there are: $(wordlist 1,22,$(known)))
endif
ifneq ($(strip $(neither)),)
$(error $(strip $(neither)): it is ON or OFF)
endif

.DEFAULT_GOAL := help

help:
	@echo "make demo       a million timers, before your eyes"
	@echo "make test       build and run all tests; installs a browser and a PostgreSQL server for them"
	@echo "make test-core  the same without what needs these"
	@echo "make test-busy  the tests beside eight processes that keep the processors busy (TESTS=...: some of them, by a regular expression)"
	@echo "make test-cross everything built for the other machine of x86-64 and aarch64, and the tests run there, emulated (TESTS=...)"
	@echo "make test-P     the same in another preset: debug, asan, tsan, clang, clang-tsan, msan"
	@echo "make memcheck   the tests under valgrind, in some minutes"
	@echo "make bench      measure against other libraries (QUICK=1: in about 4 minutes)"
	@echo "make bench-check    compares with the required figures, fails where one is missed"
	@echo "make bench-tasks    tasks and I/O against swapcontext, linked timeouts and libuv"
	@echo "make bench-durable  durable timers on SQLite and PostgreSQL against the SQL that bounds them"
	@echo "make bench-peers    tasks on two workers beside Go's and tokio's, where these are installed"
	@echo "make instructions   counts instructions per operation, fails where there are more than recorded"
	@echo "make floods     counts instructions under hostile loads, fails where they grow with the load"
	@echo "make prove      checks models of the service's protocols, and that mistakes in them are found (QUICK=1: the small cases only)"
	@echo "make mutate     changes the sources and fails if the tests do not notice (MUTANTS=200 SEED=1 LAYER=service FILES=...)"
	@echo "make check      formatting and static analysis (DEEP=1: all that clang's analyzer can do);   make format: apply the formatting"
	@echo "make amalgamation    the library as one file to compile and one to include: build/amalgamation/"
	@echo "make ports      libevent, libuv, nginx and FRRouting on verge, with their own tests (make port-libevent: one of them)"
	@echo "make port-bench     user time and memory of the ports beside stock (WRITE=1: into README and COMPARISON)"
	@echo "make test-portable   the wheel's one file on other machines, emulated, and for Windows (MACHINES=s390x: some of them)"
	@echo "make fuzz       looks for inputs that break a promise (SECONDS=60 a target, TARGETS=...: some of them)"
	@echo "make coverage   line coverage of src/, per folder"
	@echo "make abi        compares the exported ABI with the recorded one (RECORD=1: records it, when a change is meant)"
	@echo "make install    PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) (VERGE_ASSERTS=ON: with run-time checks)"
	@echo "make uninstall  removes what make install with the same PREFIX, DESTDIR and options has installed"
	@echo "make deb        Debian packages of the library, for developers, of the tool: build/deb/"
	@echo "make site       the documentation as a website that works from a file: build/site/index.html"
	@echo "make setup      install the Debian packages for tests, checks, benchmarks, coverage, fuzzing and mutants"
	@echo "make clean      remove build/"

setup:
	@scripts/setup test check bench coverage fuzz mutate

build:
	@mkdir -p build

demo: | build
	@echo "demo: 15 s of timers; before that, the first time, packages are installed and verge is built: 1 to 3 minutes"
	@scripts/setup build
	@$(call build_quietly,release)
	@build/release/tools/verge/verge demo

test: test-test

test-test test-debug test-tsan: test-%: | build
	@scripts/setup test
	@$(call build,$*)
	@ctest --preset $* --parallel $(JOBS)

test-core: | build
	@scripts/setup core
	@$(call build,test)
	@ctest --preset core --parallel $(JOBS)

test-busy: | build
	@scripts/setup test
	@$(call build,test)
	@scripts/busy 8 ctest --preset test --parallel 8 $(if $(TESTS),--tests-regex '$(value TESTS)')

test-cross: | build
	@scripts/setup cross
	@scripts/sysroot build/sysroot
	@$(call build,cross)
	@not_emulated=$$(tests/not_emulated.sh build/cross) && ctest --preset cross --parallel $(JOBS) --exclude-regex "$$not_emulated" \
		$(if $(TESTS),--tests-regex '$(value TESTS)')

test-asan: | build
	@scripts/setup test asan
	@$(call build,asan)
	@ctest --preset asan --parallel $(JOBS)

test-clang test-clang-tsan test-msan: test-%: | build
	@scripts/setup check fuzz
	@$(call build,$*)
	@ctest --preset $* --parallel $(JOBS)

test-portable: | build
	@scripts/setup portable
	@tests/portable/run.sh . build/portable $(MACHINES)

amalgamation: | build
	@scripts/setup amalgamation
	@scripts/amalgamate
	@ls build/amalgamation/verge*.[ch]*

ports: | build
	@ports/port $(PORTS)

port-libevent port-libuv port-nginx port-frr: port-%: | build
	@ports/port $*

port-bench: | build
	@ports/port --build $(PORTS)
	@ports/bench $(if $(QUICK),--quick) $(if $(WRITE),--write)

memcheck: | build
	@scripts/setup test bench
	@$(call build,memcheck)
	@ctest --preset memcheck --parallel $(JOBS)

bench: | build
	@scripts/setup bench
	@$(call build,bench)
	@bench/run

bench-check: | build
	@scripts/setup bench
	@$(call build,bench)
	@bench/run --check

bench-tasks: | build
	@scripts/setup bench
	@$(call build,bench)
	@build/bench/bench/verge-bench-tasks $(if $(QUICK),--quick)

bench-durable: | build
	@scripts/setup bench
	@$(call build,bench)
	@bench/durable-run $(if $(QUICK),--seconds 1 --pending 100000 --rounds 1)

bench-peers: | build
	@scripts/setup bench peers
	@$(call build,bench)
	@bench/peers/run $(if $(QUICK),--quick)

instructions: | build
	@scripts/setup bench
	@$(call build,bench)
	@bench/instructions

floods: | build
	@scripts/setup bench
	@$(call build,bench)
	@bench/floods

scope-shots: | build
	@scripts/setup test
	@$(call build,test)
	@python3 -B tests/scope/browser/shots.py build/test/tests/scope/scope_theatre docs/scope

scope-cost: | build
	@scripts/setup bench
	@$(call build,bench)
	@bench/scope

prove:
	@scripts/setup prove
	@proof/prove $(if $(QUICK),--quick) $(MODELS)

mutate:
	@scripts/setup mutate
	@scripts/mutate --count $(MUTANTS) --seed $(SEED) $(if $(LAYER),--layer $(LAYER)) $(FILES)

check: | build
	@scripts/setup check
	@scripts/check $(if $(DEEP),--deep)

format:
	@scripts/setup check
	@scripts/check --format

fuzz: | build
	@scripts/setup fuzz
	@$(call build,fuzz)
	@scripts/fuzz --seconds $(SECONDS) $(TARGETS)

coverage: | build
	@scripts/setup coverage
	@$(call build,coverage)
	@find build/coverage -name '*.gcda' -delete
	@ctest --preset coverage --parallel $(JOBS)
	@scripts/coverage

# Of the build that the tests use: it has debug information.
abi: | build
	@scripts/setup abi
	@$(call build,test) --target src/all
	@sh tests/install/abi.sh . $(if $(RECORD),--record)
	@sh tests/install/abi_binary.sh . build/test $(if $(RECORD),--record) || [ $$? -eq 77 ]

# Switches that are not given have their default.
configure_release = cmake --preset release -DCMAKE_INSTALL_PREFIX="$(PREFIX)" -DVERGE_LIBURING=$(VERGE_LIBURING) \
	$(foreach o,$(install_switches),$(if $($o),-D$o=$($o),-U$o)) >build/release.configure.log \
	|| { cat build/release.configure.log; exit 1; }

install: | build
	@scripts/setup build
	@$(configure_release)
	@cmake --build --preset release
	@DESTDIR="$(DESTDIR)" cmake --install build/release
	@# The loader finds a library in a new place only after this; staged or without root, it is for later.
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || ldconfig

# Removes what an install with the same options would put there: it is staged, to know the names.
uninstall: | build
	@scripts/setup build
	@$(configure_release)
	@cmake --build --preset release
	@rm -rf build/staged
	@DESTDIR="$(CURDIR)/build/staged" cmake --install build/release >build/uninstall.log
	@scripts/uninstall build/staged "$(DESTDIR)"
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || ldconfig

deb: | build
	@scripts/setup deb
	@packaging/build

site: | build
	@scripts/setup site
	@scripts/site

clean:
	@rm -rf build

.PHONY: help setup demo test abi test-core test-busy test-cross test-test test-debug test-asan test-tsan test-clang test-clang-tsan \
	test-msan bench bench-check instructions check format bench-tasks coverage install uninstall deb clean
.PHONY: ports port-libevent port-libuv port-nginx port-frr port-bench
.PHONY: fuzz floods mutate memcheck prove scope-cost scope-shots site amalgamation test-portable bench-durable bench-peers
