//! Where the chart of a project comes from.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{Place, Said};
use crate::helm::Helm;
use crate::program::Project;
use crate::repository::{Repository, folder_of_charts, lay_out_registry};

/// A project, and what a repository has: `web` in versions 1.0.0, 1.2.0 and 2.0.0.
struct Shelf {
    place: Place,
    /// The folder that is served.
    folder: std::path::PathBuf,
    _project: Project,
}

impl Shelf {
    fn new() -> Option<Self> {
        let helm = Helm::find_or_skip()?;
        let project = Project::new();
        let folder = folder_of_charts(&helm, &project);
        Some(Self {
            place: Place::new(),
            folder,
            _project: project,
        })
    }

    /// What `helm repo add` and `helm repo update` leave for a repository called `here`.
    fn add(&self, more: &str) {
        let file = format!("apiVersion: v1\nrepositories:\n- {{name: here, {more}}}\n");
        self.place.write(".config/helm/repositories.yaml", &file);
        let index = fs::read_to_string(self.folder.join("index.yaml")).unwrap();
        self.place.write(".cache/helm/repository/here-index.yaml", &index);
    }

    fn init(&self, arguments: &[&str]) -> Said {
        self.place
            .run(&[&["init", "--domain=example.com"], arguments].concat())
    }

    /// A project is made, with this version of the chart.
    #[track_caller]
    fn check(&self, arguments: &[&str], version: &str) {
        let said = self.init(arguments);
        assert_eq!(said.code, Some(0), "{arguments:?}: {}", said.stderr);
        let lines = ["fetching ", &format!("fetched web {version}\n")];
        for line in lines {
            assert!(said.stderr.contains(line), "no `{line}` in: {}", said.stderr);
        }
        let chart = self.place.read("helm-charts/web/Chart.yaml");
        assert!(chart.contains(&format!("version: {version}\n")), "{chart}");
        assert!(self.place.read("PROJECT").contains("kind: Web\n"));
        assert!(
            self.place
                .read("watches.yaml")
                .contains("chart: helm-charts/web\n")
        );
        self.clear();
    }

    /// Nothing is made, and an error and a hint say why.
    #[track_caller]
    fn check_refusal(&self, arguments: &[&str], code: i32, error: &str, hint: &str) {
        let said = self.init(arguments);
        assert_eq!(said.code, Some(code), "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.contains(error), "no `{error}` in: {}", said.stderr);
        let told = said.stderr.split_once("hint: ").map_or("", |(_, hint)| hint);
        assert!(told.contains(hint), "no hint `{hint}` in: {}", said.stderr);
        assert_eq!(fs::read_dir(self.place.project()).unwrap().count(), 0);
    }

    fn clear(&self) {
        fs::remove_dir_all(self.place.project()).unwrap();
        fs::create_dir(self.place.project()).unwrap();
    }
}

#[test]
fn archives_of_charts_are_unpacked() {
    let place = Place::new();
    let chart = steersman_chart::Chart::load(&place.path("charts/memcached")).unwrap();
    fs::write(place.path("chart.tgz"), chart.package(0).unwrap()).unwrap();
    place.succeed(&["init", "--domain", "example.com", "--helm-chart", "../chart.tgz"]);
    assert!(
        place
            .read("helm-charts/memcached/values.yaml")
            .contains("# -- The image\n")
    );
    assert!(place.read("PROJECT").contains("kind: Memcached\n"));
}

#[test]
fn charts_come_from_urls_and_repositories() {
    let Some(shelf) = Shelf::new() else { return };
    let repository = Repository::serve(&shelf.folder);
    let url = repository.url.as_str();
    shelf.check(&[&format!("--helm-chart={url}/web-1.2.0.tgz")], "1.2.0");
    let chart = ["--helm-chart=web", "--helm-chart-repo", url];
    shelf.check(&chart, "2.0.0");
    shelf.check(&[&chart[..], &["--helm-chart-version=1.0.0"]].concat(), "1.0.0");
    shelf.check(&[&chart[..], &["--helm-chart-version=~1"]].concat(), "1.2.0");

    shelf.add(&format!("url: '{url}', username: me, password: secret"));
    shelf.check(&["--helm-chart=here/web"], "2.0.0");
    shelf.check(&["--helm-chart=here/web", "--helm-chart-version=1.0.0"], "1.0.0");
    let last = repository.requests().pop();
    assert_eq!(last.as_deref(), Some("/web-1.0.0.tgz Basic bWU6c2VjcmV0"));

    // A kind beside another one takes a chart in the same way.
    shelf
        .place
        .succeed(&["init", "--domain=example.com", "--kind=Shop"]);
    let said = shelf
        .place
        .succeed(&["create", "api", "--helm-chart=here/web", "--version=v1"]);
    assert!(said.stderr.contains("fetched web 2.0.0\n"), "{}", said.stderr);
    assert!(
        shelf
            .place
            .read("watches.yaml")
            .contains("version: v1\n  kind: Web\n")
    );
}

#[test]
fn charts_come_from_registries() {
    let Some(shelf) = Shelf::new() else { return };
    lay_out_registry(&shelf.folder);
    let registry = Repository::serve(&shelf.folder);
    let chart = format!("--helm-chart={}/charts/web", registry.url.replace("http", "oci"));
    let chart = [chart.as_str(), "--plain-http"];
    shelf.check(&chart, "2.0.0");
    shelf.check(&[&chart[..], &["--helm-chart-version=1.0.0"]].concat(), "1.0.0");
    shelf.check(&[&chart[..], &["--helm-chart-version=<2"]].concat(), "1.2.0");
    shelf.check_refusal(
        &[&chart[..], &["--helm-chart-version=1.5.0"]].concat(),
        1,
        "not found",
        "there are the versions 2.0.0, 1.2.0, 1.0.0",
    );
    // Who has to log in is told so.
    fs::write(shelf.folder.join("token"), r#"{"error": "no"}"#).unwrap();
    shelf.check_refusal(&chart, 1, "charts/web", "helm registry login");
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let Some(shelf) = Shelf::new() else { return };
    let repository = Repository::serve(&shelf.folder);
    let url = repository.url.as_str();
    let versions = "there are the versions 2.0.0, 1.2.0, 1.0.0";
    let repo = ["--helm-chart-repo", url];
    shelf.check_refusal(
        &[&repo[..], &["--helm-chart=web", "--helm-chart-version=3"]].concat(),
        1,
        "chart \"web\" version \"3\" not found in",
        versions,
    );
    shelf.check_refusal(
        &[&repo[..], &["--helm-chart=shop"]].concat(),
        1,
        "chart \"shop\" not found in",
        "the repository has web",
    );
    shelf.check_refusal(
        &["--helm-chart=here/web"],
        1,
        "repo here not found",
        "`helm repo add NAME URL`",
    );
    shelf.add(&format!("url: '{url}'"));
    shelf.check_refusal(
        &["--helm-chart=here/web", "--helm-chart-version=1.1.0-rc.1"],
        1,
        "not found in here index",
        versions,
    );
    shelf.check_refusal(
        &["--helm-chart=there/web"],
        1,
        "repo there not found",
        "that are known are here",
    );
    shelf.check_refusal(
        &["--helm-chart=web"],
        1,
        "got: web",
        "a name with --helm-chart-repo",
    );
    shelf.check_refusal(
        &["--helm-chart=./nowhere"],
        1,
        "\"./nowhere\" not found",
        "a directory",
    );
    shelf.check_refusal(
        &[&format!("--helm-chart={url}/none.tgz")],
        1,
        "404 Not Found",
        "is the address right",
    );
    shelf.check_refusal(&[&format!("--helm-chart={url}/index.yaml")], 2, "", "lint");
    shelf.check_refusal(
        &["--helm-chart=web", "--helm-chart-repo=http://127.0.0.1:1"],
        1,
        "cannot be reached",
        "does the server answer here?",
    );
    let registry = format!("--helm-chart-repo={}/charts", url.replace("http", "oci"));
    shelf.check_refusal(&["--helm-chart=web", &registry], 1, "", "/charts/web");
}

#[test]
fn servers_are_trusted_by_the_authority_that_is_named() {
    let Some(shelf) = Shelf::new() else { return };
    TlsServer::make_certificates(&shelf.folder);
    let server = TlsServer::start(&shelf.folder, "server");
    let chart = ["--helm-chart=web", "--helm-chart-repo", &server.url];
    shelf.check_refusal(&chart, 1, "ertificate", "--ca-file");
    let authority = format!("--ca-file={}", shelf.folder.join("authority.pem").display());
    shelf.check(&[&chart[..], &[&authority]].concat(), "2.0.0");
    let file = shelf.folder.join("authority.pem");
    shelf.add(&format!("url: '{}', caFile: '{}'", server.url, file.display()));
    shelf.check(&["--helm-chart=here/web", "--helm-chart-version=1.0.0"], "1.0.0");
}

#[test]
fn the_certificate_of_an_authority_is_none_of_a_server() {
    let Some(shelf) = Shelf::new() else { return };
    TlsServer::make_certificates(&shelf.folder);
    let server = TlsServer::start(&shelf.folder, "authority");
    let authority = format!("--ca-file={}", shelf.folder.join("authority.pem").display());
    let chart = ["--helm-chart=web", "--helm-chart-repo", &server.url, &authority];
    shelf.check_refusal(&chart, 1, "CaUsedAsEndEntity", "--ca-file");
}

#[test]
fn what_a_chart_depends_on_comes_with_it() {
    let Some(shelf) = Shelf::new() else { return };
    let repository = Repository::serve(&shelf.folder);
    let url = &repository.url;
    let parent = format!(
        "apiVersion: v2\nname: parent\nversion: 1.0.0\ndependencies:\n- {{name: web, version: ^1, repository: '{url}'}}\n"
    );
    shelf.place.write("charts/parent/Chart.yaml", &parent);
    let said = shelf.init(&["--helm-chart=../charts/parent"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let fetching = "fetching what parent depends on: web\n";
    assert!(said.stderr.contains(fetching), "{}", said.stderr);
    let vendored = shelf
        .place
        .project()
        .join("helm-charts/parent/charts/web-1.2.0.tgz");
    assert!(vendored.exists());
    let lock = shelf.place.read("helm-charts/parent/Chart.lock");
    assert!(lock.contains("version: 1.2.0\n"), "{lock}");
    assert!(
        !shelf.place.path("charts/parent/charts").exists(),
        "the source stays as it is"
    );

    // A lock counts as it is. The repositories that it needs have to be known by name, as for Helm.
    shelf.clear();
    shelf.place.write("charts/parent/Chart.lock", &lock);
    shelf.check_refusal(
        &["--helm-chart=../charts/parent"],
        1,
        "no repository definition for",
        "steersman dependency update",
    );
    shelf.add(&format!("url: '{url}'"));
    let said = shelf.init(&["--helm-chart=../charts/parent"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(shelf.place.read("helm-charts/parent/Chart.lock"), lock);
    assert!(vendored.exists());
}

#[test]
fn what_is_no_chart_of_objects_is_refused() {
    let Some(shelf) = Shelf::new() else { return };
    let library = "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n";
    shelf.place.write("charts/lib/Chart.yaml", library);
    shelf.check_refusal(
        &["--helm-chart=../charts/lib"],
        2,
        "library charts are not installable",
        "may depend on this one",
    );
    shelf.place.write("charts/none/values.yaml", "a: b\n");
    shelf.check_refusal(
        &["--helm-chart=../charts/none"],
        2,
        "charts/none/Chart.yaml: no such file",
        "lint",
    );
}

/// A server of files over TLS; killed when dropped.
struct TlsServer {
    child: Child,
    url: String,
}

impl TlsServer {
    /// Writes a certificate `authority` that signs itself, and one that it has signed, `server`. Both are for this machine.
    fn make_certificates(folder: &Path) {
        let key = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -addext \
                   subjectAltName=IP:127.0.0.1";
        for request in [
            format!("{key} -subj /CN=authority -keyout authority.key -out authority.pem"),
            format!(
                "{key} -subj /CN=server -CA authority.pem -CAkey authority.key -addext basicConstraints=CA:FALSE -keyout \
                 server.key -out server.pem"
            ),
        ] {
            let made = openssl(folder, &request).stderr(Stdio::null()).status().unwrap();
            assert!(made.success(), "openssl {request}");
        }
    }

    /// Serves a folder, with one of the certificates that are in it.
    fn start(folder: &Path, certificate: &str) -> Self {
        let serve =
            format!("s_server -accept 127.0.0.1:0 -cert {certificate}.pem -key {certificate}.key -WWW");
        let mut child = openssl(folder, &serve)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let address = lines.find_map(|line| line.strip_prefix("ACCEPT ").map(str::to_owned));
        std::thread::spawn(move || lines.count());
        Self {
            child,
            url: format!("https://{}", address.unwrap()),
        }
    }
}

fn openssl(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new("openssl");
    command
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
