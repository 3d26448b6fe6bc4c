//! The images that a bundle names.

use serde_json::{Value, json};
use steersman_project::bundle::{BundleError, Manifests, Request, generate, image_names, pin_images};

use crate::{bundle_of, objects, of_kind, request};

#[test]
fn the_image_is_that_of_the_operator() {
    let with_image = |containers: Value| {
        let mut objects = objects();
        of_kind(&mut objects, "Deployment")["spec"]["template"]["spec"]["containers"] = containers;
        let request = Request {
            image: Some("registry.example.com/cache-operator:v0.0.1".to_owned()),
            ..request()
        };
        generate(Manifests::collect(objects).unwrap(), &request).map(|bundle| {
            image_names(&bundle.service_version)
                .into_iter()
                .collect::<Vec<_>>()
        })
    };
    let set = "registry.example.com/cache-operator:v0.0.1".to_owned();
    assert_eq!(
        with_image(json!([{"name": "any", "image": "a"}])),
        Ok(vec![set.clone()])
    );
    assert_eq!(
        with_image(json!([{"name": "proxy", "image": "p"}, {"name": "manager", "image": "a"}])),
        Ok(vec!["p".to_owned(), set])
    );
    assert!(with_image(json!([{"name": "b", "image": "b"}, {"name": "a", "image": "a"}])).is_err());
}

#[test]
fn images_of_variables_are_related() {
    let mut objects = objects();
    let container = &mut of_kind(&mut objects, "Deployment")["spec"]["template"]["spec"]["containers"][0];
    container["env"] = json!([
        {"name": "RELATED_IMAGE_CACHE_SERVER", "value": "server:1"},
        {"name": "RELATED_IMAGE_EXPORTER", "value": "exporter:2"},
    ]);
    let mut bundle = bundle_of(objects.clone(), &request());
    assert_eq!(
        bundle.service_version["spec"]["relatedImages"],
        json!([{"name": "cache-server", "image": "server:1"}, {"name": "exporter", "image": "exporter:2"}])
    );
    let pinned = [("server:1".to_owned(), "server@sha256:00".to_owned())].into();
    pin_images(&mut bundle.service_version, &pinned);
    assert_eq!(
        bundle.service_version["spec"]["relatedImages"],
        json!([
            {"name": "cache-server", "image": "server@sha256:00"},
            {"name": "exporter", "image": "exporter:2"},
            {"name": "manager", "image": "controller:latest"},
        ])
    );
    assert!(
        bundle.files()["manifests/cache-operator.clusterserviceversion.yaml"]
            .contains("value: server@sha256:00")
    );

    let container = &mut of_kind(&mut objects, "Deployment")["spec"]["template"]["spec"]["containers"][0];
    container["env"] = json!([{"name": "RELATED_IMAGE_X", "valueFrom": {}}]);
    let refused = generate(Manifests::collect(objects).unwrap(), &request());
    assert!(
        matches!(refused, Err(BundleError::RelatedImage { .. })),
        "{refused:?}"
    );
}
