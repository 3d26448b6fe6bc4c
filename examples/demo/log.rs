//! What the operator logs while somebody tries things.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::time::Duration;

use anyhow::{Result, bail};
use steersman_testkit::cluster::OperatorProcess;

use crate::screen::Screen;

/// Shows what it logs from now on, until it ends.
pub(crate) async fn follow(operator: &OperatorProcess, screen: &Screen) -> Result<()> {
    let mut reader = BufReader::new(File::open(operator.log())?);
    reader.seek(SeekFrom::End(0))?;
    let mut line = String::new();
    loop {
        while reader.read_line(&mut line)? > 0 {
            if line.ends_with('\n') {
                screen.line(&screen.dim(line.trim_end()));
                line.clear();
            }
        }
        if let Some(status) = operator.ended().await? {
            bail!(
                "the operator ended with {status}; its log is {}",
                operator.log().display()
            );
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
