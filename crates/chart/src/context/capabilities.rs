//! `.Capabilities` with the fields and methods of Go's types, `.APIVersions.Has` among them.

use std::any::Any;
use std::rc::Rc;

use steersman_gotemplate::{Encoded, Failure, Object, Parameter, Signature, Str, Value};

use crate::capabilities::{ApiVersions, Capabilities, HelmVersion, KubeVersion};

const NO_PARAMETERS: Signature = Signature::new(&[]);

/// What templates get as `.Capabilities`: a pointer to Go's struct, as in Helm.
pub(super) fn value(capabilities: &Capabilities) -> Value {
    let all = AllCapabilities {
        kube_version: Rc::new(KubeVersionObject {
            version: capabilities.kube_version.clone(),
            is_copy: false,
        }),
        api_versions: Rc::new(VersionSet::new(&capabilities.api_versions)),
        helm_version: Rc::new(BuildInfo(capabilities.helm_version.clone())),
    };
    Value::object(all)
}

/// `*common.Capabilities`
#[derive(Clone, Debug)]
struct AllCapabilities {
    kube_version: Rc<KubeVersionObject>,
    api_versions: Rc<VersionSet>,
    helm_version: Rc<BuildInfo>,
}

impl Object for AllCapabilities {
    fn type_name(&self) -> &'static str {
        "*common.Capabilities"
    }

    fn kind_name(&self) -> &'static str {
        "ptr"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        Some(Value::Object(match name {
            "KubeVersion" => self.kube_version.clone(),
            "APIVersions" => self.api_versions.clone(),
            "HelmVersion" => self.helm_version.clone(),
            _ => return None,
        }))
    }

    fn method(&self, name: &str) -> Option<Signature> {
        (name == "Copy").then_some(NO_PARAMETERS)
    }

    fn call(&self, _name: &str, _arguments: &[Value]) -> Result<Value, Failure> {
        Ok(Value::object(self.clone()))
    }

    fn members(&self) -> Option<Vec<(&'static str, Value)>> {
        Some(vec![
            ("KubeVersion", Value::Object(self.kube_version.clone())),
            ("APIVersions", Value::Object(self.api_versions.clone())),
            ("HelmVersion", Value::Object(self.helm_version.clone())),
        ])
    }

    fn encoded(&self) -> Encoded {
        let fields = ["KubeVersion", "APIVersions", "HelmVersion"];
        let field = |name: &'static str| Some((Str::from(name), self.field(name)?));
        Encoded::Fields(fields.into_iter().filter_map(field).collect())
    }
}

/// `common.KubeVersion`, whose methods are those of the pointer to it.
#[derive(Debug)]
struct KubeVersionObject {
    version: KubeVersion,
    is_copy: bool,
}

impl Object for KubeVersionObject {
    fn type_name(&self) -> &'static str {
        "common.KubeVersion"
    }

    fn kind_name(&self) -> &'static str {
        "struct"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        let text = match name {
            "Version" => &self.version.version,
            "Major" => &self.version.major,
            "Minor" => &self.version.minor,
            _ => return None,
        };
        Some(Value::from(text.as_str()))
    }

    fn method(&self, name: &str) -> Option<Signature> {
        (!self.is_copy && matches!(name, "String" | "GitVersion")).then_some(NO_PARAMETERS)
    }

    fn call(&self, name: &str, _arguments: &[Value]) -> Result<Value, Failure> {
        Ok(Value::from(match name {
            "GitVersion" => self.version.version.as_str(),
            _ => self.version.normalized(),
        }))
    }

    fn written(&self) -> Option<Str> {
        (!self.is_copy).then(|| self.version.normalized().into())
    }

    fn members(&self) -> Option<Vec<(&'static str, Value)>> {
        let text = |text: &String| Value::from(text.as_str());
        Some(vec![
            ("Version", text(&self.version.version)),
            ("normalizedVersion", text(&self.version.normalized)),
            ("Major", text(&self.version.major)),
            ("Minor", text(&self.version.minor)),
        ])
    }

    fn copied(&self) -> Option<Value> {
        Some(Value::object(Self {
            version: self.version.clone(),
            is_copy: true,
        }))
    }

    fn encoded(&self) -> Encoded {
        let fields = ["Version", "Major", "Minor"];
        let field = |name: &'static str| Some((Str::from(name), self.field(name)?));
        Encoded::Fields(fields.into_iter().filter_map(field).collect())
    }
}

/// `common.VersionSet`
#[derive(Debug)]
struct VersionSet(Vec<Value>);

impl VersionSet {
    fn new(versions: &ApiVersions) -> Self {
        Self(versions.0.iter().map(|version| version.as_str().into()).collect())
    }
}

impl Object for VersionSet {
    fn type_name(&self) -> &'static str {
        "common.VersionSet"
    }

    fn kind_name(&self) -> &'static str {
        "slice"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn method(&self, name: &str) -> Option<Signature> {
        (name == "Has").then_some(Signature::new(&[Parameter::String]))
    }

    fn call(&self, _name: &str, arguments: &[Value]) -> Result<Value, Failure> {
        let Some(Value::Str(wanted)) = arguments.first() else {
            return Ok(Value::Bool(false));
        };
        let is_wanted = |known: &Value| matches!(known, Value::Str(known) if known == wanted);
        Ok(Value::Bool(self.0.iter().any(is_wanted)))
    }

    fn is_true(&self) -> bool {
        !self.0.is_empty()
    }

    fn items(&self) -> Option<Vec<Value>> {
        Some(self.0.clone())
    }

    fn encoded(&self) -> Encoded {
        Encoded::Plain(Value::list(self.0.clone()))
    }
}

/// `version.BuildInfo`: the fields that `helm version` prints.
#[derive(Debug)]
struct BuildInfo(HelmVersion);

impl Object for BuildInfo {
    fn type_name(&self) -> &'static str {
        "version.BuildInfo"
    }

    fn kind_name(&self) -> &'static str {
        "struct"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        let text = match name {
            "Version" => &self.0.version,
            "GitCommit" => &self.0.git_commit,
            "GitTreeState" => &self.0.git_tree_state,
            "GoVersion" => &self.0.go_version,
            "KubeClientVersion" => &self.0.kube_client_version,
            _ => return None,
        };
        Some(Value::from(text.as_str()))
    }

    fn members(&self) -> Option<Vec<(&'static str, Value)>> {
        let names = [
            "Version",
            "GitCommit",
            "GitTreeState",
            "GoVersion",
            "KubeClientVersion",
        ];
        let member = |name: &'static str| Some((name, self.field(name)?));
        Some(names.into_iter().filter_map(member).collect())
    }

    fn encoded(&self) -> Encoded {
        let omitted_when_empty = [
            ("version", &self.0.version),
            ("git_commit", &self.0.git_commit),
            ("git_tree_state", &self.0.git_tree_state),
            ("go_version", &self.0.go_version),
        ];
        let mut fields: Vec<(Str, Value)> = omitted_when_empty
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| (name.into(), text.as_str().into()))
            .collect();
        let kube_client = self.0.kube_client_version.as_str();
        fields.push(("kube_client_version".into(), kube_client.into()));
        Encoded::Fields(fields)
    }
}
