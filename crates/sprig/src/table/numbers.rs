//! Conversions to numbers, arithmetic, rounding and sequences.

use steersman_gotemplate::Function;
use steersman_gotemplate::Parameter::{Any, Float64, Int, String as Text};

use crate::numbers;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::pure("int", &[Any], numbers::int)
        .signature("value", "int")
        .documentation(
            "The value as an int: a number without its fraction, a text of digits, 1 for true. What is \
             none of these gives 0.",
        )
        .example(r#"{{ int "42" }}"#, "42"),
    Function::pure("int64", &[Any], numbers::int64)
        .signature("value", "int64")
        .documentation("The value as an int64, by the rules of `int`.")
        .example("{{ int64 3.7 }}", "3"),
    Function::pure("float64", &[Any], numbers::float64)
        .signature("value", "float64")
        .documentation(
            "The value as a float64: a number, a text of one, 1 for true. What is none of these gives 0.",
        )
        .example(r#"{{ float64 "1.5" }}"#, "1.5"),
    Function::pure("atoi", &[Text], numbers::atoi)
        .signature("text", "int")
        .documentation("The decimal integer that the text is, or 0 if it is none.")
        .example(r#"{{ atoi "042" }}"#, "42"),
    Function::pure("toDecimal", &[Any], numbers::to_decimal)
        .signature("value", "int64")
        .documentation(
            "The integer that the value's text is in octal notation, such as the mode of a file, or 0 if \
             it is none.",
        )
        .example(r#"{{ toDecimal "0755" }}"#, "493"),
    Function::pure("add", &[Any], numbers::add)
        .variadic()
        .signature("numbers", "int64")
        .documentation("The sum of the numbers, each taken as an integer.")
        .example("{{ add 1 2 3 }}", "6"),
    Function::pure("add1", &[Any], numbers::add1)
        .signature("number", "int64")
        .documentation("The number, taken as an integer, plus 1.")
        .example("{{ add1 41 }}", "42"),
    Function::pure("sub", &[Any, Any], numbers::sub)
        .signature("number subtrahend", "int64")
        .documentation("The first number minus the second, both taken as integers.")
        .example("{{ sub 5 2 }}", "3"),
    Function::pure("mul", &[Any, Any], numbers::mul)
        .variadic()
        .signature("number factors", "int64")
        .documentation("The product of the numbers, each taken as an integer.")
        .example("{{ mul 2 3 7 }}", "42"),
    Function::pure("div", &[Any, Any], numbers::div)
        .signature("number divisor", "int64")
        .documentation(
            "The first number divided by the second, both taken as integers, rounded towards 0. Fails for \
             a divisor of 0.",
        )
        .example("{{ div 7 2 }}", "3"),
    Function::pure("mod", &[Any, Any], numbers::modulo)
        .signature("number divisor", "int64")
        .documentation(
            "What is left when the first number is divided by the second, both taken as integers. Fails \
             for a divisor of 0.",
        )
        .example("{{ mod 7 2 }}", "1"),
    Function::pure("max", &[Any, Any], numbers::max)
        .variadic()
        .signature("number others", "int64")
        .documentation("The greatest of the numbers, each taken as an integer.")
        .example("{{ max 1 5 3 }}", "5"),
    Function::pure("biggest", &[Any, Any], numbers::max)
        .variadic()
        .signature("number others", "int64")
        .documentation("The old name of `max`.")
        .example("{{ biggest 1 5 3 }}", "5"),
    Function::pure("min", &[Any, Any], numbers::min)
        .variadic()
        .signature("number others", "int64")
        .documentation("The least of the numbers, each taken as an integer.")
        .example("{{ min 4 2 3 }}", "2"),
    Function::pure("addf", &[Any], numbers::addf)
        .variadic()
        .signature("numbers", "float64")
        .documentation("The sum of the numbers, added as decimals: without the rounding of binary floats.")
        .example("{{ addf 0.1 0.2 }}", "0.3"),
    Function::pure("add1f", &[Any], numbers::add1f)
        .signature("number", "float64")
        .documentation("The number, taken as a float, plus 1.")
        .example("{{ add1f 1.5 }}", "2.5"),
    Function::pure("subf", &[Any, Any], numbers::subf)
        .variadic()
        .signature("number subtrahends", "float64")
        .documentation("The first number minus all others, computed as decimals.")
        .example("{{ subf 7.5 2 3 }}", "2.5"),
    Function::pure("mulf", &[Any, Any], numbers::mulf)
        .variadic()
        .signature("number factors", "float64")
        .documentation("The product of the numbers, computed as decimals.")
        .example("{{ mulf 1.5 2 2 }}", "6"),
    Function::pure("divf", &[Any, Any], numbers::divf)
        .variadic()
        .signature("number divisors", "float64")
        .documentation(
            "The first number divided by all others in turn, computed as decimals. Fails for a divisor of \
             0.",
        )
        .example("{{ divf 10 4 }}", "2.5"),
    Function::pure("maxf", &[Any, Any], numbers::maxf)
        .variadic()
        .signature("number others", "float64")
        .documentation("The greatest of the numbers, each taken as a float.")
        .example("{{ maxf 1 2.5 }}", "2.5"),
    Function::pure("minf", &[Any, Any], numbers::minf)
        .variadic()
        .signature("number others", "float64")
        .documentation("The least of the numbers, each taken as a float.")
        .example("{{ minf 1.5 2 }}", "1.5"),
    Function::pure("ceil", &[Any], numbers::ceil)
        .signature("number", "float64")
        .documentation("The number rounded up to an integer.")
        .example("{{ ceil 1.2 }}", "2"),
    Function::pure("floor", &[Any], numbers::floor)
        .signature("number", "float64")
        .documentation("The number rounded down to an integer.")
        .example("{{ floor 1.8 }}", "1"),
    Function::pure("round", &[Any, Int, Float64], numbers::round)
        .variadic()
        .signature("number places threshold", "float64")
        .documentation(
            "The number rounded to so many decimal places; a last digit from 0.5, or from the threshold, \
             is rounded up.",
        )
        .example("{{ round 123.5555 3 }}", "123.556"),
    Function::pure("until", &[Int], numbers::until)
        .signature("limit", "[]int")
        .documentation("The integers from 0 until the limit, downwards for a negative one.")
        .example("{{ until 3 | toJson }}", "[0,1,2]"),
    Function::pure("untilStep", &[Int, Int, Int], numbers::until_step)
        .signature("start limit step", "[]int")
        .documentation(
            "The integers from the start until the limit, each a step from the one before. A step that \
             leads away gives an empty list.",
        )
        .example("{{ untilStep 3 9 2 | toJson }}", "[3,5,7]"),
    Function::pure("seq", &[Int], numbers::seq)
        .variadic()
        .signature("numbers", "string")
        .documentation(
            "The integers up to a last one, from a first one, by a step: `seq LAST`, `seq FIRST LAST` or \
             `seq FIRST STEP LAST`, as text with spaces between.",
        )
        .example("{{ seq 1 3 9 }}", "1 4 7"),
];
