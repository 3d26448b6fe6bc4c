#!/usr/bin/python
# What a module finds where it begins.
from __future__ import annotations

import sys

LOADED = "kubernetes" in sys.modules

import locale
import os
import resource
import signal
import tempfile

from ansible.module_utils.basic import AnsibleModule


def main():
    module = AnsibleModule(argument_spec={"end": {"type": "str", "default": ""}, "out": {"type": "str"}})
    end = module.params["end"]
    if end == "raise":
        raise RuntimeError("it is raised")
    if end == "exit":
        print("nothing that can be read")
        sys.exit(3)
    if end == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if end == "leave":
        with open("/dev/null", "r+b") as null:
            if os.fork() == 0:
                for number in range(3):
                    os.dup2(null.fileno(), number)
                os.setsid()
                if os.fork() == 0:
                    with open(module.params["out"] + "/left", "w") as file:
                        file.write(str(os.getpid()))
                    signal.pause()
                os._exit(0)
    import kubernetes.config.kube_config

    mask = os.umask(0)
    os.umask(mask)
    found = {
        "arguments": [os.path.basename(sys.argv[0]), *sys.argv[1:]],
        "main": os.path.basename(sys.modules["__main__"].__file__),
        "executable": sys.executable,
        "folder": os.getcwd(),
        "mask": mask,
        # The first ones are those of the payload and of the script.
        "path": [path for path in sys.path if "ansible-tmp" not in path and "payload" not in path],
        "environment": {name: value for name, value in os.environ.items() if name not in ("_", "STEERSMAN_MODULES")},
        "encodings": [locale.getpreferredencoding(False), sys.stdout.encoding, sys.stdin.encoding, sys.stdout.errors],
        "signals": {str(number): str(signal.getsignal(number)) for number in signal.valid_signals()},
        "limits": {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")},
        "descriptors": sorted(os.readlink(f"/proc/self/fd/{n}").partition(":")[0] for n in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{n}")),
        "kubeconfig": kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION,
        "temporary": tempfile.gettempdir(),
        "flags": str(sys.flags),
        "code": AnsibleModule.exit_json.__code__.co_filename.rpartition(".zip/")[2],
        "input": os.read(0, 100).decode(),
    }
    module.exit_json(changed=False, is_loaded=LOADED, is_compiled=is_compiled(), found=found)


def is_compiled():
    """Whether what comes with modules was compiled before."""
    import zipimport

    return zipimport._compile_source.__module__ != "zipimport"


if __name__ == "__main__":
    main()
