//! The image of an operator.
//!
//! Everything is where the images of operator-sdk's helm-operator and ansible-operator have it, so that a Deployment or a
//! Dockerfile that was written for those works with these.

use std::collections::BTreeMap;

use crate::{BaseImage, Binary, Image, Layer, LayerError, Settings, Tree, TreeError};

/// Where the program is, without the first slash.
pub const PROGRAM: &str = "usr/local/bin/steersman";

/// Where programs that talk to servers look for authorities.
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";
/// Nobody in particular, by a number that systems leave free.
const USER: &str = "65532:65532";
/// The user of ansible-operator's image. Its group is the one of the users that `OpenShift` makes up: what one may write, all
/// may.
const ANSIBLE_USER: &str = "1001:0";
/// Where programs are looked for, if a base does not say.
const PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The C library keeps freed memory apart for each thread that ever needed some; an operator has less if it is used again by
/// all of them.
const ONE_ARENA: &str = "MALLOC_ARENA_MAX=1";
/// The variable by which playbooks find roles. ansible-operator's image has a configuration with the first of the folders;
/// the others are where Ansible looks without it.
const ROLES: &str = "ANSIBLE_ROLES_PATH";
const ROLES_FOLDERS: &str =
    "/opt/ansible/roles:/opt/ansible/.ansible/roles:/usr/share/ansible/roles:/etc/ansible/roles";

/// Whose images an image is like: where its files are, and what its program is called besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Home {
    /// Charts are in `/opt/helm`.
    #[default]
    Helm,
    /// Roles are in `/opt/ansible`.
    Ansible,
}

/// What goes into the image of an operator, for every platform.
#[derive(Clone, Debug, Default)]
pub struct OperatorImage {
    /// Where the files of the project are.
    pub home: Home,
    /// These files, by their paths in the image; empty for an image that others build upon.
    pub project: Tree,
    /// Collections of Ansible, by their paths in the image.
    pub collections: Tree,
    /// Certificates of the authorities that are trusted besides the cluster's, as a PEM bundle.
    pub certificates: Option<Vec<u8>>,
    /// What is said about the image.
    pub labels: BTreeMap<String, String>,
    /// The time of everything in it, in seconds since 1970.
    pub created: u64,
}

/// Why an image could not be put together.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// Two files want the same place.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A path does not fit into an archive.
    #[error(transparent)]
    Layer(#[from] LayerError),
}

impl Home {
    /// The home folder, from which the operator starts, without the first slash.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Helm => "opt/helm",
            Self::Ansible => "opt/ansible",
        }
    }

    /// Where collections of Ansible are, without the first slash: below the home folder, as Ansible has it.
    pub fn collections(self) -> String {
        format!("{}/.ansible/collections", self.folder())
    }

    fn user(self) -> &'static str {
        match self {
            Self::Helm => USER,
            Self::Ansible => ANSIBLE_USER,
        }
    }

    /// The names that others know the program by. Upon a base there is a runtime for either sort.
    fn other_names(self) -> &'static [&'static str] {
        match self {
            Self::Helm => &["usr/local/bin/helm-operator"],
            Self::Ansible => &["usr/local/bin/ansible-operator", "usr/local/bin/helm-operator"],
        }
    }

    fn purpose(self) -> &'static str {
        match self {
            Self::Helm => "watches.yaml and charts",
            Self::Ansible => "watches.yaml, roles and playbooks",
        }
    }
}

impl OperatorImage {
    /// The image with this program, and nothing else but the project. What changes often, the charts, is in a layer of its
    /// own, so that a new version of a chart costs kilobytes.
    ///
    /// # Errors
    /// A path of the project does not fit into an archive.
    pub fn with(&self, binary: &Binary) -> Result<Image, OperatorError> {
        let user = self.home.user();
        let layers = self.layers(binary, user)?;
        let settings = self.settings(user, vec![PATH.to_owned()]);
        Ok(Image::new(binary.platform().clone(), layers, &settings))
    }

    /// The image with this program upon a base, which must be for the same platform. It runs as [`user_upon`] says.
    ///
    /// [`user_upon`]: Self::user_upon
    ///
    /// # Errors
    /// A path of the project does not fit into an archive.
    pub fn upon(&self, base: &BaseImage, binary: &Binary) -> Result<Image, OperatorError> {
        let user = self.user_upon(base);
        let layers = self.layers(binary, user)?;
        let mut variables = Vec::new();
        if base.variable("PATH").is_none() {
            variables.push(PATH.to_owned());
        }
        if self.home == Home::Ansible && base.variable(ROLES).is_none() {
            variables.push(format!("{ROLES}={ROLES_FOLDERS}"));
        }
        let mut settings = self.settings(user, variables);
        if let Some(digest) = base.digest() {
            let label = "org.opencontainers.image.base.digest".to_owned();
            settings.labels.entry(label).or_insert_with(|| digest.to_owned());
        }
        Ok(base.extended(layers, &settings))
    }

    /// The user that the image upon a base runs as: the base's, if Kubernetes can tell that it is not root, which it can of
    /// numbers alone (`runAsNonRoot`).
    pub fn user_upon<'a>(&self, base: &'a BaseImage) -> &'a str {
        match number(base.user()) {
            Some(1..) => base.user(),
            _ => self.home.user(),
        }
    }

    fn layers(&self, binary: &Binary, user: &str) -> Result<Vec<Layer>, OperatorError> {
        let mut layers = vec![self.program(binary, user)?];
        for (purpose, files) in [
            ("collections of Ansible", &self.collections),
            (self.home.purpose(), &self.project),
        ] {
            if !files.is_empty() {
                layers.push(Layer::new(purpose, &self.in_home(files, user)?, self.created)?);
            }
        }
        Ok(layers)
    }

    fn settings(&self, user: &str, mut environment: Vec<String>) -> Settings {
        let home = self.home.folder();
        environment.extend([format!("HOME=/{home}"), ONE_ARENA.to_owned()]);
        Settings {
            user: user.to_owned(),
            environment,
            entrypoint: vec![
                format!("/{PROGRAM}"),
                "run".to_owned(),
                "--watches-file=./watches.yaml".to_owned(),
            ],
            working_directory: format!("/{home}"),
            labels: self.labels.clone(),
            created: self.created,
        }
    }

    fn program(&self, binary: &Binary, user: &str) -> Result<Layer, OperatorError> {
        let mut tree = Tree::default();
        tree.folder(self.home.folder())?;
        tree.program(PROGRAM, binary.content())?;
        for name in self.home.other_names() {
            tree.link(name, PROGRAM)?;
        }
        if let Some(certificates) = &self.certificates {
            tree.file(CERTIFICATES, certificates.as_slice())?;
        }
        Ok(Layer::new(
            "the operator",
            &self.in_home(&tree, user)?,
            self.created,
        )?)
    }

    /// These files, with the folders above and beside them in which Ansible writes, with the rights that they have in each
    /// layer: the last layer that has a folder says whose it is.
    fn in_home(&self, files: &Tree, user: &str) -> Result<Tree, TreeError> {
        let mut tree = files.clone();
        if self.home == Home::Ansible {
            let (home, owner) = (self.home.folder(), number(user).unwrap_or_default());
            for folder in [home, &format!("{home}/.ansible"), &format!("{home}/.ansible/tmp")] {
                tree.writable_folder(folder, owner)?;
            }
        }
        Ok(tree)
    }
}

/// The number of a user, without the group.
fn number(user: &str) -> Option<u32> {
    user.split(':').next().and_then(|user| user.parse().ok())
}
