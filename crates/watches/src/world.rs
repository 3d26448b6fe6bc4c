//! The clock and the randomness of the machine, for templates.

use std::net::ToSocketAddrs as _;
use std::time::Duration;

use jiff::Timestamp as Now;
use steersman_gotemplate::{Failure, LookupQuery, Map, MapType, Timestamp, Value, World};

/// How long a rendering may take. No chart takes longer; one that does would keep a thread for ever.
pub const RENDER_TIMEOUT: Duration = Duration::from_mins(1);

/// The world without a cluster: its clock is the machine's, its randomness the operating system's, and it finds
/// nothing to look up.
///
/// ```
/// use steersman_chart::{LookupQuery, Value, World as _};
/// use steersman_watches::world::SystemWorld;
///
/// let query = LookupQuery { api_version: "v1", kind: "Secret", namespace: "default", name: "web" };
/// let Ok(Value::Map(found)) = SystemWorld.lookup(query) else { panic!("an empty map") };
/// assert!(found.is_empty());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemWorld;

impl World for SystemWorld {
    fn now(&self) -> Timestamp {
        let now = Now::now();
        let seconds = now.as_second();
        // Before 1970 both parts are negative; here the fraction counts forward.
        match u32::try_from(now.subsec_nanosecond()) {
            Ok(nanoseconds) => Timestamp { seconds, nanoseconds },
            Err(_) => Timestamp {
                seconds: seconds - 1,
                nanoseconds: (1_000_000_000 + now.subsec_nanosecond()).unsigned_abs(),
            },
        }
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        // The operating system of a running process does not run out of randomness; without any, zeros would
        // become passwords.
        getrandom::fill(buffer).expect("the operating system gives random bytes");
    }

    fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> {
        Ok(Value::Map(Map::new(MapType::Any)))
    }
}

/// A world whose templates may ask the network for the addresses of hosts.
pub struct ResolvingWorld<'a>(pub &'a dyn World);

impl std::fmt::Debug for ResolvingWorld<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResolvingWorld").finish_non_exhaustive()
    }
}

impl World for ResolvingWorld<'_> {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        self.0.fill_random(buffer);
    }

    fn lookup(&self, query: LookupQuery<'_>) -> Result<Value, Failure> {
        self.0.lookup(query)
    }

    fn resolve_host(&self, name: &str) -> String {
        let found = (name, 0)
            .to_socket_addrs()
            .ok()
            .and_then(|mut found| found.next());
        found.map_or_else(String::new, |address| address.ip().to_string())
    }
}
