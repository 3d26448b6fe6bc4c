//! Days of the Gregorian calendar, which goes on before its introduction.

/// A day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: i64,
    /// From 1 to 12.
    pub(super) month: i64,
    /// From 1 to 31.
    pub(super) day: i64,
}

pub(super) const SECONDS_PER_DAY: i64 = 86400;

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(super) const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

impl Date {
    /// The day that is so many days after the first of 1970.
    pub(super) fn of_number(number: i64) -> Self {
        // Years begin in March, so that a leap day ends its year; eras are 400 years.
        let shifted = number.saturating_add(719_468);
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * of_year + 2) / 153;
        let month = if march_month < 10 {
            march_month + 3
        } else {
            march_month - 9
        };
        Self {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day: of_year - (153 * march_month + 2) / 5 + 1,
        }
    }

    /// How many days after the first of 1970 this is. The month and the day may be out of their
    /// ranges and count on into neighbouring years and months.
    pub(super) fn number(self) -> i64 {
        let months = self.month.saturating_sub(1);
        let year = self.year.saturating_add(months.div_euclid(12));
        let month = months.rem_euclid(12) + 1;
        let march_year = year.saturating_sub(i64::from(month <= 2));
        let era = march_year.div_euclid(400);
        let year_of_era = march_year.rem_euclid(400);
        let march_month = (month + 9) % 12;
        let of_year = (153 * march_month + 2) / 5;
        let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
        era.saturating_mul(146_097)
            .saturating_add(of_era - 719_468)
            .saturating_add(self.day.saturating_sub(1))
    }

    /// The place of the day in its year, from 1 on.
    pub(super) fn of_year(self) -> i64 {
        let first = Self {
            month: 1,
            day: 1,
            ..self
        };
        self.number() - first.number() + 1
    }

    /// The day of the week, 0 for Sunday.
    pub(super) fn weekday(self) -> i64 {
        self.number().saturating_add(4).rem_euclid(7)
    }
}

pub(super) fn days_in_month(year: i64, month: i64) -> i64 {
    let first = |month| Date { year, month, day: 1 }.number();
    first(month + 1) - first(month)
}

/// The name of the month, from 1 on.
pub(super) fn month_name(month: i64) -> &'static str {
    name(&MONTHS, month - 1)
}

/// The name of the day of the week, from 0 for Sunday on.
pub(super) fn weekday_name(weekday: i64) -> &'static str {
    name(&WEEKDAYS, weekday)
}

fn name(names: &[&'static str], place: i64) -> &'static str {
    usize::try_from(place)
        .ok()
        .and_then(|place| names.get(place).copied())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_numbered_there_and_back() {
        for number in (-800_000..800_000).step_by(997) {
            assert_eq!(Date::of_number(number).number(), number);
        }
        let day = Date::of_number(17_531);
        assert_eq!((day.year, day.month, day.day), (2017, 12, 31));
        assert_eq!((day.of_year(), day.weekday()), (365, 0));
        assert_eq!(days_in_month(2020, 2), 29);
        assert_eq!(days_in_month(1900, 2), 28);
        assert_eq!(days_in_month(2020, 12), 31);
    }
}
