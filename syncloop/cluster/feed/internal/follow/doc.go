// Package follow decides how a collection at an API server is followed: when it is listed,
// where a watch begins, what an event means, and when to wait. It is pure: the Machine says
// what its owner does next, and the owner says how that went.
//
//   - The first request is a watch with initial events, from the newest state. A server that
//     does not know it is listed: at first any state that it has at hand, later none older
//     than the last one seen, and the newest if it does not have that.
//   - The collection changes as a whole when a complete state has come, and by single events
//     after that. Nothing is concluded from an error, nor from a state that is not complete.
//   - An object of the same version keeps its pointer, unless the version of the state is lower
//     than one seen before: the server's data were restored from a backup then, and the state
//     is the truth all the same.
//   - A stream that ends goes on from the last version at once. One that ends within a second
//     with no event is a failure.
//   - A lost history is no failure: the state is read again at once. It is one if there was
//     no progress since the last time.
//   - A server that could not be reached is asked for the whole state when it answers, and so is
//     one whose stream has shown nothing for two minutes, not even a bookmark: a watch from a
//     version that restored data have not reached is silent.
//   - After another failure the same request is made again, after a pause that doubles from 0.8 to
//     15 seconds and is drawn from one to two times that. If the server could not be reached
//     the pause ends when it answers anyone.
package follow
