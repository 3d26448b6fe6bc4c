#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0

DOCUMENTATION = r"""
module: k8s_event
short_description: Writes an event about an object
description:
  - Makes an event, or counts up the one of this name.
version_added: "0.0.1"
author: the maintainers of Steersman
extends_documentation_fragment: [operator_sdk.util.osdk_auth_options]
options:
  state:
    description: Whether the event is to be there.
    type: str
    choices: [present, absent]
    default: present
  name:
    description: The name of the event.
    type: str
    required: true
  namespace:
    description: The namespace of the event, which is that of the object.
    type: str
    required: true
  merge_type:
    description: How an event that is there is changed; of several, the first that the API server takes.
    type: list
    elements: str
    choices: [json, merge, strategic-merge]
  message:
    description: A text for people.
    type: str
    required: true
  reason:
    description: A word in CamelCase for programs.
    type: str
    required: true
  reportingComponent:
    description: The controller that has made the event, such as C(example.com/memcached).
    type: str
  type:
    description: Whether it is a warning.
    type: str
    choices: [Normal, Warning]
  source:
    description: What has made the event.
    type: dict
    suboptions:
      component:
        description: Its name.
        type: str
        required: true
  involvedObject:
    description: The object that the event is about. Where it is there, its UID and version are noted.
    type: dict
    suboptions:
      apiVersion:
        description: Its API group and version.
        type: str
        required: true
      kind:
        description: Its kind.
        type: str
        required: true
      name:
        description: Its name.
        type: str
        required: true
      namespace:
        description: Its namespace.
        type: str
        required: true
  appendTimestamp:
    description: Whether the name gets the time at its end, so that each call makes an event of its own.
    type: bool
requirements: ["kubernetes >= 24.2.0"]
"""

EXAMPLES = r"""
- name: Say that a backup begins
  operator_sdk.util.k8s_event:
    name: backup-of-{{ ansible_operator_meta.name }}
    namespace: "{{ ansible_operator_meta.namespace }}"
    reason: BackupStarted
    message: the backup begins
    type: Normal
    reportingComponent: example.com/memcached
    involvedObject:
      apiVersion: cache.example.com/v1
      kind: Memcached
      name: "{{ ansible_operator_meta.name }}"
      namespace: "{{ ansible_operator_meta.namespace }}"
"""

RETURN = r"""
result:
  description: The event, as it is now.
  returned: success
  type: dict
error:
  description: C(status), C(reason) and C(body) of the API server's answer.
  returned: failure
  type: dict
"""

import datetime
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.operator_sdk.util.plugins.module_utils.api import (
    AUTH_ARGUMENTS,
    Api,
    ApiException,
    described,
)

ARGUMENTS = dict(
    AUTH_ARGUMENTS,
    state={"default": "present", "choices": ["present", "absent"]},
    name={"required": True},
    namespace={"required": True},
    merge_type={"type": "list", "elements": "str", "choices": ["json", "merge", "strategic-merge"]},
    message={"required": True},
    reason={"required": True},
    reportingComponent={},
    type={"choices": ["Normal", "Warning"]},
    appendTimestamp={"type": "bool"},
    source={"type": "dict", "options": {"component": {"required": True}}},
    involvedObject={
        "type": "dict",
        "options": {name: {"required": True} for name in ("apiVersion", "kind", "name", "namespace")},
    },
)


class Event:
    """An event that is to be there, or not."""

    def __init__(self, module):
        self.params = module.params
        self.api = Api(module)
        self.base = "/api/v1/namespaces/{0}/events".format(self.params["namespace"])
        self.name = self.params["name"]
        if self.params["appendTimestamp"]:
            self.name = "{0}.{1:x}".format(self.name, time.time_ns())

    def get(self, path):
        try:
            return self.api.request("GET", path)
        except ApiException as error:
            if error.status == 404:
                return None
            raise

    def write(self):
        path = "{0}/{1}".format(self.base, self.name)
        before = self.get(path)
        if self.params["state"] == "absent":
            if before is not None:
                self.api.request("DELETE", path)
            return {"changed": before is not None, "result": before or {}}
        event = self.event(before)
        if before is None:
            return {"changed": True, "result": self.api.request("POST", self.base, event)}
        result = self.patch(path, event)
        return {"changed": result != before, "result": result}

    def event(self, before):
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        is_repeated = before is not None and before.get("reason") == self.params["reason"]
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": self.name, "namespace": self.params["namespace"]},
            "involvedObject": self.involved(),
            "count": (before.get("count") or 0) + 1 if is_repeated else 1,
            "firstTimestamp": (before.get("firstTimestamp") if is_repeated else None) or now,
            "lastTimestamp": now,
        }
        for name in ("message", "reason", "reportingComponent", "source", "type"):
            if self.params[name] is not None:
                event[name] = self.params[name]
        return event

    def involved(self):
        involved = self.params["involvedObject"]
        if involved is None:
            return {"namespace": self.params["namespace"]}
        resource = self.api.resource(involved["apiVersion"], involved["kind"])
        live = resource and self.get(resource.path(involved["namespace"], involved["name"]))
        if not live:
            return involved
        metadata = live["metadata"]
        return dict(involved, uid=metadata["uid"], resourceVersion=metadata["resourceVersion"])

    def patch(self, path, event):
        kinds = self.params["merge_type"] or ["strategic-merge"]
        for kind in kinds:
            body = event
            if kind == "json":
                fields = [name for name in event if name not in ("apiVersion", "kind", "metadata")]
                body = [{"op": "add", "path": "/" + name, "value": event[name]} for name in fields]
            try:
                return self.api.request("PATCH", path, body, "application/{0}-patch+json".format(kind))
            except ApiException as error:
                if error.status != 415 or kind == kinds[-1]:
                    raise


def main():
    module = AnsibleModule(argument_spec=ARGUMENTS)
    try:
        result = Event(module).write()
    except ApiException as error:
        message = "Unable to create event: {0} {1}".format(error.status, error.reason)
        module.fail_json(msg=message, error=described(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
