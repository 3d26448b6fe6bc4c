//! The file by which clients find the proxy.

use crate::Credential;

/// A kubeconfig for one run, of the proxy at `port` of the loopback address. Who writes it lets nobody else read it: the
/// credential is in it.
///
/// kubectl takes the user of an address without TLS from the address alone, Python's client from the entry of the user alone.
/// So the credential is in both, as in the file that ansible-operator writes.
pub fn kubeconfig(port: u16, credential: &Credential) -> String {
    let secret = credential.secret();
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - cluster:\n    \
             server: http://{secret}@127.0.0.1:{port}\n  \
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
             username: {secret}\n    \
             password: unused\n"
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
        let server = format!("http://{secret}@127.0.0.1:8888");
        assert_eq!(file["clusters"][0]["cluster"]["server"], server.as_str());
        assert_eq!(file["users"][0]["user"]["username"], secret);
        assert_eq!(file["current-context"], file["contexts"][0]["name"]);
        assert_eq!(
            file["contexts"][0]["context"]["cluster"],
            file["clusters"][0]["name"]
        );
        assert_eq!(file["contexts"][0]["context"]["user"], file["users"][0]["name"]);
    }
}
