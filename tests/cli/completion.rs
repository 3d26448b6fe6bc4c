//! `completion`, judged by bash.

use std::process::Command;

use crate::program::Project;

/// What bash offers for the last of these words.
fn offered(words: &[&str]) -> Vec<String> {
    let project = Project::new();
    let script = project.run(&["completion", "bash"]);
    assert_eq!(script.code, Some(0), "{}", script.stderr);
    let file = project.write("completion.bash", &script.stdout);
    let last = words.len() - 1;
    let ask = format!(
        "source '{}' && COMP_WORDS=({}) COMP_CWORD={last} && _steersman steersman '{}' '{}' && printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        file.display(),
        words.join(" "),
        words[last],
        words[last - 1],
    );
    let output = Command::new("bash").args(["-c", &ask]).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_and_flags() {
    assert_eq!(offered(&["steersman", "stat"]), ["status"]);
    assert_eq!(offered(&["steersman", "dependency", "bu"]), ["build"]);
    assert_eq!(
        offered(&["steersman", "run", "--leader-election-n"]),
        ["--leader-election-namespace"]
    );
}

#[test]
fn every_shell_has_a_script() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ended = Project::new().run(&["completion", shell]);
        assert_eq!(ended.code, Some(0), "{shell}: {}", ended.stderr);
        assert!(ended.stdout.contains("steersman"), "{shell}: {}", ended.stdout);
    }
    let ended = Project::new().run(&["completion", "csh"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("[possible values: bash"),
        "{}",
        ended.stderr
    );
}
