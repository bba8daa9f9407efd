//! A client under its page: time, sleep and sockets of an unmodified process are in the controller's hands.

pub(crate) mod gates;
mod rig;
