//! The table of functions: one row for each name.
//!
//! A row says what a function takes and gives, what it depends on, its documentation,
//! and where its body is: in the module of the same name outside of this folder.

mod case;
#[cfg(feature = "crypto")]
mod crypto;
mod date;
mod defaults;
mod dicts;
mod encoding;
mod json;
mod lists;
mod numbers;
mod paths;
mod random;
mod regex;
mod semver;
mod split;
mod strings;
mod types;
mod url;

use std::sync::LazyLock;

use steersman_gotemplate::Function;

/// All functions, each name once.
///
/// ```
/// let functions = steersman_sprig::functions();
/// let trunc = functions.iter().find(|function| function.name == "trunc").expect("Sprig has it");
/// assert_eq!(trunc.usage(), "trunc(length int, text string) string");
/// assert!(functions.iter().all(|function| function.name != "env"));
/// ```
pub fn functions() -> &'static [Function] {
    static ALL: LazyLock<Vec<Function>> = LazyLock::new(|| {
        [
            strings::FUNCTIONS,
            case::FUNCTIONS,
            split::FUNCTIONS,
            numbers::FUNCTIONS,
            lists::FUNCTIONS,
            dicts::FUNCTIONS,
            defaults::FUNCTIONS,
            types::FUNCTIONS,
            encoding::FUNCTIONS,
            json::FUNCTIONS,
            regex::FUNCTIONS,
            random::FUNCTIONS,
            semver::FUNCTIONS,
            date::FUNCTIONS,
            paths::FUNCTIONS,
            url::FUNCTIONS,
            #[cfg(feature = "crypto")]
            crypto::FUNCTIONS,
        ]
        .concat()
    });
    &ALL
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::functions;

    #[test]
    fn no_name_is_given_twice() {
        let names: BTreeSet<_> = functions().iter().map(|function| function.name).collect();
        assert_eq!(names.len(), functions().len());
    }
}
