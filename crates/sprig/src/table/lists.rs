//! Lists: making, cutting, searching.

use steersman_gotemplate::Function;
use steersman_gotemplate::Parameter::{Any, Int};

use crate::lists;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::pure("list", &[Any], lists::list)
        .variadic()
        .signature("items", "[]any")
        .documentation("A list of the arguments.")
        .example(r#"{{ list 1 "a" true | toJson }}"#, r#"[1,"a",true]"#),
    Function::pure("tuple", &[Any], lists::list)
        .variadic()
        .signature("items", "[]any")
        .documentation("The old name of `list`.")
        .example("{{ tuple 1 2 | toJson }}", "[1,2]"),
    Function::pure("first", &[Any], lists::first)
        .signature("list", "any")
        .documentation("The first item of the list, nil if it is empty. Fails for what is no list.")
        .example("{{ first (list 1 2 3) }}", "1"),
    Function::pure("mustFirst", &[Any], lists::first)
        .signature("list", "any")
        .documentation("Like `first`.")
        .example("{{ mustFirst (list 1 2 3) }}", "1"),
    Function::pure("last", &[Any], lists::last)
        .signature("list", "any")
        .documentation("The last item of the list, nil if it is empty. Fails for what is no list.")
        .example("{{ last (list 1 2 3) }}", "3"),
    Function::pure("mustLast", &[Any], lists::last)
        .signature("list", "any")
        .documentation("Like `last`.")
        .example("{{ mustLast (list 1 2 3) }}", "3"),
    Function::pure("rest", &[Any], lists::all_but_first)
        .signature("list", "[]any")
        .documentation("All items of the list but the first, nil if it is empty. Fails for what is no list.")
        .example("{{ rest (list 1 2 3) | toJson }}", "[2,3]"),
    Function::pure("mustRest", &[Any], lists::all_but_first)
        .signature("list", "[]any")
        .documentation("Like `rest`.")
        .example("{{ mustRest (list 1 2 3) | toJson }}", "[2,3]"),
    Function::pure("initial", &[Any], lists::all_but_last)
        .signature("list", "[]any")
        .documentation("All items of the list but the last, nil if it is empty. Fails for what is no list.")
        .example("{{ initial (list 1 2 3) | toJson }}", "[1,2]"),
    Function::pure("mustInitial", &[Any], lists::all_but_last)
        .signature("list", "[]any")
        .documentation("Like `initial`.")
        .example("{{ mustInitial (list 1 2 3) | toJson }}", "[1,2]"),
    Function::pure("append", &[Any, Any], lists::push)
        .signature("list item", "[]any")
        .documentation("A new list with the item at the end. Fails for what is no list.")
        .example("{{ append (list 1 2) 3 | toJson }}", "[1,2,3]"),
    Function::pure("mustAppend", &[Any, Any], lists::push)
        .signature("list item", "[]any")
        .documentation("Like `append`.")
        .example("{{ mustAppend (list 1 2) 3 | toJson }}", "[1,2,3]"),
    Function::pure("push", &[Any, Any], lists::push)
        .signature("list item", "[]any")
        .documentation("Another name of `append`.")
        .example("{{ push (list 1 2) 3 | toJson }}", "[1,2,3]"),
    Function::pure("mustPush", &[Any, Any], lists::push)
        .signature("list item", "[]any")
        .documentation("Like `append`.")
        .example("{{ mustPush (list 1 2) 3 | toJson }}", "[1,2,3]"),
    Function::pure("prepend", &[Any, Any], lists::prepend)
        .signature("list item", "[]any")
        .documentation("A new list with the item at the start. Fails for what is no list.")
        .example("{{ prepend (list 1 2) 0 | toJson }}", "[0,1,2]"),
    Function::pure("mustPrepend", &[Any, Any], lists::prepend)
        .signature("list item", "[]any")
        .documentation("Like `prepend`.")
        .example("{{ mustPrepend (list 1 2) 0 | toJson }}", "[0,1,2]"),
    Function::pure("concat", &[Any], lists::concat)
        .variadic()
        .signature("lists", "any")
        .documentation("A new list of the items of all lists. Fails for what is no list.")
        .example("{{ concat (list 1) (list 2 3) | toJson }}", "[1,2,3]"),
    Function::pure("reverse", &[Any], lists::reverse)
        .signature("list", "[]any")
        .documentation("A new list of the items from the last to the first. Fails for what is no list.")
        .example("{{ reverse (list 1 2 3) | toJson }}", "[3,2,1]"),
    Function::pure("mustReverse", &[Any], lists::reverse)
        .signature("list", "[]any")
        .documentation("Like `reverse`.")
        .example("{{ mustReverse (list 1 2 3) | toJson }}", "[3,2,1]"),
    Function::pure("compact", &[Any], lists::compact)
        .signature("list", "[]any")
        .documentation("A new list of the items that are not empty. Fails for what is no list.")
        .example(r#"{{ compact (list 1 "" 2) | toJson }}"#, "[1,2]"),
    Function::pure("mustCompact", &[Any], lists::compact)
        .signature("list", "[]any")
        .documentation("Like `compact`.")
        .example(r#"{{ mustCompact (list 1 "" 2) | toJson }}"#, "[1,2]"),
    Function::pure("uniq", &[Any], lists::uniq)
        .signature("list", "[]any")
        .documentation("A new list of the items, of equal ones only the first. Fails for what is no list.")
        .example("{{ uniq (list 1 2 1) | toJson }}", "[1,2]"),
    Function::pure("mustUniq", &[Any], lists::uniq)
        .signature("list", "[]any")
        .documentation("Like `uniq`.")
        .example("{{ mustUniq (list 1 2 1) | toJson }}", "[1,2]"),
    Function::pure("without", &[Any, Any], lists::without)
        .variadic()
        .signature("list items", "[]any")
        .documentation("A new list of what equals none of the items given. Fails for what is no list.")
        .example("{{ without (list 1 2 3) 2 | toJson }}", "[1,3]"),
    Function::pure("mustWithout", &[Any, Any], lists::without)
        .variadic()
        .signature("list items", "[]any")
        .documentation("Like `without`.")
        .example("{{ mustWithout (list 1 2 3) 2 | toJson }}", "[1,3]"),
    Function::pure("has", &[Any, Any], lists::has)
        .signature("item list", "bool")
        .documentation(
            "Whether an item of the list equals the one given; false for nil. Fails for what is no list.",
        )
        .example("{{ has 2 (list 1 2 3) }}", "true"),
    Function::pure("mustHas", &[Any, Any], lists::has)
        .signature("item list", "bool")
        .documentation("Like `has`.")
        .example("{{ mustHas 2 (list 1 2 3) }}", "true"),
    Function::pure("slice", &[Any, Any], lists::slice)
        .variadic()
        .signature("list indexes", "any")
        .documentation(
            "The items of the list from an index until another one, or its end. Fails for indexes out of \
             range and for what is no list.",
        )
        .example("{{ slice (list 1 2 3 4) 1 3 | toJson }}", "[2,3]"),
    Function::pure("mustSlice", &[Any, Any], lists::slice)
        .variadic()
        .signature("list indexes", "any")
        .documentation("Like `slice`.")
        .example("{{ mustSlice (list 1 2 3 4) 1 | toJson }}", "[2,3,4]"),
    Function::pure("chunk", &[Int, Any], lists::chunk)
        .signature("size list", "[][]any")
        .documentation("The items of the list in lists of at most that size. Fails for what is no list.")
        .example("{{ chunk 2 (list 1 2 3) | toJson }}", "[[1,2],[3]]"),
    Function::pure("mustChunk", &[Int, Any], lists::chunk)
        .signature("size list", "[][]any")
        .documentation("Like `chunk`.")
        .example("{{ mustChunk 2 (list 1 2 3) | toJson }}", "[[1,2],[3]]"),
];
