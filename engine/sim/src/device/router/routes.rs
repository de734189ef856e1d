//! Longest prefix match, with several next hops per route.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// A network: an address and the length of its prefix in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    pub address: IpAddr,
    pub bits: u8,
}

impl Prefix {
    /// Reads `198.18.1.1/24` or `2001:db8::1/64`.
    pub fn parse(text: &str) -> Option<Prefix> {
        let (address, bits) = text.split_once('/')?;
        if !bits.bytes().all(|it| it.is_ascii_digit()) {
            return None; // The standard library takes a sign.
        }
        let prefix = Prefix { address: address.parse().ok()?, bits: bits.parse().ok()? };
        (prefix.bits <= width(prefix.address)).then_some(prefix)
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4() && key(address, self.bits) == key(self.address, self.bits)
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() {
        32
    } else {
        128
    }
}

/// The leading bits of an address as a number.
fn key(address: IpAddr, bits: u8) -> u128 {
    let number = match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    };
    number.checked_shr(u32::from(width(address) - bits)).unwrap_or(0)
}

/// Next hops of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// The destination is a neighbour at this port.
    Connected(usize),
    /// To one of these neighbours: (port, address).
    Via(Vec<(usize, IpAddr)>),
    /// As [`Route::Via`], from a routing protocol: a configured route replaces it.
    Learned(Vec<(usize, IpAddr)>),
}

/// The routes of both families.
#[derive(Default)]
pub struct Routes {
    /// Longest prefix first: (IPv4, bits), then the routes by prefix.
    by_length: Vec<((bool, u8), BTreeMap<u128, Route>)>,
}

impl Routes {
    /// Adds a route of the configuration; false when there is one for the prefix.
    pub fn add(&mut self, prefix: Prefix, route: Route) -> bool {
        self.of_length(prefix).insert(key(prefix.address, prefix.bits), route).is_none()
    }

    /// Takes the next hops that a routing protocol has for a prefix now; none removes its route.
    pub fn learn(&mut self, prefix: Prefix, via: Vec<(usize, IpAddr)>) {
        let routes = self.of_length(prefix);
        let key = key(prefix.address, prefix.bits);
        if matches!(routes.get(&key), Some(Route::Connected(_) | Route::Via(_))) {
            return;
        }
        if via.is_empty() {
            routes.remove(&key);
        } else {
            routes.insert(key, Route::Learned(via));
        }
    }

    /// The routes whose prefix is as long as this one, of its family.
    fn of_length(&mut self, prefix: Prefix) -> &mut BTreeMap<u128, Route> {
        let length = (prefix.address.is_ipv4(), prefix.bits);
        let place = match self.by_length.iter().position(|(it, _)| *it == length) {
            Some(place) => place,
            None => {
                self.by_length.push((length, BTreeMap::new()));
                self.by_length.sort_by_key(|((_, bits), _)| std::cmp::Reverse(*bits));
                let found = self.by_length.iter().position(|(it, _)| *it == length);
                found.expect("it was added")
            }
        };
        &mut self.by_length[place].1
    }

    pub fn find(&self, destination: IpAddr) -> Option<&Route> {
        let family = self.by_length.iter().filter(|((ipv4, _), _)| *ipv4 == destination.is_ipv4());
        let mut found = family.filter_map(|((_, bits), routes)| routes.get(&key(destination, *bits)));
        found.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_of_the_family_wins() {
        let mut routes = Routes::default();
        for (number, text) in
            ["0.0.0.0/0", "10.0.0.0/8", "10.1.2.0/24", "::/0", "10.1.2.3/32"].iter().enumerate()
        {
            assert!(routes.add(Prefix::parse(text).unwrap(), Route::Connected(number)));
        }
        for (text, number) in
            [("192.0.2.1", 0), ("10.9.9.9", 1), ("10.1.2.9", 2), ("2001:db8::1", 3), ("10.1.2.3", 4)]
        {
            let found = routes.find(text.parse().unwrap());
            assert_eq!(found, Some(&Route::Connected(number)), "{text}");
        }
        assert!(!routes.add(Prefix::parse("10.255.0.0/8").unwrap(), Route::Connected(9)));
    }

    #[test]
    fn learned_routes_come_and_go_beside_those_of_the_configuration() {
        let mut routes = Routes::default();
        let prefix = |text| Prefix::parse(text).unwrap();
        let hop = vec![(3, "10.0.0.9".parse().unwrap())];
        routes.add(prefix("10.0.0.0/8"), Route::Connected(1));
        for text in ["10.0.0.0/8", "20.0.0.0/8"] {
            routes.learn(prefix(text), hop.clone());
        }
        assert_eq!(routes.find("10.1.1.1".parse().unwrap()), Some(&Route::Connected(1)));
        assert_eq!(routes.find("20.1.1.1".parse().unwrap()), Some(&Route::Learned(hop)));
        for text in ["10.0.0.0/8", "20.0.0.0/8", "30.0.0.0/8"] {
            routes.learn(prefix(text), Vec::new());
        }
        assert_eq!(routes.find("10.1.1.1".parse().unwrap()), Some(&Route::Connected(1)));
        assert_eq!(routes.find("20.1.1.1".parse().unwrap()), None);
    }

    #[test]
    fn prefixes_are_read_or_refused() {
        assert!(Prefix::parse("10.0.0.1/8").unwrap().contains("10.2.3.4".parse().unwrap()));
        for text in ["10.0.0.1", "10.0.0.1/33", "2001:db8::/129", "x/8", "10.0.0.1/-1", "10.0.0.1/+8"] {
            assert_eq!(Prefix::parse(text), None, "{text}");
        }
    }
}
