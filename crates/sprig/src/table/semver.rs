//! Semantic versions and constraints on them, as Masterminds' `semver` reads them.

use steersman_gotemplate::Function;
use steersman_gotemplate::Parameter::String as Text;

use crate::semver;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::pure("semver", &[Text], semver::semver)
        .signature("version", "*semver.Version")
        .documentation(
            "The text as a semantic version, with the fields `Major`, `Minor`, `Patch`, `Prerelease` and \
             `Metadata` and methods such as `Compare`. Missing parts are taken for 0; fails for what is \
             no version.",
        )
        .example(r#"{{ (semver "v1.2.3-beta").Minor }}"#, "2"),
    Function::pure("semverCompare", &[Text, Text], semver::semver_compare)
        .signature("constraint version", "bool")
        .documentation(
            "Whether the version satisfies the constraint, in which `,` means and, `||` or, `^` and `~` \
             compatible ones, and a pre-release only meets constraints that name one. Fails where one of \
             them cannot be read.",
        )
        .example(r#"{{ semverCompare ">=1.21-0 <2" "1.30.2" }}"#, "true"),
];
