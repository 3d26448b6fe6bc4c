#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0

DOCUMENTATION = r"""
module: k8s_status
short_description: Writes the status of a resource
description:
  - Sets fields of the status of a resource, or some of its conditions. It is for the playbook of the operator of that
    resource.
version_added: "0.0.1"
author: the maintainers of Steersman
extends_documentation_fragment: [operator_sdk.util.osdk_auth_options]
options:
  api_version:
    description: The API group and version.
    type: str
    default: v1
    aliases: [api, version]
  kind:
    description: The kind; its plural, singular or short name will do.
    type: str
    required: true
  name:
    description: The name of the resource.
    type: str
    required: true
  namespace:
    description: The namespace of the resource, if its kind has namespaces.
    type: str
  status:
    description:
      - Fields of the status. One that is C(null) is removed.
      - Conditions in it are not checked, and can't be together with I(conditions).
    type: dict
  conditions:
    description:
      - Conditions of the status. Those that the resource has stay as they are, unless one of their type is given that differs
        in more than its C(lastTransitionTime).
    type: list
    elements: dict
    suboptions:
      type:
        description: Tells it from others.
        type: str
        required: true
      status:
        description: Whether it holds.
        type: str
        choices: ["True", "False", "Unknown"]
        required: true
      reason:
        description: A word in CamelCase for programs.
        type: str
      message:
        description: A text for people.
        type: str
      lastHeartbeatTime:
        description: A time as RFC 3339 has it.
        type: str
      lastTransitionTime:
        description: A time as RFC 3339 has it.
        type: str
  replace:
    description: Whether the whole status becomes what is given, also where that is nothing.
    type: bool
    default: false
    aliases: [force]
  replace_lists:
    description:
      - Whether a list other than C(conditions) is written also where the one that is there has more than the same elements.
    type: bool
    default: false
requirements: ["kubernetes >= 24.2.0"]
"""

EXAMPLES = r"""
- name: Say what came of it
  operator_sdk.util.k8s_status:
    api_version: cache.example.com/v1
    kind: Memcached
    name: "{{ ansible_operator_meta.name }}"
    namespace: "{{ ansible_operator_meta.namespace }}"
    status:
      nodes: [memcached-0, memcached-1]

- name: Set a condition
  operator_sdk.util.k8s_status:
    api_version: cache.example.com/v1
    kind: Memcached
    name: "{{ ansible_operator_meta.name }}"
    namespace: "{{ ansible_operator_meta.namespace }}"
    conditions:
      - type: Available
        status: "False"
        reason: PingFailed
        message: the service did not respond
"""

RETURN = r"""
result:
  description: The resource, as it is now.
  returned: success
  type: dict
error:
  description: C(status), C(reason) and C(body) of the API server's answer, or what is wrong with the arguments.
  returned: failure
  type: raw
"""

import copy
import re

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.operator_sdk.util.plugins.module_utils.api import (
    AUTH_ARGUMENTS,
    Api,
    ApiException,
    described,
)

# Others write the status, too: then it is read and merged again.
TRIES = 5

ARGUMENTS = dict(
    AUTH_ARGUMENTS,
    api_version={"default": "v1", "aliases": ["api", "version"]},
    kind={"required": True},
    name={"required": True},
    namespace={},
    status={"type": "dict"},
    conditions={
        "type": "list",
        "elements": "dict",
        "options": {
            "type": {"required": True},
            "status": {"required": True, "choices": ["True", "False", "Unknown"]},
            "reason": {},
            "message": {},
            "lastHeartbeatTime": {},
            "lastTransitionTime": {},
        },
    },
    replace={"type": "bool", "default": False, "aliases": ["force"]},
    replace_lists={"type": "bool", "default": False},
)

REASON = re.compile(r"[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?")
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:[+-]\d\d:\d\d|Z)")


def checked(condition):
    """A condition without what was not given. Raises ValueError where something of it is no part of a condition."""
    condition = {name: value for name, value in condition.items() if value is not None}
    if not condition["type"]:
        raise ValueError("Condition `type` must be set")
    reason = condition.get("reason")
    if reason and not REASON.fullmatch(reason):
        raise ValueError("Condition 'reason' must be a single, CamelCase word, not {0!r}".format(reason))
    for name in ("lastHeartbeatTime", "lastTransitionTime"):
        if condition.get(name) and not TIME.fullmatch(condition[name]):
            raise ValueError("'{0}' must be an RFC3339 compliant datetime string".format(name))
    return condition


def merged(old, new):
    """Conditions, with new ones in the place of those of their type that say something else."""
    result = copy.deepcopy(old)
    places = {condition.get("type"): place for place, condition in enumerate(result)}
    for condition in new:
        place = places.get(condition.get("type"))
        if place is None:
            places[condition.get("type")] = len(result)
            result.append(condition)
        elif any(result[place].get(name) != value for name, value in condition.items() if name != "lastTransitionTime"):
            result[place] = condition
    return result


def has(old, new, replace_lists):
    """Whether an object has all fields of another one, and its lists the elements of the other's."""
    for name, value in new.items():
        before = old.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            if not has(before, value, replace_lists):
                return False
        elif isinstance(before, list) and isinstance(value, list) and (name == "conditions" or not replace_lists):
            if not all(element in before for element in value):
                return False
        elif before != value:
            return False
    return True


class Status:
    """A resource whose status is written."""

    def __init__(self, module):
        self.module = module
        self.params = module.params
        self.status = self.params["status"] or {}
        try:
            conditions = [checked(condition) for condition in self.params["conditions"] or []]
        except ValueError as error:
            module.fail_json(msg="The specified conditions failed to validate", error=str(error))
        if conditions and self.status.get("conditions"):
            module.fail_json(msg="You cannot specify conditions in both the 'status' and 'conditions' parameters")
        if conditions:
            self.status["conditions"] = conditions

    def write(self):
        api = Api(self.module)
        resource = self.find(api)
        namespace, name = self.params["namespace"], self.params["name"]
        for tries in range(TRIES, 0, -1):
            try:
                live = api.request("GET", resource.path(namespace, name))
            except ApiException as error:
                self.module.fail_json(msg="Failed to retrieve requested object", error=described(error))
            request = self.request(live)
            if request is None:
                return {"changed": False, "result": live}
            try:
                result = api.request(request[0], resource.path(namespace, name, "status"), *request[1:])
                return {"changed": True, "result": result}
            except ApiException as error:
                if error.status != 409 or tries == 1:
                    message = "Failed to replace status: {0} {1}".format(error.status, error.reason)
                    self.module.fail_json(msg=message, error=described(error))

    def find(self, api):
        version, kind = self.params["api_version"], self.params["kind"]
        try:
            resource = api.resource(version, kind)
        except ApiException as error:
            message = "Failed to ask the API server for the kinds of {0}".format(version)
            self.module.fail_json(msg=message, error=described(error))
        if resource is None:
            message = "Failed to find exact match for {0}.{1} by [kind, name, singularName, shortNames]"
            self.module.fail_json(msg=message.format(version, kind))
        if "status" not in resource.subresources:
            message = "Resource {0}.{1} does not support the status subresource"
            self.module.fail_json(msg=message.format(version, resource.kind))
        if resource.is_namespaced and not self.params["namespace"]:
            self.module.fail_json(msg="Namespace is required for {0}.{1}".format(version, resource.kind))
        return resource

    def request(self, live):
        """What is to be sent, or None where the resource is as it is to be."""
        before = live.get("status") or {}
        if self.params["replace"]:
            if before == self.status:
                return None
            return "PUT", dict(live, status=self.status)
        status = dict(self.status)
        if status.get("conditions") and before.get("conditions"):
            status["conditions"] = merged(before["conditions"], status["conditions"])
        if has(before, status, self.params["replace_lists"]):
            return None
        # With the version that was read: a list is written whole, and somebody may just have added to it.
        version = {"resourceVersion": live["metadata"]["resourceVersion"]}
        return "PATCH", {"metadata": version, "status": status}, "application/merge-patch+json"


def main():
    module = AnsibleModule(argument_spec=ARGUMENTS)
    module.exit_json(**Status(module).write())


if __name__ == "__main__":
    main()
