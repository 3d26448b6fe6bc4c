//! The file by which clients find the proxy.

use crate::Credential;

/// Basic authentication wants a user, too.
const USER: &str = "steersman";

/// A kubeconfig for one run, of the proxy at `port` of the loopback address. Who writes it lets nobody else read it: the
/// credential is in it.
///
/// kubectl takes the user of an address without TLS from the address alone, Python's client from the entry of the user alone.
/// So the credential is in both, as in the file that ansible-operator writes; as the password, which Go's clients leave out of
/// their errors.
///
/// kubectl opens sessions in pods by WebSocket, and refuses an address with a user for that: `KUBECTL_REMOTE_COMMAND_WEBSOCKETS`
/// and `KUBECTL_PORT_FORWARD_WEBSOCKETS`, set to `false` in its environment, have it use SPDY.
pub fn kubeconfig(port: u16, credential: &Credential) -> String {
    let secret = credential.secret();
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - cluster:\n    \
             server: http://{USER}:{secret}@127.0.0.1:{port}\n  \
           name: proxy-server\n\
         contexts:\n\
         - context:\n    \
             cluster: proxy-server\n    \
             user: admin/proxy-server\n  \
           name: proxy-server\n\
         current-context: proxy-server\n\
         preferences: {{}}\n\
         users:\n\
         - name: admin/proxy-server\n  \
           user:\n    \
             username: {USER}\n    \
             password: {secret}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_and_user_hold_the_credential() {
        let credential = Credential::draw().unwrap();
        let text = kubeconfig(8888, &credential);
        let file = steersman_yaml::to_json(&text).unwrap();
        let secret = credential.secret();
        let server = format!("http://{USER}:{secret}@127.0.0.1:8888");
        assert_eq!(file["clusters"][0]["cluster"]["server"], server.as_str());
        assert_eq!(file["users"][0]["user"]["password"], secret);
        assert_eq!(file["current-context"], file["contexts"][0]["name"]);
        assert_eq!(
            file["contexts"][0]["context"]["cluster"],
            file["clusters"][0]["name"]
        );
        assert_eq!(file["contexts"][0]["context"]["user"], file["users"][0]["name"]);
    }
}
