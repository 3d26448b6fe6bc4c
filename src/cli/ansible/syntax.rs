//! What Ansible's own programs say of a project: the syntax of its roles and playbooks, and which collections are there.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::Value;
use steersman_model::Environment;
use steersman_project::check::{Finding, Severity};
use steersman_project::tasks::{Content, Search};
use tempfile::TempDir;

/// How long one of the programs may take.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often it is looked whether one has ended.
const PAUSE: Duration = Duration::from_millis(20);
/// How much of what one says is read.
const MAX_SAID: u64 = 1 << 20;

const PLAYBOOK: &str = "ansible-playbook";

/// Ansible, as it is on `PATH`.
pub(in crate::cli) struct Ansible<'a> {
    program: PathBuf,
    search: &'a Search,
    /// Goes with this: playbooks for roles, the collection that we bring, what Ansible writes.
    scratch: TempDir,
}

/// What a program said until its end.
struct Said {
    is_success: bool,
    output: String,
    errors: String,
}

impl<'a> Ansible<'a> {
    /// `None` where there is none.
    pub(in crate::cli) fn find(
        search: &'a Search,
        environment: &Environment,
    ) -> anyhow::Result<Option<Self>> {
        let path = environment.get("PATH").unwrap_or_default();
        let mut places = path.split(':').map(|folder| Path::new(folder).join(PLAYBOOK));
        let Some(program) = places.find(|place| place.is_file()) else {
            return Ok(None);
        };
        let scratch = tempfile::tempdir().context("failed to make a folder for ansible-playbook")?;
        steersman_ansible::write_collection(&scratch.path().join("collections"))?;
        Ok(Some(Self {
            program,
            search,
            scratch,
        }))
    }

    /// What is wrong with what an entry of this file runs, if anything is: Ansible stops at the first fault.
    pub(in crate::cli) fn check(
        &self,
        content: &Content,
        (watches_file, line): (&str, u32),
    ) -> anyhow::Result<Option<Finding>> {
        let playbook = match content {
            Content::Playbook(path) => path.clone(),
            Content::Role(path) => self.playbook_of(path)?,
        };
        let mut command = self.command(&self.program);
        command
            .args(["--syntax-check", "--inventory", "localhost,"])
            .arg(&playbook);
        if let Content::Role(path) = content {
            let parent = path.parent().into_iter();
            let folders = parent
                .map(Path::to_owned)
                .chain(self.search.roles.iter().cloned());
            command.env("ANSIBLE_ROLES_PATH", joined(folders));
        }
        let Some(said) = self.run(command)? else {
            let message = format!("{PLAYBOOK} did not end within a minute");
            return Ok(Some(finding(watches_file, line, Severity::Warning, message)));
        };
        if said.is_success {
            return Ok(None);
        }
        let message =
            message(&said.errors).unwrap_or_else(|| format!("{PLAYBOOK} refuses it, and does not say why"));
        // Who checks a project need not have its passwords.
        let severity = if message.contains("vault secrets") {
            Severity::Warning
        } else {
            Severity::Error
        };
        let (file, line) = match place(&said.errors) {
            Some((path, line)) if !path.starts_with(self.scratch.path()) => (self.search.shown(&path), line),
            _ => (watches_file.to_owned(), line),
        };
        Ok(Some(finding(&file, line, severity, message)))
    }

    /// Those of these collections that are not installed.
    pub(in crate::cli) fn lacking(
        &self,
        required: Vec<(String, String, u32)>,
    ) -> anyhow::Result<Vec<(String, String, u32)>> {
        let is_there = |name: &str| {
            let below = Path::new("ansible_collections").join(name.replace('.', "/"));
            let mut folders = self.search.collections.iter();
            name == "operator_sdk.util" || folders.any(|folder| folder.join(&below).is_dir())
        };
        let mut lacking = required;
        lacking.retain(|(name, ..)| !is_there(name));
        if lacking.is_empty() {
            return Ok(lacking);
        }
        // Those of Python's packages are known to Ansible alone.
        let mut command = self.command(&self.program.with_file_name("ansible-galaxy"));
        command.args(["collection", "list", "--format", "json"]);
        let said = self.run(command)?;
        let listed: Value = said
            .and_then(|said| serde_json::from_str(&said.output).ok())
            .unwrap_or_default();
        let folders = listed.as_object().into_iter().flat_map(serde_json::Map::values);
        let folders: Vec<&Value> = folders.collect();
        lacking.retain(|(name, ..)| !folders.iter().any(|folder| folder.get(name).is_some()));
        Ok(lacking)
    }

    /// A playbook that is nothing but a role.
    fn playbook_of(&self, role: &Path) -> anyhow::Result<PathBuf> {
        let name = role.file_name().unwrap_or_default().to_string_lossy();
        let play =
            serde_json::json!([{ "hosts": "localhost", "gather_facts": false, "roles": [{ "role": name }] }]);
        let path = self.scratch.path().join("role.yml");
        fs::write(&path, play.to_string()).context("failed to write a playbook for a role")?;
        Ok(path)
    }

    /// A program of Ansible, which is to find what the operator finds and leaves nothing behind.
    fn command(&self, program: &Path) -> Command {
        let scratch = self.scratch.path();
        let collections = self.search.collections.iter().cloned();
        let mut command = Command::new(program);
        command
            .env(
                "ANSIBLE_COLLECTIONS_PATH",
                joined(collections.chain([scratch.join("collections")])),
            )
            .env("ANSIBLE_HOME", scratch.join("home"))
            .env("ANSIBLE_LOCAL_TEMP", scratch.join("local"))
            .env("ANSIBLE_NOCOLOR", "1")
            .env("ANSIBLE_FORCE_COLOR", "0")
            .env("ANSIBLE_DEPRECATION_WARNINGS", "0")
            // Ansible wants UTF-8, and what is read here is English.
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null());
        command
    }

    /// What a program says; `None` where it does not end.
    fn run(&self, mut command: Command) -> anyhow::Result<Option<Said>> {
        let file = |name: &str| {
            let path = self.scratch.path().join(name);
            File::create(&path).map(|file| (path, file))
        };
        let attempt = || format!("failed to run {}", command.get_program().to_string_lossy());
        let attempt = attempt();
        let ((output, out), (errors, err)) = (
            file("output").with_context(|| attempt.clone())?,
            file("errors").with_context(|| attempt.clone())?,
        );
        let started = command.stdout(out).stderr(err).spawn();
        let mut child = started.with_context(|| attempt.clone())?;
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().with_context(|| attempt.clone())? {
                break status;
            }
            if begun.elapsed() > PATIENCE {
                let _ = child.kill();
                let _ = child.wait();
                return Ok(None);
            }
            std::thread::sleep(PAUSE);
        };
        Ok(Some(Said {
            is_success: status.success(),
            output: text(&output),
            errors: text(&errors),
        }))
    }
}

/// What is in a file of a program's output, as far as it is read.
fn text(path: &Path) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(path) {
        // What can't be read was not said.
        let _ = file.take(MAX_SAID).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn joined(folders: impl Iterator<Item = PathBuf>) -> String {
    let texts: Vec<String> = folders.map(|folder| folder.display().to_string()).collect();
    texts.join(":")
}

fn finding(file: &str, line: u32, severity: Severity, message: String) -> Finding {
    Finding {
        file: file.to_owned(),
        line,
        severity,
        message,
        hint: None,
    }
}

/// The fault in one line, of what ansible-playbook has said: up to 2.18 and since then it says it in other words.
fn message(errors: &str) -> Option<String> {
    let stripped = |line: &str| {
        let rest = line
            .strip_prefix("ERROR! ")
            .or_else(|| line.strip_prefix("[ERROR]: "));
        rest.map(|rest| rest.trim().to_owned())
    };
    let mut lines = errors.lines();
    let first = lines.find_map(stripped)?;
    if first == "Unable to retrieve file contents" {
        let why = lines.next().unwrap_or_default().trim();
        return Some(format!("{first}: {why}"));
    }
    if !first.starts_with("We were unable to read") {
        return Some(first);
    }
    let mut lines = errors.lines().skip_while(|line| !line.contains("Syntax Error"));
    let head = lines.next().unwrap_or(&first).trim().trim_end_matches('.');
    let why = lines
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    Some(format!("{head}: {why}"))
}

/// The file and the line of the fault.
fn place(errors: &str) -> Option<(PathBuf, u32)> {
    let old = errors.split_once("appears to be in '").and_then(|(_, rest)| {
        let (path, rest) = rest.split_once("': line ")?;
        Some((path, rest.split(',').next()?))
    });
    let new = || {
        let mut lines = errors.lines();
        let place = lines.find_map(|line| line.strip_prefix("Origin: "))?;
        let mut parts = place.trim().rsplitn(3, ':');
        let (_, line, path) = (parts.next()?, parts.next()?, parts.next()?);
        Some((path, line))
    };
    let (path, line) = old.or_else(new)?;
    Some((PathBuf::from(path), line.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{message, place};

    fn check(errors: &str, expect: &str) {
        let place = place(errors).map(|(path, line)| format!("{}:{line}", path.display()));
        let found = format!(
            "{} {}",
            place.unwrap_or_default(),
            message(errors).unwrap_or_default()
        );
        assert_eq!(found, expect);
    }

    #[test]
    fn faults_are_read_as_ansible_writes_them() {
        check(
            "ERROR! the role 'gone' was not found in /a:/b\n\nThe error appears to be in '/p/main.yml': line 3, column 11, but may\n",
            "/p/main.yml:3 the role 'gone' was not found in /a:/b",
        );
        check(
            "ERROR! We were unable to read either as JSON nor YAML, these are the errors we got from each:\nJSON: x\n\n\
             Syntax Error while loading YAML.\n  did not find expected node content\n\nThe error appears to be in '/p/a.yml': line 1, column 1\n",
            "/p/a.yml:1 Syntax Error while loading YAML: did not find expected node content",
        );
        check(
            "[WARNING]: x\n[ERROR]: couldn't resolve module/action 'a.b.c'.\nOrigin: /p/a.yml:4:3\n\n2 x\n",
            "/p/a.yml:4 couldn't resolve module/action 'a.b.c'.",
        );
        check("Traceback\n", " ");
    }
}
