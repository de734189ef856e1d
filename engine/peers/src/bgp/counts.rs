//! Messages of one side of a session, counted by kind.

use netgauze_bgp_pkt::path_attribute::{MpUnreach, PathAttributeValue};
use netgauze_bgp_pkt::BgpMessage;

/// Messages since the first connection; those of sessions before count, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub opens: u64,
    pub updates: u64,
    pub keepalives: u64,
    pub notifications: u64,
    /// Unicast routes that UPDATEs withdraw.
    pub withdrawn: u64,
    /// UPDATEs that say that all routes of a family are announced (RFC 4724 section 2); they are among the UPDATEs.
    pub ends_of_routes: u64,
}

impl Counts {
    pub(crate) fn count(&mut self, message: &BgpMessage) {
        match message {
            BgpMessage::Open(_) => self.opens += 1,
            BgpMessage::KeepAlive => self.keepalives += 1,
            BgpMessage::Notification(_) => self.notifications += 1,
            BgpMessage::RouteRefresh(_) => {}
            BgpMessage::Update(update) => {
                self.updates += 1;
                self.ends_of_routes += u64::from(update.end_of_rib().is_some());
                let of_attributes = update.path_attributes().iter().map(|it| match it.value() {
                    PathAttributeValue::MpUnreach(MpUnreach::Ipv4Unicast { nlri }) => nlri.len(),
                    PathAttributeValue::MpUnreach(MpUnreach::Ipv6Unicast { nlri }) => nlri.len(),
                    _ => 0,
                });
                self.withdrawn += (update.withdraw_routes().len() + of_attributes.sum::<usize>()) as u64;
            }
        }
    }
}
