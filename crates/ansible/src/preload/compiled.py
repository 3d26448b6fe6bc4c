"""What modules are made of, compiled once for all runs.

Ansible packs a module into an archive with all that it imports, and Python compiles that for each task: it is most of what a
module costs. What is in the archive is what is installed, but for what a role brings. So that is compiled beforehand, and taken
where the archive has the same bytes.
"""

import _imp
import hashlib
import importlib.machinery
import importlib.util
import os
import sys
import zipimport

# Collections whose files are read.
COLLECTIONS = ["kubernetes/core", "operator_sdk/util"]
DEFAULT_FOLDERS = ["~/.ansible/collections", "/usr/share/ansible/collections"]
# What is larger is left to the task.
LARGEST = 1 << 20
# So are more files than Ansible and some versions of the collections have.
MOST = 4000

codes = {}
# A part of Python that it promises to nobody.
compiles = getattr(zipimport, "_compile_source", None)


def prepare():
    """Compiles what is installed, and has archives take it."""
    if compiles is None:
        return
    kept = sys.dont_write_bytecode, _imp.check_hash_based_pycs
    # What is kept beside a file is taken where it is of this file, and else left as it is.
    sys.dont_write_bytecode, _imp.check_hash_based_pycs = True, "always"
    for path in files():
        if len(codes) < MOST:
            remember(path)
    sys.dont_write_bytecode, _imp.check_hash_based_pycs = kept
    zipimport._compile_source = compile_source


def compile_source(path, source):
    """In the place of zipimport's own."""
    code = codes.get(digest(source))
    if code is None:
        return compiles(path, source)
    # As of the file in the archive, for traces; importlib does the same with what it has compiled before.
    _imp._fix_co_filename(code, path)
    return code


def remember(path):
    try:
        if os.path.getsize(path) > LARGEST:
            return
        loader = importlib.machinery.SourceFileLoader("module", path)
        source = loader.get_data(path)
        code = loader.get_code("module")
        if loader.get_data(path) == source:
            codes[digest(source)] = code
    except Exception:  # It is the module's business what is wrong with it.
        pass


def digest(source):
    return hashlib.sha256(source).digest()


def files():
    for folder in folders():
        for place, _, names in os.walk(folder):
            for name in names:
                if name.endswith(".py"):
                    yield os.path.join(place, name)


def folders():
    ansible = importlib.util.find_spec("ansible")
    for folder in (ansible and ansible.submodule_search_locations) or []:
        yield os.path.join(folder, "module_utils")
        yield os.path.join(folder, "modules")
    named = os.environ.get("ANSIBLE_COLLECTIONS_PATH", "").split(":")
    for folder in [*named, *DEFAULT_FOLDERS, *sys.path]:
        for collection in COLLECTIONS if folder else []:
            plugins = os.path.join(os.path.expanduser(folder), "ansible_collections", collection, "plugins")
            yield os.path.join(plugins, "module_utils")
            yield os.path.join(plugins, "modules")
