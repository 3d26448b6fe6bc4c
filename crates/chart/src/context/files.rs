//! `.Files`: the files of a chart that are not templates.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use steersman_gotemplate::{Encoded, Failure, Object, Parameter, Signature, Str, Value};

use super::glob::Glob;
use crate::functions::{Unwritable, base64, to_yaml};
use crate::source::File;

/// How large the files that become one text may be together: many times what a `ConfigMap` or a
/// `Secret` can hold.
const MAX_FLAT_BYTES: usize = 16 << 20;

/// `.Files` of a chart.
pub(super) fn value(files: &[File]) -> Value {
    let entry = |file: &File| (Str::from(file.name.as_str()), Arc::clone(&file.content));
    Value::object(Files(files.iter().map(entry).collect()))
}

/// `engine.files`, a map of names to contents.
struct Files(BTreeMap<Str, Arc<[u8]>>);

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Files {
    fn content(&self, name: &Str) -> Arc<[u8]> {
        self.0.get(name).map_or_else(|| Arc::from([]), Arc::clone)
    }

    fn glob(&self, pattern: &str) -> Self {
        let glob = Glob::new(pattern);
        let matching = self.0.iter().filter(|(name, _)| glob.matches(&name.text()));
        Self(
            matching
                .map(|(name, content)| (name.clone(), Arc::clone(content)))
                .collect(),
        )
    }

    fn lines(&self, name: &Str) -> Value {
        let content = self.content(name);
        if content.is_empty() {
            return Value::strings::<Str>([]);
        }
        let text = content.strip_suffix(b"\n").unwrap_or(&content);
        let lines = text.split(|&byte| byte == b'\n');
        Value::strings(lines.map(|line| Str::from_bytes(line.to_vec())))
    }

    /// A YAML mapping of the files' base names to what `encode` makes of their contents.
    ///
    /// # Errors
    /// The files are larger than [`MAX_FLAT_BYTES`].
    fn flat(&self, encode: impl Fn(&[u8]) -> Str) -> Result<Value, Failure> {
        let size = self.0.values().map(|content| content.len()).sum::<usize>();
        if size > MAX_FLAT_BYTES {
            let message = format!("files are larger than {MAX_FLAT_BYTES} bytes together");
            return Err(Failure::exhausted(message));
        }
        let entries = self.0.iter().map(|(name, content)| {
            let name = name.text();
            let base = name.rsplit('/').next().unwrap_or_default().to_owned();
            (base, Value::Str(encode(content)))
        });
        match to_yaml(&Value::map(entries)) {
            Err(error @ Unwritable::TooLarge) => Err(error.into_failure()),
            text => Ok(text.unwrap_or_default().into()),
        }
    }
}

impl Object for Files {
    fn type_name(&self) -> &'static str {
        "engine.files"
    }

    fn kind_name(&self) -> &'static str {
        "map"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        // As of any Go map: the zero value where there is no such entry.
        Some(Value::Bytes(self.content(&Str::from(name))))
    }

    fn method(&self, name: &str) -> Option<Signature> {
        let parameters: &'static [Parameter] = match name {
            "Get" | "GetBytes" | "Glob" | "Lines" => &[Parameter::String],
            "AsConfig" | "AsSecrets" => &[],
            _ => return None,
        };
        Some(Signature::new(parameters))
    }

    fn call(&self, name: &str, arguments: &[Value]) -> Result<Value, Failure> {
        let argument = match arguments.first() {
            Some(Value::Str(text)) => text.clone(),
            _ => Str::default(),
        };
        Ok(match name {
            "Get" => Value::Str(Str::from_bytes(self.content(&argument).to_vec())),
            "GetBytes" => Value::Bytes(self.content(&argument)),
            "Glob" => Value::object(self.glob(&argument.text())),
            "Lines" => self.lines(&argument),
            "AsConfig" => self.flat(|content| Str::from_bytes(content.to_vec()))?,
            _ => self.flat(|content| base64(content).into())?,
        })
    }

    fn bytes(&self) -> usize {
        self.0.len() * size_of::<(Str, Arc<[u8]>)>()
    }

    fn steps(&self, method: &str, arguments: &[Value]) -> u64 {
        /// A pattern is compiled before it is matched.
        const STEPS_PER_BYTE: usize = 64;
        let steps = match (method, arguments) {
            ("Glob", [Value::Str(pattern)]) => self.0.len() + pattern.len().saturating_mul(STEPS_PER_BYTE),
            ("AsConfig" | "AsSecrets", _) => self.0.len(),
            _ => 0,
        };
        steps as u64
    }

    fn is_true(&self) -> bool {
        !self.0.is_empty()
    }

    fn entries(&self) -> Option<Vec<(Str, Value)>> {
        let entry = |(name, content): (&Str, &Arc<[u8]>)| (name.clone(), Value::Bytes(Arc::clone(content)));
        Some(self.0.iter().map(entry).collect())
    }

    fn encoded(&self) -> Encoded {
        Encoded::Plain(Value::map(self.entries().unwrap_or_default()))
    }
}
