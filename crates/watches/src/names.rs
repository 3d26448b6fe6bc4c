//! Which texts can be groups, versions, kinds and namespaces.

/// Whether a text is a DNS subdomain (RFC 1123) of at most 253 characters: an API group.
pub(crate) fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253
        && text
            .split('.')
            .all(|label| is_dns_label(label) && label.len() <= 253)
}

/// Whether a text can be a version of a custom resource: a DNS label that starts with a letter (RFC 1035).
pub(crate) fn is_version(text: &str) -> bool {
    text.len() <= 63 && is_dns_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Whether a text can be a kind: in lower case, what a version can be.
pub(crate) fn is_kind(text: &str) -> bool {
    text.is_ascii() && is_version(&text.to_ascii_lowercase())
}

/// Whether a text can be the name of a namespace: a DNS label.
pub(crate) fn is_namespace(text: &str) -> bool {
    text.len() <= 63 && is_dns_label(text)
}

/// Whether a text can be the name of a ServiceAccount: a DNS subdomain.
///
/// ```
/// use steersman_watches::is_service_account;
///
/// assert!(is_service_account("deployer") && !is_service_account("Deployer") && !is_service_account(""));
/// ```
pub fn is_service_account(text: &str) -> bool {
    is_dns_subdomain(text)
}

fn is_dns_label(label: &str) -> bool {
    !label.is_empty()
        && label
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !label.starts_with('-')
        && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::{is_dns_subdomain, is_kind, is_version};

    #[test]
    fn names_follow_the_rules_of_custom_resources() {
        assert!(is_dns_subdomain("cache.example.com") && is_dns_subdomain("1a"));
        assert!(!is_dns_subdomain("Cache.example.com") && !is_dns_subdomain("a..b") && !is_dns_subdomain(""));
        assert!(is_version("v1alpha1") && !is_version("1") && !is_version("v1.0") && !is_version("V1"));
        assert!(is_kind("Memcached") && is_kind("VM") && !is_kind("Mem cached") && !is_kind(""));
    }
}
