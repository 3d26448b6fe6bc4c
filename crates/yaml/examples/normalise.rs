//! Prints a YAML file, or the standard input, the way Helm understands it: `normalise [FILE]`.

use std::io::{Read, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    match normalise() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn normalise() -> Result<(), Box<dyn std::error::Error>> {
    let mut bytes = Vec::new();
    if let Some(path) = std::env::args_os().nth(1) {
        std::fs::File::open(path)?.read_to_end(&mut bytes)?;
    } else {
        std::io::stdin().read_to_end(&mut bytes)?;
    }
    let value = steersman_yaml::parse_bytes(&bytes)?.into_json()?;
    std::io::stdout().write_all(steersman_yaml::to_string(&value).as_bytes())?;
    Ok(())
}
