//! What runs of Ansible need of a project: what the Dockerfile of ansible-operator's projects copies.

use std::path::Path;

use anyhow::anyhow;
use steersman_image::Home;
use steersman_watches::{AnsibleContent, AnsibleWatch};

use super::files::Files;
use crate::cli::Failure;

/// Folders that go into the image as they are.
const FOLDERS: &[&str] = &["roles", "playbooks"];
/// Which collections are needed.
const REQUIREMENTS: &str = "requirements.yml";
/// Where Ansible finds collections beside playbooks, and where `ansible-galaxy collection install -p collections` puts them.
const COLLECTIONS: &str = "collections";
/// The folder in each place of collections.
const INNER: &str = "ansible_collections";

/// Adds roles, playbooks and requirements: those folders, and what entries name besides. What is to be known of them is
/// given back.
pub(super) fn add(watches: &[AnsibleWatch], files: &mut Files) -> Result<Vec<String>, Failure> {
    for folder in FOLDERS {
        if Path::new(folder).is_dir() {
            files.add(Path::new(folder), folder)?;
        }
    }
    if Path::new(REQUIREMENTS).is_file() {
        files.add(Path::new(REQUIREMENTS), REQUIREMENTS)?;
    }
    let mut notes = Vec::new();
    for content in watches.iter().flat_map(contents) {
        let note = add_content(content, files)?;
        notes.extend(note.filter(|note| !notes.contains(note)));
    }
    Ok(notes)
}

fn contents(watch: &AnsibleWatch) -> impl Iterator<Item = &AnsibleContent> {
    let of_finalizer = watch
        .finalizer
        .as_ref()
        .and_then(|finalizer| finalizer.content.as_ref());
    std::iter::once(&watch.content).chain(of_finalizer)
}

/// Adds a role or playbook of the project. One of a collection outside of it is expected in the base.
fn add_content(content: &AnsibleContent, files: &mut Files) -> Result<Option<String>, Failure> {
    let path = content.path();
    let Some(place) = files.place_of(path)? else {
        if path.components().any(|part| part.as_os_str() == INNER) {
            return Ok(Some(format!(
                "note: the base has to have the collection with `{}`, or {COLLECTIONS}/ in the project",
                path.display()
            )));
        }
        let problem = anyhow!("`{}` is not in the working directory", path.display());
        let hint = "an image holds what is below the working directory: start in the project's folder, and name roles \
                    and playbooks from there";
        return Err(Failure::usage(problem, Some(hint.to_owned())));
    };
    let is_in = |folder: &&str| Path::new(&place).starts_with(folder);
    let is_known = FOLDERS.iter().any(&is_in) || is_in(&COLLECTIONS);
    match content {
        AnsibleContent::Role(_) if !is_known => {
            let problem = anyhow!("the role in `{place}` would not be found in the image");
            let hint =
                "roles are in roles/ there, and those of collections in collections/ansible_collections/";
            Err(Failure::usage(problem, Some(hint.to_owned())))
        }
        AnsibleContent::Playbook(_) if !is_known => files.add(path, &place).map(|()| None),
        _ => Ok(None),
    }
}

/// Refuses watches with paths of this machine: nothing is there in the image.
pub(super) fn check_paths(text: &[u8], files: &Files) -> Result<(), Failure> {
    let project = files.project();
    let path = project.as_os_str().as_encoded_bytes();
    let is_named = text.windows(path.len()).any(|window| window == path);
    if !is_named || project == Path::new("/").join(Home::Ansible.folder()) {
        return Ok(());
    }
    let problem = anyhow!(
        "the watches name files by `{}`, which the image does not have",
        project.display()
    );
    let hint = "roles are named without a path, and playbooks by their path from the project's folder";
    Err(Failure::usage(problem, Some(hint.to_owned())))
}

/// The collections of the project, by their paths in a place for collections.
pub(super) fn collections(notes: &mut Vec<String>) -> Result<Files, Failure> {
    let mut files = Files::new()?;
    let folder = Path::new(COLLECTIONS).join(INNER);
    if folder.is_dir() {
        files.add(&folder, INNER)?;
    } else if Path::new(REQUIREMENTS).is_file() {
        notes.push(format!(
            "note: nothing of {REQUIREMENTS} is installed by this: the base has to have it, or `ansible-galaxy \
             collection install -r {REQUIREMENTS} -p {COLLECTIONS}` puts it into the project"
        ));
    }
    Ok(files)
}
