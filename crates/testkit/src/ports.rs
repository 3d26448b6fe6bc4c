//! Ports for programs that are told where to listen.

use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below those that the kernel gives to connections that go out, of which there are many at any moment.
const FIRST: u32 = 10_000;
const COUNT: u32 = 22_000;

/// A port on 127.0.0.1 where nobody listens, and that this process has given to nobody else of late. Other processes
/// begin elsewhere.
///
/// # Errors
/// There is none.
pub(crate) fn free_port() -> io::Result<u16> {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(131) % COUNT;
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..COUNT {
        let given = GIVEN.fetch_add(1, Ordering::Relaxed);
        let port = (FIRST + (first + given) % COUNT) as u16;
        match TcpListener::bind(("127.0.0.1", port)) {
            Ok(_) => return Ok(port),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_given_twice_or_where_somebody_listens() {
        let first = free_port().unwrap();
        let _taken = TcpListener::bind(("127.0.0.1", first + 1)).unwrap();
        let second = free_port().unwrap();
        assert!(second != first && second != first + 1, "{first} {second}");
        assert!(second < 32_768, "{second} is the kernel's to give");
    }
}
