// Package pleg generates pod lifecycle events: it observes a runtime, keeps the
// newest status of every pod, and says which pods have changed.
//
// There is one writer and there are many hints. A listing of all pods, now and
// then, finds whatever has happened; events of the runtime, requests after a
// sync and readers that wait only mark a pod, which is then inspected by
// itself. Hints may be lost, doubled or late: that costs time, never truth.
//
//	listing ───────────┐
//	runtime's events ──┤        bounded-parallel            ┌─▶ cache: Get, NewerThan, Pods
//	RequestRelist ─────┼─ owed ─ inspections, each ─ status ┤
//	waiting readers ───┘        with its deadline           └─▶ subscriptions: which pods changed
//
// # Freshness
//
// Every observation, a listing or an inspection, gets a number when it begins.
// Whoever acts on a pod takes the Mark afterwards, and NewerThan gives only
// what an observation begun after that has shown. A blocked reader is itself
// the request for the inspection that releases it, so nobody waits for a
// period to pass. A listing counts for every pod it agrees with and, because
// absence from a successful listing is an observation, for every pod that
// nobody has heard of. The cache never goes backwards: a late answer with a
// lower number is dropped.
//
// # Failure
//
// From a listing that fails nothing is concluded (B-172); Healthy says so after
// a while. An inspection that fails wakes its readers with the error, keeps the
// last good status, and is repeated. A pod whose inspection hangs degrades that
// pod alone: each call has a deadline, and pods that hung last time share at
// most half of the inspectors. A listing that omits a running container, or a
// record that comes back to life, is settled by an inspection before anybody
// hears of it.
//
// # Who waits for what
//
// Run's loop waits only for its own wake-up. The listing, each inspector and
// the stream of events are members of its group. A subscription is a set of
// pods: it cannot overflow, a slow subscriber delays nobody, and none can miss
// a pod.
//
// # Statements kept
//
// B-161 to B-168, B-172 to B-182, B-184, B-185, B-188 to B-190, B-192, B-194,
// B-197, B-211 to B-213, B-215; invariants I24, I25, I39, I40, I48, I49.
//
// # Differences from the kubelet
//
//   - Freshness is a number, not a time (B-083, B-163, B-164): clocks of two
//     sides need not agree, and the two comparisons are one
//     (kubernetes/kubernetes#120942, 124297).
//   - A blocked reader has a context, and causes the inspection it waits for
//     (B-169, B-095: up to a second per phase; #124704).
//   - Changed pods are a set, not a channel of 1000 events (B-186, B-195;
//     #72482, #136408: events dropped on a full channel were lost for ever).
//     Any number may subscribe.
//   - Inspections run in parallel, with a deadline each, off the loop (B-191;
//     #45419, #93886: one hung call stopped the node).
//   - Events are computed from what an inspection has read, not from the
//     listing alone (B-178): where they disagree the listing may lag.
//   - The first failure of an inspection is told as PodSync, with the error in
//     the cache (B-184 withholds everything until it succeeds; #24819).
//   - A running container that is listed again as exited and then as running is
//     ignored and logged; an unknown state is the state unknown. Nothing here
//     panics on what a runtime says (B-177).
//   - With a healthy stream of events listings are 30 s apart; the stream is
//     opened again for ever, with backoff that a healthy stream resets
//     (B-202, B-203, B-214; #129827: half a second without containerd turned it
//     off for good). An event's time and contents are not believed (B-205 to
//     B-208).
//   - Watch conditions (B-199) and the EventedPLEG's ticker (B-208) have no
//     counterpart: NewerThan covers what they were for.
package pleg
