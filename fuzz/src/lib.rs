//! What the fuzz targets share: a world in which each run is the same, and a rendering with small limits.

use std::cell::Cell;

use steersman_chart::{
    Capabilities, Chart, Failure, Limits, LookupQuery, Operation, ReleaseInfo, RenderError, RenderInput,
    Rendered, Timestamp, Value, Values, World,
};

/// A world without a cluster: the clock stands still, randomness follows from a seed.
#[derive(Debug)]
pub struct FixedWorld(Cell<u64>);

impl Default for FixedWorld {
    fn default() -> Self {
        Self(Cell::new(0x9e37_79b9_7f4a_7c15))
    }
}

impl World for FixedWorld {
    fn now(&self) -> Timestamp {
        Timestamp {
            seconds: 1_795_219_200,
            nanoseconds: 0,
        }
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        for byte in buffer {
            // Steps of xorshift, which is enough to be no constant.
            let mut state = self.0.get();
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            self.0.set(state);
            *byte = (state >> 24) as u8;
        }
    }

    fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> {
        Ok(Value::map::<&str>([]))
    }
}

/// Limits under which one input takes a fraction of a second in an instrumented build. One key of 2,048 bits
/// or one password hash is allowed.
pub const LIMITS: Limits = Limits {
    steps: 250_000,
    output_bytes: 1 << 20,
    value_bytes: 4 << 20,
    include_depth: 100,
    expand_depth: 20,
    depth: 500,
};

/// Renders a chart under [`LIMITS`].
///
/// # Errors
/// As [`Chart::render`].
pub fn render(chart: &Chart, values: &Values) -> Result<Rendered, RenderError> {
    let release = ReleaseInfo {
        name: "rel".to_owned(),
        namespace: "ns".to_owned(),
        revision: 1,
        operation: Operation::Install,
    };
    chart.render(&RenderInput {
        release: &release,
        values,
        capabilities: &Capabilities::default(),
        world: &FixedWorld::default(),
        limits: LIMITS,
        expired: None,
        skip_schema_validation: false,
        subchart_notes: true,
    })
}

/// The parts of an input, which end at zero bytes; missing ones are empty.
pub fn parts<const COUNT: usize>(input: &[u8]) -> [&[u8]; COUNT] {
    let mut rest = input.splitn(COUNT, |byte| *byte == 0);
    std::array::from_fn(|_| rest.next().unwrap_or_default())
}
