//! Paths with slashes, taken apart as text.

use steersman_gotemplate::Function;
use steersman_gotemplate::Parameter::String as Text;

use crate::paths;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::pure("base", &[Text], paths::base)
        .signature("path", "string")
        .documentation("The last element of the path, `.` for an empty one.")
        .example(r#"{{ base "/etc/app/config.yaml" }}"#, "config.yaml"),
    Function::pure("dir", &[Text], paths::dir)
        .signature("path", "string")
        .documentation("The path without its last element, `.` if nothing is left.")
        .example(r#"{{ dir "/etc/app/config.yaml" }}"#, "/etc/app"),
    Function::pure("clean", &[Text], paths::clean)
        .signature("path", "string")
        .documentation("The shortest path that means the same.")
        .example(r#"{{ clean "/etc/./app/../config" }}"#, "/etc/config"),
    Function::pure("ext", &[Text], paths::ext)
        .signature("path", "string")
        .documentation("The extension of the path's last element with its dot, or the empty text.")
        .example(r#"{{ ext "/etc/app/config.yaml" }}"#, ".yaml"),
    Function::pure("isAbs", &[Text], paths::is_abs)
        .signature("path", "bool")
        .documentation("Whether the path starts with a slash.")
        .example(r#"{{ isAbs "/etc" }}"#, "true"),
    Function::pure("osBase", &[Text], paths::base)
        .signature("path", "string")
        .documentation("Like `base`, for paths of the operating system, which is taken to be Linux.")
        .example(r#"{{ osBase "/etc/app" }}"#, "app"),
    Function::pure("osDir", &[Text], paths::dir)
        .signature("path", "string")
        .documentation("Like `dir`, for paths of the operating system, which is taken to be Linux.")
        .example(r#"{{ osDir "/etc/app" }}"#, "/etc"),
    Function::pure("osClean", &[Text], paths::clean)
        .signature("path", "string")
        .documentation("Like `clean`, for paths of the operating system, which is taken to be Linux.")
        .example(r#"{{ osClean "/etc//app/" }}"#, "/etc/app"),
    Function::pure("osExt", &[Text], paths::ext)
        .signature("path", "string")
        .documentation("Like `ext`, for paths of the operating system, which is taken to be Linux.")
        .example(r#"{{ osExt "/etc/app.conf" }}"#, ".conf"),
    Function::pure("osIsAbs", &[Text], paths::is_abs)
        .signature("path", "bool")
        .documentation("Like `isAbs`, for paths of the operating system, which is taken to be Linux.")
        .example(r#"{{ osIsAbs "etc" }}"#, "false"),
];
