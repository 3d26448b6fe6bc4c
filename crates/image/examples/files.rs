//! An image of some files, to see how the parts of the crate go together; `build/node.sh` makes the images of its pods by it.
//!
//! ```text
//! cargo run -p steersman-image --example files -- OUT NAME PLATFORM ENTRYPOINT PATH=FILE…
//! cargo run -p steersman-image --example files -- web.tar web:v1 linux/amd64 /usr/sbin/web usr/sbin/web=target/web
//! ```

#![expect(clippy::print_stderr, reason = "an example says what went wrong")]

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use steersman_image::{Image, Layer, Release, Settings, Tree, write_archive};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match write(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let [out, name, platform, entrypoint, files @ ..] = arguments else {
        return Err("OUT NAME PLATFORM ENTRYPOINT PATH=FILE… are expected".into());
    };
    let mut tree = Tree::default();
    for file in files {
        let (path, source) = file.split_once('=').ok_or("PATH=FILE is expected")?;
        tree.program(path, std::fs::read(source)?)?;
    }
    let layer = Layer::new("files", &tree, 0)?;
    let settings = Settings {
        environment: vec!["PATH=/usr/sbin:/usr/bin".to_owned()],
        entrypoint: vec![entrypoint.clone()],
        ..Settings::default()
    };
    let image = Image::new(platform.parse()?, vec![layer], &settings);
    write_archive(Path::new(out), &Release::new(name.parse()?, vec![image]))?;
    Ok(())
}
