//! Which keys of values say that what they hold is secret.

/// Ends of keys, without capitals and what stands between words.
const ENDINGS: [&str; 16] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "token",
    "apikey",
    "privatekey",
    "secretkey",
    "accesskey",
    "signingkey",
    "encryptionkey",
    "masterkey",
    "sharedkey",
    "credential",
    "connectionstring",
    "connectionurl",
];

/// The same for words that are also the ends of others.
const WORDS: [&str; 7] = ["pass", "pw", "pwd", "secret", "dsn", "pat", "jwt"];

/// What may follow: `tokenValue`, `privateKeyPem`.
const ADDITIONS: [&str; 9] = [
    "value", "raw", "plain", "text", "data", "base64", "b64", "pem", "content",
];

/// Words of keys that name a Secret, as `existingSecret`, `imagePullSecrets` and `tlsSecret`, or a key in it.
const NAMING: [&str; 9] = [
    "existing",
    "pull",
    "tls",
    "cert",
    "certificate",
    "ca",
    "external",
    "name",
    "ref",
];

/// Whether what stands under a key of user values is secret, judged by the key. The last part
/// of a path such as `auth.rootPassword` counts.
///
/// `secretName` and `existingSecret` name a Secret and do not hold one.
pub fn is_secret_key(key: &str) -> bool {
    let mut words = words(key.rsplit('.').next().unwrap_or(key));
    if words.iter().any(|word| word == "existing") {
        return false;
    }
    while words.len() > 1
        && words
            .last()
            .is_some_and(|word| ADDITIONS.contains(&word.as_str()))
    {
        words.pop();
    }
    let names = words.iter().any(|word| NAMING.contains(&word.as_str()));
    let Some(last) = words.last_mut() else {
        return false;
    };
    if last.len() > 4
        && let Some(one) = last.strip_suffix('s').filter(|one| !one.ends_with('s'))
    {
        *last = one.to_owned();
    }
    if WORDS.contains(&last.as_str()) {
        return last != "secret" || !names;
    }
    let joined = words.concat();
    joined == "clientsecret" || ENDINGS.iter().any(|ending| joined.ends_with(ending))
}

/// Whether a key below a secret one names a thing.
pub(super) fn is_name_key(key: &str) -> bool {
    let words = words(key);
    words.last().is_some_and(|word| word == "name") || words.iter().any(|word| word == "existing")
}

/// `clientSecret`, `client_secret` and `client-secret` are two words.
fn words(key: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for character in key.chars() {
        let begins = character.is_ascii_uppercase() && !before.is_ascii_uppercase();
        if !character.is_alphanumeric() {
            before = ' ';
            continue;
        }
        if begins || before == ' ' {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(character.to_ascii_lowercase());
        }
        before = character;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_secrets_are_told_from_others() {
        let secret = [
            "password",
            "rootPassword",
            "auth.rootPassword",
            "adminPasswords",
            "DB_PASSWORD",
            "clientSecret",
            "client_secret",
            "client-secret",
            "clientsecret",
            "secret",
            "api_key",
            "apiKey",
            "apikey",
            "API_KEY",
            "secret_key",
            "secretKey",
            "private_key",
            "privateKey",
            "privateKeyPem",
            "passphrase",
            "pass",
            "dbPass",
            "db_pass",
            "smtp-pass",
            "token",
            "tokens",
            "authToken",
            "bearer_token",
            "tokenValue",
            "connectionString",
            "connection_string",
            "credentials",
            "accessKey",
            "AWS_SECRET_ACCESS_KEY",
            "pwd",
            "jwtSecret",
            "dsn",
        ];
        for key in secret {
            assert!(is_secret_key(key), "{key}");
        }
        let others = [
            "secretName",
            "existingSecret",
            "existingSecretKey",
            "existingSecretPasswordKey",
            "imagePullSecrets",
            "tlsSecret",
            "secretRef",
            "bypass",
            "compass",
            "passwordPolicy",
            "tokenUrl",
            "key",
            "name",
            "replicas",
            "keyboard",
            "secretsStoreDriver",
            "message",
            "",
        ];
        for key in others {
            assert!(!is_secret_key(key), "{key}");
        }
    }
}
