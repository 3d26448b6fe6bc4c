//! Decimal fractions of any size, so that sums of floats come out as people write them.

use num_bigint::{BigInt, Sign};
use steersman_gotemplate::Failure;
use steersman_gotemplate::format::float;

/// The digits after the point that a quotient has.
const QUOTIENT_PLACES: i64 = 16;

/// `coefficient` times ten to the power of `exponent`.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    coefficient: BigInt,
    exponent: i64,
}

impl Decimal {
    /// The decimal with the fewest digits that stands for this float.
    pub(super) fn from_float(number: f64) -> Result<Self, Failure> {
        if !number.is_finite() {
            let shown = if number.is_nan() {
                "NaN"
            } else if number < 0.0 {
                "-Inf"
            } else {
                "+Inf"
            };
            return Err(Failure::new(format!("Cannot create a Decimal from {shown}")));
        }
        let written = float(number, b'e', None);
        let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        Ok(Self {
            coefficient: format!("{whole}{fraction}").parse().unwrap_or_default(),
            exponent: exponent.parse::<i64>().unwrap_or(0) - fraction.len() as i64,
        })
    }

    /// The nearest float.
    pub(super) fn to_float(&self) -> f64 {
        format!("{}e{}", self.coefficient, self.exponent)
            .parse()
            .unwrap_or(0.0)
    }

    /// About how many digits the coefficient has.
    pub(super) fn digits(&self) -> u64 {
        self.coefficient.bits() / 3
    }

    pub(super) fn add(&self, other: &Self) -> Result<Self, Failure> {
        let exponent = self.exponent.min(other.exponent);
        Ok(Self {
            coefficient: self.scaled_to(exponent) + other.scaled_to(exponent),
            exponent,
        })
    }

    pub(super) fn subtract(&self, other: &Self) -> Result<Self, Failure> {
        let exponent = self.exponent.min(other.exponent);
        Ok(Self {
            coefficient: self.scaled_to(exponent) - other.scaled_to(exponent),
            exponent,
        })
    }

    pub(super) fn multiply(&self, other: &Self) -> Result<Self, Failure> {
        Ok(Self {
            coefficient: &self.coefficient * &other.coefficient,
            exponent: self.exponent + other.exponent,
        })
    }

    /// The quotient rounded to [`QUOTIENT_PLACES`], halves away from zero.
    pub(super) fn divide(&self, other: &Self) -> Result<Self, Failure> {
        if other.coefficient.sign() == Sign::NoSign {
            return Err(Failure::new("decimal division by 0"));
        }
        let shift = self.exponent - other.exponent + QUOTIENT_PLACES;
        let (numerator, denominator) = if shift < 0 {
            (
                self.coefficient.clone(),
                &other.coefficient * power_of_ten(-shift),
            )
        } else {
            (&self.coefficient * power_of_ten(shift), other.coefficient.clone())
        };
        let quotient = &numerator / &denominator;
        let remainder = &numerator - &quotient * &denominator;
        let rounds_up = remainder.magnitude() * 2_u8 >= *denominator.magnitude();
        let away_from_zero = if numerator.sign() == denominator.sign() {
            1
        } else {
            -1
        };
        let coefficient = if rounds_up {
            quotient + away_from_zero
        } else {
            quotient
        };
        Ok(Self {
            coefficient,
            exponent: -QUOTIENT_PLACES,
        })
    }

    fn scaled_to(&self, exponent: i64) -> BigInt {
        &self.coefficient * power_of_ten(self.exponent - exponent)
    }
}

/// Ten to this power. Floats, and the sums and products of a bounded number of them, keep it small.
fn power_of_ten(exponent: i64) -> BigInt {
    BigInt::from(10).pow(u32::try_from(exponent).unwrap_or(0))
}
