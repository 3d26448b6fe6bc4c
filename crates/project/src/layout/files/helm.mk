##@ Build

.PHONY: run
run: ## Run the operator on this machine, against the cluster of the kubeconfig.
	$(STEERSMAN) run $(RUN_FLAGS)

.PHONY: docker-build
docker-build: ## Build the operator's image.
ifdef WITH_CONTAINER_TOOL
	$(MAKE) base
	$(CONTAINER_TOOL) build -t $(IMG) .
else
	mkdir -p bin
	$(STEERSMAN) build -t $(IMG) -o bin/image.tar $(BINARY_FLAGS)
endif

.PHONY: docker-push
docker-push: ## Push the operator's image.
ifdef WITH_CONTAINER_TOOL
	$(CONTAINER_TOOL) push $(IMG)
else
	$(STEERSMAN) build -t $(IMG) --push $(BINARY_FLAGS)
endif

# base loads the image that the Dockerfile builds upon.
.PHONY: base
base:
	mkdir -p bin
	$(STEERSMAN) build --base -t localhost/steersman:%version% -o bin/base.tar $(BINARY_FLAGS)
	$(CONTAINER_TOOL) load -i bin/base.tar

# PLATFORMS are those of docker-buildx; each needs one of BINARIES.
# (make docker-buildx IMG=registry.example.com/operator:v1 BINARIES="steersman-amd64 steersman-arm64")
PLATFORMS ?= linux/arm64,linux/amd64
.PHONY: docker-buildx
docker-buildx: ## Build the operator's image for several platforms, and push it.
	$(STEERSMAN) build -t $(IMG) --push --platform=$(PLATFORMS) $(BINARY_FLAGS)
