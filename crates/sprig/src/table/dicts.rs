//! Maps: making, reading, changing in place.

use steersman_gotemplate::Parameter::{Any, Map as Dict, String as Text};
use steersman_gotemplate::{Effect, Function};

use crate::dicts;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::pure("dict", &[Any], dicts::dict)
        .variadic()
        .signature("pairs", "map[string]any")
        .documentation(
            "A map of the arguments, taken as keys and values in turn. Keys become texts; a last key \
             without a value gets the empty text.",
        )
        .example(r#"{{ dict "a" 1 "b" 2 | toJson }}"#, r#"{"a":1,"b":2}"#),
    Function::pure("get", &[Dict, Text], dicts::get)
        .signature("map key", "any")
        .documentation("The value of the key, or the empty text if the map has none.")
        .example(r#"{{ get (dict "a" 1) "a" }}"#, "1"),
    Function::new("set", &[Dict, Text, Any], Effect::Mutates, dicts::set)
        .signature("map key value", "map[string]any")
        .documentation(
            "Sets the key in the map itself, which every other name of the map sees, and gives the map.",
        )
        .example(
            r#"{{ $d := dict }}{{ $_ := set $d "a" 1 }}{{ $d | toJson }}"#,
            r#"{"a":1}"#,
        ),
    Function::new("unset", &[Dict, Text], Effect::Mutates, dicts::unset)
        .signature("map key", "map[string]any")
        .documentation("Removes the key from the map itself, and gives the map.")
        .example(r#"{{ unset (dict "a" 1 "b" 2) "a" | toJson }}"#, r#"{"b":2}"#),
    Function::pure("hasKey", &[Dict, Text], dicts::has_key)
        .signature("map key", "bool")
        .documentation("Whether the map has the key, whatever its value.")
        .example(r#"{{ hasKey (dict "a" nil) "a" }}"#, "true"),
    Function::pure("pluck", &[Text, Dict], dicts::pluck)
        .variadic()
        .signature("key maps", "[]any")
        .documentation("The values that the maps have for the key; maps without it are left out.")
        .example(
            r#"{{ pluck "a" (dict "a" 1) (dict) (dict "a" 2) | toJson }}"#,
            "[1,2]",
        ),
    Function::pure("keys", &[Dict], dicts::keys)
        .variadic()
        .signature("maps", "[]string")
        .documentation("The keys of all maps, each map's in alphabetical order.")
        .example(
            r#"{{ keys (dict "b" 1 "a" 2) | sortAlpha | toJson }}"#,
            r#"["a","b"]"#,
        ),
    Function::pure("values", &[Dict], dicts::values)
        .signature("map", "[]any")
        .documentation("The values of the map, in the alphabetical order of its keys.")
        .example(r#"{{ values (dict "a" 1) | toJson }}"#, "[1]"),
    Function::pure("pick", &[Dict, Text], dicts::pick)
        .variadic()
        .signature("map keys", "map[string]any")
        .documentation("A new map of those of the keys that the map has.")
        .example(r#"{{ pick (dict "a" 1 "b" 2) "a" | toJson }}"#, r#"{"a":1}"#),
    Function::pure("omit", &[Dict, Text], dicts::omit)
        .variadic()
        .signature("map keys", "map[string]any")
        .documentation("A new map of all but the keys.")
        .example(r#"{{ omit (dict "a" 1 "b" 2) "a" | toJson }}"#, r#"{"b":2}"#),
    Function::pure("dig", &[Any], dicts::dig)
        .variadic()
        .signature("path", "any")
        .documentation(
            "`dig KEY… DEFAULT MAP`: the value at a path of keys in nested maps, or the default where a \
             key is missing. Fails for fewer than three arguments, and where the path meets what is no \
             map.",
        )
        .example(r#"{{ dig "a" "b" "none" (dict "a" (dict "b" 1)) }}"#, "1"),
    Function::new("merge", &[Dict, Dict], Effect::Mutates, dicts::merge)
        .variadic()
        .signature("destination sources", "any")
        .documentation(
            "Fills the destination itself, nested maps too, with what it lacks or has empty and a source \
             has, and gives it.",
        )
        .example(
            r#"{{ merge (dict "a" 1) (dict "a" 2 "b" 3) | toJson }}"#,
            r#"{"a":1,"b":3}"#,
        ),
    Function::new("mustMerge", &[Dict, Dict], Effect::Mutates, dicts::must_merge)
        .variadic()
        .signature("destination sources", "any")
        .documentation(
            "Like `merge`, but an error of merging fails the template instead of giving the empty text.",
        )
        .example(
            r#"{{ mustMerge (dict "a" 1) (dict "b" 3) | toJson }}"#,
            r#"{"a":1,"b":3}"#,
        ),
    Function::new(
        "mergeOverwrite",
        &[Dict, Dict],
        Effect::Mutates,
        dicts::merge_overwrite,
    )
    .variadic()
    .signature("destination sources", "any")
    .documentation(
        "Overwrites the destination itself, nested maps too, with what each source has and is not \
             empty, and gives it.",
    )
    .example(
        r#"{{ mergeOverwrite (dict "a" 1) (dict "a" 2 "b" 3) | toJson }}"#,
        r#"{"a":2,"b":3}"#,
    ),
    Function::new(
        "mustMergeOverwrite",
        &[Dict, Dict],
        Effect::Mutates,
        dicts::must_merge_overwrite,
    )
    .variadic()
    .signature("destination sources", "any")
    .documentation(
        "Like `mergeOverwrite`, but an error of merging fails the template instead of giving the \
             empty text.",
    )
    .example(
        r#"{{ mustMergeOverwrite (dict "a" 1) (dict "a" 2) | toJson }}"#,
        r#"{"a":2}"#,
    ),
];
