// Package echo compares two observations of a pod whose sync failed, and tells whether the
// change is more than the effect of the failed attempt. Package podworkers ends the backoff
// only for such a change. The package is pure.
//
// A failed attempt leaves records: a sandbox, or a container that was created and not
// started. An attempt made because of them would leave records again. So these changes do
// not count:
//
//   - a sandbox that appears;
//   - a container that appears and has not been started;
//   - a record that vanishes and was not running or ready.
//
// All others count: a container that runs now, has ended, or vanished while it ran; a
// changed record; a sandbox that is not ready any more or has another address. A call whose
// reply was lost makes records too; its caller asks for an early retry by its error.
package echo
