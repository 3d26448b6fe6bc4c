//! Orders that charts say by annotations.

use serde_json::{Value, json};
use steersman_chart::Chart;
use steersman_model::RenderedObject;

use super::Convention;

fn object(source: &str, name: &str, annotations: &Value) -> RenderedObject {
    let metadata = json!({"name": name, "annotations": annotations});
    let document = json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata});
    RenderedObject::from_document(&format!("{source}/templates/a.yaml"), &document)
        .unwrap()
        .remove(0)
}

fn chart(files: &[(&str, &str)]) -> Chart {
    let files = files.iter().map(|(path, text)| (*path, text.as_bytes()));
    Chart::from_files(files).unwrap()
}

fn web() -> Chart {
    chart(&[("Chart.yaml", "{apiVersion: v2, name: web, version: 1.0.0}")])
}

/// The stages as `NAME: OBJECT OBJECT`, or what is wrong.
fn shown(convention: Convention, chart: &Chart, objects: &[RenderedObject]) -> Result<Vec<String>, String> {
    let stages = convention
        .stages(chart, objects)
        .map_err(|error| error.to_string())?;
    let stages = stages.into_iter().map(|(name, places)| {
        let names: Vec<&str> = places.iter().map(|&place| objects[place].name.as_str()).collect();
        format!("{name}: {}", names.join(" "))
    });
    Ok(stages.collect())
}

fn check(convention: Convention, objects: &[(&str, Value)], expect: Result<&[&str], &str>) {
    let objects: Vec<_> = objects
        .iter()
        .map(|(name, said)| object("web", name, said))
        .collect();
    let expect = expect.map(|lines| lines.iter().map(|line| (*line).to_owned()).collect());
    assert_eq!(shown(convention, &web(), &objects), expect.map_err(str::to_owned));
}

#[test]
fn sync_waves_come_in_the_order_of_their_numbers() {
    let wave = |text: &str| json!({"argocd.argoproj.io/sync-wave": text});
    check(
        Convention::ArgoCd,
        &[
            ("a", wave("5")),
            ("b", json!({})),
            ("c", wave("-1")),
            ("d", wave("0")),
        ],
        Ok(&["wave--1: c", "wave-0: b d", "wave-5: a"]),
    );
    let error = "annotation argocd.argoproj.io/sync-wave of Service a is no whole number";
    check(Convention::ArgoCd, &[("a", wave("canary"))], Err(error));
}

#[test]
fn weights_order_all_but_what_depends_on_something() {
    let weight = |text: &str| json!({"werf.io/weight": text});
    check(
        Convention::Nelm,
        &[("a", weight("10")), ("b", json!({})), ("c", weight("-5"))],
        Ok(&["weight--5: c", "weight-0: b", "weight-10: a"]),
    );
    let after =
        |name: &str| json!({"werf.io/deploy-dependency-x": format!("state=ready,kind=Service,name={name}")});
    check(
        Convention::Nelm,
        &[
            ("a", weight("10")),
            ("b", json!({})),
            ("c", after("a")),
            ("d", after("gone")),
        ],
        Ok(&["level-1: b d", "level-2: a", "level-3: c"]),
    );
    let error = "Service a, Service b depend on each other";
    check(
        Convention::Nelm,
        &[("a", after("b")), ("b", after("a")), ("c", json!({}))],
        Err(error),
    );
}

fn group(name: &str, needs: &Value) -> Value {
    json!({"helm.sh/resource-group": name, "helm.sh/depends-on/resource-groups": needs})
}

#[test]
fn groups_come_behind_those_that_they_depend_on_and_the_rest_comes_last() {
    check(
        Convention::Helm,
        &[
            ("app", group("app", &json!(["database", "queue"]))),
            ("db", json!({"helm.sh/resource-group": "database"})),
            ("queue", group("queue", &json!("[]"))),
            ("lone", json!({"helm.sh/resource-group": "lone"})),
            ("lost", group("lost", &json!("[\"none\"]"))),
            ("plain", json!({})),
        ],
        Ok(&["database-queue: db queue", "app: app", "web: lone lost plain"]),
    );
    let error = "resource group a of web, resource group b of web depend on each other";
    check(
        Convention::Helm,
        &[
            ("a", group("a", &json!(["b"]))),
            ("b", group("b", &json!(["a"]))),
            ("c", json!({})),
        ],
        Err(error),
    );
    let error = "annotation helm.sh/depends-on/resource-groups of Service a is no list of names";
    check(Convention::Helm, &[("a", group("a", &json!("b")))], Err(error));
}

#[test]
fn charts_come_behind_their_subcharts_where_they_say_so() {
    let chart = chart(&[
        (
            "Chart.yaml",
            "{apiVersion: v2, name: foo, version: 1.0.0, annotations: {helm.sh/depends-on/subcharts: '[\"bar\"]'}, dependencies: [\
             {name: nginx, version: 1.0.0}, {name: rabbitmq, version: 1.0.0}, {name: bar, version: 1.0.0, depends-on: [nginx, \
             rabbitmq]}]}",
        ),
        (
            "charts/nginx/Chart.yaml",
            "{apiVersion: v2, name: nginx, version: 1.0.0}",
        ),
        (
            "charts/rabbitmq/Chart.yaml",
            "{apiVersion: v2, name: rabbitmq, version: 1.0.0}",
        ),
        (
            "charts/bar/Chart.yaml",
            "{apiVersion: v2, name: bar, version: 1.0.0}",
        ),
    ]);
    let objects = [
        object("foo", "foo", &json!({})),
        object("foo/charts/bar", "bar", &json!({})),
        object("foo/charts/nginx", "nginx", &json!({})),
        object(
            "foo/charts/rabbitmq",
            "first",
            &json!({"helm.sh/resource-group": "first"}),
        ),
        object(
            "foo/charts/rabbitmq",
            "second",
            &group("second", &json!(["first"])),
        ),
    ];
    let expect = [
        "first-nginx: nginx first",
        "second: second",
        "bar: bar",
        "foo: foo",
    ];
    assert_eq!(
        shown(Convention::Helm, &chart, &objects),
        Ok(expect.map(str::to_owned).into())
    );
}

#[test]
fn what_annotations_can_make_has_an_end() {
    let waves = |count: usize| -> Vec<RenderedObject> {
        let wave = |number: usize| json!({"argocd.argoproj.io/sync-wave": number.to_string()});
        (0..count)
            .map(|number| object("web", &format!("object-{number}"), &wave(number)))
            .collect()
    };
    let stages = |count| shown(Convention::ArgoCd, &web(), &waves(count)).map(|stages| stages.len());
    assert_eq!(stages(200), Ok(200));
    let error = "the annotations make 201 stages, of which there may be 200".to_owned();
    assert_eq!(stages(201), Err(error));
}
