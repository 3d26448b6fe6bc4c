# The two commands that a new user needs: `make demo` and `make test`. Both need Rust and Go, nothing else;
# the control plane they run on is built from Go modules once and kept in ~/.cache/steersman.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# A lock file that is out of date is a mistake, never something to mend in passing.
CARGO = cargo --locked

.PHONY: help
help: ## Show the targets.
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

.PHONY: demo
demo: ## Run the example operator on a control plane of its own; ONCE=1 checks the result and exits.
	@build/demo.sh $(if $(ONCE),--once) $(DEMO_FLAGS)

.PHONY: test
test: ## Run everything: format, lints, unit tests, corpus, real API server.
	@build/test.sh

.PHONY: quick
quick: ## Run format, lints, and the tests that need no control plane.
	@build/test.sh --quick

.PHONY: test-oidc
test-oidc: ## Run the page behind a proxy that logs people in by OpenID Connect; needs node, npm and curl.
	@tests/oidc/test.sh

.PHONY: test-node
test-node: ## Run the operator's image on a real node: kubelet, containerd, pods; needs root and Linux.
	@build/node.sh

.PHONY: control-plane
control-plane: ## Build the control plane of the tests and the demo, where it is missing.
	@build/control-plane.sh

.PHONY: check
check: ## Check format and lints.
	cargo fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings

# What has to be put right in a program that may lie anywhere takes 1.4 MB, and a thirtieth of that in the packed form, which
# glibc 2.36 is the first to read.
PACKED = $(shell getconf GNU_LIBC_VERSION 2>/dev/null | \
	awk '{ split($$2, part, "."); if (part[1] > 2 || part[2] >= 36) print "-C link-arg=-Wl,-z,pack-relative-relocs" }')
# Which functions lie together, where `make order` has found that out.
ORDER = $(wildcard $(or $(CARGO_TARGET_DIR),target)/release/steersman.order)
COMMA = ,
ORDERED = $(if $(TARGET),,$(if $(ORDER),-C link-arg=-Wl$(COMMA)--symbol-ordering-file=$(abspath $(ORDER)) \
	-C link-arg=-Wl$(COMMA)--no-warn-symbol-ordering))
# Functions of the same code are there once, which takes 1 MB less: the linker that Rust brings for x86-64 can tell.
FOLDED = $(if $(TARGET),,$(if $(filter x86_64,$(shell uname -m)),-C link-arg=-Wl$(COMMA)--icf=all))
# All that is linked is optimised as one: 3 MB smaller than crate by crate, for a minute more.
# It runs alone, so images need nothing beside it. The flags are those of the last crate: that is what is linked, and what
# runs while it is compiled can't be static.
.PHONY: build
build: ## Build the program, target/release/steersman, also for images; TARGET is another processor's, then in target/TARGET.
	$(CARGO) rustc --release --bin steersman $(if $(TARGET),--target $(TARGET)) -- -C lto=fat -C target-feature=+crt-static $(PACKED) \
		$(FOLDED) $(ORDERED) -C strip=$(if $(SYMBOLS),none,symbols)

# Its name when there were two programs.
.PHONY: build-static
build-static: build

.PHONY: order
order: ## Find out which functions an operator calls, so that `make build` puts them together: half the memory; needs valgrind.
	@build/order.sh

.PHONY: image
image: build ## Build the image of the example operator: IMG names it, FLAGS go to `steersman build`.
	$(or $(CARGO_TARGET_DIR),target)/release/steersman build -t $(or $(IMG),visitors-operator:dev) $(FLAGS)

.PHONY: fuzz
fuzz: ## Fuzz the engine, TIME seconds for each target (600); TARGETS names some. Needs nightly Rust and cargo-fuzz.
	TIME=$(or $(TIME),600) fuzz/run.sh $(TARGETS)

.PHONY: bench-engine
bench-engine: ## Measure the chart engine beside Helm's and write docs/benchmarks.md; needs the corpus.
	@benches/run.sh -output docs/benchmarks.md

.PHONY: bench-operator
bench-operator: ## Measure the operator and write docs/operator-benchmarks.md; HELM_OPERATOR=FILE measures the Go operator beside.
	@benches/operator.sh charts --output docs/operator-benchmarks.md

.PHONY: bench-ansible
bench-ansible: ## Measure roles and write docs/ansible-benchmarks.md; ANSIBLE_OPERATOR=FILE measures the Go operator beside.
	@benches/operator.sh roles --output docs/ansible-benchmarks.md

.PHONY: bench-page
bench-page: ## Measure the page over 5,000 resources beside kubectl and write docs/page-benchmarks.md.
	@benches/operator.sh page --output docs/page-benchmarks.md

.PHONY: campaign-memory
campaign-memory: build ## Have the operator meet what is too large for it, with 128 MiB of memory; needs root and cgroups.
	STEERSMAN_MEMORY=$(abspath $(or $(CARGO_TARGET_DIR),target)/release/steersman) KUBEBUILDER_ASSETS=$$(build/control-plane.sh) \
		$(CARGO) test --workspace --test cluster memory:: -- --nocapture

.PHONY: deny
deny: ## Check licences and sources of dependencies in more detail than `make test`; needs cargo-deny.
	cargo deny check licenses bans sources
