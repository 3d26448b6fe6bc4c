//! `schema`.

use serde_json::Value;

use crate::program::Project;

#[test]
fn the_schema_is_printed_as_json() {
    let ended = Project::new().run(&["schema"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let schema: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(schema["$defs"]["chartEntry"]["properties"]["valueFiles"].is_object());
}
