//! Values with fields and methods: Go's structs, pointers to them, and named types.

use std::any::Any;
use std::fmt;

use super::{Failure, Parameter, Str, Value};

/// The parameters of a method.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The types of the parameters.
    pub parameters: &'static [Parameter],
    /// Whether the last parameter may be given any number of times, also none.
    pub variadic: bool,
    /// Why Go's templates refuse to call it, if they do: for results that they cannot use.
    pub refusal: Option<&'static str>,
}

impl Signature {
    /// A method with these parameters and one result.
    #[must_use]
    pub const fn new(parameters: &'static [Parameter]) -> Self {
        Self {
            parameters,
            variadic: false,
            refusal: None,
        }
    }

    /// A method without parameters whose results templates cannot use.
    #[must_use]
    pub const fn refused(reason: &'static str) -> Self {
        Self {
            refusal: Some(reason),
            ..Self::new(&[])
        }
    }
}

/// A Go value whose type has a name of its own: `.Files`, `.Capabilities`, a time, a version.
///
/// The defaults are those of a struct without exported fields or methods.
///
/// ```
/// use std::any::Any;
/// use steersman_gotemplate::{Object, Value, format};
///
/// #[derive(Debug)]
/// struct Release(u32);
///
/// impl Object for Release {
///     fn type_name(&self) -> &str { "*release.Release" }
///     fn kind_name(&self) -> &str { "ptr" }
///     fn as_any(&self) -> &dyn Any { self }
///     fn field(&self, name: &str) -> Option<Value> {
///         (name == "Revision").then(|| Value::Int(self.0.into()))
///     }
///     fn text(&self) -> Option<steersman_gotemplate::Str> {
///         Some(format!("revision {}", self.0).into())
///     }
/// }
///
/// let release = Value::object(Release(3));
/// assert_eq!(release.type_name(), "*release.Release");
/// assert_eq!(format::print_value(&release), "revision 3");
/// ```
pub trait Object: fmt::Debug {
    /// Go's name of the type, such as `*common.Capabilities`.
    fn type_name(&self) -> &str;

    /// Go's name of the kind: `struct`, `ptr`, `map`, `slice`, `int64`, …
    fn kind_name(&self) -> &str;

    /// This object, for functions that know its concrete type.
    fn as_any(&self) -> &dyn Any;

    /// The field of this name, or the entry where the kind is `map`.
    fn field(&self, name: &str) -> Option<Value> {
        let _ = name;
        None
    }

    /// The parameters of the method of this name, if there is one.
    fn method(&self, name: &str) -> Option<Signature> {
        let _ = name;
        None
    }

    /// Calls the method of this name. The arguments were checked against its signature.
    ///
    /// # Errors
    /// What the method returns as its error.
    fn call(&self, name: &str, arguments: &[Value]) -> Result<Value, Failure> {
        let _ = arguments;
        Err(Failure::new(format!("{} has no method {name}", self.type_name())))
    }

    /// What the type's own `String()` or `Error()` gives; nothing where it has none, and `%v` shows
    /// the number, the items, the entries or the members.
    fn text(&self) -> Option<Str> {
        None
    }

    /// What a template writes for this where it stands alone in an action. Go finds a `String()` there that only the
    /// pointer to a value has, which functions do not.
    fn written(&self) -> Option<Str> {
        self.text()
    }

    /// What a function gets for this where it takes any value, if that is less than a template sees:
    /// Go hands structs over as copies, which have no methods of the pointer to the struct.
    fn copied(&self) -> Option<Value> {
        None
    }

    /// What the type's own `GoString()` gives, which `%#v` shows.
    fn go_syntax(&self) -> Option<Str> {
        None
    }

    /// The fields of a struct, or of the one that a pointer points to: all of them with their
    /// names, in Go's order, whether or not templates can reach them. `%v` and its like show these
    /// where no method gives a text.
    fn members(&self) -> Option<Vec<(&'static str, Value)>> {
        None
    }

    /// Go's truth: whether the value is not the zero value of its kind.
    fn is_true(&self) -> bool {
        true
    }

    /// The entries, where the kind is `map`: what `range`, `len`, `keys` and `toYaml` see.
    fn entries(&self) -> Option<Vec<(Str, Value)>> {
        None
    }

    /// The items, where the kind is `slice`.
    fn items(&self) -> Option<Vec<Value>> {
        None
    }

    /// The work of a call of [`call`](Self::call), in units of about one node executed, as far as that is more than
    /// looking at its arguments.
    fn steps(&self, method: &str, arguments: &[Value]) -> u64 {
        let _ = (method, arguments);
        0
    }

    /// The bytes that this takes, where they are many.
    fn bytes(&self) -> usize {
        0
    }

    /// The number, where the kind is an integer.
    fn integer(&self) -> Option<i64> {
        None
    }

    /// What `encoding/json` writes for this; by default an empty struct.
    fn encoded(&self) -> Encoded {
        Encoded::Fields(Vec::new())
    }
}

/// An object as its JSON encoding shows it.
#[derive(Clone, Debug)]
pub enum Encoded {
    /// A plain value, such as the text of a time.
    Plain(Value),
    /// The fields of a struct by their JSON names, in the order in which they are written;
    /// fields that are omitted when empty are left out already.
    Fields(Vec<(Str, Value)>),
}
