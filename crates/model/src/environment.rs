//! The environment of the process.

use std::collections::BTreeMap;

/// The environment of the process, read once.
///
/// ```
/// use steersman_model::Environment;
///
/// let environment: Environment = [("TAG".to_owned(), "v7".to_owned())].into_iter().collect();
/// assert_eq!(environment.get("TAG"), Some("v7"));
/// assert_eq!(environment.get("HOME"), None, "a test's environment has what it is given");
/// assert_eq!(environment.with("TAG", "v8").get("TAG"), Some("v8"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    /// The environment as it is now. Variables that are not Unicode are left out, as nothing could name them.
    pub fn of_process() -> Self {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// The same with a variable that has this value, whatever it had before.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The value of a variable, if it is set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(variables: T) -> Self {
        Self {
            variables: variables.into_iter().collect(),
        }
    }
}
