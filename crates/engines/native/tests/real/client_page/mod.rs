//! A client under its page: time, sleep and sockets of an unmodified process are in the controller's hands.

mod credit;
mod gates;
mod limits;
mod rig;
mod sockets;

use crate::Test;

pub(crate) const TESTS: [&[Test]; 4] = [credit::TESTS, gates::TESTS, limits::TESTS, sockets::TESTS];
