//! How long an evaluation takes: `cargo run --release -p steersman-expressions --example speed`.
#![expect(clippy::print_stdout, reason = "it prints what it measures")]

use std::time::Instant;

use serde_json::json;
use steersman_expressions::{Expression, Variables};

const ROUNDS: u32 = 10_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let list: Vec<u32> = (0..100_000).collect();
    let object = json!({"spec": {"replicas": 3}, "large": list, "status": {"readyReplicas": 3, "conditions": [
        {"type": "PodsReady", "status": "True"}, {"type": "Upgrading", "status": "False"}, {"type": "Error", "status": "False"}]}});
    let variables = Variables::of_fields(&object);
    for (source, rounds) in [
        ("status.readyReplicas == spec.replicas", ROUNDS),
        (
            "status.conditions.exists(c, c.type == 'PodsReady' && c.status == 'True')",
            ROUNDS,
        ),
        (
            "status.conditions.filter(c, c.type == 'Error').all(e, e.status.matches('^(False|Unknown)$'))",
            ROUNDS,
        ),
        // These use up what an evaluation may take.
        ("large.all(x, large.all(y, y >= 0))", 10),
        ("large.all(x, x in large)", 10),
        ("large.map(x, [x, x])", 10),
    ] {
        let expression = Expression::parse(source)?;
        let begun = Instant::now();
        let mut results = 0;
        for _ in 0..rounds {
            results += u32::from(expression.evaluate(&variables).is_ok());
        }
        println!(
            "{:>12?} {} of {rounds} with a result: {source}",
            begun.elapsed() / rounds,
            results
        );
    }
    Ok(())
}
