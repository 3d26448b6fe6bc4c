# SPDX-License-Identifier: Apache-2.0
"""Requests to the API server, for resources of any kind."""

import json
import traceback
from urllib.parse import quote

from ansible.module_utils.basic import env_fallback, missing_required_lib

try:
    import kubernetes
    import urllib3
    from kubernetes.client.rest import ApiException

    IMPORT_ERROR = None
except ImportError:
    kubernetes = None
    ApiException = Exception
    IMPORT_ERROR = traceback.format_exc()


def _argument(name, other=None, **spec):
    names = ["K8S_AUTH_" + each.upper() for each in (name, other) if each]
    return dict(spec, fallback=(env_fallback, names), aliases=[other] if other else [])


AUTH_ARGUMENTS = {
    "kubeconfig": _argument("kubeconfig", type="path"),
    "context": _argument("context"),
    "host": _argument("host"),
    "api_key": _argument("api_key", no_log=True),
    "username": _argument("username"),
    "password": _argument("password", no_log=True),
    "validate_certs": _argument("validate_certs", "verify_ssl", type="bool"),
    "ca_cert": _argument("ca_cert", "ssl_ca_cert", type="path"),
    "client_cert": _argument("client_cert", "cert_file", type="path"),
    "client_key": _argument("client_key", "key_file", type="path"),
    "proxy": _argument("proxy"),
    "persist_config": _argument("persist_config", type="bool"),
}


class Resource:
    """A kind that the API server knows."""

    def __init__(self, found, base, subresources):
        self.kind = found["kind"]
        self.plural = found["name"]
        self.is_namespaced = found["namespaced"]
        self.base = base
        self.subresources = subresources

    def path(self, namespace, name=None, subresource=None):
        parts = [self.base]
        if self.is_namespaced:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        if name is not None:
            parts.append(quote(name, safe=""))
        if subresource is not None:
            parts.append(subresource)
        return "/".join(parts)


class Api:
    """The API server, as the arguments of a module say how to reach it. Fails the module where that can't be done."""

    def __init__(self, module):
        self.module = module
        if kubernetes is None:
            module.fail_json(msg=missing_required_lib("kubernetes"), exception=IMPORT_ERROR)
        try:
            self.client = kubernetes.client.ApiClient(self._configuration(module.params))
        except Exception as error:
            module.fail_json(msg="Failed to load kubeconfig", error=str(error))

    def _configuration(self, params):
        configuration = kubernetes.client.Configuration()
        has_login = params["api_key"] or (params["username"] and params["password"])
        if not (params["host"] and has_login):
            self._load(params, configuration)
        for name, field in (
            ("host", "host"),
            ("validate_certs", "verify_ssl"),
            ("ca_cert", "ssl_ca_cert"),
            ("client_cert", "cert_file"),
            ("client_key", "key_file"),
            ("proxy", "proxy"),
        ):
            if params[name] is not None:
                setattr(configuration, field, params[name])
        if params["api_key"]:
            configuration.api_key = {"authorization": "Bearer " + params["api_key"]}
        elif params["username"] and params["password"]:
            configuration.username = params["username"]
            configuration.password = params["password"]
            configuration.api_key = {"authorization": configuration.get_basic_auth_token()}
        return configuration

    @staticmethod
    def _load(params, configuration):
        config = kubernetes.config
        if not (params["kubeconfig"] or params["context"]):
            try:
                config.load_incluster_config(client_configuration=configuration)
                return
            except config.ConfigException:
                pass
        config.load_kube_config(
            params["kubeconfig"],
            params["context"],
            client_configuration=configuration,
            persist_config=bool(params["persist_config"]),
        )

    def request(self, method, path, body=None, content_type="application/json"):
        """The answer as JSON. Raises ApiException where the server refuses, and fails the module where there is no answer."""
        try:
            response = self.client.call_api(
                path,
                method,
                {},
                [],
                {"Accept": "application/json", "Content-Type": content_type},
                body=body,
                post_params=[],
                files={},
                auth_settings=["BearerToken"],
                _preload_content=False,
                _return_http_data_only=True,
            )
            return json.loads(response.data)
        except urllib3.exceptions.HTTPError as error:
            host = self.client.configuration.host
            self.module.fail_json(msg="Failed to reach the API server at {0}".format(host), error=str(error))

    def resource(self, api_version, kind):
        """What the server calls a kind, by its kind, name, singular name or a short name; None where it has no such kind."""
        base = ("/apis/" if "/" in api_version else "/api/") + api_version
        try:
            found = self.request("GET", base)["resources"]
        except ApiException as error:
            if error.status == 404:
                return None
            raise
        whole = [each for each in found if "/" not in each["name"]]
        for matches in (
            lambda each: each["kind"] == kind,
            lambda each: each["name"] == kind,
            lambda each: each.get("singularName") == kind,
            lambda each: kind in each.get("shortNames", []),
        ):
            for each in filter(matches, whole):
                prefix = each["name"] + "/"
                names = [other["name"] for other in found]
                return Resource(each, base, [name[len(prefix):] for name in names if name.startswith(prefix)])
        return None


def described(error):
    """What a module gives back of an answer that is a refusal."""
    return {"status": error.status, "reason": error.reason, "body": error.body}
