// Package gc removes what is left in the runtime when it is of no use any
// more. It works beside the sync loop, never on it: housekeeping decides what
// may go and hands over UIDs, this package performs the calls, and asks again
// before each of them whether the answer still holds (a UID may have come back
// to life in the meantime).
//
// Statements kept: GC-6 for removed pods (all inactive sandboxes go, and with
// them their containers), GC-7 (a sandbox that can not be stopped is not
// removed: RemoveSandbox stops first and fails if it can not), the "destructive
// IO runs off the loop" of housekeeping.
//
// Differences: a pod that is gone loses all its records at once, not container
// by container; a failed removal is tried again with backoff and not at the
// next round.
package gc
