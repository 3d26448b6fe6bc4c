//! Names of Kubernetes' fields as variables of Ansible: `matchLabels` is `match_labels`.
//!
//! Playbooks are written for what ansible-operator makes of a name, odd as it may be, so this makes the same: `fooB` is
//! `foo_b` but `aB` is `ab`, and what starts with a capital gets an underscore in front.

/// Acronyms that are words of their own wherever they stand, by the order in which they are looked for.
const ACRONYMS: [&str; 3] = ["HTTP", "URL", "IP"];

/// The name of a field as ansible-operator spells it in variables.
///
/// Any text has a result; that of an empty one is empty. Only the first place of each of `HTTP`, `URL` and `IP` in a name
/// counts as a word, and only ASCII letters have a case that matters.
///
/// ```
/// use steersman_ansible::snake_case;
///
/// assert_eq!(snake_case("matchLabels"), "match_labels");
/// assert_eq!(snake_case("podIPs"), "pod_ips");
/// assert_eq!(snake_case("FooBar"), "_foo_bar");
/// ```
pub fn snake_case(name: &str) -> String {
    let spaced = space_numbers(name);
    let trimmed = spaced.trim_matches(' ');
    let starts_high = trimmed.starts_with(|first: char| first.is_ascii_uppercase());
    let isolated = ACRONYMS
        .iter()
        .fold(trimmed.to_owned(), |text, acronym| isolate(&text, acronym));
    let words = words(&isolated);
    let starts_with_acronym = ACRONYMS
        .iter()
        .any(|acronym| words.first().is_some_and(|word| *word == acronym.to_lowercase()));
    let prefix = if starts_high && !starts_with_acronym {
        "_"
    } else {
        ""
    };
    format!("{prefix}{}", words.join("_"))
}

/// Parts a number between letters from both where another number follows: `a1b2` is `a 1 b2`.
fn space_numbers(name: &str) -> String {
    let mut spaced = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        if let Some((number, other)) = numbers(rest) {
            spaced.push(first);
            spaced.extend([" ", &rest[1..number], " ", &rest[number..other]]);
            rest = &rest[other..];
        } else {
            spaced.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    spaced
}

/// Where a letter with a number ends, and the letter with a number behind it, if both start the text.
fn numbers(text: &str) -> Option<(usize, usize)> {
    let end = |from: usize| {
        let mut bytes = text.as_bytes().get(from..)?.iter();
        bytes.next().filter(|byte| byte.is_ascii_alphabetic())?;
        let digits = bytes.take_while(|byte| byte.is_ascii_digit()).count();
        (digits > 0).then_some(from + 1 + digits)
    };
    let number = end(0)?;
    Some((number, end(number)?))
}

/// Puts underscores around the first place of an acronym, and around its plural.
fn isolate(text: &str, acronym: &str) -> String {
    let Some((before, after)) = text.split_once(acronym) else {
        return text.to_owned();
    };
    let (plural, rest) = after.strip_prefix('s').map_or(("", after), |rest| ("S", rest));
    // One that stands alone gets an underscore, too; one at the start of more does not.
    let lead = if before.is_empty() && !rest.is_empty() {
        ""
    } else {
        "_"
    };
    let trail = if rest.is_empty() { "" } else { "_" };
    format!("{before}{lead}{acronym}{plural}{trail}{rest}")
}

/// Splits at blanks, underscores and hyphens, and where the case changes, unless a word would have no letter yet.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied().unwrap_or(' ');
        let rises = letter.is_ascii_lowercase() && next.is_ascii_uppercase();
        let falls = letter.is_ascii_uppercase() && next.is_ascii_lowercase();
        if falls && !word.is_empty() {
            words.push(std::mem::take(&mut word));
            word.push(letter);
        } else if rises && !word.is_empty() {
            word.push(letter);
            words.push(std::mem::take(&mut word));
        } else if matches!(letter, ' ' | '_' | '-') {
            words.push(std::mem::take(&mut word));
        } else {
            word.push(letter);
        }
    }
    words.push(word);
    words.iter().map(|word| lowercase(word)).collect()
}

/// Lower case letter by letter, as Go has it: without the rules of languages for ends of words.
fn lowercase(word: &str) -> String {
    word.chars()
        .filter_map(|letter| letter.to_lowercase().next())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::snake_case;

    /// What ansible-operator's own function gave for these names (ansible-operator-plugins 1.42).
    const UPSTREAM: &[(&str, &str)] = &[
        ("var", "var"),
        ("888", "888"),
        ("fooBar", "foo_bar"),
        ("FooBar", "_foo_bar"),
        ("FOOBar", "_foo_bar"),
        ("fooBAR", "foo_bar"),
        ("FOO", "_foo"),
        ("foo-bar", "foo_bar"),
        ("foo.bar", "foo.bar"),
        ("foo bar", "foo_bar"),
        (" fooBar ", "foo_bar"),
        ("foo_bar", "foo_bar"),
        ("_fooBar", "_foo_bar"),
        ("__foo", "__foo"),
        ("foo__bar", "foo__bar"),
        ("foo_", "foo_"),
        ("-", "_"),
        ("_", "_"),
        ("a", "a"),
        ("A", "_a"),
        ("aB", "ab"),
        ("Ab", "_ab"),
        ("AB", "_ab"),
        ("ABc", "_a_bc"),
        ("fooB", "foo_b"),
        ("fooBC", "foo_bc"),
        ("fooBCd", "foo_b_cd"),
        ("IPAddress", "ip_address"),
        ("ipAddress", "ip_address"),
        ("podIP", "pod_ip"),
        ("podIPs", "pod_ips"),
        ("podIPsList", "pod_ips_list"),
        ("IPs", "__ips"),
        ("IP", "__ip"),
        ("ip", "ip"),
        ("URL", "__url"),
        ("url", "url"),
        ("baseURL", "base_url"),
        ("HTTPPort", "http_port"),
        ("httpPort", "http_port"),
        ("HTTPSPort", "http_s_port"),
        ("HTTPsPort", "_https_port"),
        ("URLegressIPEgressHTTP", "url_egress_ip_egress_http"),
        ("URLsegressIPsEgressHTTPs", "_urls_egress_ips_egress_https"),
        ("IPURL", "ip__url"),
        ("clusterIPFamilyIP", "cluster_ip_family_ip"),
        ("SHIP", "_sh_ip"),
        ("CURL", "_c_url"),
        ("sizeK8sBuckets", "size_k8s_buckets"),
        ("k8s", "k8s"),
        ("k8sVar", "k8s_var"),
        ("a1b2", "a_1_b2"),
        ("a1b2c3", "a_1_b2c3"),
        ("x1y22z333", "x_1_y22z333"),
        ("v1Beta1", "v1_beta1"),
        ("v1beta1", "v1beta1"),
        ("abc123Def456", "abc123_def456"),
        ("size2", "size2"),
        ("2size", "2size"),
        ("S3Bucket", "_s3_bucket"),
        ("s3Bucket", "s3_bucket"),
        ("JSONData", "_json_data"),
        ("dataJSON", "data_json"),
        ("matchLabels", "match_labels"),
        ("app.kubernetes.io/name", "app.kubernetes.io/name"),
        ("app.kubernetes.io/partOf", "app.kubernetes.io/part_of"),
        ("äÖü", "äöü"),
        ("größeMax", "größe_max"),
        ("Ärger", "ärger"),
        ("maxGröße", "max_größe"),
        ("naïveÉtat", "naïveétat"),
        ("日本語Key", "日本語_key"),
        ("keyÀB", "keyàb"),
        ("ÀbC", "àb_c"),
        ("fooBarÀ", "foo_barà"),
        ("fooÄr", "fooär"),
        ("😀Foo", "😀_foo"),
        ("X-Forwarded-For", "_x_forwarded_for"),
        ("CanYou_Handle_mixedVars", "_can_you_handle_mixed_vars"),
        ("ThisShouldHaveUnderscores", "_this_should_have_underscores"),
        ("eTag", "e_tag"),
        ("iOSVersion", "ios_version"),
        ("nodeSelectorTerms", "node_selector_terms"),
        ("aBcD", "a_bc_d"),
        ("tls.crt", "tls.crt"),
        ("mixed-caseKey.Name", "mixed_case_key._name"),
        ("IPv4", "ip_v4"),
        ("ipv6Address", "ipv6_address"),
        ("IPV6", "ip_v6"),
        ("URLS", "url_s"),
        ("foo\tBar", "foo\t_bar"),
        ("HTTPURLIP", "http__url__ip"),
        ("theIPSec", "the_ip_sec"),
        ("IPsec", "_ips_ec"),
        ("ipsIPs", "ips_ips"),
    ];

    #[test]
    fn names_become_what_ansible_operator_makes_of_them() {
        let ours: Vec<(&str, String)> = UPSTREAM
            .iter()
            .map(|(name, _)| (*name, snake_case(name)))
            .collect();
        let theirs: Vec<(&str, String)> = UPSTREAM
            .iter()
            .map(|(name, snake)| (*name, (*snake).to_owned()))
            .collect();
        assert_eq!(ours, theirs);
    }

    #[test]
    fn names_without_a_letter_have_a_result() {
        assert_eq!(snake_case(""), "");
        assert_eq!(snake_case("   "), "");
        assert_eq!(snake_case("İΣ"), "iσ");
    }
}
