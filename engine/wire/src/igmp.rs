//! IGMP versions 1 to 3 (RFC 1112, 2236, 3376).

use std::net::Ipv4Addr;

use etherparse::checksum::Sum16BitWords;
use etherparse::{IgmpSlice, IpNumber};

use crate::checksum;
use crate::ethernet::Mac;
use crate::membership::{parse_records, Detail, Query, Record};

pub const PROTOCOL: u8 = IpNumber::IGMP.0;
const QUERY: u8 = 0x11;
const REPORT_V1: u8 = 0x12;
const REPORT_V2: u8 = 0x16;
const LEAVE: u8 = 0x17;
const REPORT_V3: u8 = 0x22;
const CHECKSUM: std::ops::Range<usize> = 2..4;
/// Type, a code, checksum, a group or counts.
const HEADER_BYTES: usize = 8;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    Query(Query<Ipv4Addr>),
    ReportV1(Ipv4Addr),
    ReportV2(Ipv4Addr),
    Leave(Ipv4Addr),
    ReportV3(Vec<Record<Ipv4Addr>>),
}

/// Reads the whole payload of an IPv4 packet.
pub fn parse(bytes: &[u8]) -> Option<Message> {
    let message = IgmpSlice::from_slice(bytes).ok()?;
    if !message.is_checksum_valid() {
        return None;
    }
    let group = Ipv4Addr::from(message.bytes4to7());
    Some(match message {
        IgmpSlice::MembershipQuery(_) | IgmpSlice::MembershipQueryWithSources(_) => Message::Query(Query {
            group,
            max_response_code: u16::from(message.max_resp_code_or_reserved()),
            detail: match &bytes[HEADER_BYTES..] {
                [] => None,
                rest => Some(Detail::parse(rest)?),
            },
        }),
        IgmpSlice::MembershipReportV1(_) => Message::ReportV1(group),
        IgmpSlice::MembershipReportV2(_) => Message::ReportV2(group),
        IgmpSlice::LeaveGroup(_) => Message::Leave(group),
        IgmpSlice::MembershipReportV3(report) => {
            let records = parse_records(&bytes[HEADER_BYTES..], report.num_of_records())?;
            Message::ReportV3(records)
        }
        IgmpSlice::Unknown(_) => return None,
    })
}

impl Message {
    pub fn emit(&self, frame: &mut Vec<u8>) {
        let begin = frame.len();
        let mut head = |kind: u8, code: u8, rest: [u8; 4]| {
            frame.extend_from_slice(&[kind, code, 0, 0]);
            frame.extend_from_slice(&rest);
        };
        match self {
            Message::Query(query) => {
                head(QUERY, query.max_response_code as u8, query.group.octets());
                if let Some(detail) = &query.detail {
                    detail.emit(frame);
                }
            }
            Message::ReportV1(group) => head(REPORT_V1, 0, group.octets()),
            Message::ReportV2(group) => head(REPORT_V2, 0, group.octets()),
            Message::Leave(group) => head(LEAVE, 0, group.octets()),
            Message::ReportV3(records) => {
                let [high, low] = (records.len() as u16).to_be_bytes();
                head(REPORT_V3, 0, [0, 0, high, low]);
                records.iter().for_each(|record| record.emit(frame));
            }
        }
        let sum = checksum::of(Sum16BitWords::new(), &frame[begin..]);
        frame[begin..][CHECKSUM].copy_from_slice(&sum);
    }
}

/// The MAC of a group (RFC 1112 6.4).
pub fn group_mac(group: Ipv4Addr) -> Mac {
    let [_, b, c, d] = group.octets();
    [0x01, 0x00, 0x5e, b & 0x7f, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::membership::Mode;

    const GROUP: Ipv4Addr = Ipv4Addr::new(225, 129, 1, 1);

    #[test]
    fn messages_of_all_versions_are_read_as_they_were_written() {
        let record = Record {
            mode: Mode::Allow,
            group: GROUP,
            sources: vec![Ipv4Addr::new(10, 0, 0, 9), Ipv4Addr::new(10, 0, 0, 10)],
        };
        let query = |detail| Message::Query(Query { group: GROUP, max_response_code: 100, detail });
        let detail = Detail {
            suppress: false,
            robustness: 2,
            interval_code: 125,
            sources: vec![Ipv4Addr::new(10, 0, 0, 9)],
        };
        for (message, bytes) in [
            (query(None), 8),
            (query(Some(detail)), 16),
            (Message::ReportV1(GROUP), 8),
            (Message::ReportV2(GROUP), 8),
            (Message::Leave(GROUP), 8),
            (Message::ReportV3(vec![record.clone(), record]), 40),
        ] {
            let mut frame = Vec::new();
            message.emit(&mut frame);
            assert_eq!(frame.len(), bytes, "{message:?}");
            assert_eq!(parse(&frame), Some(message));
            for length in 0..frame.len() {
                assert_eq!(parse(&frame[..length]), None);
            }
            frame[3] ^= 1;
            assert_eq!(parse(&frame), None, "a checksum that does not fit");
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_standard() {
        let mut frame = Vec::new();
        Message::ReportV2(Ipv4Addr::new(225, 1, 1, 1)).emit(&mut frame);
        assert_eq!(frame, [0x16, 0, 0x07, 0xfd, 225, 1, 1, 1]);
        assert_eq!(group_mac(GROUP), [0x01, 0, 0x5e, 1, 1, 1]);
    }
}
