//! From a base to the image upon it.

use super::BaseImage;
use crate::{Image, Layer, Settings};

impl BaseImage {
    /// The image of these layers upon those of the base. What `settings` leave out is as the base has it: user, folder and
    /// volumes; variables and labels of the same names are replaced, and so is what the base starts, with its arguments. How
    /// the base is stopped is not taken over, as that was meant for its program; the same holds for its ports.
    pub fn extended(&self, layers: Vec<Layer>, settings: &Settings) -> Image {
        let given = &self.settings;
        let mut labels = given.labels.clone();
        labels.extend(settings.labels.clone());
        let merged = Settings {
            user: either(&settings.user, &given.user),
            environment: overlaid(&given.environment, &settings.environment),
            entrypoint: settings.entrypoint.clone(),
            working_directory: either(&settings.working_directory, &given.working_directory),
            labels,
            created: settings.created,
        };
        let layers = self.layers.iter().cloned().chain(layers).collect();
        let history = self.history.clone();
        Image::with_history(self.platform.clone(), layers, &merged, &self.volumes, history)
    }
}

fn either(own: &str, given: &str) -> String {
    if own.is_empty() { given } else { own }.to_owned()
}

/// The variables, each once: in the place that it has in the base, with the value that is set last.
fn overlaid(base: &[String], own: &[String]) -> Vec<String> {
    let name = |variable: &String| variable.split('=').next().unwrap_or_default().to_owned();
    let mut variables: Vec<String> = Vec::new();
    for variable in base.iter().chain(own) {
        match variables.iter_mut().find(|known| name(known) == name(variable)) {
            Some(known) => known.clone_from(variable),
            None => variables.push(variable.clone()),
        }
    }
    variables
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::base::config::Configuration;

    /// The configuration of an image upon a base with this one, and a layer.
    fn extend(config: Value, settings: &Settings) -> Value {
        let digest = format!("sha256:{}", "0".repeat(64));
        let mut document = json!({"os": "linux", "architecture": "amd64", "rootfs": {"diff_ids": [digest]}});
        document
            .as_object_mut()
            .unwrap()
            .extend(config.as_object().unwrap().clone());
        let platform = "linux/amd64".parse().unwrap();
        let config = Configuration::read(document.to_string().as_bytes(), &platform).unwrap();
        let layer = |purpose: &str| Layer::new(purpose, &crate::Tree::default(), 0).unwrap();
        let of_base = Layer::of_base(layer("files").blob().clone(), digest);
        let base = config.image(platform, None, vec![of_base]);
        let image = base.extended(vec![layer("more")], settings);
        serde_json::from_reader(image.config().open().unwrap()).unwrap()
    }

    #[test]
    fn what_is_set_replaces_what_the_base_has() {
        let config = json!({"config": {
            "User": "7", "WorkingDir": "/src", "Entrypoint": ["sh"], "Cmd": ["-c"], "StopSignal": "SIGQUIT",
            "ExposedPorts": {"80/tcp": {}}, "Volumes": {"/data": {}},
            "Env": ["PATH=/opt/bin", "A=1", "A=2"], "Labels": {"a": "1", "b": "1"},
        }});
        let settings = Settings {
            environment: vec!["A=3".to_owned(), "B=".to_owned()],
            entrypoint: vec!["/run".to_owned()],
            labels: [("b".to_owned(), "2".to_owned())].into(),
            ..Settings::default()
        };
        let expect = json!({
            "User": "7", "WorkingDir": "/src", "Entrypoint": ["/run"], "Volumes": {"/data": {}},
            "Env": ["PATH=/opt/bin", "A=3", "B="], "Labels": {"a": "1", "b": "2"},
        });
        assert_eq!(extend(config.clone(), &settings)["config"], expect);
        let settings = Settings {
            user: "8".to_owned(),
            working_directory: "/".to_owned(),
            ..Settings::default()
        };
        let own = extend(config, &settings)["config"].clone();
        assert_eq!((&own["User"], &own["WorkingDir"]), (&json!("8"), &json!("/")));
    }

    #[test]
    fn each_layer_has_one_step_of_the_history() {
        let steps = |history: Value| -> Vec<String> {
            let config = extend(json!({"history": history}), &Settings::default());
            let steps = config["history"].as_array().unwrap().iter();
            let name = |step: &Value| {
                step["comment"]
                    .as_str()
                    .or(step["created_by"].as_str())
                    .map(str::to_owned)
            };
            steps.filter_map(name).collect()
        };
        let step = |by: &str, empty: bool| json!({"created_by": by, "empty_layer": empty});
        assert_eq!(steps(json!(null)), ["the base", "more"]);
        assert_eq!(
            steps(json!([step("ENV", true), step("COPY", false)])),
            ["ENV", "COPY", "more"]
        );
        assert_eq!(
            steps(json!([step("COPY", false), step("COPY", false)])),
            ["the base", "more"]
        );
    }
}
