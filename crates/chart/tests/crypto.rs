//! Keys, certificates, hashes and ciphers, judged by programs that others use for them: OpenSSL, and the `crypt`
//! of the system, which Perl calls.

mod support;

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// When the test world's certificates are made, in seconds: a minute later they are valid.
const WHEN: &str = "1795219260";

/// What a template gives that writes JSON.
fn render(template: &str) -> Value {
    let output = support::render_snippet(template, None, [], &steersman_chart::Values::default())
        .expect("the template can be rendered");
    serde_json::from_str(&output).expect("the template writes JSON")
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().expect("the template gives this")
}

/// Runs a program with this input, and gives what it printed. A program that fails fails the test.
fn run(program: &str, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program} cannot be started, and this test needs it: {error}"));
    child
        .stdin
        .take()
        .expect("the input is a pipe")
        .write_all(input)
        .expect("the program reads its input");
    let output = child.wait_with_output().expect("the program ends");
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

fn openssl(arguments: &[&str], input: &str) -> String {
    String::from_utf8(run("openssl", arguments, input.as_bytes())).expect("openssl prints text")
}

/// Whether a certificate belongs to its key, and is signed by the authority in the eyes of OpenSSL.
fn check_certificate(pair: &Value, authority: &Value) {
    let folder = tempfile::tempdir().expect("there is room for files");
    let write = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("the file can be written");
        path.to_string_lossy().into_owned()
    };
    let certificate = write("tls.crt", text(pair, "Cert"));
    let authority = write("ca.crt", text(authority, "Cert"));
    let verified = openssl(
        &[
            "verify",
            "-attime",
            WHEN,
            "-x509_strict",
            "-CAfile",
            &authority,
            &certificate,
        ],
        "",
    );
    assert_eq!(verified.trim(), format!("{certificate}: OK"));
    assert_eq!(
        openssl(&["x509", "-noout", "-pubkey"], text(pair, "Cert")),
        openssl(&["pkey", "-pubout"], text(pair, "Key")),
        "the key is that of the certificate"
    );
}

#[test]
fn private_keys_of_every_kind_are_read_by_openssl() {
    for (kind, says) in [
        ("rsa", "Private-Key: (4096 bit, 2 primes)"),
        ("dsa", "Private-Key: (2048 bit)"),
        ("ecdsa", "Private-Key: (256 bit)"),
        ("ed25519", "ED25519 Private-Key:"),
    ] {
        let key = render(&format!(
            "{{{{ dict \"Key\" (genPrivateKey \"{kind}\") | toJson }}}}"
        ));
        let shown = openssl(&["pkey", "-noout", "-text", "-check"], text(&key, "Key"));
        assert!(shown.contains(says), "{kind}: {shown}");
    }
}

#[test]
fn certificates_are_verified_against_their_authority() {
    let made = render(
        r#"
        {{- $authority := genCA "authority" 10 }}
        {{- $signed := genSignedCert "web.example.org" (list "10.1.2.3" "::1") (list "web" "*.example.org") 5 $authority }}
        {{- $alone := genSelfSignedCert "alone" (list "127.0.0.1") (list "alone.example.org") 1 }}
        {{- dict "authority" $authority "signed" $signed "alone" $alone | toJson }}"#,
    );
    check_certificate(&made["authority"], &made["authority"]);
    check_certificate(&made["signed"], &made["authority"]);
    check_certificate(&made["alone"], &made["alone"]);

    let shown = openssl(&["x509", "-noout", "-text"], text(&made["signed"], "Cert"));
    for part in [
        "Subject: CN = web.example.org",
        "Issuer: CN = authority",
        "DNS:web, DNS:*.example.org, IP Address:10.1.2.3, IP Address:0:0:0:0:0:0:0:1",
        "TLS Web Server Authentication, TLS Web Client Authentication",
        "CA:FALSE",
        "Not After : Nov 26 00:00:00 2026 GMT",
    ] {
        assert!(shown.contains(part), "{part:?} is missing in {shown}");
    }
    let authority = openssl(&["x509", "-noout", "-text"], text(&made["authority"], "Cert"));
    assert!(authority.contains("CA:TRUE"), "{authority}");
}

#[test]
fn certificates_are_made_for_keys_that_are_given() {
    for kind in ["rsa", "ecdsa", "ed25519"] {
        let made = render(
            &r#"
            {{- $authority := genCAWithKey "authority" 10 (genPrivateKey "KIND") }}
            {{- $signed := genSignedCertWithKey "web" nil (list "web") 5 $authority (genPrivateKey "KIND") }}
            {{- $alone := genSelfSignedCertWithKey "alone" nil (list "alone") 5 (genPrivateKey "KIND") }}
            {{- $rebuilt := buildCustomCert ($authority.Cert | b64enc) ($authority.Key | b64enc) }}
            {{- $again := genSignedCert "again" nil nil 5 $rebuilt }}
            {{- dict "authority" $authority "signed" $signed "alone" $alone "again" $again | toJson }}"#
                .replace("KIND", kind),
        );
        check_certificate(&made["signed"], &made["authority"]);
        check_certificate(&made["again"], &made["authority"]);
        check_certificate(&made["alone"], &made["alone"]);
    }
}

#[test]
fn hashed_passwords_are_those_of_the_system() {
    let made =
        render(r#"{{ dict "plain" (bcrypt "open sesame") "line" (htpasswd "ali" "open sesame") | toJson }}"#);
    let line = text(&made, "line")
        .strip_prefix("ali:")
        .expect("the line begins with the name");
    for hash in [text(&made, "plain"), line] {
        assert!(hash.starts_with("$2a$10$"), "{hash}");
        let hashed = |password: &str| {
            run(
                "perl",
                &["-e", "print crypt($ARGV[0], $ARGV[1])", password, hash],
                b"",
            )
        };
        assert_eq!(
            hashed("open sesame"),
            hash.as_bytes(),
            "the system hashes to the same"
        );
        assert_ne!(hashed("open barley"), hash.as_bytes());
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[test]
fn openssl_reads_what_is_encrypted_and_its_own_is_read() {
    let key = "a key of thirty two bytes or so.";
    let cipher = |direction: &str, vector: &[u8], input: &[u8]| {
        let (key, vector) = (hexadecimal(key.as_bytes()), hexadecimal(vector));
        run(
            "openssl",
            &["enc", direction, "-aes-256-cbc", "-K", &key, "-iv", &vector],
            input,
        )
    };

    let made = render(&format!(
        r#"{{{{ dict "text" (encryptAES "{key}" "plaintext: ünïcode") | toJson }}}}"#
    ));
    let encrypted = STANDARD.decode(text(&made, "text")).expect("it is base64");
    let (vector, body) = encrypted.split_at(16);
    assert_eq!(cipher("-d", vector, body), "plaintext: ünïcode".as_bytes());

    let vector = b"0123456789abcdef";
    let theirs = [vector.as_slice(), &cipher("-e", vector, b"from elsewhere")].concat();
    let read = render(&format!(
        r#"{{{{ dict "text" (decryptAES "{key}" "{}") | toJson }}}}"#,
        STANDARD.encode(theirs)
    ));
    assert_eq!(text(&read, "text"), "from elsewhere");
}

#[test]
fn digests_are_openssls() {
    let made = render(
        r#"{{ $text := "The quick brown fox\n" }}{{ dict "sha1" (sha1sum $text) "sha256" (sha256sum $text) "sha512" (sha512sum $text) | toJson }}"#,
    );
    for name in ["sha1", "sha256", "sha512"] {
        let theirs = openssl(&["dgst", &format!("-{name}"), "-r"], "The quick brown fox\n");
        assert_eq!(
            Some(text(&made, name)),
            theirs.split_whitespace().next(),
            "{name}"
        );
    }
}
