#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0

DOCUMENTATION = r"""
module: osdk_metric
short_description: Hands a value for one of the operator's metrics to the operator
description:
  - The operator makes the metric when it is named for the first time, and serves it with its own.
version_added: "0.4.0"
author: the maintainers of Steersman
options:
  name:
    description: The name of the metric.
    type: str
    required: true
  description:
    description: The help text of the metric.
    type: str
    required: true
  address:
    description: Where the operator takes values.
    type: str
    default: http://localhost:5050/metrics
  counter:
    description: Makes or changes a counter.
    type: dict
    suboptions:
      increment:
        description: Whether one is added.
        type: bool
      add:
        description: What is added.
        type: float
  gauge:
    description: Makes or changes a gauge.
    type: dict
    suboptions:
      set:
        description: The value.
        type: float
      increment:
        description: Whether one is added.
        type: bool
      decrement:
        description: Whether one is taken away.
        type: bool
      add:
        description: What is added.
        type: float
      subtract:
        description: What is taken away.
        type: float
      set_to_current_time:
        description: Whether the value is the time, in seconds since 1970.
        type: bool
  histogram:
    description: Makes or changes a histogram.
    type: dict
    suboptions:
      observe:
        description: A value that was observed.
        type: float
  summary:
    description: Makes or changes a summary.
    type: dict
    suboptions:
      observe:
        description: A value that was observed.
        type: float
"""

EXAMPLES = r"""
- name: Count a backup
  operator_sdk.util.osdk_metric:
    name: backups_total
    description: Backups that were made.
    counter:
      increment: true

- name: Say how large it is
  operator_sdk.util.osdk_metric:
    name: backup_bytes
    description: The size of the last backup.
    gauge:
      set: 1048576
"""

RETURN = r"""
msg:
  description: What is wrong.
  returned: failure
  type: str
status_code:
  description: The status of the operator's answer.
  returned: where the operator refuses
  type: int
"""

import json
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from ansible.module_utils.basic import AnsibleModule

METRICS = {
    "counter": {"increment": "bool", "add": "float"},
    "gauge": {
        "set": "float",
        "increment": "bool",
        "decrement": "bool",
        "add": "float",
        "subtract": "float",
        "set_to_current_time": "bool",
    },
    "histogram": {"observe": "float"},
    "summary": {"observe": "float"},
}


def argument_spec():
    spec = {
        "name": {"type": "str", "required": True},
        "description": {"type": "str", "required": True},
        "address": {"type": "str", "default": "http://localhost:5050/metrics"},
    }
    for metric, options in METRICS.items():
        spec[metric] = {"type": "dict", "options": {name: {"type": kind} for name, kind in options.items()}}
    return spec


def payload(params):
    values = {"name": params["name"], "description": params["description"]}
    for metric in METRICS:
        if params[metric] is not None:
            values[metric] = {name: value for name, value in params[metric].items() if value is not None}
    return values


def post(address, values):
    # A proxy of the environment is not for this machine.
    is_local = urlsplit(address).hostname in ("localhost", "127.0.0.1", "::1")
    opener = build_opener(ProxyHandler({})) if is_local else build_opener()
    request = Request(address, json.dumps(values).encode(), {"Content-Type": "application/json"}, method="POST")
    with opener.open(request, timeout=30) as answer:
        answer.read()


def main():
    module = AnsibleModule(argument_spec=argument_spec())
    address = module.params["address"]
    try:
        post(address, payload(module.params))
    except HTTPError as error:
        module.fail_json(msg=error.read().decode(errors="replace").strip(), status_code=error.code)
    except (URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        module.fail_json(msg="failed to hand a metric to the operator at {0}: {1}".format(address, reason))
    module.exit_json(changed=True)


if __name__ == "__main__":
    main()
