//! What is wrong with a project, found without a cluster.
//!
//! ```text
//! charts       lint, dependencies, rendering with the defaults and with each sample, kinds that Kubernetes gives up
//! confinement  whether the author of a resource can reach whatever the operator can
//! definitions  one for each watch, of the right scope, that a server takes, and that takes the chart's defaults
//! deployed     definitions and roles are those that the project's kustomization has
//! procedures   have definitions of their runs that take what one may say, and may make their Jobs
//! references   are to kinds that there can be, which do not wait for each other
//! status       fields that are added are in the definition, and so is the scale
//! roles        hold what the operator needs for the charts and tasks; those that are bound are there
//! ansible      roles and playbooks: what they name is there, specifications of arguments fit the defaults
//! samples      fit their definitions, and nothing in them is dropped
//! ```

mod ansible;
mod charts;
mod confinement;
mod definitions;
mod deployed;
mod finding;
mod health;
mod manifests;
mod procedures;
mod references;
mod roles;
mod samples;
mod status;
mod structural;
mod structure;

use steersman_chart::{Chart, KubeVersion, Rendered, Values, World};

pub use ansible::{AnsibleWatched, required_collections};
pub use deployed::Deployed;
pub use finding::{Finding, Severity};
pub use manifests::{Manifests, ReadError};
pub use structural::{Verdict, judge};
pub use structure::structural_faults;

use crate::rbac::{Known, Referred};
use crate::tasks::Search;
use crate::{AddedStatus, CustomKind, Procedure};

/// How many findings of one kind are listed for one file.
const LISTED: usize = 10;

/// All that is checked against each other, loaded beforehand.
#[derive(Clone, Copy)]
pub struct Project<'a> {
    /// The checked entries of watches.yaml that have a chart.
    pub watches: &'a [Watched],
    /// Those with a role or playbook.
    pub ansible: &'a [AnsibleWatched],
    /// Where what these name is looked for; its root is the project's folder.
    pub search: &'a Search,
    /// The manifests in the project's folders.
    pub manifests: &'a Manifests,
    /// What its kustomization makes of them, where it has one.
    pub deployed: Option<Deployed<'a>>,
    /// The version of Kubernetes that it is for.
    pub kube_version: &'a KubeVersion,
    /// Clock and randomness of templates.
    pub world: &'a dyn World,
    /// What the operator changes in what the chart of an entry renders, if it does; the error is a text for people.
    pub post_render: Option<&'a PostRender<'a>>,
    /// Asked from time to time whether the rendering of a chart has lasted too long.
    pub expired: Option<&'a dyn Fn() -> bool>,
}

/// What is changed in what the chart of an entry renders.
pub type PostRender<'a> = dyn Fn(&Watched, Rendered) -> Result<Rendered, String> + 'a;

impl std::fmt::Debug for Project<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Project")
            .field("watches", &self.watches)
            .finish_non_exhaustive()
    }
}

/// An entry of watches.yaml.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each says something else")]
pub struct Watched {
    /// What the operator watches, and has a controller for.
    pub kind: CustomKind,
    /// Loaded with its subcharts.
    pub chart: Chart,
    /// The chart's path, as the file has it.
    pub chart_path: String,
    /// The values that the operator lays below those of a resource.
    pub below: Values,
    /// The values that the operator sets over those of a resource.
    pub overrides: Values,
    /// The namespace of releases of resources that are in none, if the entry names one.
    pub release_namespace: Option<String>,
    /// Whether changes of the release's objects go unnoticed (`watchDependentResources: false`).
    pub ignores_dependents: bool,
    /// Whether claims of sets are expanded (`expandClaims: true`).
    pub expands_claims: bool,
    /// Whether the chart's tests are run (`test`).
    pub runs_tests: bool,
    /// The ServiceAccount as which releases are made, if the entry names one.
    pub service_account: Option<String>,
    /// Whether the entry says what releases may have and look up (`confine`).
    pub is_confined: bool,
    /// What its resources refer to outside of their releases.
    pub references: Vec<Referred>,
    /// What can be done with its releases besides, with the kinds of its runs.
    pub procedures: Vec<Procedure>,
    /// Why these may make no Jobs, where the entry says so (`confine`).
    pub denied_jobs: Option<String>,
    /// The groups and kinds that the entry has health checks for (`healthChecks`).
    pub checked_kinds: Vec<(String, String)>,
    /// The groups and kinds that its expressions look at.
    pub looked_at_kinds: Vec<(String, String)>,
    /// What the entry adds to the status (`status`, `scale`).
    pub status: AddedStatus,
    /// The line of the entry.
    pub line: u32,
}

/// What is wrong with a project, in the order of the files.
///
/// ```
/// use steersman_chart::{Capabilities, Chart, Values};
/// use steersman_project::{AddedStatus, CustomKind};
/// use steersman_project::check::{Manifests, Project, Watched, check};
/// use steersman_project::tasks::Search;
/// # use steersman_chart::{Failure, LookupQuery, Timestamp, Value, World};
/// # struct Nowhere;
/// # impl World for Nowhere {
/// #     fn now(&self) -> Timestamp { Timestamp::default() }
/// #     fn fill_random(&self, buffer: &mut [u8]) { buffer.fill(0) }
/// #     fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> { Ok(Value::Nil) }
/// # }
///
/// let chart = Chart::from_files([
///     ("Chart.yaml", b"{apiVersion: v2, name: web, version: 1.0.0}".as_slice()),
///     ("templates/service.yaml", b"apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"),
/// ])?;
/// let watched = Watched {
///     kind: CustomKind::new("example.com", "v1", "Web"),
///     chart,
///     chart_path: "helm-charts/web".to_owned(),
///     below: Values::new(),
///     overrides: Values::new(),
///     release_namespace: None,
///     ignores_dependents: false,
///     expands_claims: false,
///     runs_tests: false,
///     service_account: None,
///     is_confined: false,
///     references: Vec::new(),
///     procedures: Vec::new(),
///     denied_jobs: None,
///     checked_kinds: Vec::new(),
///     looked_at_kinds: Vec::new(),
///     status: AddedStatus::default(),
///     line: 1,
/// };
/// let project = Project {
///     watches: &[watched],
///     ansible: &[],
///     search: &Search::default(),
///     manifests: &Manifests::default(),
///     deployed: None,
///     kube_version: &Capabilities::default().kube_version,
///     world: &Nowhere,
///     post_render: None,
///     expired: None,
/// };
/// let findings = check(&project, "watches.yaml");
/// assert!(findings.iter().any(|finding| finding.message.contains("definition")), "{findings:?}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(project: &Project<'_>, watches_file: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for watched in project.watches {
        charts::check(project, watched, &mut findings);
        confinement::check(watched, watches_file, &mut findings);
        references::check(watched, watches_file, &mut findings);
        health::check(watched, watches_file, &mut findings);
        definitions::check(project, watched, watches_file, &mut findings);
        deployed::check(project, &watched.kind, &mut findings);
        samples::check(project, &watched.kind, &mut findings);
        status::check(project, watched, watches_file, &mut findings);
        procedures::check(project, watched, watches_file, &mut findings);
        roles::check(project, watched, &mut findings);
    }
    for watched in project.ansible {
        let place = (watches_file, watched.line);
        ansible::check(project, watched, place, &mut findings);
        let kind = &watched.kind;
        // Kubernetes defines its own.
        if Known::of_kubernetes().get(&kind.group, &kind.kind).is_none() {
            definitions::check_kind(project, kind, place, &mut findings);
        }
        deployed::check(project, &watched.kind, &mut findings);
        samples::check(project, &watched.kind, &mut findings);
        roles::check_tasks(project, watched, &mut findings);
    }
    references::check_cycles(project, watches_file, &mut findings);
    roles::check_bindings(project, &mut findings);
    findings.sort();
    findings.dedup();
    findings
}
