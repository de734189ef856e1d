//! Routes that a neighbour has sent (Adj-RIB-In, RFC 4271 section 3.2), in bounded memory.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use ipnet::IpNet;

use super::attributes::Attributes;

/// Memory of the routes of one session: two million of them where many share their attributes.
pub(crate) const MAX_BYTES: usize = 128 << 20;
/// Of a network beside its attributes.
const ROUTE_BYTES: usize = 64;

/// The routes of one session.
#[derive(Default)]
pub(crate) struct RoutesIn {
    /// The message of each.
    routes: BTreeMap<IpNet, u64>,
    messages: HashMap<u64, Message>,
    next: u64,
    /// Routes of messages before this one are stale: they are of a session that has ended (RFC 4724 section 4.2).
    fresh: u64,
    used: usize,
    bytes: usize,
}

/// Shared by the routes of one message.
struct Message {
    attributes: Arc<Attributes>,
    /// The routes may be used: the own AS is not in their path.
    usable: bool,
    /// Routes that are left of it.
    routes: usize,
}

impl RoutesIn {
    /// Number of the routes that are in use.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Number of all routes.
    pub fn received(&self) -> usize {
        self.routes.len()
    }

    /// Whether the routes are more than there is memory for.
    pub fn is_full(&self) -> bool {
        self.bytes > MAX_BYTES
    }

    /// Networks of the routes that are in use.
    pub fn in_use(&self) -> impl Iterator<Item = IpNet> + '_ {
        self.routes.iter().filter(|(_, message)| self.messages[*message].usable).map(|(network, _)| *network)
    }

    /// The routes behind a network in their order, from the first one on without any.
    pub fn after(&self, network: Option<IpNet>) -> impl Iterator<Item = (IpNet, &Attributes)> + '_ {
        let from = network.map_or(Bound::Unbounded, Bound::Excluded);
        let routes = self.routes.range((from, Bound::Unbounded));
        routes.map(|(network, message)| (*network, &*self.messages[message].attributes))
    }

    /// Takes the routes of a message, in place of those of the same networks. Returns the networks that are no longer in
    /// use.
    pub fn add(&mut self, networks: &[IpNet], attributes: &Arc<Attributes>, usable: bool) -> Vec<IpNet> {
        if networks.is_empty() {
            return Vec::new();
        }
        let number = self.next;
        self.next += 1;
        self.bytes += attributes.bytes();
        // The message itself holds on to it while networks may come twice in it.
        self.messages.insert(number, Message { attributes: attributes.clone(), usable, routes: 1 });
        let mut lost = Vec::new();
        for network in networks {
            let was_used = self.remove(network);
            if was_used && !usable {
                lost.push(*network);
            }
            self.routes.insert(*network, number);
            self.bytes += ROUTE_BYTES;
            self.used += usize::from(usable);
            self.messages.get_mut(&number).expect("the message is held").routes += 1;
        }
        self.let_go(number);
        lost
    }

    /// Removes a route. Returns true if it was in use.
    pub fn remove(&mut self, network: &IpNet) -> bool {
        let Some(number) = self.routes.remove(network) else { return false };
        self.bytes -= ROUTE_BYTES;
        let usable = self.messages[&number].usable;
        self.used -= usize::from(usable);
        self.let_go(number);
        usable
    }

    /// All routes are those of a session that has ended.
    pub fn go_stale(&mut self) {
        self.fresh = self.next;
    }

    /// Removes stale routes of some networks. Returns the networks that are no longer in use.
    pub fn remove_stale(&mut self, which: impl Fn(&IpNet) -> bool) -> Vec<IpNet> {
        if self.fresh == 0 {
            return Vec::new();
        }
        let stale = self.routes.iter().filter(|(network, message)| **message < self.fresh && which(network));
        let mut networks: Vec<IpNet> = stale.map(|(network, _)| *network).collect();
        networks.retain(|network| self.remove(network));
        networks
    }

    fn let_go(&mut self, number: u64) {
        let message = self.messages.get_mut(&number).expect("a message of a route");
        message.routes -= 1;
        if message.routes == 0 {
            self.bytes -= message.attributes.bytes();
            self.messages.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(count: u32) -> Vec<IpNet> {
        (0..count).map(|it| IpNet::new(std::net::Ipv4Addr::from(it << 8).into(), 24).unwrap()).collect()
    }

    #[test]
    fn memory_is_that_of_the_routes_that_are_there() {
        let all = networks(1_000);
        let attributes = Arc::new(Attributes::of_path(&[64_513, 65_000]));
        let mut routes = RoutesIn::default();
        for usable in [true, false, true] {
            // Twice in one message, and in place of those before.
            routes.add(&[&all[..], &all[..]].concat(), &attributes, usable);
            assert_eq!(routes.bytes, 1_000 * ROUTE_BYTES + attributes.bytes());
            assert_eq!((routes.received(), routes.len()), (1_000, if usable { 1_000 } else { 0 }));
        }
        for network in &all[1..] {
            assert!(routes.remove(network));
        }
        assert_eq!(routes.bytes, ROUTE_BYTES + attributes.bytes());
        assert!(routes.remove(&all[0]) && !routes.remove(&all[0]));
        assert_eq!((routes.bytes, routes.messages.len(), routes.len()), (0, 0, 0));
    }

    #[test]
    fn routes_are_full_when_their_attributes_are() {
        let attributes = Arc::new(Attributes { communities: vec![0; 1_000], ..Attributes::default() });
        let mut routes = RoutesIn::default();
        let each = attributes.bytes() + ROUTE_BYTES;
        for network in networks((MAX_BYTES / each) as u32) {
            routes.add(&[network], &attributes, true);
        }
        assert!(!routes.is_full());
        routes.add(&["2001:db8::/64".parse().unwrap()], &attributes, true);
        assert!(routes.is_full());
    }

    #[test]
    fn routes_that_lose_their_use_are_told() {
        let (all, attributes) = (networks(3), Arc::new(Attributes::default()));
        let mut routes = RoutesIn::default();
        routes.add(&all, &attributes, true);
        assert_eq!(routes.add(&all[1..], &attributes, false), all[1..]);
        assert_eq!(routes.add(&all[1..], &attributes, false), []);
        assert_eq!(routes.in_use().collect::<Vec<_>>(), all[..1]);
        let behind: Vec<IpNet> = routes.after(Some(all[0])).map(|it| it.0).collect();
        assert_eq!(behind, all[1..]);
    }
}
