//! Which Python runs Ansible.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// How much of a program is read: its first lines.
const HEAD: u64 = 4 << 10;

/// The interpreter that a program names, where that is on this `PATH`.
pub(super) fn find(path: &str, program: &str) -> Option<PathBuf> {
    let folders = path.split(':').filter(|folder| !folder.is_empty());
    let mut heads = folders.filter_map(|folder| head(&Path::new(folder).join(program)));
    heads.find_map(|head| named(&head))
}

fn head(program: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(program)
        .ok()?
        .take(HEAD)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The interpreter that the first lines of a program name.
fn named(head: &str) -> Option<PathBuf> {
    let mut lines = head.lines();
    let words = lines.next()?.strip_prefix("#!")?;
    let mut words = words.split_whitespace();
    let first = words.next()?;
    let name = match Path::new(first).file_name()?.to_str()? {
        // `#!/usr/bin/env python3`, with or without flags of env.
        "env" => words.find(|word| !word.starts_with('-') && !word.contains('='))?,
        // As pip writes it where the path is long, or has spaces: `'''exec' "/a path/python3" "$0" "$@"`.
        "sh" => {
            let command = lines.next()?.strip_prefix("'''exec' ")?;
            let (name, _) = command.split_once(" \"$0\"")?;
            name.trim_matches('"')
        }
        _ => first,
    };
    let is_python = Path::new(name).file_name()?.to_str()?.contains("python");
    is_python.then(|| PathBuf::from(name))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{find, named};

    #[test]
    fn the_first_lines_name_the_interpreter() {
        for (head, expect) in [
            (
                "#!/opt/venv/bin/python3\nimport sys\n",
                Some("/opt/venv/bin/python3"),
            ),
            ("#!/usr/bin/python3.12 -sP\n", Some("/usr/bin/python3.12")),
            ("#!/usr/bin/env python3\n", Some("python3")),
            ("#!/usr/bin/env -S A=b python3 -s\n", Some("python3")),
            (
                "#!/bin/sh\n'''exec' \"/a path/python3\" \"$0\" \"$@\"\n' '''\n",
                Some("/a path/python3"),
            ),
            ("#!/bin/sh\nexec something\n", None),
            ("#!/bin/bash\n", None),
            ("#!\n", None),
            ("\u{7f}ELF", None),
            ("", None),
        ] {
            assert_eq!(named(head).as_deref(), expect.map(Path::new), "{head:?}");
        }
    }

    #[test]
    fn the_first_of_the_path_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("ansible-runner");
        std::fs::write(&program, "#!/opt/ansible/bin/python3\n").expect("written");
        let path = format!("/nowhere::{}:/usr/bin", folder.path().display());
        let found = find(&path, "ansible-runner");
        assert_eq!(found.as_deref(), Some(Path::new("/opt/ansible/bin/python3")));
        assert_eq!(find(&path, "ansible-playbook"), None);
        assert_eq!(find("", "ansible-runner"), None);
    }
}
