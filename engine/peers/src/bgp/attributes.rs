//! Path attributes of routes, as they are announced and as a neighbour has sent them.

use std::net::IpAddr;

use netgauze_bgp_pkt::community::{Community, ExtendedCommunity};
use netgauze_bgp_pkt::path_attribute::{
    As2PathSegment, As4Path, As4PathSegment, AsPath, AsPathSegmentType, Communities, ExtendedCommunities,
    LocalPreference, MultiExitDiscriminator, PathAttribute, PathAttributeValue,
};
use netgauze_parse_utils::{ReadablePdu, Span, WritablePdu};

/// Stands for an AS number of four octets where there are two (RFC 6793 section 9).
pub(crate) const AS_TRANS: u16 = 23_456;
/// AS numbers of one segment of a path (RFC 4271 section 4.3).
const MAX_SEGMENT: usize = 255;

/// Source of a route (RFC 4271 section 5.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    #[default]
    Igp,
    Egp,
    Incomplete,
}

/// Part of a path: a sequence, nearest first, or a set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Segment {
    pub is_set: bool,
    pub as_numbers: Vec<u32>,
}

/// Attributes of routes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attributes {
    pub origin: Origin,
    pub as_path: Vec<Segment>,
    /// `None` in an announcement: the speaker's own address.
    pub next_hop: Option<IpAddr>,
    /// MULTI_EXIT_DISC.
    pub metric: Option<u32>,
    /// Goes to neighbours of the same AS only (RFC 4271 section 5.1.5).
    pub local_preference: Option<u32>,
    pub communities: Vec<u32>,
    pub extended_communities: Vec<[u8; 8]>,
}

impl Attributes {
    /// A path that is one sequence.
    pub fn of_path(as_numbers: &[u32]) -> Attributes {
        let as_path = match as_numbers {
            [] => Vec::new(),
            numbers => vec![Segment { is_set: false, as_numbers: numbers.to_vec() }],
        };
        Attributes { as_path, ..Attributes::default() }
    }

    /// All AS numbers of the path.
    pub fn path(&self) -> impl Iterator<Item = u32> + '_ {
        self.as_path.iter().flat_map(|it| it.as_numbers.iter().copied())
    }

    /// Memory that they take, about.
    pub(crate) fn bytes(&self) -> usize {
        let path: usize = self.as_path.iter().map(|it| size_of::<Segment>() + 4 * it.as_numbers.len()).sum();
        size_of::<Attributes>() + path + 4 * self.communities.len() + 8 * self.extended_communities.len()
    }

    /// Takes what an attribute of a message says, if it is one of these.
    pub(crate) fn take(&mut self, attribute: &PathAttributeValue) {
        match attribute {
            PathAttributeValue::Origin(value) => {
                self.origin = match *value as u8 {
                    0 => Origin::Igp,
                    1 => Origin::Egp,
                    _ => Origin::Incomplete,
                }
            }
            PathAttributeValue::AsPath(value) => self.as_path = segments(value),
            PathAttributeValue::MultiExitDiscriminator(value) => self.metric = Some(value.metric()),
            PathAttributeValue::LocalPreference(value) => self.local_preference = Some(value.metric()),
            PathAttributeValue::Communities(value) => {
                self.communities = value.communities().iter().map(Community::value).collect();
            }
            PathAttributeValue::ExtendedCommunities(value) => {
                self.extended_communities = value.communities().iter().filter_map(octets).collect();
            }
            _ => {}
        }
    }

    /// The attributes of an announcement but the next hop. `own_as` goes in front of the path; `four_octets`: the
    /// neighbour knows AS numbers of four octets (RFC 6793); `internal`: it is of the same AS.
    pub(crate) fn announced(
        &self,
        own_as: Option<u32>,
        four_octets: bool,
        internal: bool,
    ) -> Vec<PathAttribute> {
        use netgauze_bgp_pkt::path_attribute::Origin as Value;
        let mut path = self.as_path.clone();
        match (own_as, path.first_mut()) {
            (Some(own_as), Some(Segment { is_set: false, as_numbers })) => as_numbers.insert(0, own_as),
            (Some(own_as), _) => path.insert(0, Segment { is_set: false, as_numbers: vec![own_as] }),
            (None, _) => {}
        }
        let origin = match self.origin {
            Origin::Igp => Value::IGP,
            Origin::Egp => Value::EGP,
            Origin::Incomplete => Value::Incomplete,
        };
        let mut found = vec![well_known(PathAttributeValue::Origin(origin))];
        found.extend(path_attributes(&path, four_octets));
        found.extend(
            self.metric.map(|it| {
                optional(PathAttributeValue::MultiExitDiscriminator(MultiExitDiscriminator::new(it)))
            }),
        );
        found.extend(
            self.local_preference
                .filter(|_| internal)
                .map(|it| well_known(PathAttributeValue::LocalPreference(LocalPreference::new(it)))),
        );
        if !self.communities.is_empty() {
            let all = self.communities.iter().map(|it| Community::new(*it)).collect();
            found.push(transitive(PathAttributeValue::Communities(Communities::new(all))));
        }
        if !self.extended_communities.is_empty() {
            let all = self.extended_communities.iter().filter_map(community).collect();
            found.push(transitive(PathAttributeValue::ExtendedCommunities(ExtendedCommunities::new(all))));
        }
        found
    }
}

fn octets(community: &ExtendedCommunity) -> Option<[u8; 8]> {
    let mut bytes = Vec::with_capacity(8);
    community.write(&mut bytes).ok()?;
    bytes.try_into().ok()
}

fn community(octets: &[u8; 8]) -> Option<ExtendedCommunity> {
    ExtendedCommunity::from_wire(Span::new(octets)).ok().map(|(_, it)| it)
}

fn segments(path: &AsPath) -> Vec<Segment> {
    let segment = |kind: AsPathSegmentType, as_numbers| Segment {
        is_set: matches!(kind, AsPathSegmentType::AsSet),
        as_numbers,
    };
    match path {
        AsPath::As2PathSegments(all) => all
            .iter()
            .map(|it| segment(it.segment_type(), it.as_numbers().iter().copied().map(u32::from).collect()))
            .collect(),
        AsPath::As4PathSegments(all) => {
            all.iter().map(|it| segment(it.segment_type(), it.as_numbers().to_vec())).collect()
        }
    }
}

/// AS_PATH, and AS4_PATH where the neighbour knows two octets only and the path does not fit in these.
fn path_attributes(path: &[Segment], four_octets: bool) -> Vec<PathAttribute> {
    let parts = || {
        path.iter().flat_map(|segment| {
            let kind = if segment.is_set { AsPathSegmentType::AsSet } else { AsPathSegmentType::AsSequence };
            segment.as_numbers.chunks(MAX_SEGMENT).map(move |numbers| (kind, numbers))
        })
    };
    let four = || -> Vec<As4PathSegment> {
        parts().map(|(kind, numbers)| As4PathSegment::new(kind, numbers.to_vec())).collect()
    };
    if four_octets {
        return vec![well_known(PathAttributeValue::AsPath(AsPath::As4PathSegments(four())))];
    }
    let short = |numbers: &[u32]| -> Vec<u16> {
        numbers.iter().map(|number| u16::try_from(*number).unwrap_or(AS_TRANS)).collect()
    };
    let two: Vec<As2PathSegment> =
        parts().map(|(kind, numbers)| As2PathSegment::new(kind, short(numbers))).collect();
    let mut attributes = vec![well_known(PathAttributeValue::AsPath(AsPath::As2PathSegments(two)))];
    if parts().any(|(_, numbers)| numbers.iter().any(|number| u16::try_from(*number).is_err())) {
        attributes.push(transitive(PathAttributeValue::As4Path(As4Path::new(four()))));
    }
    attributes
}

pub(crate) fn well_known(value: PathAttributeValue) -> PathAttribute {
    // Two bytes of length where a path is long.
    let extended = matches!(value, PathAttributeValue::AsPath(_));
    PathAttribute::from(false, true, false, extended, value).expect("flags of a well-known attribute")
}

pub(crate) fn optional(value: PathAttributeValue) -> PathAttribute {
    PathAttribute::from(true, false, false, true, value).expect("flags of an optional attribute")
}

fn transitive(value: PathAttributeValue) -> PathAttribute {
    PathAttribute::from(true, true, false, true, value)
        .expect("flags of an optional attribute that is passed on")
}
