//! Which image an operator runs.

use serde_json::Value;

/// Containers of this name are the operator, whatever is beside them.
const OPERATOR_CONTAINERS: [&str; 2] = ["manager", "operator"];

/// No container, or more than one, could be the operator's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the operator's image can't be set: {reason}")]
pub struct OperatorImageError {
    reason: String,
}

/// Sets the image of the operator's container among the objects of a project: that of the only Deployment, and of its only
/// container, or of the one called `manager` or `operator`.
///
/// ```
/// use serde_json::json;
///
/// let containers = json!([{"name": "proxy", "image": "proxy:v1"}, {"name": "manager", "image": "web:v1"}]);
/// let mut objects = [json!({
///     "kind": "Deployment",
///     "metadata": {"name": "web-operator"},
///     "spec": {"template": {"spec": {"containers": containers}}},
/// })];
/// steersman_project::set_operator_image(&mut objects, "web:v2")?;
/// assert_eq!(objects[0]["spec"]["template"]["spec"]["containers"][1]["image"], "web:v2");
/// # Ok::<(), steersman_project::OperatorImageError>(())
/// ```
///
/// # Errors
///
/// There is no such container, or more than one.
pub fn set_operator_image(objects: &mut [Value], image: &str) -> Result<(), OperatorImageError> {
    let fail = |reason: String| Err(OperatorImageError { reason });
    let mut deployments: Vec<&mut Value> = objects
        .iter_mut()
        .filter(|object| object["kind"] == "Deployment")
        .collect();
    let [deployment] = deployments.as_mut_slice() else {
        return fail(format!("there are {} Deployments", deployments.len()));
    };
    let place = deployment["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let containers = deployment
        .pointer_mut("/spec/template/spec/containers")
        .and_then(Value::as_array_mut);
    let mut containers: Vec<&mut Value> = containers.into_iter().flatten().collect();
    if containers.len() > 1 {
        let is_operator = |name: &Value| {
            name.as_str()
                .is_some_and(|name| OPERATOR_CONTAINERS.contains(&name))
        };
        containers.retain(|container| is_operator(&container["name"]));
    }
    match containers.as_mut_slice() {
        [container] if container.is_object() => {
            container["image"] = image.into();
            Ok(())
        }
        _ => fail(format!("no container of Deployment {place} is called `manager`")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::set_operator_image;

    fn deployment(containers: &Value) -> Value {
        json!({"kind": "Deployment", "metadata": {"name": "shop"}, "spec": {"template": {"spec": {"containers": containers}}}})
    }

    fn check(containers: Value, expect: Result<Value, &str>) {
        let mut objects = [json!({"kind": "Service"}), deployment(&containers)];
        let done = set_operator_image(&mut objects, "shop:2");
        let done = done.map_err(|error| error.to_string());
        match expect {
            Ok(expect) => {
                assert_eq!(done, Ok(()));
                assert_eq!(objects[1], deployment(&expect));
            }
            Err(expect) => assert_eq!(done, Err(format!("the operator's image can't be set: {expect}"))),
        }
    }

    #[test]
    fn the_operator_is_the_only_container_or_called_so() {
        check(
            json!([{"name": "any", "image": "a"}]),
            Ok(json!([{"name": "any", "image": "shop:2"}])),
        );
        check(
            json!([{"name": "proxy", "image": "a"}, {"name": "manager", "image": "b"}]),
            Ok(json!([{"name": "proxy", "image": "a"}, {"name": "manager", "image": "shop:2"}])),
        );
        for unclear in [json!([]), json!([{"name": "a"}, {"name": "b"}]), json!(["text"])] {
            check(
                unclear,
                Err("no container of Deployment shop is called `manager`"),
            );
        }
    }

    #[test]
    fn one_deployment_is_the_operator() {
        let error = set_operator_image(&mut [json!({"kind": "Service"})], "a").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the operator's image can't be set: there are 0 Deployments"
        );
    }
}
