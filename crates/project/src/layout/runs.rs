//! The files of the kind of a procedure's runs, which no entry of watches.yaml has for itself.

use super::shared::{LayoutError, append_roles, insert};
use super::{Files, Project, templates};
use crate::{CustomKind, Procedure};

/// Adds the definition of a procedure's runs, a sample, and roles for the people who may make runs, and names them in their
/// kustomizations. The procedure is one of resources of the kind `of`.
///
/// # Errors
/// A kustomization or the marker in it is missing.
pub fn add_runs(
    files: &mut Files,
    project: &Project,
    of: &CustomKind,
    procedure: &Procedure,
    definition: &str,
) -> Result<(), LayoutError> {
    let runs = &procedure.runs;
    let file = format!("{}_{}.yaml", runs.group, runs.plural);
    insert(
        files,
        "config/crd/kustomization.yaml",
        "# +kubebuilder:scaffold:crdkustomizeresource",
        &format!("- bases/{file}\n"),
    )?;
    files.insert(format!("config/crd/bases/{file}"), definition.to_owned());
    let sample = format!("{}_{}_{}.yaml", runs.group, runs.version, runs.singular());
    insert(
        files,
        "config/samples/kustomization.yaml",
        "# +kubebuilder:scaffold:manifestskustomizesamples",
        &format!("- {sample}\n"),
    )?;
    let resource = format!("{}-sample", of.singular());
    let text = crate::yaml::to_yaml(&procedure.sample(&resource));
    files.insert(format!("config/samples/{sample}"), text);
    files.extend(templates::roles(project, runs));
    append_roles(files, runs)
}
