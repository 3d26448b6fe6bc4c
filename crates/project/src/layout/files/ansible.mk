##@ Build

# ANSIBLE_ROLES_PATH is where playbooks find the project's roles.
ANSIBLE_ROLES_PATH ?= $(CURDIR)/roles

.PHONY: run
run: ## Run the operator on this machine, against the cluster of the kubeconfig.
	ANSIBLE_ROLES_PATH=$(ANSIBLE_ROLES_PATH) $(STEERSMAN) run $(RUN_FLAGS)

# PYTHON_IMAGE is an image with Python and the packages that the Dockerfile installs. With one no container engine is
# needed (make docker-build PYTHON_IMAGE=registry.example.com/python-ansible:3.12).
PYTHON_IMAGE ?=

.PHONY: docker-build
docker-build: ## Build the operator's image.
ifneq ($(PYTHON_IMAGE),)
	mkdir -p bin
	$(STEERSMAN) build --from $(PYTHON_IMAGE) -t $(IMG) -o bin/image.tar $(BINARY_FLAGS)
else
	$(MAKE) base
	$(CONTAINER_TOOL) build -t $(IMG) .
endif

.PHONY: docker-push
docker-push: ## Push the operator's image.
ifneq ($(PYTHON_IMAGE),)
	$(STEERSMAN) build --from $(PYTHON_IMAGE) -t $(IMG) --push $(BINARY_FLAGS)
else
	$(CONTAINER_TOOL) push $(IMG)
endif

# base loads the image that the Dockerfile takes the program from.
.PHONY: base
base:
	mkdir -p bin
	$(STEERSMAN) build --base -t localhost/steersman:%version% -o bin/base.tar $(BINARY_FLAGS)
	$(CONTAINER_TOOL) load -i bin/base.tar

# PLATFORMS are those of docker-buildx; each needs one of BINARIES, and PYTHON_IMAGE has to be there for each.
# (make docker-buildx IMG=registry.example.com/operator:v1 PYTHON_IMAGE=… BINARIES="steersman-amd64 steersman-arm64")
PLATFORMS ?= linux/arm64,linux/amd64
.PHONY: docker-buildx
docker-buildx: ## Build the operator's image for several platforms on PYTHON_IMAGE, and push it.
	$(if $(PYTHON_IMAGE),,$(error name an image with Python and Ansible by PYTHON_IMAGE))
	$(STEERSMAN) build --from $(PYTHON_IMAGE) -t $(IMG) --push --platform=$(PLATFORMS) $(BINARY_FLAGS)
