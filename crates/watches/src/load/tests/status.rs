//! `status` and `scale`: what is read, and what is refused.

use expect_test::{Expect, expect};

use crate::load::tests::load_entry;
use crate::procedure::ParameterType;
use crate::{Scale, StatusColumn};

/// What is said of an entry with these further lines.
fn refused(further: &str, expect: &Expect) {
    let error = load_entry(further).unwrap_err();
    expect.assert_eq(&error);
}

#[test]
fn fields_columns_and_scale_are_read() {
    let watches = load_entry(
        "
  status:
    fields:
      endpoint: release.name + ':80'
      members: {type: integer, value: \"object('apps/v1', 'StatefulSet', release.name).status.readyReplicas\", description: how many}
      pods: {value: \"'app=' + release.name\"}
    columns: [members, {name: Where, field: endpoint, priority: 1}]
  scale: {spec: .spec.cluster.size, status: members, selector: pods}
",
    )
    .unwrap();
    let watch = watches.iter().next().unwrap();
    let fields = watch.status.fields.iter();
    let types: Vec<_> = fields.map(|field| (field.name.as_str(), field.r#type)).collect();
    assert_eq!(
        types,
        [
            ("endpoint", ParameterType::String),
            ("members", ParameterType::Integer),
            ("pods", ParameterType::String)
        ]
    );
    assert_eq!(watch.status.fields[1].description.as_deref(), Some("how many"));
    let column = |name: &str, field: &str, priority| StatusColumn {
        name: name.to_owned(),
        field: field.to_owned(),
        priority,
    };
    assert_eq!(
        watch.status.columns,
        [column("Members", "members", 0), column("Where", "endpoint", 1)]
    );
    let scale = Scale {
        spec: "cluster.size".to_owned(),
        status: "members".to_owned(),
        selector: Some("pods".to_owned()),
    };
    assert_eq!(watch.scale, Some(scale));
    let reads = watch.reads();
    let kinds: Vec<_> = reads
        .keys()
        .map(|(group, kind)| format!("{kind}.{group}"))
        .collect();
    assert_eq!(kinds, ["StatefulSet.apps"]);
}

#[test]
fn fields_that_can_not_be_are_refused() {
    refused(
        "
  status:
    fields:
      conditions: release.name
      Members: release.name
      a: {type: list, value: release.name}
      b: {type: integer}
      c: release.name ==
      d: self.spec
      e: object('v1', 'Secret', 'a').data.password
      f: object('v1', resource.kind, 'a').data
      g: {value: release.name, kind: x}
    columns: [a]
",
        &expect![[r"
            DIR/watches.yaml:8:7: [0].status.fields: `status.conditions` is the operator's own
            DIR/watches.yaml:9:7: [0].status.fields: `Members` is not a name such as `endpoint` or `readyMembers`
            DIR/watches.yaml:10:17: [0].status.fields.a.type: `list` is none of `string`, `integer`, `number`, `boolean`
            DIR/watches.yaml:11:10: [0].status.fields.b: `value` must not be empty
            DIR/watches.yaml:12:10: [0].status.fields.c: no expression: syntax error: mismatched input '<EOF>' expecting expression at column 16
            DIR/watches.yaml:13:10: [0].status.fields.d: there is no variable `self`: there are `resource`, `release` and `object(…)`
            DIR/watches.yaml:14:10: [0].status.fields.e: no expression looks at Secrets
            DIR/watches.yaml:15:10: [0].status.fields.f: no expression: the apiVersion and the kind of `object` have to be texts, written out
            DIR/watches.yaml:16:32: [0].status.fields.g.kind: unknown field"]],
    );
    refused(
        "  status: {columns: [a]}\n",
        &expect![[r"
        DIR/watches.yaml:5:11: [0].status: `fields` must not be empty
        DIR/watches.yaml:5:22: [0].status.columns[0]: `a` is none of `status.fields`: there are none"]],
    );
    let many: Vec<String> = (0..51).map(|number| format!("a{number}: release.name")).collect();
    refused(
        &format!("  status: {{fields: {{{}}}}}\n", many.join(", ")),
        &expect!["DIR/watches.yaml:5:20: [0].status.fields: has 51 fields, and may have 50"],
    );
}

#[test]
fn columns_and_scales_are_of_fields_that_are_there() {
    refused(
        "
  status:
    fields: {members: {type: integer, value: '1'}, endpoint: release.name}
    columns: [membres, members, {field: members}, {name: Ready, field: endpoint}, {name: x}, {field: endpoint, priority: -1}]
  scale: {spec: 'a[0]', status: endpoint, selector: members}
",
        &expect![[r"
            DIR/watches.yaml:8:15: [0].status.columns[0]: `membres` is none of `status.fields`: there are `members`, `endpoint`
            DIR/watches.yaml:8:33: [0].status.columns[2]: two columns are called `Members`
            DIR/watches.yaml:8:51: [0].status.columns[3]: each resource has a column `Ready` already
            DIR/watches.yaml:8:83: [0].status.columns[4]: `field` must not be empty
            DIR/watches.yaml:8:122: [0].status.columns[5].priority: expected a whole number from 0, found the number `-1`
            DIR/watches.yaml:9:10: [0].scale.status: `endpoint` is of type string, and has to be of type integer
            DIR/watches.yaml:9:10: [0].scale.selector: `members` is of type integer, and has to be of type string
            DIR/watches.yaml:9:17: [0].scale.spec: `a[0]` is no path of the spec such as `size` or `cluster.size`"]],
    );
    refused(
        "  scale: {status: members}\n",
        &expect![[r"
        DIR/watches.yaml:5:10: [0].scale: `spec` must not be empty
        DIR/watches.yaml:5:19: [0].scale.status: `members` is none of `status.fields`: there are none"]],
    );
    refused(
        "  status: {fields: {members: {type: integer, value: '1'}}}\n  scale: {spec: text, status: members}\n",
        &expect!["DIR/watches.yaml:6:17: [0].scale.spec: the chart's value of `text` is no whole number"],
    );
}
