//! Takes messages out of what a neighbour has sent, UPDATEs without what is malformed in them.

use netgauze_bgp_pkt::iana::BgpMessageType;
use netgauze_bgp_pkt::notification::BgpNotificationMessage;
use netgauze_bgp_pkt::wire::deserializer::{BgpMessageParsingError, BgpParsingContext};
use netgauze_bgp_pkt::BgpMessage;
use netgauze_parse_utils::{LocatedParsingError, ReadablePduWithOneInput, Span};

use super::messages::{HEADER_BYTES, MAX_MESSAGE_BYTES};
use super::sifting::sift;

/// A message of the neighbour.
pub(crate) struct Received {
    pub message: BgpMessage,
    /// An UPDATE had a malformed attribute for which its routes are withdrawn (RFC 7606 section 2).
    pub withdraws: bool,
}

/// A message that cannot be read ends the session.
pub(crate) enum Unreadable {
    /// One with an unknown code and subcode, which says so already (RFC 4271 section 6.4).
    Notification(u8, u8),
    Malformed(Malformed),
}

/// The answer to the neighbour, and the problem.
pub(crate) struct Malformed {
    pub told: BgpNotificationMessage,
    pub problem: String,
}

/// Takes the first message out of a stream; `None` while it is not complete. `internal`: the neighbour is of the same
/// AS.
pub(crate) fn decode(
    stream: &mut Vec<u8>,
    context: &mut BgpParsingContext,
    internal: bool,
) -> Option<Result<Received, Unreadable>> {
    if stream.len() < HEADER_BYTES {
        return None;
    }
    let bytes = usize::from(u16::from_be_bytes([stream[16], stream[17]]));
    // The parser refuses an impossible length.
    if stream.len() < bytes && (HEADER_BYTES..=MAX_MESSAGE_BYTES).contains(&bytes) {
        return None;
    }
    let taken: Vec<u8> = stream.drain(..bytes.clamp(HEADER_BYTES, stream.len())).collect();
    Some(read(taken, context, internal))
}

fn read(taken: Vec<u8>, context: &mut BgpParsingContext, internal: bool) -> Result<Received, Unreadable> {
    let (kind, is_marked) = (taken[18], taken[..16] == [u8::MAX; 16]);
    let is = |wanted: BgpMessageType| is_marked && kind == wanted as u8;
    let (taken, withdraws) = if is(BgpMessageType::Update) {
        let sifted = sift(&taken, context, internal).map_err(|error| {
            let problem = format!("{error:?}");
            let told = BgpNotificationMessage::UpdateMessageError(error);
            Unreadable::Malformed(Malformed { told, problem })
        })?;
        (sifted.message, sifted.withdraws)
    } else {
        (taken, false)
    };
    let message = match BgpMessage::from_wire(Span::new(&taken), context) {
        Ok((_, message)) => message,
        Err(_) if is(BgpMessageType::Notification) && taken.len() >= HEADER_BYTES + 2 => {
            return Err(Unreadable::Notification(taken[HEADER_BYTES], taken[HEADER_BYTES + 1]));
        }
        Err(error) => {
            let error = match error {
                nom::Err::Error(located) | nom::Err::Failure(located) => located.error().clone(),
                nom::Err::Incomplete(_) => BgpMessageParsingError::NomError(nom::error::ErrorKind::Eof),
            };
            let problem = format!("{error:?}");
            return Err(Unreadable::Malformed(Malformed { told: error.into(), problem }));
        }
    };
    Ok(Received { message, withdraws })
}
