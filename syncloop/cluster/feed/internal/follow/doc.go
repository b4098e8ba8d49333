// Package follow is the state machine that follows a collection at an API server. It decides when to list,
// where to start a watch, how an event changes the collection, and when to wait. It is pure: the Machine
// returns the next step, and its owner reports the result.
//
//   - The first request is a watch with initial events from the newest state. If the server does not support
//     it, the first request is a list: at first of any state in the server's memory, later of a state at
//     least as new as the last one. If the server has lost that version, the newest state is listed.
//   - The collection changes as a whole after a complete state, and by single events afterwards. An error or
//     an incomplete state changes nothing.
//   - An object with an unchanged version keeps its pointer, unless the version of the whole state is lower
//     than before. Then the server was restored from a backup. The state is adopted all the same.
//   - After a regular end of a stream, the next watch starts at once from the last version. A stream that
//     ends within a second without an event is a failure.
//   - If the server has lost the history, the state is read again at once. This is a failure only if it
//     happens twice without progress.
//   - After a pause, the whole state is read if a watch failed because the server was unreachable, unavailable
//     (503), did not accept the credentials (401) or had an internal error (500). The next server process may
//     have other data. The whole state is also read after a stream was silent for two minutes, without even a
//     bookmark: a watch from a version that restored data have not reached is silent.
//   - After any other failure the same request is repeated. The pause doubles from 0.8 to 15 seconds, and up
//     to its own length is added at random. A collection that is forbidden before its first complete state is
//     at first retried faster.
//   - A pause ends early when an outage ends, if the server was unreachable, returned 401 or 503, or denied
//     the collection (403). Step.UntilAnswer says so.
package follow
