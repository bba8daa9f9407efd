//! Claims and the events they rest on. Nothing else in this crate can be rendered as a claim.

use crate::project::Projection;
use moonquake_evidence::{EventId, Evidence};
use serde::Serialize;

/// Why no postmortem can be written: the judgement says something that its evidence does not carry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// A claim names no event.
    #[error("the claim {claim:?} cites no event, so it cannot be reported; this is a fault of the harness")]
    Uncited {
        /// The claim.
        claim: String,
    },
    /// A claim names an event that the evidence does not have.
    #[error(
        "the claim {claim:?} cites {id}, which is not in the evidence; judge and evidence belong to different runs"
    )]
    Dangling {
        /// The claim.
        claim: String,
        /// The event that is missing.
        id: EventId,
    },
}

/// The events that a claim rests on: at least one, each of them in the evidence, in order, none twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Cites(Vec<EventId>);

impl Cites {
    /// The ids in ascending order; never empty.
    pub fn ids(&self) -> &[EventId] {
        &self.0
    }
}

/// A sentence that is true because of events. It cannot be made without them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    text: String,
    events: Cites,
}

impl Claim {
    /// The sentence, as plain text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it rests on.
    pub fn events(&self) -> &Cites {
        &self.events
    }
}

/// Hands out citations of one record, and nothing that is not in it.
pub(crate) struct Citer<'a> {
    evidence: &'a Evidence,
    /// Where the evidence was projected: from the judge's ids and words to those of the report.
    projection: Option<&'a Projection>,
}

impl<'a> Citer<'a> {
    pub(crate) fn new(evidence: &'a Evidence, projection: Option<&'a Projection>) -> Citer<'a> {
        Citer { evidence, projection }
    }

    fn cites(&self, claim: &str, ids: &[EventId]) -> Result<Cites, ReportError> {
        let mut known = Vec::with_capacity(ids.len());
        for id in ids {
            let own = match self.projection {
                Some(projection) => projection.numbers.get(id).copied(),
                None => Some(*id),
            };
            match own.filter(|own| self.evidence.get(*own).is_some()) {
                Some(own) => known.push(own),
                None => {
                    return Err(ReportError::Dangling {
                        claim: claim.to_owned(),
                        id: *id,
                    });
                }
            }
        }
        if known.is_empty() {
            return Err(ReportError::Uncited {
                claim: claim.to_owned(),
            });
        }
        known.sort_unstable();
        known.dedup();
        Ok(Cites(known))
    }

    /// A claim of the judge.
    pub(crate) fn claim(&self, text: impl Into<String>, ids: &[EventId]) -> Result<Claim, ReportError> {
        let mut text = text.into();
        let events = self.cites(&text, ids)?;
        if let Some(projection) = self.projection {
            text = projection.scrub(&text);
        }
        Ok(Claim { text, events })
    }

    /// A claim of the report itself about one event of its own evidence.
    pub(crate) fn about(&self, text: impl Into<String>, id: EventId) -> Option<Claim> {
        self.evidence.get(id).map(|event| Claim {
            text: text.into(),
            events: Cites(vec![event.id]),
        })
    }
}

/// A claim with the citations of several others.
pub(crate) fn joined<'a>(text: String, cites: impl IntoIterator<Item = &'a Cites>) -> Option<Claim> {
    let mut ids: Vec<EventId> = cites
        .into_iter()
        .flat_map(|cites| cites.0.iter().copied())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    (!ids.is_empty()).then_some(Claim {
        text,
        events: Cites(ids),
    })
}
