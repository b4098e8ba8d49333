// Package echo tells what has happened to a pod from what a failed attempt has left
// behind. It is pure: package podworkers calls it when the runtime shows a change of a
// pod whose sync has failed, and ends the backoff only for news.
//
// A failed attempt leaves records: a sandbox, a container that was created and did
// not start. The runtime shows them, and that is a change; but it makes the next
// attempt no more likely to succeed, and an attempt made because of it would leave
// records again. So these are no news:
//
//   - a sandbox that appears;
//   - a container that appears and has not been started;
//   - a record that vanishes and was not running, or ready.
//
// Everything else is: a container that runs now, or has ended, or has vanished while it
// ran; what is told anew of one that was there; a sandbox that is not ready any more,
// or has another address. A call whose reply was lost makes records too; its caller
// is the one who knows that, and asks for a retry soon by its error.
package echo
