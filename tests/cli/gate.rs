//! A door before a registry, for those who have a token.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Asks whoever comes to the registry for a token, and gives one to whom it knows.
pub(crate) struct Gate {
    pub(crate) address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Gate {
    /// Stands before the registry at this address. `basic` is what comes as `Authorization` of somebody who is known.
    pub(crate) fn before(registry: &str, basic: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::default();
        let (registry, basic, seen) = (registry.to_owned(), basic.to_owned(), Arc::clone(&requests));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (registry, basic, seen) = (registry.clone(), basic.clone(), Arc::clone(&seen));
                // Whoever goes away in the middle is no concern of the others.
                std::thread::spawn(move || pass(stream, &registry, &basic, &seen));
            }
        });
        Self { address, requests }
    }

    /// The first lines of the requests that were not let through.
    pub(crate) fn stopped(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Looks at the first request of a connection; with a token, it and all that follow are the registry's.
fn pass(
    mut stream: TcpStream,
    registry: &str,
    basic: &str,
    seen: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let address = stream.local_addr()?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while reader.read_line(&mut head)? > 2 {}
    // A connection that was made in advance and not needed.
    if head.is_empty() {
        return Ok(());
    }
    let lower = head.to_ascii_lowercase();
    if lower.contains("authorization: bearer canary\r\n") {
        let mut registry = TcpStream::connect(registry)?;
        registry.write_all(head.as_bytes())?;
        let mut back = registry.try_clone()?;
        std::thread::spawn(move || std::io::copy(&mut back, &mut stream));
        std::io::copy(&mut reader, &mut registry)?;
        return Ok(());
    }
    seen.lock()
        .unwrap()
        .push(head.lines().next().unwrap_or_default().to_owned());
    let is_known = head.contains(&format!("uthorization: {basic}\r\n"));
    let (status, more, body) = match (head.starts_with("GET /token"), is_known) {
        (true, true) => ("200 OK", String::new(), r#"{"token":"canary"}"#),
        (true, false) => ("403 Forbidden", String::new(), ""),
        (false, _) => {
            let challenge =
                format!("WWW-Authenticate: Bearer realm=\"http://{address}/token\",service=\"test\"\r\n");
            ("401 Unauthorized", challenge, "")
        }
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{more}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )?;
    // What was sent meanwhile is read, or the answer could be lost.
    stream.shutdown(std::net::Shutdown::Write)?;
    std::io::copy(&mut reader, &mut std::io::sink())?;
    Ok(())
}
