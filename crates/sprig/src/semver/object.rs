//! Versions as values with methods.

use std::any::Any;
use std::cmp::Ordering;
use std::rc::Rc;

use steersman_gotemplate::{Encoded, Failure, Object, Parameter, Signature, Str, Value};

use super::Version;

const POINTER: &str = "*semver.Version";

/// A version as templates see it: a pointer from `semver`, a struct from methods such as `IncMajor`.
#[derive(Clone, Debug)]
pub struct VersionObject {
    version: Version,
    is_pointer: bool,
}

impl VersionObject {
    /// A `*semver.Version`.
    #[must_use]
    pub fn pointer(version: Version) -> Self {
        Self {
            version,
            is_pointer: true,
        }
    }

    /// What it wraps, for Rust; templates call methods such as `Major`.
    #[must_use]
    pub fn version(&self) -> &Version {
        &self.version
    }

    fn compared(&self, arguments: &[Value]) -> Result<Ordering, Failure> {
        match arguments.first() {
            Some(Value::Object(other)) => other.as_any().downcast_ref::<Self>(),
            _ => None,
        }
        .map(|other| self.version.compare(&other.version))
        .ok_or_else(|| Failure::new("runtime error: invalid memory address or nil pointer dereference"))
    }
}

fn structure(version: Version) -> Value {
    Value::Object(Rc::new(VersionObject {
        version,
        is_pointer: false,
    }))
}

impl Object for VersionObject {
    fn type_name(&self) -> &str {
        if self.is_pointer {
            POINTER
        } else {
            "semver.Version"
        }
    }

    fn kind_name(&self) -> &str {
        if self.is_pointer { "ptr" } else { "struct" }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn method(&self, name: &str) -> Option<Signature> {
        let parameters: &'static [Parameter] = match name {
            "Major" | "Minor" | "Patch" | "Prerelease" | "Metadata" | "String" | "IncMajor" | "IncMinor"
            | "IncPatch" | "MarshalText" => &[],
            "SetPrerelease" | "SetMetadata" => &[Parameter::String],
            "Original" | "MarshalJSON" if self.is_pointer => &[],
            "Compare" | "Equal" | "LessThan" | "LessThanEqual" | "GreaterThan" | "GreaterThanEqual"
                if self.is_pointer =>
            {
                &[Parameter::Named(POINTER)]
            }
            _ => return None,
        };
        Some(Signature::new(parameters))
    }

    fn call(&self, name: &str, arguments: &[Value]) -> Result<Value, Failure> {
        let version = &self.version;
        let refused = |error: super::VersionError| Failure::new(error.to_string());
        let text = crate::arguments::text(arguments, 0);
        Ok(match name {
            "Major" => Value::Uint64(version.major),
            "Minor" => Value::Uint64(version.minor),
            "Patch" => Value::Uint64(version.patch),
            "Prerelease" => version.prerelease.as_str().into(),
            "Metadata" => version.metadata.as_str().into(),
            "Original" => version.original.as_str().into(),
            "String" => version.to_string().into(),
            "MarshalText" => Value::Bytes(version.to_string().as_bytes().into()),
            "MarshalJSON" => Value::Bytes(format!("\"{version}\"").as_bytes().into()),
            "IncMajor" => structure(version.next_major()),
            "IncMinor" => structure(version.next_minor()),
            "IncPatch" => structure(version.next_patch()),
            "SetPrerelease" => structure(version.with_prerelease(&text).map_err(refused)?),
            "SetMetadata" => structure(version.with_metadata(&text).map_err(refused)?),
            "Compare" => Value::Int(self.compared(arguments)? as i64),
            "Equal" => self.compared(arguments)?.is_eq().into(),
            "LessThan" => self.compared(arguments)?.is_lt().into(),
            "LessThanEqual" => self.compared(arguments)?.is_le().into(),
            "GreaterThan" => self.compared(arguments)?.is_gt().into(),
            "GreaterThanEqual" => self.compared(arguments)?.is_ge().into(),
            _ => return Err(Failure::new(format!("{} has no method {name}", self.type_name()))),
        })
    }

    fn text(&self) -> Option<Str> {
        Some(self.version.to_string().into())
    }

    fn members(&self) -> Option<Vec<(&'static str, Value)>> {
        let Version {
            major,
            minor,
            patch,
            prerelease,
            metadata,
            original,
        } = &self.version;
        Some(vec![
            ("major", Value::Uint64(*major)),
            ("minor", Value::Uint64(*minor)),
            ("patch", Value::Uint64(*patch)),
            ("pre", prerelease.as_str().into()),
            ("metadata", metadata.as_str().into()),
            ("original", original.as_str().into()),
        ])
    }

    fn encoded(&self) -> Encoded {
        Encoded::Plain(self.version.to_string().into())
    }
}

#[cfg(test)]
mod tests {
    use crate::test_runtime::{call, check};
    use steersman_gotemplate::Value;

    #[test]
    fn a_version_prints_in_full_and_has_parts() {
        check("semver", &["v1.2".into()], "1.2.0");
        let Value::Object(version) = call("semver", &["1.2.3-rc.1".into()]).unwrap() else {
            panic!("semver gives no object")
        };
        assert_eq!(version.type_name(), "*semver.Version");
        assert!(matches!(version.call("Minor", &[]), Ok(Value::Uint64(2))));
        let same = Value::Object(version.clone());
        assert!(matches!(version.call("Compare", &[same]), Ok(Value::Int(0))));
    }
}
