//! `--set` and its siblings, on top of values that other ones have made.

#![no_main]

use libfuzzer_sys::fuzz_target;
use steersman_chart::Values;
use steersman_chart::values::set::{set, set_file, set_json, set_literal, set_string};

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    let mut values = Values::new();
    for (number, text) in text.split('\n').take(8).enumerate() {
        let _ = match (usize::from(*kind) + number) % 5 {
            0 => set(&mut values, text),
            1 => set_string(&mut values, text),
            2 => set_json(&mut values, text),
            3 => set_literal(&mut values, text),
            _ => set_file(&mut values, text, &|path| match path {
                "" => Err("no such file".to_owned()),
                path => Ok(path.to_uppercase()),
            }),
        };
    }
});
