# SPDX-License-Identifier: Apache-2.0
"""How modules reach the API server, for their documentation."""


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  kubeconfig:
    description: A kubeconfig. C(K8S_AUTH_KUBECONFIG) otherwise.
    type: path
  context:
    description: A context of the kubeconfig. C(K8S_AUTH_CONTEXT) otherwise.
    type: str
  host:
    description: The URL of the API server. C(K8S_AUTH_HOST) otherwise.
    type: str
  api_key:
    description: A bearer token. C(K8S_AUTH_API_KEY) otherwise.
    type: str
  username:
    description: A name for basic authentication. C(K8S_AUTH_USERNAME) otherwise.
    type: str
  password:
    description: A password for basic authentication. C(K8S_AUTH_PASSWORD) otherwise.
    type: str
  validate_certs:
    description: Whether the certificate of the API server is verified. C(K8S_AUTH_VERIFY_SSL) otherwise.
    type: bool
    aliases: [verify_ssl]
  ca_cert:
    description: A file of certificates of authorities. C(K8S_AUTH_SSL_CA_CERT) otherwise.
    type: path
    aliases: [ssl_ca_cert]
  client_cert:
    description: A file with the certificate of the client. C(K8S_AUTH_CERT_FILE) otherwise.
    type: path
    aliases: [cert_file]
  client_key:
    description: A file with the key of the client. C(K8S_AUTH_KEY_FILE) otherwise.
    type: path
    aliases: [key_file]
  proxy:
    description: The URL of a proxy. C(K8S_AUTH_PROXY) otherwise.
    type: str
  persist_config:
    description: Whether refreshed tokens are written into the kubeconfig. C(K8S_AUTH_PERSIST_CONFIG) otherwise.
    type: bool
"""
