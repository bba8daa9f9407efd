//! Tests of the rules, in virtual time.
