//! Which of the known names a misspelt one may stand for.

/// The known name nearest to `given`, if it is near: case, dashes and underscores aside, at most a third of the
/// letters differ.
pub(crate) fn suggest(given: &str, known: &[&'static str]) -> Option<&'static str> {
    let given = normalized(given);
    let distance = |name: &str| edit_distance(&given, &normalized(name));
    let nearest = known.iter().copied().min_by_key(|name| distance(name))?;
    (distance(nearest) * 3 <= nearest.len()).then_some(nearest)
}

fn normalized(name: &str) -> Vec<char> {
    // Longer names are no misspelling of ours, and the time below grows with the length.
    name.chars()
        .filter(|c| !matches!(c, '-' | '_' | ' '))
        .flat_map(char::to_lowercase)
        .take(64)
        .collect()
}

/// How many letters must be inserted, removed, replaced or swapped with their neighbour (optimal string alignment).
fn edit_distance(from: &[char], to: &[char]) -> usize {
    let mut before = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let replaced = above[column] + usize::from(letter != other);
            let mut least = replaced.min(above[column + 1] + 1).min(current[column] + 1);
            let is_swap = row > 0 && column > 0 && from[row - 1] == *other && to[column - 1] == *letter;
            if is_swap {
                let diagonal: &Vec<usize> = &before;
                least = least.min(diagonal[column - 1] + 1);
            }
            current.push(least);
        }
        before = std::mem::replace(&mut above, current);
    }
    above.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn a_near_name_is_suggested() {
        let known = &[
            "group",
            "kind",
            "chart",
            "reconcilePeriod",
            "watchDependentResources",
        ];
        for (given, expect) in [
            ("charts", Some("chart")),
            ("hcart", Some("chart")),
            ("reconcile_period", Some("reconcilePeriod")),
            ("reconcilePeroid", Some("reconcilePeriod")),
            ("watchDependantResources", Some("watchDependentResources")),
            ("watchDependents", None),
            ("role", None),
            ("", None),
        ] {
            assert_eq!(suggest(given, known), expect, "{given}");
        }
    }
}
