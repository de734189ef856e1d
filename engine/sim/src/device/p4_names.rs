//! Names of a program: the last parts of a name will do where no other name ends with them.

/// A name that stands for none, or for several; both with the names to choose from.
#[derive(Debug, PartialEq, Eq)]
pub enum NoSingleName {
    Unknown(String),
    Several(String),
}

/// The place of the one name that is `asked`, or that alone ends with it.
pub fn find(names: &[&str], asked: &str) -> Result<usize, NoSingleName> {
    if let Some(place) = names.iter().position(|&it| it == asked) {
        return Ok(place);
    }
    let ending: Vec<usize> = (0..names.len()).filter(|&it| ends_with(names[it], asked)).collect();
    match ending[..] {
        [place] => Ok(place),
        [] => Err(NoSingleName::Unknown(
            names.iter().map(|it| shortest(names, it)).collect::<Vec<&str>>().join(", "),
        )),
        _ => Err(NoSingleName::Several(ending.iter().map(|&it| names[it]).collect::<Vec<&str>>().join(", "))),
    }
}

/// The shortest end of a name that no other name has.
pub fn shortest<'a>(names: &[&str], name: &'a str) -> &'a str {
    let starts = name.rmatch_indices('.').map(|(dot, _)| dot + 1).chain([0]);
    starts
        .map(|start| &name[start..])
        .find(|end| names.iter().filter(|it| **it == *end || ends_with(it, end)).count() == 1)
        .unwrap_or(name)
}

/// Whether the last parts of a name are `end`.
fn ends_with(name: &str, end: &str) -> bool {
    name.strip_suffix(end).is_some_and(|front| front.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = ["hdr.ethernet.dst", "hdr.ipv4.dst", "meta.port", "port_number"];

    #[test]
    fn full_names_and_single_ends_are_found() {
        for (asked, place) in
            [("hdr.ipv4.dst", 1), ("ipv4.dst", 1), ("ethernet.dst", 0), ("port", 2), ("port_number", 3)]
        {
            assert_eq!(find(&NAMES, asked), Ok(place), "{asked}");
        }
    }

    #[test]
    fn an_end_of_several_is_refused_with_their_full_names() {
        let full = "hdr.ethernet.dst, hdr.ipv4.dst".to_string();
        assert_eq!(find(&NAMES, "dst"), Err(NoSingleName::Several(full)));
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_shortest_ends() {
        let short = "ethernet.dst, ipv4.dst, port, port_number".to_string();
        for asked in ["ort", "", "v4.dst", "hdr"] {
            assert_eq!(find(&NAMES, asked), Err(NoSingleName::Unknown(short.clone())), "{asked}");
        }
    }

    #[test]
    fn a_full_name_is_found_though_others_end_with_it() {
        assert_eq!(find(&["a.b", "b"], "b"), Ok(1));
    }
}
