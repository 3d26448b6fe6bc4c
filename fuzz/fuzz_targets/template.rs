//! Lexer and parser: any text is a template or an error with a place.

#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use steersman_gotemplate::{FunctionTable, TemplateSet, builtins};

static FUNCTIONS: LazyLock<Arc<FunctionTable>> =
    LazyLock::new(|| Arc::new(FunctionTable::new(&[builtins(), steersman_sprig::functions()])));

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let mut set = TemplateSet::new(Arc::clone(&FUNCTIONS));
    match set.parse("t.yaml", text) {
        Ok(()) => assert!(set.contains("t.yaml")),
        Err(error) => {
            assert_eq!(set.names().count(), 0, "what does not parse defines nothing");
            assert!(error.line().is_some(), "{error}");
        }
    }
});
