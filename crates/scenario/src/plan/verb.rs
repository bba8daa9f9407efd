//! The words for verbs.

use super::Verb;
use moonquake_protocol::Rpc;

/// The verbs that are no RPC, with their words.
const WORDS: [(Verb, &str); 25] = [
    (Verb::Put, "put"),
    (Verb::Get, "get"),
    (Verb::Upsert, "upsert"),
    (Verb::Exist, "exist"),
    (Verb::Size, "size"),
    (Verb::Remove, "remove"),
    (Verb::RemoveByRegex, "remove_by_regex"),
    (Verb::RemoveAll, "remove_all"),
    (Verb::BatchPut, "batch_put"),
    (Verb::BatchUpsert, "batch_upsert"),
    (Verb::BatchGet, "batch_get"),
    (Verb::BatchExist, "batch_exist"),
    (Verb::BatchRemove, "batch_remove"),
    (Verb::RunTasks, "run_tasks"),
    (Verb::PollTasks, "poll_tasks"),
    (Verb::RunTask, "run_task"),
    (Verb::Close, "close"),
    (Verb::GetStart, "get_start"),
    (Verb::GetRead, "get_read"),
    (Verb::GetEnd, "get_end"),
    (Verb::PutWrite, "put_write"),
    (Verb::Fill, "fill"),
    (Verb::RegisterBuffer, "register_buffer"),
    (Verb::UnregisterBuffer, "unregister_buffer"),
    (Verb::Resume, "resume"),
];

impl Verb {
    /// The word in a scenario. Where the client API and an RPC share a word (`remove`), the client API has it.
    pub fn name(self) -> &'static str {
        match self {
            Verb::Rpc(rpc) => rpc.verb(),
            other => WORDS
                .iter()
                .find(|(verb, _)| *verb == other)
                .map_or("", |(_, word)| word),
        }
    }

    /// The verb of that word.
    pub fn from_name(word: &str) -> Option<Verb> {
        WORDS
            .iter()
            .find(|(_, name)| *name == word)
            .map(|(verb, _)| *verb)
            .or_else(|| Rpc::from_verb(word).map(Verb::Rpc))
    }

    /// Every verb of the language, those of the client API first.
    pub fn all() -> Vec<Verb> {
        let own = WORDS.iter().map(|(verb, _)| *verb);
        let calls = Rpc::ALL.iter().map(|rpc| Verb::Rpc(*rpc));
        own.chain(calls.filter(|verb| Verb::from_name(verb.name()) == Some(*verb)))
            .collect()
    }

    /// Whether the verb sends a request to the master. The others only touch memory or the fault.
    pub fn sends_request(self) -> bool {
        !matches!(
            self,
            Verb::GetRead
                | Verb::GetEnd
                | Verb::PutWrite
                | Verb::Fill
                | Verb::RegisterBuffer
                | Verb::UnregisterBuffer
                | Verb::Resume
        )
    }

    /// Whether the verb tells the transfer engine of a buffer, or to forget one. It touches no byte of it.
    pub fn registers(self) -> bool {
        matches!(self, Verb::RegisterBuffer | Verb::UnregisterBuffer)
    }

    /// Whether the verb has a result for each of its keys.
    pub fn answers_each(self) -> bool {
        match self {
            Verb::BatchPut | Verb::BatchUpsert | Verb::BatchGet | Verb::BatchExist | Verb::BatchRemove => {
                true
            }
            Verb::Rpc(rpc) => matches!(
                rpc,
                Rpc::BatchExistKey
                    | Rpc::BatchGetReplicaList
                    | Rpc::BatchPutStart
                    | Rpc::BatchPutEnd
                    | Rpc::BatchPutRevoke
                    | Rpc::BatchUpsertStart
                    | Rpc::BatchUpsertEnd
                    | Rpc::BatchUpsertRevoke
                    | Rpc::BatchEvictDiskReplica
            ),
            _ => false,
        }
    }

    /// Whether the verb executes tasks, and so copies what the master tells it to.
    pub fn executes_tasks(self) -> bool {
        matches!(self, Verb::RunTasks | Verb::RunTask)
    }

    /// Whether the verb moves a payload into the store.
    pub fn writes_payload(self) -> bool {
        matches!(
            self,
            Verb::Put | Verb::Upsert | Verb::PutWrite | Verb::BatchPut | Verb::BatchUpsert
        )
    }

    /// Whether the verb moves a payload out of the store.
    pub fn reads_payload(self) -> bool {
        matches!(self, Verb::Get | Verb::BatchGet | Verb::GetRead)
    }

    /// Whether the verb answers `true` or `false`.
    pub fn answers_bool(self) -> bool {
        matches!(
            self,
            Verb::Exist
                | Verb::BatchExist
                | Verb::Rpc(Rpc::ExistKey | Rpc::BatchExistKey | Rpc::PollRemoveAll)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_back_and_are_unique() {
        let all = Verb::all();
        for verb in &all {
            assert_eq!(Verb::from_name(verb.name()), Some(*verb), "{}", verb.name());
        }
        assert_eq!(Verb::from_name("put_start"), Some(Verb::Rpc(Rpc::PutStart)));
        assert_eq!(Verb::from_name("remove"), Some(Verb::Remove));
        assert_eq!(Verb::from_name("putt"), None);
        assert_eq!(all.len(), 25 + 64 - 4);
    }
}
