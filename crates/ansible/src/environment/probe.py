"""Prints as JSON what a run of Ansible finds: versions, programs and collections."""
import importlib.metadata, json, os, shutil, sys


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def collection(namespace, name):
    paths = os.environ.get("ANSIBLE_COLLECTIONS_PATH") or "~/.ansible/collections:/usr/share/ansible/collections"
    for path in [os.path.expanduser(path) for path in paths.split(":")] + sys.path:
        if os.path.basename(path.rstrip("/")) != "ansible_collections":
            path = os.path.join(path, "ansible_collections")
        folder = os.path.join(path, namespace, name)
        try:
            with open(os.path.join(folder, "MANIFEST.json")) as manifest:
                return json.load(manifest)["collection_info"]["version"]
        except (OSError, ValueError, KeyError, TypeError):
            if os.path.isdir(folder):
                return "unknown"
    return None


json.dump(
    {
        "python": ".".join(map(str, sys.version_info[:3])),
        "packages": {name: version(name) for name in sys.argv[1].split()},
        "collections": {name: collection(*name.split(".")) for name in sys.argv[2].split()},
        "programs": {name: shutil.which(name) for name in sys.argv[3].split()},
    },
    sys.stdout,
)
