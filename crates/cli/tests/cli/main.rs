//! The binary as its users meet it: exit codes, output, and what is left on the disk.

mod budget;
mod clients;
mod diff;
mod files;
mod leaving;
mod names;
mod others;
mod policy;
mod real;
mod runs;
mod serving;
mod support;
mod times;
mod wrong;
