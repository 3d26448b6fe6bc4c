//! A Chromium that shows pages as a person sees them, and does with them what a person does.
//!
//! It is the one that `build/browser.sh` has got: without a window, with fonts of its own, and it reaches this machine only.

mod command;
mod driver;

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fantoccini::elements::Element;
use fantoccini::error::CmdError;
pub use fantoccini::key::Key;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use self::command::Request;
use self::driver::Driver;
use crate::program;
use crate::skip::skipped;

/// How long a page has until what is asked for is there, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked for.
const PAUSE: Duration = Duration::from_millis(50);

/// How large the page is at first, in pixels.
const SIZE: (u32, u32) = (1280, 800);

/// Has axe-core judge the page, and gives a line for each element that breaks a rule.
const AXE: &str = "
    const done = arguments[arguments.length - 1];
    const lines = ({violations}) => violations.flatMap(
        ({id, help, nodes}) => nodes.map(({target}) => `${id}: ${help}: ${target.join(' ')}`));
    axe.run(document, {resultTypes: ['violations']}).then(
        results => done(lines(results)),
        error => done(`${error}`));
";

/// How much of two pictures differs, as a part of 1: their squares of 8 pixels are compared by the mean of each colour, so that
/// edges of letters, and what has moved by a pixel, do not count.
const DIFFER: &str = "
    const [one, other, done] = arguments;
    const side = 8, colours = 3, noticed = 24;
    const read = async bytes => {
        const picture = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
        const drawn = new OffscreenCanvas(picture.width, picture.height).getContext('2d');
        drawn.drawImage(picture, 0, 0);
        const {width, height} = picture;
        const pixels = drawn.getImageData(0, 0, width, height).data;
        const across = Math.ceil(width / side), down = Math.ceil(height / side);
        const sums = new Float64Array(across * down * colours);
        for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) for (let c = 0; c < colours; c++)
            sums[(Math.floor(y / side) * across + Math.floor(x / side)) * colours + c] += pixels[(y * width + x) * 4 + c];
        return {width, height, sums};
    };
    Promise.all([one, other].map(read)).then(([one, other]) => {
        if (one.width !== other.width || one.height !== other.height) return done(1);
        const far = one.sums.filter((sum, place) => Math.abs(sum - other.sums[place]) > noticed * side * side);
        done(far.length / one.sums.length);
    }, error => done(`${error}`));
";

/// A Chromium that runs until the value is dropped, with a profile of its own. What waits for something in the page waits for
/// half a minute.
#[derive(Debug)]
pub struct Browser {
    client: Client,
    axe: PathBuf,
    /// What the console got and has given away.
    console: Mutex<Vec<String>>,
    // After the client, which talks to it.
    _driver: Driver,
}

impl Browser {
    /// Starts one; or gives none, and a line says why the test is skipped.
    ///
    /// # Panics
    ///
    /// It is not there, and `CI=true`; or it does not start.
    pub async fn start() -> Option<Self> {
        match program::folder("browser.sh", &["--find"]) {
            Ok(folder) => Some(Self::start_of(&folder).await),
            Err(reason) => {
                skipped("the browser", reason);
                None
            }
        }
    }

    async fn start_of(folder: &Path) -> Self {
        let driver = Driver::start(folder).await;
        let capabilities = json!({
            "goog:chromeOptions": {
                "binary": folder.join("chromium"),
                "args": [
                    // By a port, Chromium would outlive chromedriver.
                    "--remote-debugging-pipe",
                    format!("--user-data-dir={}", driver.profile().display()),
                ],
            },
            "goog:loggingPrefs": {"browser": "ALL"},
        });
        let capabilities = serde_json::from_value(capabilities).expect("capabilities are an object");
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&driver.url())
            .await
            .unwrap_or_else(|error| panic!("Chromium does not start: {error}: {}", driver.log()));
        let browser = Self {
            client,
            axe: folder.join("axe.min.js"),
            console: Mutex::default(),
            _driver: driver,
        };
        browser.resize(SIZE.0, SIZE.1).await;
        browser
    }

    /// Goes to a page and returns when it is loaded.
    ///
    /// # Panics
    ///
    /// There is no such page.
    pub async fn goto(&self, url: &str) {
        done(&format!("go to {url}"), self.client.goto(url).await);
    }

    /// Loads the page again.
    ///
    /// # Panics
    ///
    /// It is not there any more.
    pub async fn reload(&self) {
        done("load the page again", self.client.refresh().await);
    }

    /// What a person reads in the first element that a CSS selector names.
    ///
    /// # Panics
    ///
    /// There is no such element.
    pub async fn text(&self, css: &str) -> String {
        let text = async || self.find(css).await?.text().await;
        patiently(&format!("read `{css}`"), text).await
    }

    /// What a person reads in each of the elements that a CSS selector names, of which there may be none now.
    ///
    /// # Panics
    ///
    /// It is no selector.
    pub async fn texts(&self, css: &str) -> Vec<String> {
        let texts = async || {
            let mut texts = Vec::new();
            for element in self.client.find_all(Locator::Css(css)).await? {
                texts.push(element.text().await?);
            }
            Ok(texts)
        };
        patiently(&format!("read each `{css}`"), texts).await
    }

    /// Clicks at the middle of the first element that a CSS selector names.
    ///
    /// # Panics
    ///
    /// There is no such element, or something lies over it.
    pub async fn click(&self, css: &str) {
        let click = async || self.find(css).await?.click().await;
        patiently(&format!("click at `{css}`"), click).await;
    }

    /// Writes a text into a field, in the place of what it has.
    ///
    /// # Panics
    ///
    /// There is no such field.
    pub async fn fill(&self, css: &str, text: &str) {
        let fill = async || {
            let field = self.find(css).await?;
            field.clear().await?;
            field.send_keys(text).await
        };
        patiently(&format!("fill `{css}`"), fill).await;
    }

    /// Presses keys where the focus is: those of a text, and [`Key`] such as `Key::Tab` or `Key::Control + "a"`. Keys such as
    /// Control are held until the text ends.
    ///
    /// # Panics
    ///
    /// The page is gone.
    pub async fn press(&self, keys: &str) {
        let press = async || self.client.active_element().await?.send_keys(keys).await;
        patiently(&format!("press {keys:?}"), press).await;
    }

    /// Waits until the first element that a CSS selector names reads as expected, and gives what it reads.
    ///
    /// # Panics
    ///
    /// It does not in time.
    pub async fn wait(&self, css: &str, expected: impl Fn(&str) -> bool) -> String {
        let started = Instant::now();
        loop {
            let text = self.text(css).await;
            if expected(&text) {
                return text;
            }
            assert!(
                started.elapsed() < PATIENCE,
                "`{css}` does not read as expected, but {text:?}"
            );
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Runs a script in the page, whatever its Content-Security-Policy is, and gives what it returns: `return document.title`.
    ///
    /// # Panics
    ///
    /// It throws an error.
    pub async fn script(&self, script: &str) -> Value {
        done("run a script", self.client.execute(script, Vec::new()).await)
    }

    /// The part of the page that a person sees, as PNG.
    ///
    /// # Panics
    ///
    /// The page is gone.
    pub async fn picture(&self) -> Vec<u8> {
        done("make a picture", self.client.screenshot().await)
    }

    /// How much of two pictures differs, as a part of 1. Pictures of other sizes differ altogether.
    ///
    /// # Panics
    ///
    /// One is no picture.
    pub async fn difference(&self, one: &[u8], other: &[u8]) -> f64 {
        self.goto("about:blank").await;
        let pictures = vec![json!(one), json!(other)];
        let said = done(
            "compare pictures",
            self.client.execute_async(DIFFER, pictures).await,
        );
        said.as_f64()
            .unwrap_or_else(|| panic!("the pictures can't be compared: {said}"))
    }

    /// Gives the page so many pixels.
    ///
    /// # Panics
    ///
    /// The page is gone.
    pub async fn resize(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Prefers dark colours, or light ones, as a person can in the settings of a system.
    ///
    /// # Panics
    ///
    /// The page is gone.
    pub async fn dark(&self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": value}]});
        self.devtools("Emulation.setEmulatedMedia", features).await;
    }

    /// The errors that the console has got since the start: those of scripts, of what could not be loaded, and of what the
    /// Content-Security-Policy forbids.
    ///
    /// # Panics
    ///
    /// The browser is gone.
    pub async fn errors(&self) -> Vec<String> {
        let entries = done(
            "read the console",
            self.client.issue_cmd(Request::console()).await,
        );
        let entries = entries.as_array().into_iter().flatten();
        let severe = entries.filter(|entry| entry["level"] == "SEVERE");
        let new = severe.filter_map(|entry| entry["message"].as_str().map(ToOwned::to_owned));
        let mut errors = self.console.lock().unwrap_or_else(PoisonError::into_inner);
        errors.extend(new);
        errors.clone()
    }

    /// What axe-core has against the page, for people who see it badly, hear it, or have a keyboard only: a line for each
    /// element, with the rule, what it asks for, and where the element is.
    ///
    /// # Panics
    ///
    /// It can't judge.
    pub async fn violations(&self) -> Vec<String> {
        if self.script("return typeof axe").await == "undefined" {
            let axe = fs::read_to_string(&self.axe);
            self.script(&axe.unwrap_or_else(|error| panic!("cannot read {}: {error}", self.axe.display())))
                .await;
        }
        let lines = done("judge the page", self.client.execute_async(AXE, Vec::new()).await);
        let parsed = serde_json::from_value(lines.clone());
        parsed.unwrap_or_else(|_| panic!("axe-core does not judge: {lines}"))
    }

    async fn find(&self, css: &str) -> Result<Element, CmdError> {
        self.client.find(Locator::Css(css)).await
    }

    async fn devtools(&self, method: &str, parameters: Value) {
        let request = Request::devtools(method, parameters);
        done(method, self.client.issue_cmd(request).await);
    }
}

/// Tries until it succeeds: in the middle of a change, elements come late, are replaced by others or lie under them.
async fn patiently<T>(what: &str, attempt: impl AsyncFn() -> Result<T, CmdError>) -> T {
    let started = Instant::now();
    loop {
        match attempt().await {
            Err(CmdError::Standard(_)) if started.elapsed() < PATIENCE => tokio::time::sleep(PAUSE).await,
            result => return done(what, result),
        }
    }
}

fn done<T>(what: &str, result: Result<T, impl Display>) -> T {
    result.unwrap_or_else(|error| panic!("the browser can't {what}: {error}"))
}
