#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0

DOCUMENTATION = r"""
module: requeue_after
short_description: Makes the operator look at the resource again after a while
description:
  - The operator runs this playbook for this resource again when the time is over, whatever period it has otherwise.
  - The playbook goes on. Where it calls this several times, the first one counts.
version_added: "0.0.1"
author: the maintainers of Steersman
options:
  time:
    description: Hours, minutes, seconds and milliseconds, such as C(1h30m) or C(5s).
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Look again in half an hour
  operator_sdk.util.requeue_after:
    time: 30m
"""

RETURN = r"""
period:
  description: The time, for the operator.
  returned: success
  type: str
"""

import re

from ansible.module_utils.basic import AnsibleModule


def main():
    module = AnsibleModule(argument_spec={"time": {"type": "str", "required": True}}, supports_check_mode=True)
    time = module.params["time"]
    if not re.fullmatch(r"(?:[0-9]+(?:h|ms|m|s))+", time):
        module.fail_json(msg="invalid time input: {0!r} is no time such as 1h30m, 10m or 5s".format(time))
    module.exit_json(changed=False, period=time)


if __name__ == "__main__":
    main()
